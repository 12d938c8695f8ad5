"""The exact survival function of a completion time, put together from independent parts.

The conditions of a job fall into groups that share no node (and no group of nodes that straggle
together); the job is complete by t if all groups are, so ``1 - S = prod (1 - S_g)``. A group
of one condition is a weighted sum of arrived results: the dynamic program. A group of several
conditions, or a decoder, is summed over the states of its nodes, if these are not too many.
"""

from __future__ import annotations

import itertools
import math
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from allocsolve.models.arrays import BoolArray, FloatArray, IntArray, frozen, offsets
from allocsolve.models.coded.completion import Completion, Condition
from allocsolve.models.coded.kernel_sets import COMPLETION
from allocsolve.models.coded.law_cover import can_cover, uncovered
from allocsolve.models.coded.law_tails import by_source, source_labels
from allocsolve.models.coded.law_terms import NoExactLaw
from allocsolve.models.kernels import runs_plain

__all__ = ["MOST_STATES", "Covered", "Part", "parts_of"]

MOST_STATES = 2**14
"""States of nodes that are enumerated at most."""

_AT_ONCE = 2.0
"""Seconds that arrays may take for one law before compiled loops are loaded for it."""

_PATIENT = 15.0
"""The same before they are compiled."""

_BLOCK = 2**20
"""Numbers of one block of an enumeration."""


class Part(ABC):
    """A part of a job that shares no node with the others."""

    arrivals: IntArray
    """int64 (k,), the results that it waits for, ordered by source."""

    @abstractmethod
    def survival(self, late: FloatArray) -> FloatArray:
        """Return P(not complete), from P(late) of its arrivals, float64 (times, k)."""


@dataclass(eq=False)
class _Threshold(Part):
    """Weights of the arrived results that reach a need.

    Attributes
    ----------
    asked
        Times at which the survival function was asked for, so far.
    """

    arrivals: IntArray
    first: IntArray
    weights: IntArray
    need: int
    asked: int = 0

    def survival(self, late: FloatArray) -> FloatArray:
        from allocsolve.models.coded.law_arrays import array_seconds, array_survival
        from allocsolve.models.coded.law_kernels import threshold_survival

        out = np.empty(len(late))
        common = math.gcd(*self.weights.tolist())
        weights, need = self.weights // common, -(-self.need // common)
        self.asked += len(late)
        seconds = array_seconds(self.asked, len(weights), len(self.first) - 1, need)
        if runs_plain(threshold_survival) or _is_quick(seconds):
            array_survival(late, self.first, weights, need, out)
        else:
            late = np.ascontiguousarray(late)
            threshold_survival(late, self.first.copy(), weights, need, out)
        return out


def _is_quick(seconds: float) -> bool:
    """Whether arrays are done before compiled loops would be there."""
    if COMPLETION.is_loaded():
        return False
    return seconds < _AT_ONCE or (seconds < _PATIENT and not COMPLETION.is_ready())


