"""Approximate gradients: the error law against enumeration, and the checker against mutations."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from allocsolve.models.coded.answer import Code, CodedAnswer
from allocsolve.models.coded.approximate import error_share, least_answers
from allocsolve.models.coded.check import RULES, check
from allocsolve.models.coded.data import Gradient, Limits, Node, ObjectiveSpec, Sequential
from allocsolve.models.coded.decoding import repetition_error
from allocsolve.models.coded.judge_parts import decoding_caveat, decoding_statement
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.thresholds import families
from allocsolve.models.errors import InputError
from allocsolve.models.nodes import Law


def _decoded(rows: np.ndarray[Any, Any], answers: int) -> float:
    """Return the mean of the least ``|1 - A x|^2`` over all sets of nodes, by least squares."""
    errors = []
    for nodes in itertools.combinations(range(len(rows)), answers):
        mine = rows[list(nodes)].T
        weights = np.linalg.lstsq(mine, np.ones(rows.shape[1]), rcond=None)[0]
        errors.append(float(((mine @ weights - 1) ** 2).sum()))
    return float(np.mean(errors))


def _rows(groups: Sequence[int], shares: Sequence[int]) -> np.ndarray[Any, Any]:
    """Return which node has which partition, groups of nodes with shares of partitions."""
    return np.repeat(np.repeat(np.eye(len(groups)), groups, axis=0), shares, axis=1)


@pytest.mark.parametrize(
    ("nodes", "copies"), [(n, d) for n in (2, 3, 4, 6, 8) for d in range(1, n + 1) if n % d == 0]
)
def test_the_error_law_is_that_of_optimal_decoding(nodes: int, copies: int) -> None:
    """The formula must be what least squares loses on average over all sets of survivors."""
    groups = [copies] * (nodes // copies)
    rows = _rows(groups, groups)
    for answers in range(1, nodes + 1):
        expected = _decoded(rows, answers)
        assert repetition_error(nodes, copies, answers) == pytest.approx(expected, abs=1e-12)
        share = error_share([copies] * nodes, nodes, answers)
        assert float(nodes * share) == pytest.approx(expected, abs=1e-12)


def test_groups_of_several_sizes_have_the_same_law() -> None:
    """Nodes that no number of copies divides must not be judged by another law."""
    groups, shares = (3, 2, 1), (4, 1, 2)
    rows = _rows(groups, shares)
    copies = np.repeat(groups, shares).tolist()
    for answers in range(1, 7):
        expected = _decoded(rows, answers)
        assert float(7 * error_share(copies, 6, answers)) == pytest.approx(expected, abs=1e-12)


def test_the_value_of_the_reference() -> None:
    """Six nodes, two copies, three answers: 6 C(4, 3) / C(6, 3)."""
    assert repetition_error(6, 2, 3) == 1.2
    assert error_share([2] * 6, 6, 3) == Fraction(1, 5)


@pytest.mark.parametrize("limit", [Fraction(k, 10) for k in range(10)])
def test_the_least_answers_are_found(limit: Fraction) -> None:
    """Bisection must find what trying every number finds, also at equality."""
    for copies in (1, 2, 3, 6):
        fits = [r for r in range(1, 7) if error_share([copies] * 6, 6, r) <= limit]
        assert least_answers([copies] * 6, 6, limit, 6) == min(fits)
        assert least_answers([copies] * 6, 6, limit, min(fits) - 1) is None


NODES = [Node(id=f"w{i}", runtime=Law(law="deterministic", value=i + 1)) for i in range(6)]
PROBLEM = CodedProblem(
    task=Gradient(partitions=6, stragglers=1, error=0.2), nodes=NODES, limits=Limits(batches=2)
)
PARTS = ((0, 1), (0, 1), (2, 3), (2, 3), (4, 5), (4, 5))
ANSWER = CodedAnswer.of(
    [2] * 6, code=Code("approximate", k=3, copies=2, stragglers=1), partitions=PARTS, batches=1
)


def test_three_of_six_results_are_waited_for() -> None:
    """The error is exactly what is accepted; in the worst case the fastest node is silent."""
    report = check(PROBLEM, ANSWER)
    assert report.violations == ()
    assert report.value == 8
    assert "3 of 6 results" in decoding_statement(PROBLEM, ANSWER)
    assert "0.2 of the partitions" in (decoding_caveat(PROBLEM, ANSWER) or "")
    assert check(PROBLEM, replace(ANSWER, code=Code("approximate", k=3))).valid


def _coded(**changes: Any) -> CodedAnswer:
    return replace(ANSWER, code=replace(ANSWER.code, **changes))


def _placed(*parts: tuple[int, ...]) -> CodedAnswer:
    loads = tuple(Fraction(len(mine)) for mine in parts)
    return replace(_coded(copies=None), loads=loads, partitions=parts)


@pytest.mark.parametrize(
    ("answer", "rule"),
    [
        pytest.param(_coded(k=2), "error", id="too few results"),
        pytest.param(_coded(k=6), "decodability", id="stragglers are waited for"),
        pytest.param(_coded(k=7), "code", id="more results than nodes"),
        pytest.param(_coded(k=0), "code", id="no result"),
        pytest.param(_coded(k=None), "code", id="nothing said"),
        pytest.param(_coded(copies=3), "code", id="wrong copies"),
        pytest.param(_coded(stragglers=2), "code", id="other stragglers"),
        pytest.param(_coded(matrix=((1,) * 6,) * 6), "decodability", id="a matrix"),
        pytest.param(replace(ANSWER, batches=2), "batches", id="partial results"),
        pytest.param(_placed((0, 1), (1, 2), *PARTS[2:]), "decodability", id="groups overlap"),
        pytest.param(_placed((0,), (0,), *PARTS[2:]), "coverage", id="a partition is nowhere"),
        pytest.param(_placed((0, 1), (2, 3), *PARTS[2:]), "error", id="a copy moved"),
        pytest.param(
            replace(ANSWER, code=Code("cyclic", copies=2)), "code", id="copies of another family"
        ),
    ],
)
def test_mutations_of_an_approximate_answer_are_found(answer: CodedAnswer, rule: str) -> None:
    """Every way to break groups, results and error is refused, by the rule that is broken."""
    report = check(PROBLEM, answer)
    assert rule in {violation.rule for violation in report.violations}
    assert {violation.rule for violation in report.violations} <= set(RULES)


@pytest.mark.parametrize(("error", "valid"), [(0.2, True), (0.199999, False), (0.9, True)])
def test_the_limit_is_the_one_of_the_instance(error: float, valid: bool) -> None:
    """The same answer is right or wrong by what the instance accepts, to the last digit."""
    task = Gradient(partitions=6, stragglers=1, error=error)
    report = check(PROBLEM.replace(task=task), ANSWER)
    assert report.valid is valid
    assert {v.rule for v in report.violations} <= {"error"}


def test_an_exact_gradient_takes_no_approximate_answer() -> None:
    """Without an accepted error everything means what it meant before."""
    task = Gradient(partitions=6, stragglers=1)
    exact = PROBLEM.replace(task=task)
    assert "approximate" not in families(task)
    assert {v.rule for v in check(exact, ANSWER).violations} == {"code"}
    repeated = replace(ANSWER, code=Code("fractional_repetition"))
    assert check(exact, repeated) == check(PROBLEM, repeated)


def test_nodes_without_a_load_are_no_survivors() -> None:
    """A node with nothing to send must not make the error look smaller."""
    goal = ObjectiveSpec(name="mean")
    problem = PROBLEM.replace(nodes=[*NODES, Node(id="idle")], objective=goal)
    idle = replace(ANSWER, loads=(*ANSWER.loads, Fraction(0)), partitions=(*PARTS, ()))
    report = check(problem, idle)
    assert report.violations == ()
    assert report.value == 6
    assert "of 6 results" in decoding_statement(problem, idle)


@pytest.mark.parametrize(
    "fields",
    [
        {"error": 1},
        {"error": -0.1},
        {"error": float("nan")},
        {"error": True},
        {"error": 0.1, "messages": 2},
        {"error": 0.1, "sequential": Sequential(burst=1, window=2, lam=1)},
    ],
    ids=str,
)
def test_errors_that_mean_nothing_are_refused(fields: dict[str, Any]) -> None:
    """The field, its value and what is allowed are named."""
    with pytest.raises(InputError, match="error") as caught:
        PROBLEM.replace(task=Gradient(partitions=6, stragglers=1, **fields))
    assert caught.value.path == "$.task.error"
