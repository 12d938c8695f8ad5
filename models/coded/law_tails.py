"""How heavy the tail of a completion time is, and so whether its mean is infinite.

If the time of a node i has the tail ``t^-a_i`` (Pareto: its shape; other laws fall faster than
every power), then a job that fails only while all nodes of a set A are late has the tail
``t^-b`` with b the least sum of a_i over such sets A. Nodes that straggle together count once,
with the largest a of those that are late. The mean is infinite if and only if b <= 1, the
variance if and only if b <= 2. The least sum is a covering knapsack, solved exactly: in integers
if the shapes have a common denominator that is small enough.
"""

from __future__ import annotations

import itertools
import math
from collections.abc import Sequence
from fractions import Fraction
from typing import TypeAlias

import numpy as np

from allocsolve.models.arrays import IntArray
from allocsolve.models.coded.completion import Completion, Condition
from allocsolve.models.coded.law_terms import NoExactLaw, tail_index

__all__ = ["Source", "by_source", "completion_index", "least_cover", "source_labels"]

Source: TypeAlias = Sequence[tuple[Fraction, int]]
"""What a source can keep back: (tail index, weight of its results with at most this index)."""

_LARGEST = 2**52
_MOST_HEAVY = 14


def least_cover(sources: Sequence[Source], target: int) -> float:
    """Return the least sum of indices whose sources keep back at least a weight.

    Parameters
    ----------
    sources
        Of each at most one entry is chosen; its weight counts all entries before it.
    target
        Weight that must be late so that the job is.

    Returns
    -------
    float
        Infinite if all heavy sources together do not suffice.
    """
    if target <= 0:
        return 0.0
    indices = [index for source in sources for index, _ in source]
    if not indices:
        return math.inf
    step = math.lcm(*(index.denominator for index in indices))
    whole = sum(indices) * step < _LARGEST
    unit = step if whole else 1
    best = np.full(target + 1, np.inf)
    best[0] = 0.0
    for source in sources:
        before = best.copy()
        for index, weight in source:
            moved = np.full(target + 1, np.inf)
            kept = min(weight, target)
            moved[kept:] = before[: target + 1 - kept]
            moved[target] = before[target - kept :].min()
            np.minimum(best, moved + float(index * unit), out=best)
    return float(best[target]) / unit


def source_labels(completion: Completion) -> list[int]:
    """Return for each arrival the number of what draws it: a node, or a group of nodes."""
    group, node = completion.problem.arrays.group, completion.arrivals.node
    return [int(-1 - group[i]) if group[i] >= 0 else int(i) for i in node.tolist()]


def by_source(completion: Completion, arrivals: IntArray) -> list[list[int]]:
    """Return the positions, within a list of arrivals, that belong to each source."""
    labels = source_labels(completion)
    found: dict[int, list[int]] = {}
    for position, arrival in enumerate(arrivals.tolist()):
        found.setdefault(labels[arrival], []).append(position)
    return list(found.values())


def completion_index(completion: Completion) -> float:
    """Return b if the completion time has a tail ``t^-b``, infinite if it falls faster.

    A job is late if one of its conditions is, so the heaviest condition decides.

    Raises
    ------
    NoExactLaw
        If a decoder has too many sets of heavy nodes.
    """
    if completion.problem.arrays.scenarios is not None:
        return math.inf
    if completion.decoder is not None:
        return _decoder_index(completion)
    return min((_condition_index(completion, c) for c in completion.conditions), default=math.inf)


def _condition_index(completion: Completion, condition: Condition) -> float:
    sources = by_source(completion, condition.arrivals)
    heavy = [_heavy(completion, condition, mine) for mine in sources]
    excess = int(condition.weights.sum()) - condition.need
    return least_cover([source for source in heavy if source], excess + 1)


def _heavy(completion: Completion, condition: Condition, mine: Sequence[int]) -> Source:
    """Return what a source can keep back, by rising tail index; light laws keep nothing back."""
    laws, node = completion.problem.arrays.laws, completion.arrivals.node
    weights: dict[Fraction, int] = {}
    for position in mine:
        index = tail_index(laws[node[condition.arrivals[position]]])
        if index is not None:
            weights[index] = weights.get(index, 0) + int(condition.weights[position])
    total, entries = 0, []
    for index in sorted(weights):
        total += weights[index]
        entries.append((index, total))
    return entries


def _decoder_index(completion: Completion) -> float:
    """Try all sets of heavy nodes, by how heavy they are together."""
    decoder, nodes = completion.decoder, completion.arrivals.node.tolist()
    assert decoder is not None
    laws = completion.problem.arrays.laws
    heavy = {i: index for i in nodes if (index := tail_index(laws[i])) is not None}
    if len(heavy) > _MOST_HEAVY:
        raise NoExactLaw("too many nodes with heavy tails under an encoding matrix; simulate it")
    least = math.inf
    for size in range(len(heavy) + 1):
        for late in itertools.combinations(heavy, size):
            cost = float(sum(heavy[i] for i in late))
            if cost < least and not decoder.decodes([i for i in nodes if i not in late]):
                least = cost
    return least
