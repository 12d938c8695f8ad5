"""Placements of gradients against everything that the checker accepts, and what is looked at."""

from __future__ import annotations

import itertools
from collections import Counter
from collections.abc import Iterator

import numpy as np
import pytest

import allocsolve
from allocsolve.models.coded.answer import Code, CodedAnswer, CodedResult
from allocsolve.models.coded.baselines_gradient import GradientJob
from allocsolve.models.coded.check import check
from allocsolve.models.coded.costs import exact_cost
from allocsolve.models.coded.data import Gradient, Limits, Node, ObjectiveName, ObjectiveSpec
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.nodes import Law
from allocsolve.solvers.coded import part_search
from allocsolve.solvers.coded.part_moves import Groups, Loads, Moves

EXPONENTIAL = Law(law="exponential", rate=1)
OBJECTIVES: tuple[ObjectiveName, ...] = ("mean", "quantile", "deadline_probability", "cost")


def _solve(problem: CodedProblem) -> CodedResult:
    result = allocsolve.solve(problem, time_limit=None, threads=1)
    assert isinstance(result, CodedResult)
    assert allocsolve.check(problem, result).violations == ()
    return result


def _random(seed: int, objective: ObjectiveName) -> CodedProblem:
    """Return three or four nodes of different laws, some of which store or hold less."""
    draw = np.random.default_rng(seed)
    count, partitions = (4, 2) if seed % 3 == 0 else (3, 3)
    nodes = [
        Node(
            id=f"n{i}",
            runtime=Law(law="shifted_exponential", shift=seed % 2, rate=int(draw.integers(1, 4))),
            speed=int(draw.integers(1, 5)),
            cost=int(draw.integers(1, 4)),
            startup=int(draw.integers(0, 2)),
            storage=int(draw.integers(1, partitions + 1)) if i == 0 else None,
            holds=sorted(draw.permutation(partitions)[:2].tolist()) if i == 1 + seed % 4 else None,
        )
        for i in range(count)
    ]
    return CodedProblem(
        task=Gradient(partitions=partitions, stragglers=1),
        nodes=nodes,
        objective=ObjectiveSpec(name=objective, q=0.9, deadline=4, confidence=0.6),
        limits=Limits(budget=2 * partitions * 2 if seed % 2 else None),
    )


def _placements(problem: CodedProblem) -> Iterator[CodedAnswer]:
    """Yield one answer for each law that placements with enough copies can have."""
    task, seen = problem.task, set[object]()
    assert isinstance(task, Gradient)
    sets = [
        part
        for size in range(task.partitions + 1)
        for part in itertools.combinations(range(task.partitions), size)
    ]
    held = [
        [part for part in sets if node.holds is None or set(part) <= set(node.holds)]
        for node in problem.nodes
    ]
    for parts in itertools.product(*held):
        copies = Counter(itertools.chain(*parts))
        if any(copies[part] < 2 for part in range(task.partitions)):
            continue
        keys = {"mds": tuple(len(mine) for mine in parts), "fractional_repetition": parts}
        for family, key in keys.items():
            if (family, key) not in seen:
                seen.add((family, key))
                loads = [len(mine) for mine in parts]
                yield CodedAnswer.of(loads, code=Code(family), partitions=parts)


@pytest.mark.parametrize("objective", OBJECTIVES)
@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("few", [True, False], ids=["enumerated", "searched"])
def test_no_placement_that_the_checker_accepts_is_better(
    monkeypatch: pytest.MonkeyPatch, seed: int, objective: ObjectiveName, few: bool
) -> None:
    """Plain enumeration through the checker knows nothing of the arguments that narrow a search."""
    if not few:
        monkeypatch.setattr(part_search, "_ALL", 0)
        monkeypatch.setattr(part_search, "_MOST_SCORES", 300)
    problem = _random(seed, objective)
    right = [answer for answer in _placements(problem) if check(problem, answer).valid]
    least = min((exact_cost(problem, answer) for answer in right), default=None)
    result = _solve(problem)
    if least is None:
        assert result.answer is None
        return
    assert result.answer is not None
    assert exact_cost(problem, result.answer) == pytest.approx(least, rel=1e-9, abs=1e-12)
    told = result.solver.options["placements"]
    assert told == ("all" if few else "searched")


