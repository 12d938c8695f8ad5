"""Elastic loads: water filling over the speeds, and pieces that realise the loads.

Woolsey, Chen and Ji (IEEE Trans. Communications 69, 2021): with P = L + S nodes for each part of
[0, 1], the least time t has ``sum_i min(1, speed_i t) = P``. Loads of at most 1 that add up
to P are realised by laying them end to end around a circle of length 1: each point is covered by
exactly P different nodes, and n loads cut the circle at no more than n points (the rule of
McNaughton, Management Science 6, 1959; it needs no more pieces than the filling algorithm).
All numbers are exact fractions.

Where the matrix is stored in blocks that not all nodes hold, the parts of the blocks come from a
linear program (:mod:`allocsolve.solvers.coded.piece_program`), and each block is cut by the same
rule.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from dataclasses import dataclass
from fractions import Fraction

from allocsolve.models.coded.answer import CodedAnswer, Piece
from allocsolve.models.coded.data import Elastic
from allocsolve.models.coded.facts import Facts
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.thresholds import needed_units
from allocsolve.models.coded.worst import mean_times
from allocsolve.models.exact import exact

__all__ = [
    "ElasticJob",
    "blocks_answer",
    "elastic_answer",
    "equal_loads",
    "equal_parts",
    "pieces_of",
    "water_filled",
]


@dataclass(frozen=True, eq=False)
class ElasticJob:
    """An elastic job on stored blocks; lists over nodes, exact numbers.

    Attributes
    ----------
    copies
        Nodes that compute each point of each block.
    blocks
        Number of blocks of equal size.
    holders
        Nodes that hold each block and can work.
    begin, unit
        When a node has sent an empty load, and its time for the whole matrix.
    caps, cost
        Largest load, and price of the whole matrix.
    budget
        Largest cost, None without a limit.
    """

    copies: int
    blocks: int
    holders: tuple[tuple[int, ...], ...]
    begin: tuple[Fraction, ...]
    unit: tuple[Fraction, ...]
    caps: tuple[Fraction, ...]
    cost: tuple[Fraction, ...]
    budget: Fraction | None

    @classmethod
    def of(cls, problem: CodedProblem) -> ElasticJob:
        """Return the job of a problem; without blocks the matrix is one."""
        task, budget = problem.task, problem.limits.budget
        assert isinstance(task, Elastic)
        begin, unit = _times(problem)
        caps, blocks = _caps(problem), task.partitions or 1
        able = [i for i, cap in enumerate(caps) if cap > 0]
        held = [None if node.holds is None else set(node.holds) for node in problem.nodes]
        holders = tuple(
            tuple(i for i in able if (mine := held[i]) is None or block in mine)
            for block in range(blocks)
        )
        return cls(
            copies=needed_units(task),
            blocks=blocks,
            holders=holders,
            begin=tuple(begin),
            unit=tuple(unit),
            caps=tuple(caps),
            cost=tuple(exact(node.cost) for node in problem.nodes),
            budget=None if budget is None else exact(budget),
        )


def water_filled(problem: CodedProblem) -> tuple[list[Fraction], Fraction] | None:
    """Return the loads of least worst time and that time; None if the capacities do not suffice.

    A node with the load x is done at ``startup + message + x unit``, its mean times.
    """
    assert isinstance(problem.task, Elastic)
    need, caps = needed_units(problem.task), _caps(problem)
    begin, unit = _times(problem)
    marks = {b for b, cap in zip(begin, caps, strict=True) if cap > 0}
    marks |= {b + u * cap for b, u, cap in zip(begin, unit, caps, strict=True) if cap > 0}

    def filled(time: Fraction) -> list[Fraction]:
        return [_filled(time, b, u, cap) for b, u, cap in zip(begin, unit, caps, strict=True)]

    ranked = sorted(marks)
    above = next((time for time in ranked if sum(filled(time)) >= need), None)
    if above is None:
        return None
    # Between two marks the sum is linear; at a mark it may jump, where a node takes no time.
    below = max((time for time in ranked if time < above), default=above)
    inner = [
        1 / u
        for b, u, cap in zip(begin, unit, caps, strict=True)
        if u > 0 and cap > 0 and b <= below < b + u * cap
    ]
    time = above
    if below < above and inner:
        time = min(
            above, below + (need - sum(filled(below), Fraction(0))) / sum(inner, Fraction(0))
        )
    return _trimmed(filled(time), unit, need), time


def _filled(time: Fraction, begin: Fraction, unit: Fraction, cap: Fraction) -> Fraction:
    if cap == 0 or time < begin:
        return Fraction(0)
    return cap if unit == 0 else min(cap, (time - begin) / unit)


def _trimmed(loads: list[Fraction], unit: Sequence[Fraction], need: int) -> list[Fraction]:
    """Take what is too much from slow nodes."""
    spare = sum(loads, Fraction(0)) - need
    for i in sorted(range(len(loads)), key=lambda i: (-unit[i], i)):
        less = min(spare, loads[i])
        loads[i] -= less
        spare -= less
    return loads


def equal_loads(problem: CodedProblem) -> list[Fraction] | None:
    """Return the same load for every node that is alive, None if one cannot take it."""
    assert isinstance(problem.task, Elastic)
    need, caps = needed_units(problem.task), _caps(problem)
    alive = sum(exact(node.speed) > 0 for node in problem.nodes)
    share = Fraction(need, alive) if alive else Fraction(0)
    loads = [share if exact(node.speed) > 0 else Fraction(0) for node in problem.nodes]
    fits = share <= 1 and all(load <= cap for load, cap in zip(loads, caps, strict=True))
    return loads if alive and fits else None


def equal_parts(job: ElasticJob) -> list[list[Fraction]] | None:
    """Return the same part of a block for all its holders; None if they are too few."""
    parts = [[Fraction(0)] * len(job.caps) for _ in range(job.blocks)]
    for mine, held in zip(parts, job.holders, strict=True):
        if len(held) < job.copies:
            return None
        for node in held:
            mine[node] = Fraction(job.copies, len(held))
    loads = [sum(column, Fraction(0)) / job.blocks for column in zip(*parts, strict=True)]
    fits = all(load <= cap for load, cap in zip(loads, job.caps, strict=True))
    return parts if fits else None


def blocks_answer(problem: CodedProblem, parts: Sequence[Sequence[Fraction]]) -> CodedAnswer:
    """Return parts of blocks as an answer, each block cut into pieces.

    Parameters
    ----------
    parts
        ``parts[g][n]`` in [0, 1]: how much of block g node n computes; for every block they
        add up to the nodes of each piece.
    """
    names, count = [node.id for node in problem.nodes], len(parts)
    pieces = [
        Piece(piece.size / count, piece.nodes) for mine in parts for piece in pieces_of(names, mine)
    ]
    loads = (sum(column, Fraction(0)) / count for column in zip(*parts, strict=True))
    return CodedAnswer(
        loads=tuple(loads),
        batches=None if problem.limits.batches == 1 else 1,
        pieces=tuple(pieces),
    )


def elastic_answer(problem: CodedProblem, loads: Sequence[Fraction]) -> CodedAnswer:
    """Return loads with pieces that realise them."""
    assert isinstance(problem.task, Elastic)
    return CodedAnswer(
        loads=tuple(loads),
        batches=None if problem.limits.batches == 1 else 1,
        pieces=pieces_of([node.id for node in problem.nodes], loads),
    )


def pieces_of(names: Sequence[str], loads: Sequence[Fraction]) -> tuple[Piece, ...]:
    """Cut [0, 1] into pieces that give each node its load.

    Parameters
    ----------
    loads
        At most 1 each, with a whole number as their sum: the nodes of each piece.
    """
    ends, place = [], Fraction(0)
    for load in loads:
        ends.append((place, place + load))
        place += load
    cuts = [*sorted({end % 1 for _, end in ends} | {Fraction(0)}), Fraction(1)]
    pieces = []
    for low, high in itertools.pairwise(cuts):
        middle = (low + high) / 2
        inside = [
            name
            for name, (start, end) in zip(names, ends, strict=True)
            if start <= middle + math.ceil(start - middle) < end
        ]
        pieces.append(Piece(high - low, tuple(inside)))
    return tuple(pieces)


def _caps(problem: CodedProblem) -> list[Fraction]:
    facts = Facts(problem)
    return [facts.capacity(node) or Fraction(0) for node in problem.nodes]


def _times(problem: CodedProblem) -> tuple[list[Fraction], list[Fraction]]:
    """Return when each node has sent an empty load, and its time for all of [0, 1]."""
    begin, unit = [], []
    for node, mean in zip(problem.nodes, mean_times(problem).tolist(), strict=True):
        draw = exact(mean) if math.isfinite(mean) else Fraction(10**30)
        start, speed = exact(node.startup) + exact(node.message), exact(node.speed)
        additive = problem.scaling == "additive"
        begin.append(start + draw if additive else start)
        unit.append(exact(node.row_time) if additive else draw / speed if speed else draw)
    return begin, unit
