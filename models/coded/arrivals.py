"""When results arrive: what each node sends, after how much work, and how much it brings.

The answer of a node that was given the load l in b batches is a list of *arrivals*. The j-th
one is sent after ``c = ceil(j l / b)`` units of work and arrives at

* scaling ``load``: ``startup + (c / speed) X + j message``,
* scaling ``additive``: ``startup + c row_time + X + j message``,
* scaling ``per_row``: ``startup + (X_1 + .. + X_c) / speed + j message``.

A node sends no empty batch: it sends at most as many as it has units of load.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray, frozen, integers
from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.data import Elastic, Gradient
from allocsolve.models.coded.problem import CodedProblem

__all__ = ["Arrivals", "arrivals_of", "batch_ends", "batches_of"]


@dataclass(frozen=True, eq=False)
class Arrivals:
    """All results that nodes send, ordered by node and then by time; m of them.

    Attributes
    ----------
    node
        int64 (m,), who sends it.
    draws
        int64 (m,), in scaling ``per_row`` how many independent draws are added up; else 1.
    scale
        float64 (m,), factor of the draw (or of the sum of draws).
    offset
        float64 (m,), time that is not random.
    done
        Units of load that the node has done by then.
    weight
        int64 (m,), units of load that arrive with it, rounded up where loads are no integers.
    """

    node: IntArray
    draws: IntArray
    scale: FloatArray
    offset: FloatArray
    done: tuple[Fraction, ...]
    weight: IntArray

    def of(self, node: int) -> range:
        """Return the positions of the arrivals of a node."""
        first, last = np.searchsorted(self.node, [node, node + 1])
        return range(int(first), int(last))

    def times(self, draws: FloatArray) -> FloatArray:
        """Return when each result arrives if X is drawn once for each node.

        Parameters
        ----------
        draws
            float64 (..., n).

        Returns
        -------
        float64 (..., m)
        """
        times: FloatArray = self.offset + self.scale * draws[..., self.node]
        return times


def batches_of(problem: CodedProblem, answer: CodedAnswer) -> int:
    """Return the number of batches of an answer, which may leave it to the instance."""
    if answer.batches is not None:
        return answer.batches
    return problem.limits.batches if isinstance(problem.limits.batches, int) else 1


class _Arrival(NamedTuple):
    node: int
    number: int
    done: Fraction
    weight: int


def arrivals_of(problem: CodedProblem, answer: CodedAnswer) -> Arrivals:
    """Return what the nodes send; dead nodes and nodes without load send nothing.

    Loads need not be right, but there is one for each node and none is negative.
    """
    arrays = problem.arrays
    batches = batches_of(problem, answer)
    found = [
        arrival
        for i, load in enumerate(answer.loads)
        if load > 0 and arrays.speed[i] > 0
        for arrival in _results(problem, i, load, batches)
    ]
    node = integers(arrival.node for arrival in found)
    number = np.array([arrival.number for arrival in found], dtype=np.float64)
    done = np.array([float(arrival.done) for arrival in found])
    per_row = problem.scaling == "per_row"
    additive = problem.scaling == "additive"
    messages = problem.task.messages if isinstance(problem.task, Gradient) else 1
    work = np.ones(len(found)) if additive or per_row else done
    offset = arrays.startup[node] + number * arrays.message[node] / messages
    return Arrivals(
        node=node,
        draws=frozen(done.astype(np.int64) if per_row else np.ones(len(found), np.int64)),
        scale=_fixed(work / arrays.speed[node]),
        offset=_fixed(offset + (done * arrays.row_time[node] if additive else 0.0)),
        done=tuple(arrival.done for arrival in found),
        weight=integers(arrival.weight for arrival in found),
    )


def _fixed(values: FloatArray) -> FloatArray:
    values.setflags(write=False)
    return values


def _results(problem: CodedProblem, node: int, load: Fraction, batches: int) -> Iterator[_Arrival]:
    """Yield the results of one node in the order in which it sends them."""
    if isinstance(problem.task, Elastic):
        for number in range(1, batches + 1):
            yield _Arrival(node, number, load * number / batches, 1)
        return
    ends = batch_ends(load, batches)
    for number, (before, end) in enumerate(zip((0, *ends), ends, strict=False), 1):
        yield _Arrival(node, number, Fraction(end), end - before)


def batch_ends(load: Fraction, batches: int) -> Sequence[int]:
    """Return the units of load that a node has done when it sends each of its results."""
    whole = -(-load.numerator // load.denominator)
    count = min(batches, whole)
    return [-(-number * whole // count) for number in range(1, count + 1)]
