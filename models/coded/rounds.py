"""Gradient codes over rounds: each node straggles now and then, never for long.

A job begins in every round. In any W rounds in a row at most lambda nodes straggle, each within B
rounds in a row (:func:`is_bursty`). Three schemes let every job be decoded in the end:

=========================  =====================================  ========================  ======
family                     partitions of a node and round         of all                    delay
=========================  =====================================  ========================  ======
``gc``: any plain code     copies on lambda + 1 nodes             (lambda + 1) / n          0
``selective_repetition``   copies on s + 1 nodes,                 (s + 1) / n               B
                           s = ceil(B lambda / (W - 1 + B))
``multiplexed``            W - 1 slots of its own, B coded        (lambda + 1)(W - 1 + B)   W - 2
                           slots, all of equal size               / (n (B + (W - 1)(lambda   + B
                                                                  + 1)))
=========================  =====================================  ========================  ======

Selective repetition needs that B divides W - 1: what too few nodes have sent of job t is done
again in round t + B. A multiplexed node does the slot j of job t in round t + j; in the last B
rounds it first repeats slots of its own that failed. :func:`unfinished_job` replays both against
a pattern of stragglers, as the sources describe them.

Source: Krishnan, Ramkumar, Das, Vasic and Ashraphijuo, sequential gradient coding for straggler
mitigation, ICLR 2023 (SR-SGC and M-SGC; GC is Tandon et al. 2017 in every round).
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from allocsolve.models.arrays import BoolArray
from allocsolve.models.coded.data import Gradient, Sequential

__all__ = ["MULTIPLEXED", "REPEATED", "Rounds", "is_bursty", "unfinished_job"]

REPEATED, MULTIPLEXED = "selective_repetition", "multiplexed"


@dataclass(frozen=True)
class Rounds:
    """Stragglers over rounds, for n nodes.

    Attributes
    ----------
    lam
        Nodes that straggle in W rounds, at most n.
    """

    nodes: int
    burst: int
    window: int
    lam: int

    @classmethod
    def of(cls, task: Gradient, nodes: int) -> Rounds | None:
        """Return what a task says about rounds, None if it says nothing."""
        told: Sequential | None = task.sequential
        if told is None:
            return None
        return cls(nodes, told.burst, told.window, min(told.lam, nodes))

    def stragglers(self, family: str) -> int | None:
        """Return how many nodes the code of a family has to do without, None if it cannot be."""
        if family == REPEATED:
            if (self.window - 1) % self.burst or self.window == 1:
                return None
            return -(-self.burst * self.lam // (self.window - 1 + self.burst))
        if family == MULTIPLEXED and self.window == 1:
            return None
        return self.lam

    def copies(self, family: str) -> int | None:
        """Return on how many nodes a coded partition is needed; None if there are too few."""
        missing = self.stragglers(family)
        return None if missing is None or missing >= self.nodes else missing + 1

    @property
    def slots(self) -> int:
        """Slots of equal size of a multiplexed node: its own ones, then the coded ones."""
        return self.window - 1 + self.burst

    def multiplexed(self, partitions: int) -> list[tuple[int, ...]] | None:
        """Return the partitions of each node in the order of its slots.

        None if the partitions do not divide into slots: they have to be a multiple of
        ``n (B + (W - 1)(lambda + 1))``.
        """
        copies, n = self.copies(MULTIPLEXED), self.nodes
        if copies is None:
            return None
        size, rest = divmod(partitions, n * (self.burst + (self.window - 1) * copies))
        if rest:
            return None
        own = (self.window - 1) * copies * size
        found = []
        for i in range(n):
            mine = list(range(i * own, (i + 1) * own))
            for group in range(self.burst):
                first = n * own + group * n * size
                mine += [first + (i * size + k) % (n * size) for k in range(copies * size)]
            found.append(tuple(mine))
        return found


def is_bursty(pattern: BoolArray, rounds: Rounds) -> bool:
    """Tell whether stragglers keep to burst, window and lambda.

    Parameters
    ----------
    pattern
        bool (rounds, n), who straggles when.
    """
    for first in range(max(1, len(pattern) - rounds.window + 1)):
        part = pattern[first : first + rounds.window]
        slow = np.flatnonzero(part.any(axis=0))
        if len(slow) > rounds.lam:
            return False
        for node in slow.tolist():
            when = np.flatnonzero(part[:, node])
            if when[-1] - when[0] >= rounds.burst:
                return False
    return True


def unfinished_job(pattern: BoolArray, rounds: Rounds, family: str) -> int | None:
    """Return the first job that is not decoded in time under a pattern, None if all are.

    Only jobs whose last round is in the pattern are looked at.

    Parameters
    ----------
    pattern
        bool (rounds, n), who straggles when.
    """
    if family == REPEATED:
        return _unrepeated(pattern, rounds)
    if family == MULTIPLEXED:
        return _unmultiplexed(pattern, rounds)
    late = np.flatnonzero(pattern.sum(axis=1) > rounds.lam)
    return int(late[0]) if len(late) else None


def _unrepeated(pattern: BoolArray, rounds: Rounds) -> int | None:
    missing = rounds.stragglers(REPEATED)
    assert missing is not None
    length, n = pattern.shape
    sent: list[set[int]] = [set() for _ in range(length)]
    for now in range(length):
        earlier = now - rounds.burst
        lack = n - missing - len(sent[earlier]) if earlier >= 0 else 0
        for node in range(n):
            job = now
            if lack > 0 and node not in sent[earlier]:
                job, lack = earlier, lack - 1
            if not pattern[now, node]:
                sent[job].add(node)
    done = (len(sent[job]) >= n - missing for job in range(length - rounds.burst))
    return next((job for job, fine in enumerate(done) if not fine), None)


def _unmultiplexed(pattern: BoolArray, rounds: Rounds) -> int | None:
    length, n = pattern.shape
    for job in range(length - rounds.slots + 1):
        coded = [0] * rounds.burst
        for node in range(n):
            if not _own_slots(pattern[job : job + rounds.slots, node].tolist(), rounds, coded):
                return job
        if min(coded) < n - rounds.lam:
            return job
    return None


def _own_slots(slow: Sequence[bool], rounds: Rounds, coded: list[int]) -> bool:
    """Let one node work on a job; count its coded slots, tell whether its own ones are done."""
    pending = sum(slow[: rounds.window - 1])
    for group, straggles in enumerate(slow[rounds.window - 1 :]):
        if straggles:
            continue
        if pending:
            pending -= 1
        else:
            coded[group] += 1
    return pending == 0
