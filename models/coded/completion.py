"""When a coded job is complete: conditions on what has arrived.

A job is complete as soon as every one of its *conditions* holds: the weights of the arrived
results of a list reach a need.

* Matrix products: coded rows (or products) that reach the recovery threshold.
* Replication: of each block one copy.
* Gradients: all but ``stragglers`` nodes (fractional repetition: one node of each group;
  approximate ones: k nodes, whichever); in batches, each partition from one of its nodes. An
  encoding matrix that is given decodes as soon as the all-ones vector is in the span of the rows
  of the nodes that have answered.
* Elastic: each piece from ``recovery_threshold`` nodes.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray, frozen, integers
from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.arrivals import Arrivals, arrivals_of, batch_ends, batches_of
from allocsolve.models.coded.data import Elastic, Gradient, MatMul, MatVec
from allocsolve.models.coded.decoding import Decoder
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.thresholds import APPROXIMATE, needed_units

__all__ = ["REPLICATED", "Completion", "Condition", "completion_of"]

REPLICATED = ("replication", "fractional_repetition", APPROXIMATE)
"""Families in which nodes of a group do the same work."""


@dataclass(frozen=True, eq=False)
class Condition:
    """The weights of the arrived ones of some results reach a need.

    Attributes
    ----------
    arrivals, weights
        int64 (k,), positions in the table of arrivals and what each of them brings.
    """

    arrivals: IntArray
    weights: IntArray
    need: int

    def times(self, times: FloatArray) -> FloatArray:
        """Return when the condition begins to hold.

        Parameters
        ----------
        times
            float64 (draws, m), when each result arrives.

        Returns
        -------
        float64 (draws,)
            Infinite where it never holds.
        """
        mine = times[:, self.arrivals]
        if self.need > int(self.weights.sum()):
            return np.full(len(times), np.inf)
        if self.need <= 0:
            return np.zeros(len(times))
        if (self.weights == self.weights[0]).all():
            rank = -(-self.need // int(self.weights[0])) - 1
            ranked: FloatArray = np.partition(mine, rank, axis=1)[:, rank]
            return ranked
        order = np.argsort(mine, axis=1, kind="stable")
        reached = np.cumsum(self.weights[order], axis=1) >= self.need
        last = np.take_along_axis(order, reached.argmax(axis=1)[:, None], axis=1)
        found: FloatArray = np.take_along_axis(mine, last, axis=1)[:, 0]
        return found


@dataclass(frozen=True, eq=False)
class Completion:
    """What a job waits for.

    Attributes
    ----------
    decoder
        Set if the job waits for a decodable set of nodes instead of conditions.
    """

    problem: CodedProblem
    arrivals: Arrivals
    conditions: tuple[Condition, ...]
    decoder: Decoder | None = None

    def times(self, times: FloatArray) -> FloatArray:
        """Return when the job is complete, float64 (draws,).

        Parameters
        ----------
        times
            float64 (draws, m), when each result arrives.
        """
        if self.decoder is not None:
            return self.decoder.times(times, self.arrivals.node)
        latest = np.zeros(len(times))
        for condition in self.conditions:
            np.maximum(latest, condition.times(times), out=latest)
        return latest


def completion_of(problem: CodedProblem, answer: CodedAnswer) -> Completion:
    """Return what the job of an answer waits for.

    The answer has to pass the checker: partitions, pieces and codes are taken as they are.
    """
    arrivals = arrivals_of(problem, answer)
    task = problem.task
    if answer.code.family == "replication" and isinstance(task, MatVec | MatMul):
        conditions = _one_of_each(arrivals, _labels(answer))
    elif isinstance(task, Elastic):
        conditions = tuple(_pieces(problem, answer, arrivals, task))
    elif isinstance(task, Gradient):
        return _gradient(problem, answer, arrivals, task)
    else:
        need = needed_units(task, answer.code.family)
        everything = frozen(np.arange(len(arrivals.node)))
        conditions = (Condition(everything, arrivals.weight, need),)
    return Completion(problem, arrivals, conditions)


def _labels(answer: CodedAnswer) -> dict[int, tuple[int, ...]]:
    """Return what each node with a load works on."""
    parts = answer.partitions or ()
    return {i: tuple(sorted(part)) for i, part in enumerate(parts) if answer.loads[i] > 0}


def _one_of_each(arrivals: Arrivals, labels: dict[int, tuple[int, ...]]) -> tuple[Condition, ...]:
    members: dict[tuple[int, ...], list[int]] = {}
    for position, node in enumerate(arrivals.node.tolist()):
        members.setdefault(labels[node], []).append(position)
    return tuple(_of_equals(positions, 1) for positions in members.values())


def _of_equals(positions: Sequence[int], need: int) -> Condition:
    return Condition(integers(positions), integers([1] * len(positions)), need)


def _gradient(
    problem: CodedProblem, answer: CodedAnswer, arrivals: Arrivals, task: Gradient
) -> Completion:
    if batches_of(problem, answer) > 1:
        return Completion(problem, arrivals, tuple(_partitions(problem, answer, arrivals, task)))
    everything = range(len(arrivals.node))
    if answer.code.family == APPROXIMATE and task.error is not None:
        awaited = len(everything) if answer.code.k is None else answer.code.k
        return Completion(problem, arrivals, (_of_equals(everything, awaited),))
    if answer.code.matrix is not None:
        decoder = Decoder.of(answer.code.matrix, len(problem.nodes), task.stragglers)
        return Completion(problem, arrivals, (), decoder)
    if answer.code.family == "fractional_repetition":
        return Completion(problem, arrivals, _one_of_each(arrivals, _labels(answer)))
    need = len(everything) - task.stragglers
    return Completion(problem, arrivals, (_of_equals(everything, need),))


def _partitions(
    problem: CodedProblem, answer: CodedAnswer, arrivals: Arrivals, task: Gradient
) -> Iterator[Condition]:
    """Yield for each partition the results that hold its gradient, one for each of its nodes."""
    holders: list[list[int]] = [[] for _ in range(task.partitions)]
    batches = batches_of(problem, answer)
    order = answer.order or answer.partitions or ()
    for node in np.unique(arrivals.node).tolist():
        ends = np.array(batch_ends(answer.loads[node], batches))
        first = arrivals.of(node).start
        for place, part in enumerate(order[node]):
            holders[part].append(first + int(np.searchsorted(ends, place + 1)))
    for positions in holders:
        yield _of_equals(positions, 1)


def _pieces(
    problem: CodedProblem, answer: CodedAnswer, arrivals: Arrivals, task: Elastic
) -> Iterator[Condition]:
    """Yield for each piece the results of its nodes that hold it."""
    batches = batches_of(problem, answer)
    done = dict.fromkeys(range(len(problem.nodes)), 0 * (answer.loads[0]))
    for piece in answer.pieces or ():
        positions = []
        for name in piece.nodes:
            node = problem.node_index[name]
            done[node] += piece.size
            mine = arrivals.of(node)
            if len(mine):
                share = done[node] * batches / answer.loads[node]
                number = min(-(-share.numerator // share.denominator), batches)
                positions.append(mine[number - 1])
        if piece.size > 0:
            yield _of_equals(positions, task.recovery_threshold)