def test_nodes_are_left_out_and_groups_are_formed_where_that_is_faster() -> None:
    """Nodes of speed 1, 2, 3 and 1 with little storage did worse by exchanges of single units."""
    storage, holds = {2: 4}, {3: [0, 1, 2]}
    nodes = [
        Node(id=f"g{i}", runtime=EXPONENTIAL, speed=v, storage=storage.get(i), holds=holds.get(i))
        for i, v in enumerate((1, 2, 3, 1))
    ]
    problem = CodedProblem(
        task=Gradient(partitions=6, stragglers=1), nodes=nodes, objective=ObjectiveSpec(name="mean")
    )
    alone = CodedAnswer.of([6, 2, 4, 0], partitions=[range(6), [0, 1], [2, 3, 4, 5], []])
    assert exact_cost(problem, alone) == pytest.approx(1.4760022586)
    grouped = _solve(problem)
    assert grouped.objective.value == pytest.approx(19 / 15)
    assert grouped.assignment.code.family == "fractional_repetition"


def test_a_cost_is_found_though_every_rule_is_too_late() -> None:
    """Rules spread the work; only fast nodes are done in time, and no rule leaves slow ones out."""
    nodes = [
        Node(id=f"n{i}", runtime=Law(law="deterministic", value=1), speed=v, cost=1)
        for i, v in enumerate((8, 8, 8, 1, 1))
    ]
    problem = CodedProblem(
        task=Gradient(partitions=8, stragglers=2),
        nodes=nodes,
        objective=ObjectiveSpec(name="cost", deadline=1, confidence=0.9),
    )
    result = _solve(problem)
    assert result.objective.value == 24
    assert list(result.assignment.loads) == [8, 8, 8, 0, 0]


@pytest.mark.parametrize("objective", OBJECTIVES[:3])
def test_many_nodes_are_never_worse_than_a_rule(objective: ObjectiveName) -> None:
    """Where a search cannot look at everything it starts from the best rule."""
    nodes = [
        Node(id=f"n{i}", runtime=EXPONENTIAL, speed=1 + i % 7, storage=9 + i % 5) for i in range(20)
    ]
    problem = CodedProblem(
        task=Gradient(partitions=40, stragglers=2),
        nodes=nodes,
        objective=ObjectiveSpec(name=objective, q=0.9, deadline=4),
    )
    result = _solve(problem)
    sign = -1 if objective == "deadline_probability" else 1
    known = [sign * value for value in result.baselines.values() if value is not None]
    assert known
    assert result.objective.known is not None
    assert sign * result.objective.known <= min(known) + 1e-12
    assert result.solver.options["placements"] == "searched"


@pytest.mark.parametrize("family", [Loads, Groups])
def test_moves_lead_to_every_state(family: type[Moves[object]]) -> None:
    """A state that no moves lead to would never be found, however long a search takes."""
    nodes = [Node(id=f"n{i}", runtime=EXPONENTIAL, speed=v) for i, v in enumerate((1, 2, 3, 5))]
    problem = CodedProblem(task=Gradient(partitions=3, stragglers=1), nodes=nodes)
    moves, draw = family(GradientJob(problem)), np.random.default_rng(0)
    every = moves.every()
    assert every is not None
    states = {_plain(state) for state in every}
    start = next(moves.starts(None))
    reached, left = {_plain(start)}, [start]
    while left:
        state = left.pop()
        for near in moves.near(state, 1, draw):
            if moves.answer(near) is not None and _plain(near) not in reached:
                reached.add(_plain(near))
                left.append(near)
    assert reached == states


def _plain(state: object) -> object:
    """Return a state without the order of its groups."""
    assert isinstance(state, tuple)
    return state if isinstance(state[0], int) else frozenset(state)
