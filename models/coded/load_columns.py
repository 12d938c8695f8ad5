"""How late the results of a node are, for every load that it may be given.

A search asks for the completion law of thousands of loads. What differs between them is which
load each node has, so the laws of all loads of all classes of nodes are put into one table.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray, frozen
from allocsolve.models.coded.arrivals import Arrivals
from allocsolve.models.coded.law_terms import Terms, terms_of
from allocsolve.models.coded.node_classes import node_classes
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.laws_base import vector

__all__ = ["LoadColumns"]


@dataclass(frozen=True, eq=False)
class LoadColumns:
    """The results of each class of nodes for each load.

    Attributes
    ----------
    class_of
        int64 (n,), class of each node.
    first
        int64 (classes, top + 2): the results of a node of class c with the load l are
        ``first[c, l] .. first[c, l + 1]`` of the table, in the order in which they are sent.
    weight
        int64 (P,), units of load that arrive with each of them.
    terms
        Their laws.
    """

    class_of: IntArray
    first: IntArray
    weight: IntArray
    terms: Terms

    @classmethod
    def of(cls, problem: CodedProblem, batches: int, top: int) -> LoadColumns:
        """Build the table of all loads up to ``top``.

        Raises
        ------
        NoExactLaw
            If sums of independent draws of a law have no closed form.
        """
        class_of = node_classes(problem)
        leaders = np.unique(class_of, return_index=True)[1]
        loads = np.arange(1, top + 1)
        counts = np.minimum(loads, batches)
        number = np.concatenate([np.arange(1, count + 1) for count in counts.tolist()])
        load, count = np.repeat(loads, counts), np.repeat(counts, counts)
        done = -(-number * load // count)
        weight = done - -(-(number - 1) * load // count)
        rows = len(number)
        starts = np.concatenate([[0, 0], np.cumsum(counts)])
        first = starts[None, :] + rows * np.arange(len(leaders))[:, None]
        arrivals = _arrivals(
            problem,
            np.repeat(leaders, rows),
            np.tile(number, len(leaders)),
            np.tile(done, len(leaders)),
        )
        return cls(
            class_of,
            frozen(first.astype(np.int64)),
            frozen(np.tile(weight, len(leaders)).astype(np.int64)),
            terms_of(problem, arrivals),
        )

    @property
    def top(self) -> int:
        """The largest load in the table."""
        return int(self.first.shape[1]) - 2

    def late(self, times: FloatArray) -> FloatArray:
        """Return P(result > t), float64 (times, P)."""
        return np.ascontiguousarray(self.terms.late(times))


def _arrivals(problem: CodedProblem, node: IntArray, number: IntArray, done: IntArray) -> Arrivals:
    """Return the results as :func:`allocsolve.models.coded.arrivals.arrivals_of` describes them.

    A dead node gets results like a living one; it is given no load.
    """
    arrays = problem.arrays
    units = done.astype(np.float64)
    per_row, additive = problem.scaling == "per_row", problem.scaling == "additive"
    speed = np.where(arrays.speed > 0, arrays.speed, 1.0)[node]
    offset = arrays.startup[node] + number * arrays.message[node]
    draws = done.astype(np.int64) if per_row else np.ones(len(done), np.int64)
    return Arrivals(
        node=frozen(node.astype(np.int64)),
        draws=frozen(draws),
        scale=vector((np.ones(len(done)) if per_row or additive else units) / speed),
        offset=vector(offset + (units * arrays.row_time[node] if additive else 0.0)),
        done=(),
        weight=frozen(done.astype(np.int64)),
    )
