"""The loads of two nodes at once: right scores, the best pair of all, limits that are kept."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.coded.law_arrays import array_survival
from allocsolve.models.coded.law_kernels import threshold_survival
from allocsolve.models.coded.load_kernels import Table
from allocsolve.models.coded.pair_kernels import Goal, scan_pairs

TOP, NEED = 6, 7


def _table(seed: int, nodes: int = 4, times: int = 5) -> Table:
    """Draw how late each load of each node is: larger loads later, later times less late."""
    draw = np.random.default_rng(seed)
    late = np.sort(draw.random((times, nodes, TOP)), axis=2)
    late = np.sort(late, axis=0)[::-1]
    steps = np.concatenate([[0], np.arange(TOP + 1)])
    first = steps + TOP * np.arange(nodes)[:, None]
    flat = np.ascontiguousarray(late.reshape(times, -1))
    return Table(flat, np.ones(flat.shape[1], np.int64), first, np.arange(nodes))


def _goal(seed: int, table: Table, limits: FloatArray) -> Goal:
    draw = np.random.default_rng(seed + 100)
    nodes = len(table.class_of)
    price = draw.integers(1, 5, nodes).astype(np.float64)
    return Goal(draw.random(len(table.late)), price, np.full(nodes, TOP), limits, NEED)


def _score(table: Table, goal: Goal, loads: IntArray) -> float:
    """Score loads by all combinations of who has arrived."""
    score = 0.0
    for k, weight in enumerate(goal.measure.tolist()):
        tails = [
            1.0 if load == 0 else float(table.late[k, table.first[i, load]])
            for i, load in enumerate(loads.tolist())
        ]
        for arrived in itertools.product((0, 1), repeat=len(tails)):
            chance = math.prod(
                1 - tail if here else tail for tail, here in zip(tails, arrived, strict=True)
            )
            if np.array(arrived) @ loads < goal.need:
                score += weight * chance
    if score <= goal.limits[2]:
        score = float(goal.price @ loads) - float(goal.limits[3])
    return score


OPEN = np.array([24.0, np.inf, -1.0, 0.0])
LIMITED = np.array([12.0, 30.0, -1.0, 0.0])
PRICED = np.array([24.0, np.inf, 1.2, 100.0])


@pytest.mark.parametrize("limits", [OPEN, LIMITED, PRICED], ids=["open", "limited", "priced"])
@pytest.mark.parametrize("seed", range(4))
def test_a_pair_gets_the_best_of_all_its_loads(seed: int, limits: FloatArray) -> None:
    """Taking two nodes out of the law and back must be exact, with every limit kept."""
    table = _table(seed)
    goal = _goal(seed, table, limits)
    offsets, law = np.arange(-TOP, TOP + 1), np.empty((len(table.late), 25))
    for pair in itertools.combinations(range(4), 2):
        loads, value = np.array([3, 2, 4, 2]), np.zeros(1)
        scan_pairs(table, goal, np.array([pair]), offsets, loads, value, law)
        best = math.inf
        for both in itertools.product(range(TOP + 1), repeat=2):
            trial = np.array([3, 2, 4, 2])
            trial[list(pair)] = both
            if NEED <= trial.sum() <= limits[0] and goal.price @ trial <= limits[1]:
                best = min(best, _score(table, goal, trial))
        start = _score(table, goal, np.array([3, 2, 4, 2]))
        assert value[0] == pytest.approx(min(best, start), rel=1e-12)
        assert _score(table, goal, loads) == pytest.approx(value[0], rel=1e-12)


def test_the_law_stays_right_over_many_changes() -> None:
    """Changes one after another may not pile up errors: the score at the end is that of loads."""
    table = _table(9)
    goal = _goal(9, table, OPEN)
    pairs = np.array([*itertools.permutations(range(4), 2), *((i, -1) for i in range(4))] * 5)
    loads, value = np.array([6, 6, 6, 6]), np.zeros(1)
    found = scan_pairs(
        table, goal, pairs, np.array([-1, 0, 1]), loads, value, np.empty((len(table.late), 25))
    )
    assert found > 2
    assert value[0] == pytest.approx(_score(table, goal, loads), rel=1e-12)


@pytest.mark.parametrize("seed", range(6))
def test_an_exchange_needs_no_more_room_than_its_ends(seed: int) -> None:
    """Many units that go from j to i may not be out twice in between: that is outside of memory."""
    table = _table(seed, times=1)
    start = np.array([0, 6, 1, 0]) if seed % 2 else np.array([6, 0, 0, 1])
    goal = _goal(seed, table, np.array([7.0, np.inf, -1.0, 0.0]))
    room = np.full((1, 40), 0.5)
    loads, value = start.copy(), np.zeros(1)
    pairs = np.array([(0, 1), (2, 3), (0, 2), (1, 3), (0, 3), (1, 2)] * 3)
    scan_pairs(table, goal, pairs, np.arange(-TOP, TOP + 1), loads, value, room[:, :8])
    assert (room[:, 8:] == 0.5).all()
    assert loads.sum() == NEED
    assert value[0] == pytest.approx(_score(table, goal, loads), rel=1e-12)


@pytest.mark.parametrize("seed", range(30))
def test_arrays_give_the_bytes_of_the_loops(seed: int) -> None:
    """Which of both runs may be seen nowhere but on the clock, down to numbers near zero."""
    draw = np.random.default_rng(seed)
    counts = draw.integers(1, 2 + seed % 3, int(draw.integers(1, 9)))
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    weight = draw.integers(1, 6, first[-1])
    late = draw.random((9, int(first[-1]))) ** draw.choice([1, 5, 200])
    late[:2] **= 700
    late[draw.random(late.shape) < 0.1] = 1.0
    late[draw.random(late.shape) < 0.1] = 0.0
    for need in (0, 1, int(weight.sum()) // 2, int(weight.sum()), int(weight.sum()) + 2):
        loops, arrays = np.empty(9), np.empty(9)
        threshold_survival(late, first, weight, need, loops)
        array_survival(late, first, weight, need, arrays)
        assert loops.tobytes() == arrays.tobytes()
