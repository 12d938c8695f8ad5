"""Gradients over rounds: listed loads, and replays of every pattern of stragglers."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator

import numpy as np
import pytest

import allocsolve
from allocsolve.models.arrays import BoolArray
from allocsolve.models.coded.answer import Code, CodedAnswer, CodedResult
from allocsolve.models.coded.data import Gradient, Limits, Node, Sequential
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.rounds import (
    MULTIPLEXED,
    REPEATED,
    Rounds,
    is_bursty,
    unfinished_job,
)
from allocsolve.models.coded.rules import burst_load, multiplexed_load
from allocsolve.models.errors import InputError
from allocsolve.models.nodes import Law
from allocsolve.models.result import Status


def _rounds(
    nodes: int, partitions: int, burst: int, window: int, lam: int, **fields: object
) -> CodedProblem:
    told = Sequential(burst=burst, window=window, lam=lam)
    return CodedProblem(
        task=Gradient(partitions=partitions, stragglers=0, sequential=told),
        nodes=[Node(id=f"w{i}") for i in range(nodes)],
    ).replace(**fields)


def _solve(problem: CodedProblem, method: str) -> CodedResult:
    result = allocsolve.solve(problem, method=method, time_limit=None, threads=1)
    assert isinstance(result, CodedResult)
    if result.answer is not None:
        assert allocsolve.check(problem, result).violations == ()
    return result


@pytest.mark.parametrize(
    ("method", "rounds", "partitions", "load"),
    [
        pytest.param("gc", (2, 3, 15), 256, 0.0625, id="one code for fifteen stragglers"),
        pytest.param("sr_sgc", (2, 3, 23), 256, 0.05078125, id="selective repetition"),
        pytest.param("m_sgc", (2, 3, 23), 12800, 0.0075, id="multiplexed"),
    ],
)
def test_loads_of_nodes_alike_are_the_listed_ones(
    method: str, rounds: tuple[int, int, int], partitions: int, load: float
) -> None:
    """Each answer passes the checker and gives every one of 256 nodes the published load."""
    result = _solve(_rounds(256, partitions, *rounds), method)
    assert {float(x) / partitions for x in result.assignment.loads} == {load}
    formula = {"gc": (rounds[2] + 1) / 256, "sr_sgc": burst_load(256, *rounds)}
    assert load == formula.get(method, multiplexed_load(256, *rounds))


def _patterns(nodes: int, length: int) -> Iterator[BoolArray]:
    for bits in itertools.product((False, True), repeat=nodes * length):
        yield np.array(bits).reshape(length, nodes)


@pytest.mark.parametrize(
    ("nodes", "burst", "window", "lam", "length"),
    [(3, 1, 2, 1, 4), (3, 1, 3, 2, 4), (2, 2, 3, 1, 6), (3, 1, 2, 2, 4)],
)
def test_every_allowed_pattern_is_survived(
    nodes: int, burst: int, window: int, lam: int, length: int
) -> None:
    """The schemes are replayed against all patterns that burst, window and lambda allow."""
    rounds, seen = Rounds(nodes, burst, window, lam), 0
    for pattern in _patterns(nodes, length):
        if is_bursty(pattern, rounds):
            seen += 1
            for family in ("cyclic", REPEATED, MULTIPLEXED):
                assert unfinished_job(pattern, rounds, family) is None
    assert seen > 20


def test_random_bursts_of_many_nodes_are_survived() -> None:
    """Ten nodes, four of them straggle in each window; single bursts are drawn at random."""
    rounds, draw, kept = Rounds(10, 2, 5, 4), np.random.default_rng(3), 0
    for _ in range(300):
        pattern = np.zeros((20, 10), dtype=np.bool_)
        for _ in range(int(draw.integers(1, 14))):
            first, node = int(draw.integers(20)), int(draw.integers(10))
            trial = pattern.copy()
            trial[first : first + int(draw.integers(1, 3)), node] = True
            pattern = trial if is_bursty(trial, rounds) else pattern
        kept += bool(pattern.any())
        assert unfinished_job(pattern, rounds, REPEATED) is None
        assert unfinished_job(pattern, rounds, MULTIPLEXED) is None
    assert kept > 250


def test_one_straggler_more_is_too_many() -> None:
    """Replays can fail: beyond lambda, or a burst too long, some job stays open."""
    rounds = Rounds(4, 1, 2, 2)
    pattern = np.zeros((6, 4), dtype=np.bool_)
    pattern[1, :3] = True
    assert not is_bursty(pattern, rounds)
    assert unfinished_job(pattern, rounds, "cyclic") == 1
    pattern[:] = False
    pattern[1:4, :2] = True
    assert not is_bursty(pattern, rounds)
    assert unfinished_job(pattern, rounds, REPEATED) is not None
    assert unfinished_job(pattern, rounds, MULTIPLEXED) is not None


def test_the_best_scheme_is_taken() -> None:
    """Multiplexed codes load least; where partitions do not divide, repetition comes next."""
    fine = _solve(_rounds(4, 4 * (1 + 3), 1, 2, 2), "auto")
    assert fine.assignment.code.family == MULTIPLEXED
    assert fine.status is Status.FEASIBLE
    rough = _solve(_rounds(4, 10, 1, 2, 2), "auto")
    assert rough.assignment.code.family == REPEATED
    assert rough.baselines["m_sgc"] is None
    plain = rough.baselines["gc"]
    assert plain is not None
    assert float(rough.objective.value) < plain


def test_speeds_and_locality_count() -> None:
    """Plain codes and repetition place partitions by speed, on nodes that hold them."""
    nodes = [
        Node(id=str(i), speed=1 + i, holds=[0, 1, 2, 3] if i % 2 else [0, 1]) for i in range(5)
    ]
    result = _solve(_rounds(1, 4, 1, 2, 1).replace(nodes=nodes), "gc")
    loads = [int(x) for x in result.assignment.loads]
    assert sum(loads) >= 8
    assert loads[4] <= 2


@pytest.mark.parametrize("method", ["gc", "sr_sgc", "m_sgc"])
def test_a_round_of_nodes_without_a_mean_is_infinite(method: str) -> None:
    """That is a value, not a missing answer."""
    law = Law(law="pareto", shape=0.5, scale=1)
    nodes = [Node(id=str(i), runtime=law) for i in range(3)]
    result = _solve(_rounds(1, 9, 1, 2, 1).replace(nodes=nodes), method)
    assert result.status is Status.FEASIBLE
    assert math.isinf(result.objective.value)


def test_what_cannot_be_is_told() -> None:
    """A burst that does not divide the window less 1 has no repetition; the warning says so."""
    result = _solve(_rounds(4, 8, 2, 4, 1), "sr_sgc")
    assert result.status is Status.UNKNOWN
    assert any("does not divide" in warning for warning in result.warnings)
    alone = _solve(_rounds(4, 7, 1, 2, 1), "m_sgc")
    assert any("no multiple of 12" in warning for warning in alone.warnings)
    tight = _solve(_rounds(4, 8, 1, 2, 1, limits=Limits(total_load=9)), "gc")
    assert tight.status is Status.UNKNOWN


def test_slots_are_judged_one_by_one() -> None:
    """A coded slot with too few copies, or slots of different sizes, are found by the checker."""
    problem = _rounds(3, 9, 1, 2, 1)
    right = _solve(problem, "m_sgc").assignment
    parts = [list(mine) for mine in right.partitions or ()]
    parts[0][-1] = parts[0][-2] - 1
    wrong = CodedAnswer.of([4] * 3, partitions=parts, code=Code(MULTIPLEXED))
    messages = [v.message for v in allocsolve.check(problem, wrong).violations]
    assert len(messages) == 1
    uneven = CodedAnswer.of(
        [len(mine) for mine in (parts[0][:3], *parts[1:])],
        partitions=[parts[0][:3], *parts[1:]],
        code=Code(MULTIPLEXED),
    )
    (fault,) = allocsolve.check(problem, uneven).violations
    assert "as many partitions as the others" in fault.message


def test_two_numbers_of_stragglers_are_refused() -> None:
    """Over rounds lambda says how many straggle; a second number would be ignored."""
    with pytest.raises(InputError, match="beside lambda 2"):
        _rounds(3, 9, 1, 2, 2).replace(
            task=Gradient(
                partitions=9, stragglers=1, sequential=Sequential(burst=1, window=2, lam=2)
            )
        )
