"""Rules and formulas of coded jobs against values of the literature and plain sums."""

from __future__ import annotations

import itertools
import math
from collections.abc import Mapping, Sequence

import numpy as np
import pytest

from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.baselines import candidates, replicated
from allocsolve.models.coded.check import check
from allocsolve.models.coded.costs import answer_of
from allocsolve.models.coded.data import Limits, MatVec, Node, ObjectiveSpec, Scaling
from allocsolve.models.coded.domain import Domain
from allocsolve.models.coded.law import completion_law
from allocsolve.models.coded.load_kernels import survival_of
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.rules import (
    best_pace,
    burst_load,
    communication_load,
    hcmm_loads,
    load_balanced,
    mds_mean,
    multiplexed_load,
    replication_mean,
)
from allocsolve.models.coded.scores import QuickScores
from allocsolve.models.nodes import Law, law_from


def _problem(
    rows: int,
    pairs: Sequence[tuple[float, float]],
    *,
    scaling: Scaling = "load",
    batches: int = 1,
    objective: ObjectiveSpec | None = None,
    fields: Mapping[str, float] | None = None,
) -> CodedProblem:
    nodes = [
        Node(
            id=f"w{i}",
            runtime=Law(law="shifted_exponential", shift=shift, rate=rate),
            **(fields or {}),  # type: ignore[arg-type]  # numbers of a node
        )
        for i, (shift, rate) in enumerate(pairs)
    ]
    return CodedProblem(
        task=MatVec(rows=rows),
        nodes=nodes,
        scaling=scaling,
        limits=Limits(batches=batches),
        objective=objective or ObjectiveSpec(),
    )


TYPES = [(1.0, 1.0)] * 50 + [(1 / 3, 3.0)] * 50


def test_hcmm_has_its_published_loads() -> None:
    """Fifty slow and fifty fast nodes: loads and time were verified in two other ways."""
    loads = hcmm_loads(_problem(500, TYPES), 500)
    assert loads[0] == pytest.approx(3.664853, abs=1e-6)
    assert loads[-1] == pytest.approx(10.994560, abs=1e-6)
    assert best_pace(law_from(Law(law="shifted_exponential", shift=1, rate=1), path="$"))[0] == (
        pytest.approx(2.146193, abs=1e-6)
    )


def test_the_search_for_a_pace_agrees_with_the_closed_form() -> None:
    """Laws without a closed form are searched; a Weibull law of shape 1 is an exponential one."""
    shifted = best_pace(law_from(Law(law="shifted_exponential", shift=0.4, rate=2), path="$"))
    same = best_pace(law_from(Law(law="weibull", shape=1, scale=0.5, shift=0.4), path="$"))
    assert same == pytest.approx(shifted, rel=1e-6)


def test_many_batches_tend_to_the_limit_of_bpcc() -> None:
    """With ever smaller batches a node returns 1/X units of load in a unit of time."""
    from scipy.special import exp1

    law = law_from(Law(law="shifted_exponential", shift=1, rate=1), path="$")
    assert best_pace(law, 2000)[1] == pytest.approx(math.e * exp1(1.0), rel=2e-3)


@pytest.mark.parametrize(("nodes", "best"), [(10, 7), (20, 14), (50, 34), (100, 69)])
def test_the_best_threshold_of_equal_nodes(nodes: int, best: int) -> None:
    """The least mean over k is at the listed k, where rounding the asymptotic rule fails."""
    means = {k: mds_mean(nodes, k, 1, 1) for k in range(1, nodes + 1)}
    assert min(means, key=lambda k: means[k]) == best


@pytest.mark.parametrize(
    ("value", "listed"),
    [
        pytest.param(replication_mean(12, 1, 0.05, 1), 1.6, id="replication, one block"),
        pytest.param(replication_mean(12, 12, 1, 1), 4.103211, id="replication, a block each"),
        pytest.param(burst_load(256, 2, 3, 23), 0.05078125, id="bursts"),
        pytest.param(communication_load(10, 2, 3), 0.5, id="messages of a third"),
        pytest.param(multiplexed_load(8, 1, 2, 8), 2 / 8, id="all may straggle"),
        pytest.param(multiplexed_load(8, 1, 2, 1), 4 / 24, id="one may straggle"),
    ],
)
def test_formulas_have_their_listed_values(value: float, listed: float) -> None:
    """A formula with a wrong sign would still look like one."""
    assert value == pytest.approx(listed, abs=1e-6)