@dataclass(frozen=True, eq=False)
class _States(Part):
    """States of independent nodes: how many of its results each of them has sent.

    Attributes
    ----------
    failed
        bool, one axis for each source, whether the job is not complete in that state.
    """

    arrivals: IntArray
    first: IntArray
    failed: BoolArray

    def survival(self, late: FloatArray) -> FloatArray:
        out = np.empty(len(late))
        step = max(1, _BLOCK // self.failed.size)
        states = self.failed.ravel()
        for k in range(0, len(late), step):
            joint = self._joint(late[k : k + step])
            out[k : k + step] = joint[:, states].sum(axis=1)
        return out

    def _joint(self, late: FloatArray) -> FloatArray:
        """Return the probability of each state, float64 (times, states)."""
        joint = np.ones((len(late), 1))
        for a, b in itertools.pairwise(self.first.tolist()):
            edges = np.concatenate(
                [np.zeros((len(late), 1)), late[:, a:b], np.ones((len(late), 1))], axis=1
            )
            shares = np.maximum(np.diff(edges, axis=1), 0.0)
            joint = (joint[:, :, None] * shares[:, None, :]).reshape(len(late), -1)
        return joint


@dataclass(frozen=True, eq=False)
class Covered(Part):
    """Results of independent nodes, each of which covers some parts; all have to be covered.

    Attributes
    ----------
    covers
        Parts that each result covers.
    """

    arrivals: IntArray
    first: IntArray
    covers: tuple[tuple[int, ...], ...]
    parts: int

    def survival(self, late: FloatArray) -> FloatArray:
        """Return P(some part is not covered), float64 (times,)."""
        return uncovered(late, self.first, self.covers, self.parts)


def parts_of(completion: Completion) -> tuple[Part, ...]:
    """Split a job into independent parts.

    Raises
    ------
    NoExactLaw
        If nodes of several conditions have too many states, or straggle together.
    """
    if completion.decoder is not None:
        everything = np.arange(len(completion.arrivals.node))
        return (_enumerated(completion, everything, ()),)
    _refuse_correlated_rows(completion)
    parts: list[Part] = []
    for group in _components(completion):
        if len(group) == 1:
            parts.append(_threshold(completion, group[0]))
        else:
            members = np.unique(np.concatenate([c.arrivals for c in group]))
            parts.append(_enumerated(completion, members, group))
    return tuple(parts)


def _components(completion: Completion) -> Iterator[list[Condition]]:
    """Yield the conditions in groups that share no source."""
    labels = source_labels(completion)
    leader: dict[int, int] = {}
    groups: dict[int, list[Condition]] = {}
    for number, condition in enumerate(completion.conditions):
        mine = {labels[k] for k in condition.arrivals.tolist()}
        merged = [condition]
        for old in {leader[label] for label in mine if label in leader}:
            merged = groups.pop(old) + merged
        groups[number] = merged
        for member in merged:
            leader.update((labels[k], number) for k in member.arrivals.tolist())
    yield from groups.values()


def _threshold(completion: Completion, condition: Condition) -> _Threshold:
    sources = by_source(completion, condition.arrivals)
    weights = condition.weights
    # Sources that bring little come first, so that the dynamic program stays narrow.
    sources.sort(key=lambda mine: int(weights[mine].sum()))
    order = [position for mine in sources for position in mine]
    arrivals = frozen(condition.arrivals[order])
    return _Threshold(
        arrivals=arrivals,
        first=offsets([len(mine) for mine in sources]),
        weights=frozen(weights[order]),
        need=condition.need,
    )


def _enumerated(
    completion: Completion, arrivals: IntArray, conditions: Sequence[Condition]
) -> Part:
    """Enumerate the states of the nodes of some conditions, or of a decoder."""
    sources = by_source(completion, arrivals)
    node = completion.arrivals.node
    covered = _covered(completion, arrivals, conditions, sources)
    if covered is not None:
        return covered
    _refuse_many(completion, arrivals, sources)
    order = [position for mine in sources for position in mine]
    place = {int(arrivals[position]): k for k, position in enumerate(order)}
    shape = tuple(len(mine) + 1 for mine in sources)
    sent = np.array(list(itertools.product(*(range(size) for size in shape))), dtype=np.int64)
    first = offsets([len(mine) for mine in sources])
    source_of = np.repeat(np.arange(len(sources)), np.diff(first))
    arrived = sent[:, source_of] > (np.arange(len(order)) - first[source_of])
    if completion.decoder is not None:
        senders = node[arrivals[order]]
        complete = np.array([completion.decoder.decodes(senders[row].tolist()) for row in arrived])
    else:
        complete = np.ones(len(sent), dtype=np.bool_)
        for condition in conditions:
            mine = [place[k] for k in condition.arrivals.tolist()]
            complete &= arrived[:, mine] @ condition.weights >= condition.need
    return _States(
        arrivals=frozen(arrivals[order]),
        first=first,
        failed=~complete.reshape(shape),
    )


def _covered(
    completion: Completion,
    arrivals: IntArray,
    conditions: Sequence[Condition],
    sources: Sequence[Sequence[int]],
) -> Part | None:
    """Return the law of what is covered, where states are too many and one result is enough."""
    grouped = completion.problem.arrays.group[completion.arrivals.node[arrivals]] >= 0
    states = math.prod(len(mine) + 1 for mine in sources)
    is_small = states <= MOST_STATES
    if is_small or not conditions or grouped.any() or not can_cover(conditions, len(arrivals)):
        return None
    order = [position for mine in sources for position in mine]
    covers: dict[int, list[int]] = {int(arrivals[position]): [] for position in order}
    for part, condition in enumerate(conditions):
        for arrival in condition.arrivals.tolist():
            covers[arrival].append(part)
    return Covered(
        arrivals=frozen(arrivals[order]),
        first=offsets([len(mine) for mine in sources]),
        covers=tuple(tuple(covers[int(arrivals[position])]) for position in order),
        parts=len(conditions),
    )


def _refuse_correlated_rows(completion: Completion) -> None:
    """Refuse sums of draws that are shared draw by draw: they depend on each other in parts."""
    problem = completion.problem
    grouped = problem.arrays.group[completion.arrivals.node] >= 0
    if problem.scaling == "per_row" and grouped.any():
        raise NoExactLaw(
            "nodes of a group share the draw of every row in scaling 'per_row', so the completion "
            "time has no exact law here; simulate it (Monte Carlo)"
        )


def _refuse_many(
    completion: Completion, arrivals: IntArray, sources: Sequence[Sequence[int]]
) -> None:
    node, group = completion.arrivals.node, completion.problem.arrays.group
    if (group[node[arrivals]] >= 0).any():
        raise NoExactLaw(
            "nodes of a group straggle together and take part in several conditions, so the "
            "completion time has no exact law here; simulate it (Monte Carlo)"
        )
    states = math.prod(len(mine) + 1 for mine in sources)
    if states > MOST_STATES:
        raise NoExactLaw(
            f"the {len(sources)} nodes have {states} states, more than the {MOST_STATES} that are "
            "enumerated, so the completion time has no exact law here; simulate it (Monte Carlo)"
        )
