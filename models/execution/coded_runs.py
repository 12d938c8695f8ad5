"""Drawing the times of nodes and replaying coded jobs on them, in blocks of replications."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.arrivals import Arrivals
from allocsolve.models.coded.completion import Completion, completion_of
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.execution.rounds import Watch
from allocsolve.models.random import GROUP, uniforms

__all__ = ["CodedReplay", "Counts"]

_BLOCK = 2**20
"""Numbers that are held at once for each answer."""

_FIRST = GROUP
"""Replications of the first round."""


@dataclass(frozen=True, eq=False)
class Counts:
    """What was counted of one answer, over all replications.

    Attributes
    ----------
    busy
        float64 (n,), share of the time until completion in which each node worked.
    wasted
        Mean time, over all nodes together, that was spent on results which had not arrived
        when the job was complete.
    """

    busy: FloatArray
    wasted: float

    def utilisation(self, problem: CodedProblem) -> Mapping[str, float]:
        """Return the busy share by node id."""
        return {node.id: float(b) for node, b in zip(problem.nodes, self.busy, strict=True)}


class CodedReplay:
    """Answers that are replayed on the same draws."""

    def __init__(self, problem: CodedProblem, answers: Sequence[CodedAnswer], seed: int) -> None:
        self.problem = problem
        self.seed = seed
        self._tallies = [_Tally(completion_of(problem, answer)) for answer in answers]
        self._streams = _streams(problem)

    @property
    def rounds(self) -> tuple[int, int]:
        """Replications of the first round, and of every round at most: one block each."""
        widest = max([1, *(len(tally.completion.arrivals.node) for tally in self._tallies)])
        most = max(1, _BLOCK // widest // GROUP) * GROUP
        return min(_FIRST, most), most

    def draw(self, first: int, count: int, watch: Watch) -> list[FloatArray]:
        """Return the times of the next replications; with scenarios, of the next scenarios."""
        found = []
        for k, tally in enumerate(self._tallies):
            found.append(tally.add(self._starts(tally.completion, first, count)))
            watch.tell((k + 1) / len(self._tallies))
        return found

    def counts(self) -> list[Counts]:
        """Return what was counted of each answer."""
        return [tally.counts() for tally in self._tallies]

    def _starts(self, completion: Completion, first: int, count: int) -> FloatArray:
        """Return the random part of each arrival, float64 (count, m): X, or a sum of draws."""
        arrivals = completion.arrivals
        scenarios = self.problem.arrays.scenarios
        if scenarios is not None:
            drawn: FloatArray = scenarios[first : first + count][:, arrivals.node]
            return drawn
        found = np.empty((count, len(arrivals.node)))
        for node in np.unique(arrivals.node).tolist():
            mine = arrivals.of(node)
            found[:, mine.start : mine.stop] = self._sums(node, arrivals, mine, first, count)
        return found

    def _sums(
        self, node: int, arrivals: Arrivals, mine: range, first: int, count: int
    ) -> FloatArray:
        law, stream = self.problem.arrays.laws[node], self._streams[node]
        found = np.empty((count, len(mine)))
        total, row = np.zeros(count), 0
        for k, position in enumerate(mine):
            while row < arrivals.draws[position]:
                total = total + law.sample(uniforms(self.seed, stream, first, count, draw=row))
                row += 1
            found[:, k] = total
        return found


def _streams(problem: CodedProblem) -> list[int]:
    """Return the stream of random numbers of each node: nodes of a group share the first's."""
    group, leader = problem.arrays.group.tolist(), dict[int, int]()
    return [i if g < 0 else leader.setdefault(g, i) for i, g in enumerate(group)]


class _Tally:
    """What is counted of the replications of one answer."""

    def __init__(self, completion: Completion) -> None:
        self.completion = completion
        nodes = len(completion.problem.nodes)
        self._busy, self._used = np.zeros(nodes), np.zeros(nodes)
        self._span = 0.0
        self._finite = 0

    def add(self, starts: FloatArray) -> FloatArray:
        """Count replications, given the random part of each arrival; return their times."""
        arrivals = self.completion.arrivals
        work = arrivals.scale * starts
        times = arrivals.offset + work
        done = self.completion.times(times)
        finite = np.isfinite(done)
        self._finite += int(finite.sum())
        self._span += float(done[finite].sum())
        self._count_work(times[finite], done[finite])
        return done

    def _count_work(self, times: FloatArray, done: FloatArray) -> None:
        problem, arrivals = self.completion.problem, self.completion.arrivals
        startup, message = problem.arrays.startup, problem.arrays.message
        for node in np.unique(arrivals.node).tolist():
            mine = arrivals.of(node)
            arrived = times[:, mine.start : mine.stop]
            # A node works from its start until its last result is on its way.
            begin = startup[node]
            number = np.arange(1, len(mine) + 1)
            ready = arrived - number * message[node] / _messages(problem)
            busy = np.clip(np.minimum(ready[:, -1], done) - begin, 0.0, None)
            in_time = np.where(arrived <= done[:, None], ready - begin, 0.0).max(axis=1)
            self._busy[node] += float(busy.sum())
            self._used[node] += float(np.minimum(in_time, busy).sum())

    def counts(self) -> Counts:
        """Return what was counted."""
        span = self._span or 1.0
        lost = float((self._busy - self._used).sum())
        return Counts(self._busy / span, lost / max(self._finite, 1))


def _messages(problem: CodedProblem) -> int:
    return int(getattr(problem.task, "messages", 1))