def test_balanced_loads_add_up_to_the_need() -> None:
    """No redundancy: the loads are shares of the rows."""
    loads = load_balanced(_problem(12, [(1, 1), (1 / 3, 3)]), 12)
    assert loads.tolist() == pytest.approx([3, 9])


@pytest.mark.parametrize("storage", [math.inf, 4], ids=["free", "capped"])
def test_rules_give_answers_that_the_checker_accepts(storage: float) -> None:
    """Rounded and clipped loads must still be loads."""
    fields = None if math.isinf(storage) else {"storage": storage}
    problem = _problem(12, [(1, 1), (1, 1), (1 / 3, 3), (1 / 3, 3)], fields=fields)
    domain = Domain.of(problem)
    found = [CodedAnswer.of(x) for x in candidates("hcmm_scaled", problem, domain, 1)]
    found += [CodedAnswer.of(x) for x in candidates("uniform", problem, domain, 1)]
    found += list(replicated(problem, domain))
    assert len(found) > 6
    assert [check(problem, answer).violations for answer in found] == [()] * len(found)


TABLES = [
    pytest.param("load", 1, {}, id="load"),
    pytest.param("load", 3, {"message": 0.2, "startup": 0.1}, id="batches with messages"),
    pytest.param("additive", 2, {"row_time": 0.5}, id="additive"),
    pytest.param("per_row", 1, {}, id="a draw for each row"),
]


@pytest.mark.parametrize(("scaling", "batches", "fields"), TABLES)
def test_the_table_of_loads_gives_the_law(
    scaling: Scaling, batches: int, fields: dict[str, float]
) -> None:
    """A search by other laws than those of the checker would go astray."""
    problem = _problem(
        7, [(1, 1), (0.5, 2), (0.5, 2)], scaling=scaling, batches=batches, fields=fields
    )
    scores = QuickScores(problem, batches, Domain.of(problem))
    times = np.array([2.0, 3.5, 5.0, 9.0])
    scores.focus_on(times)
    for loads in ([1, 5, 3], [7, 0, 2], [3, 3, 3]):
        out = np.empty(4)
        survival_of(scores.table, np.array(loads), 7, out)
        law = completion_law(problem, answer_of(problem, loads, batches))
        assert out == pytest.approx(law.survival(times), abs=1e-12)


def test_moves_are_kept_only_if_they_help() -> None:
    """A move that is tried and refused must leave the loads as they were."""
    goal = ObjectiveSpec(name="deadline_probability", deadline=6)
    problem = _problem(12, [(1, 1), (1, 1), (1 / 3, 3), (1 / 3, 3)], objective=goal)
    scores = QuickScores(problem, 1, Domain.of(problem))
    loads, value = np.array([3, 3, 7, 7]), np.ones(1)
    scores.focus([3, 3, 7, 7])
    value[0] = scores.score([3, 3, 7, 7])
    moves = np.array([[i, j] for i in range(4) for j in (-1, -2, *range(4)) if i != j])
    while scores.scan(moves, 1, loads, value) or scores.scan(moves, 2, loads, value):
        assert value[0] == pytest.approx(scores.score(loads.tolist()))
    assert 0.7592 < 1 - value[0] <= 0.8454598855


@pytest.mark.parametrize(("total", "budget"), [(None, None), (7, None), (None, 9), (6, 8)], ids=str)
def test_repaired_loads_keep_every_limit(total: int | None, budget: int | None) -> None:
    """Whatever a search comes up with becomes loads that the checker accepts."""
    problem = _problem(5, [(1, 1), (0.5, 2), (0.2, 4)]).replace(
        limits=Limits(total_load=total, budget=budget)
    )
    nodes = [
        Node(id=node.id, runtime=node.runtime, cost=cost, storage=4)
        for node, cost in zip(problem.nodes, (1, 2, 3), strict=True)
    ]
    problem = problem.replace(nodes=nodes)
    domain = Domain.of(problem)
    for loads in itertools.product((0, 2, 5), repeat=3):
        found = domain.repaired(loads)
        assert found is not None
        assert check(problem, CodedAnswer.of(found)).valid
