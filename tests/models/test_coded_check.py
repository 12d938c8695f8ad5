"""The checker of coded answers: right answers pass, and each broken rule is named."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from fractions import Fraction
from typing import Any

import pytest

from allocsolve.models.claims import Claims
from allocsolve.models.coded.answer import Code, CodedAnswer, Piece
from allocsolve.models.coded.check import RULES, check, check_claims
from allocsolve.models.coded.data import (
    Elastic,
    Gradient,
    Limits,
    MatMul,
    MatVec,
    Node,
    ObjectiveSpec,
    Scenarios,
    Sequential,
)
from allocsolve.models.coded.judge_parts import decoding_statement
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.reason_types import StorageBelowNeed
from allocsolve.models.nodes import Law
from allocsolve.models.result import CheckReport, Status

EXPONENTIAL = Law(law="exponential", rate=1)


def nodes(count: int, **fields: Any) -> list[Node]:
    runtime = fields.pop("runtime", EXPONENTIAL)
    return [Node(id=f"w{i}", runtime=runtime, **fields) for i in range(count)]


PRODUCT = CodedProblem(
    task=MatVec(rows=6),
    nodes=nodes(4, storage=3, cost=2),
    limits=Limits(total_load=9, budget=18, batches=2),
)
LOADS = CodedAnswer.of([3, 2, 2, 1])

GRADIENT = CodedProblem(
    task=Gradient(partitions=4, stragglers=1),
    nodes=[
        Node(id=f"w{i}", runtime=Law(law="deterministic", value=i + 1), holds=[i, (i + 1) % 4])
        for i in range(4)
    ],
    limits=Limits(batches=2),
)
CYCLIC = CodedAnswer.of([2] * 4, partitions=[[i, (i + 1) % 4] for i in range(4)], batches=1)

ELASTIC = CodedProblem(
    task=Elastic(recovery_threshold=2),
    nodes=[Node(id=f"w{i}", speed=speed) for i, speed in enumerate((1, 1, 2))],
)
PIECES = CodedAnswer.of(
    [Fraction(1, 2), Fraction(1, 2), 1],
    pieces=[(Fraction(1, 2), ["w0", "w2"]), (Fraction(1, 2), ["w1", "w2"])],
)

REPLICATED = CodedAnswer.of(
    [3, 3, 3, 0], code=Code(family="replication", k=2), partitions=[[0], [1], [0], []], batches=1
)


@pytest.mark.parametrize(
    ("problem", "answer", "value"),
    [
        pytest.param(GRADIENT, CYCLIC, 8, id="gradient"),
        pytest.param(ELASTIC, PIECES, 0.5, id="elastic"),
        pytest.param(GRADIENT, replace(CYCLIC, batches=2), 8, id="gradient in batches"),
    ],
)
def test_worst_cases(problem: CodedProblem, answer: CodedAnswer, value: float) -> None:
    """The slowest node is waited for; partial gradients need each partition from two nodes."""
    assert check(problem, answer) == CheckReport((), value)


@pytest.mark.parametrize(
    ("order", "value"), [(((0, 1), (0, 1)), 2), (((0, 1), (1, 0)), 1)], ids=["same", "opposite"]
)
def test_the_order_of_chunks_counts(order: tuple[tuple[int, ...], ...], value: float) -> None:
    """Two nodes that begin at different ends have both partitions after one step."""
    unit = Law(law="deterministic", value=1)
    problem = CodedProblem(
        task=Gradient(partitions=2, stragglers=0),
        nodes=nodes(2, runtime=unit),
        limits=Limits(batches=2),
    )
    answer = CodedAnswer.of([2, 2], partitions=[[0, 1], [0, 1]], order=order)
    assert check(problem, answer).value == value


def test_products_pass() -> None:
    """A right answer has no violation and the value of the exact law."""
    report = check(PRODUCT, LOADS)
    assert report.valid
    assert report.value is not None
    assert 0 < report.value < 3
    assert check(PRODUCT, REPLICATED).valid


def loads(*values: float) -> Callable[[CodedAnswer], CodedAnswer]:
    return lambda answer: replace(answer, loads=tuple(Fraction(v) for v in values))


def fields(**changes: Any) -> Callable[[CodedAnswer], CodedAnswer]:
    return lambda answer: replace(answer, **changes)


MUTATIONS: list[Any] = [
    pytest.param(PRODUCT, LOADS, loads(3, 3, 2), "load_count", id="a load too few"),
    pytest.param(PRODUCT, LOADS, loads(3, 3, 2, -1), "load", id="negative load"),
    pytest.param(PRODUCT, LOADS, loads(3, 2.5, 2, 1), "load", id="half a row"),
    pytest.param(PRODUCT, LOADS, loads(4, 2, 2, 1), "storage", id="beyond the storage"),
    pytest.param(PRODUCT, LOADS, loads(3, 3, 3, 3), "total_load", id="beyond the limit"),
    pytest.param(PRODUCT, LOADS, loads(3, 3, 3, 3), "budget", id="beyond the budget"),
    pytest.param(PRODUCT, LOADS, loads(2, 1, 1, 1), "recovery", id="too few rows"),
    pytest.param(PRODUCT, LOADS, fields(batches=3), "batches", id="too many batches"),
    pytest.param(PRODUCT, LOADS, fields(batches=0), "batches", id="no batch"),
    pytest.param(PRODUCT, LOADS, fields(code=Code(family="magic")), "code", id="unknown code"),
    pytest.param(PRODUCT, LOADS, fields(code=Code(k=5)), "code", id="wrong threshold"),
    pytest.param(PRODUCT, LOADS, fields(code=Code(n=7)), "code", id="wrong length"),
    pytest.param(PRODUCT, REPLICATED, fields(batches=2), "batches", id="batches of copies"),
    pytest.param(PRODUCT, REPLICATED, loads(3, 2, 3, 0), "recovery", id="part of a block"),
    pytest.param(
        PRODUCT, REPLICATED, fields(partitions=((0,), (0,), (0,), ())), "coverage", id="lost block"
    ),
    pytest.param(
        PRODUCT,
        REPLICATED,
        fields(partitions=((0,), (1,), (0, 1), ())),
        "partitions",
        id="two blocks",
    ),
    pytest.param(PRODUCT, REPLICATED, fields(partitions=None), "partitions", id="no blocks"),
    pytest.param(GRADIENT, CYCLIC, fields(partitions=None), "partitions", id="no partitions"),
    pytest.param(
        GRADIENT,
        CYCLIC,
        fields(partitions=((0, 4), (1, 2), (2, 3), (3, 0))),
        "partitions",
        id="unknown partition",
    ),
    pytest.param(
        GRADIENT,
        CYCLIC,
        fields(partitions=((0, 0), (1, 2), (2, 3), (3, 0))),
        "partitions",
        id="partition twice",
    ),
    pytest.param(GRADIENT, CYCLIC, loads(1, 2, 2, 2), "partitions", id="load differs"),
    pytest.param(
        GRADIENT,
        CYCLIC,
        fields(partitions=((0, 2), (1, 2), (2, 3), (3, 0))),
        "holds",
        id="foreign partition",
    ),
    pytest.param(
        GRADIENT,
        CYCLIC,
        fields(loads=(Fraction(1), *[Fraction(2)] * 3), partitions=((0,), (1, 2), (2, 3), (3, 0))),
        "coverage",
        id="partition on one node",
    ),
    pytest.param(
        GRADIENT,
        CYCLIC,
        fields(order=((0, 1), (1, 2), (2, 0), (3, 0))),
        "order",
        id="order of others",
    ),
    pytest.param(GRADIENT, CYCLIC, fields(order=((0, 1),)), "order", id="order too short"),
    pytest.param(GRADIENT, CYCLIC, fields(code=Code(n=5)), "code", id="code of five nodes"),
    pytest.param(
        GRADIENT, CYCLIC, fields(code=Code(stragglers=2)), "code", id="code of two stragglers"
    ),
    pytest.param(
        GRADIENT,
        CYCLIC,
        fields(code=Code(family="fractional_repetition")),
        "decodability",
        id="groups overlap",
    ),
    pytest.param(
        GRADIENT,
        CYCLIC,
        fields(code=Code(matrix=((1, 1, 0, 0), (0, 1, 1, 0), (0, 0, 1, 1), (1, 0, 0, 2)))),
        "decodability",
        id="matrix does not decode",
    ),
    pytest.param(
        GRADIENT,
        CYCLIC,
        fields(code=Code(matrix=((1, 1, 1, 0), (0, 1, 1, 0), (0, 0, 1, 1), (1, 0, 0, 1)))),
        "decodability",
        id="matrix uses a foreign partition",
    ),
    pytest.param(
        GRADIENT, CYCLIC, fields(code=Code(matrix=((1, 1),))), "decodability", id="small matrix"
    ),
    pytest.param(ELASTIC, PIECES, fields(pieces=None), "pieces", id="no pieces"),
    pytest.param(
        ELASTIC,
        PIECES,
        fields(pieces=(*PIECES.pieces[:1], Piece(Fraction(1, 2), ("w1", "w1")))),  # type: ignore[index]  # it has pieces
        "pieces",
        id="a node twice",
    ),
    pytest.param(
        ELASTIC,
        PIECES,
        fields(pieces=(*PIECES.pieces[:1], Piece(Fraction(1, 2), ("w1", "x2")))),  # type: ignore[index]  # it has pieces
        "pieces",
        id="unknown node",
    ),
    pytest.param(
        ELASTIC,
        PIECES,
        fields(pieces=(*PIECES.pieces[:1], Piece(Fraction(1, 2), ("w2",)))),  # type: ignore[index]  # it has pieces
        "pieces",
        id="one node only",
    ),
    pytest.param(
        ELASTIC,
        PIECES,
        fields(pieces=(*PIECES.pieces[:1], Piece(Fraction(1, 4), ("w1", "w2")))),  # type: ignore[index]  # it has pieces
        "piece_cover",
        id="a gap",
    ),
    pytest.param(ELASTIC, PIECES, loads(0.5, 0.25, 1), "piece_load", id="load differs from pieces"),
    pytest.param(ELASTIC, PIECES, loads(0.5, 0.5, 1.25), "storage", id="more than the whole"),
]


@pytest.mark.parametrize(("problem", "answer", "mutate", "rule"), MUTATIONS)
def test_mutations_are_found(
    problem: CodedProblem,
    answer: CodedAnswer,
    mutate: Callable[[CodedAnswer], CodedAnswer],
    rule: str,
) -> None:
    """Every way to break a right answer is refused, by the rule that is broken."""
    assert check(problem, answer).valid
    report = check(problem, mutate(answer))
    assert rule in {violation.rule for violation in report.violations}
    assert {violation.rule for violation in report.violations} <= set(RULES)
    assert report.value is None


def test_a_dead_node_gets_nothing() -> None:
    """Speed 0 is a node that never answers."""
    problem = CodedProblem(
        task=MatVec(rows=2), nodes=[*nodes(2), Node(id="x", speed=0, runtime=EXPONENTIAL)]
    )
    assert check(problem, CodedAnswer.of([1, 1, 0])).valid
    report = check(problem, CodedAnswer.of([1, 1, 1]))
    assert [violation.rule for violation in report.violations] == ["storage"]


def test_codes_over_nodes_of_equal_loads() -> None:
    """A hand-written (n, k) code over nodes says the same as one over rows."""
    problem = CodedProblem(task=MatVec(rows=500), nodes=nodes(10))
    answer = CodedAnswer.of([72] * 10, code=Code(n=10, k=7))
    assert check(problem, answer).valid
    assert not check(problem, replace(answer, code=Code(n=10, k=6))).valid


@pytest.mark.parametrize(
    ("family", "split", "least"),
    [("entangled", (2, 2, 2), 9), ("polydot", (2, 2, 2), 12), ("mds", (2, 2, 2), 9)],
)
def test_products_of_matrices(family: str, split: tuple[int, int, int], least: int) -> None:
    """The threshold of the family counts, and a family must be defined for the split."""
    problem = CodedProblem(task=MatMul(rows=9, inner=9, columns=9, split=split), nodes=nodes(least))
    good = CodedAnswer.of([1] * least, code=Code(family=family, n=least, k=least))
    assert check(problem, good).valid
    few = CodedAnswer.of([1] * (least - 1) + [0], code=Code(family=family))
    assert [v.rule for v in check(problem, few).violations] == ["recovery"]
    wrong = CodedAnswer.of([1] * least, code=Code(family="matdot"))
    assert "code" in {v.rule for v in check(problem, wrong).violations}


def test_the_cost_objective_needs_its_confidence() -> None:
    """A cheap answer that is too slow is no answer."""
    problem = CodedProblem(
        task=MatVec(rows=2),
        nodes=nodes(4, cost=Fraction(1, 3)),
        objective=ObjectiveSpec(name="cost", deadline=2, confidence=Fraction(9, 10)),
    )
    assert check(problem, CodedAnswer.of([1, 1, 1, 1])).value == pytest.approx(4 / 3)
    report = check(problem, CodedAnswer.of([1, 1, 0, 0]))
    assert [violation.rule for violation in report.violations] == ["confidence"]


def test_infinite_means_are_said() -> None:
    """All of two Pareto nodes of shape 1: the mean is infinite, other objectives are not."""
    problem = CodedProblem(
        task=MatVec(rows=2), nodes=nodes(2, runtime=Law(law="pareto", shape=1, scale=1))
    )
    assert check(problem, CodedAnswer.of([1, 1])).value == float("inf")
    median = problem.replace(objective=ObjectiveSpec(name="quantile", q=Fraction(1, 4)))
    assert check(median, CodedAnswer.of([1, 1])).value == pytest.approx(2)
    chance = problem.replace(objective=ObjectiveSpec(name="deadline_probability", deadline=2))
    assert check(chance, CodedAnswer.of([1, 1])).value == pytest.approx(0.25)


def test_without_an_exact_law_there_is_no_value() -> None:
    """A sum of Weibull draws has no closed form; the answer is right, its value unknown."""
    problem = CodedProblem(
        task=MatVec(rows=2),
        nodes=nodes(2, runtime=Law(law="weibull", shape=2, scale=1)),
        scaling="per_row",
    )
    assert check(problem, CodedAnswer.of([2, 1])) == CheckReport((), None)


def test_scenarios_are_counted() -> None:
    """The value over listed draws is their mean."""
    problem = CodedProblem(
        task=MatVec(rows=2),
        nodes=[Node(id=name) for name in "abc"],
        scenarios=Scenarios(samples=[[1, 2, 3], [5, 1, 1], [2, 2, 9]]),
    )
    assert check(problem, CodedAnswer.of([1, 1, 1])).value == pytest.approx(5 / 3)


def test_rounds_are_judged_by_copies() -> None:
    """Two copies are enough for one straggler in a round, not for two; a mean is not known."""
    for lam, broken in ((1, []), (2, ["coverage"])):
        told = Sequential(burst=1, window=2, lam=lam)
        rounds = GRADIENT.replace(task=Gradient(partitions=4, stragglers=0, sequential=told))
        answer = replace(CYCLIC, code=Code("cyclic", stragglers=lam))
        assert [v.rule for v in check(rounds, answer).violations] == broken
    mean = rounds.replace(objective=ObjectiveSpec(name="mean"))
    assert check(mean, CodedAnswer.of([4] * 4, partitions=[range(4)] * 4)).value is None


def test_matrices_are_judged_by_ranks() -> None:
    """The rows of Tandon et al. decode without any one node; those of (1 - x) do not."""
    rows = ((1, -1, 0), (0, 1, -1), (-1, 0, 1))
    fitting = ((0.5, 1, 0), (0, 1, -1), (0.5, 0, 1))
    parts = [[0, 1], [1, 2], [0, 2]]
    problem = CodedProblem(task=Gradient(partitions=3, stragglers=1), nodes=nodes(3))
    answer = CodedAnswer.of([2] * 3, partitions=parts, code=Code(matrix=rows))
    assert [v.rule for v in check(problem, answer).violations] == ["decodability"]
    good = CodedAnswer.of([2] * 3, partitions=parts, code=Code(matrix=fitting))
    assert check(problem, good).valid
    assert "all 3 sets" in decoding_statement(problem, good)
    assert "coverage" not in decoding_statement(problem, replace(good, code=Code()))


@pytest.mark.parametrize(
    ("status", "value", "bound", "rules"),
    [
        pytest.param(Status.OPTIMAL, 8, 8, [], id="right"),
        pytest.param(Status.FEASIBLE, 8, 3, [], id="open gap"),
        pytest.param(Status.FEASIBLE, 7, 3, ["objective_value"], id="better than it is"),
        pytest.param(Status.FEASIBLE, 8, 9, ["bound"], id="bound above"),
        pytest.param(Status.OPTIMAL, 8, 7, ["bound"], id="bound below"),
        pytest.param(Status.INFEASIBLE, None, None, ["infeasible_claim"], id="infeasible"),
        pytest.param(Status.UNKNOWN, None, None, ["status"], id="unknown"),
    ],
)
def test_claims(status: Status, value: float | None, bound: float | None, rules: list[str]) -> None:
    """A claim about a right answer is compared with what the checker found."""
    report = check(GRADIENT, CYCLIC)
    found = check_claims(GRADIENT, report, Claims(status, value, bound))
    assert [violation.rule for violation in found] == rules


def test_bounds_of_probabilities_lie_above() -> None:
    """Deadline probabilities are maximised, so a bound below a right value is wrong."""
    problem = CodedProblem(
        task=MatVec(rows=1),
        nodes=nodes(1, runtime=Law(law="deterministic", value=1)),
        objective=ObjectiveSpec(name="deadline_probability", deadline=2),
    )
    report = check(problem, CodedAnswer.of([1]))
    low = check_claims(problem, report, Claims(value=1, bound=0.5))
    high = check_claims(problem, report, Claims(Status.FEASIBLE, 1, 1.5))
    assert [violation.rule for violation in low] == ["bound"]
    assert high == []


def test_claims_without_an_answer() -> None:
    """No answer has no value, and a wrong reason does not stand."""
    reason = StorageBelowNeed(storage=1, need=8)
    found = check_claims(GRADIENT, None, Claims(Status.INFEASIBLE, 3, reason=reason))
    assert [violation.rule for violation in found] == ["objective_value", "reason"]
    none = check_claims(GRADIENT, None, Claims(Status.OPTIMAL))
    assert [violation.rule for violation in none] == ["status"]


@pytest.mark.parametrize(
    ("given", "rules"),
    [
        ([Fraction(7, 2), 1, 1, 0], {"load", "storage", "recovery"}),
        ([9, -3, -1, 0], {"load", "storage", "recovery"}),
        ([Fraction(19, 2), 1, 1, 0], {"load", "storage", "total_load", "budget"}),
        ([4, 1, 0, 0], {"storage", "recovery"}),
    ],
    ids=["fraction", "negative", "too much", "whole"],
)
def test_all_broken_rules_are_told_at_once(given: list[Fraction], rules: set[str]) -> None:
    """Whoever mends one rule after the other checks as often as there are rules."""
    assert {one.rule for one in check(PRODUCT, CodedAnswer.of(given)).violations} == rules


def test_loads_that_are_wrong_do_not_hide_a_code_that_is() -> None:
    """The family of a code does not depend on the loads."""
    answer = CodedAnswer.of([Fraction(7, 2), 1, 1, 0], code=Code(family="none"))
    assert {one.rule for one in check(PRODUCT, answer).violations} >= {"load", "storage", "code"}
