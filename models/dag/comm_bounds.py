"""Lower bounds for communicating tasks on identical nodes: clusters, areas and stars.

*Cluster heads.* The predecessors of a task that share its node run there one after another
(with k slots, k at a time); the others send their data. The best choice of those that share
the node bounds the start (Fernandez and Bussell, "Bounds on the number of processors and time
for multiprocessor optimal schedules", IEEE Transactions on Computers C-22, 1973; Jung,
Kirousis and Spirakis, "Lower bounds and efficient algorithms for multiprocessor scheduling of
DAGs with communication delays", SPAA 1989; Palis, Liou and Wei, "Task clustering and
scheduling for distributed memory parallel architectures", IEEE Transactions on Parallel and
Distributed Systems 7, 1996). *Cluster tails* are the same with time running backwards.

*Star.* Some node runs task a. On every other node, a descendant whose data cannot be there
until d after the end of a cannot start before that. So the work of the descendants with a
remote delay of at least t has all slots from the end of a on one node, but only from t later
on the other nodes.
"""

from __future__ import annotations

import bisect
import itertools
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

import numpy as np

from allocsolve.models.arrays import IntArray
from allocsolve.models.dag.comm_identical import Identical, Transfer
from allocsolve.models.dag.windows import SAFE, Window, best_window

__all__ = ["ClusterBounds", "Star", "StarWindow", "cluster_heads"]

_WALKS = 400_000
"""Edges followed from the centres of stars; beyond it only direct neighbours count."""

_CELLS = 2_000_000
"""Pairs of a delay and a tail that the star bound looks at in direct neighbourhoods."""

_TAILS = 48
"""At most so many tails are tried for each star; all of them in small instances."""


def cluster_heads(instance: Identical) -> list[int]:
    """Return a lower bound on the start of each task, ticks."""
    head, work = list(instance.release), instance.work
    for j in instance.order:
        transfers = instance.incoming[j]
        if len(transfers) == 1:
            i, near, _ = transfers[0]
            ready = head[i] + work[i] + near  # sharing the node is never worse
        elif len(transfers) == 2:
            ready = _pair_ready(instance, transfers, head)
        elif transfers:
            ready = _cluster_ready(instance, transfers, head)
        else:
            continue
        head[j] = max(head[j], ready)
    return head


def _pair_ready(instance: Identical, transfers: list[Transfer], head: list[int]) -> int:
    """Return the same as :func:`_cluster_ready` for two predecessors, several times faster."""
    (i, near, far), (j, other_near, other_far) = transfers
    end, other_end = head[i] + instance.work[i], head[j] + instance.work[j]
    here, there = end + near, other_end + other_near
    area = -(-(instance.work[i] + instance.work[j]) // instance.slots)
    together = max(here, there, min(head[i], head[j]) + area)
    if instance.nodes == 1:
        return together
    return min(together, max(here, other_end + other_far), max(there, end + far))


def _cluster_ready(instance: Identical, transfers: list[Transfer], head: list[int]) -> int:
    """Return the least time at which some choice of predecessors on the node is served.

    If the latest arrival from another node is that of i, all predecessors that would arrive
    later share the node. So only beginnings of the order by arrival have to be tried; the
    longer the beginning, the later its local work ends and the earlier the next arrival.
    """
    cluster = _Cluster(instance, transfers, head)
    if instance.nodes == 1:
        return cluster.local(len(transfers))
    arrival = cluster.arrival
    count = bisect.bisect_left(
        range(1, len(transfers)), True, key=lambda k: cluster.local(k) >= arrival[k]
    )
    return min(cluster.local(count + 1), arrival[count])


class _Cluster:
    """The predecessors of a task by decreasing arrival from another node."""

    def __init__(self, instance: Identical, transfers: list[Transfer], head: list[int]) -> None:
        work = instance.work
        rows = sorted(
            ((head[i] + work[i] + far, head[i] + work[i] + near, head[i], work[i])
             for i, near, far in transfers),
            reverse=True,
        )  # fmt: skip
        self._slots = instance.slots
        self.arrival = [row[0] for row in rows]
        self._ready = list(itertools.accumulate((row[1] for row in rows), max))
        self._runs = sorted(((row[2], row[3], k) for k, row in enumerate(rows)), reverse=True)

    def local(self, count: int) -> int:
        """Return when the node has served the first so many predecessors at the earliest."""
        latest, area = self._ready[count - 1], 0
        for start, work, rank in self._runs:
            if rank < count:
                area += work
                latest = max(latest, start - (-area // self._slots))
        return latest


class StarWindow(NamedTuple):
    """The best window of a star: ``value`` is a bound, ``work`` must fit around the centre."""

    value: int
    centre: int
    delay: int
    work: int
    backwards: bool


@dataclass(frozen=True, eq=False)
class Star:
    """What follows a task (or, backwards, precedes it), by decreasing remote delay.

    Attributes
    ----------
    base
        Ticks before the window: head and work of the centre (backwards: work and tail).
    tasks, delay, after
        int64 (k,): tasks, their remote delays, and ticks that must pass after each of them.
    """

    centre: int
    base: int
    tasks: IntArray
    delay: IntArray
    after: IntArray
    backwards: bool

    def tails(self) -> IntArray:
        """Return the distinct tails, thinned if there are many."""
        distinct = np.unique(self.after)
        if len(distinct) > _TAILS:
            distinct = distinct[np.linspace(0, len(distinct) - 1, _TAILS).astype(np.intp)]
        return distinct


class ClusterBounds:
    """Heads, tails, stars and bounds of an instance; each is computed when it is asked for."""

    def __init__(self, instance: Identical) -> None:
        self.instance = instance
        self._work = np.array(instance.work, np.int64)

    @cached_property
    def heads(self) -> list[int]:
        """Lower bound on the start of each task, ticks."""
        return cluster_heads(self.instance)

    @cached_property
    def tails(self) -> list[int]:
        """Ticks that must pass from the end of each task to the end of the schedule."""
        return cluster_heads(self.instance.mirrored())

    def longest(self) -> tuple[int, int]:
        """Return the largest ``head + work + tail`` and its task."""
        rows = zip(self.heads, self.instance.work, self.tails, strict=True)
        totals = [head + work + tail for head, work, tail in rows]
        value = max(totals)
        return value, totals.index(value)

    def area(self) -> Window | None:
        """Return the best window between a head and a tail on all slots together."""
        head, tail = np.array(self.heads, np.int64), np.array(self.tails, np.int64)
        return best_window(head, tail, self._work, self.instance.capacity)

    def star(self) -> StarWindow | None:
        """Return the best window around a task, None if no star has work."""
        found = (self._best(star) for star in self.stars())
        return max(found, key=lambda window: window.value, default=None)

    def value(self) -> int:
        """Return the highest of the bounds, ticks."""
        area, star = self.area(), self.star()
        return max(self.longest()[0], area.value if area else 0, star.value if star else 0)

    def stars(self) -> Iterator[Star]:
        """Yield the stars of tasks with two successors or more, forwards and backwards.

        In large instances only the direct neighbours of the tasks with most of them.
        """
        instance = self.instance
        if instance.nodes < 2 or max(self._most(), 1) * instance.capacity >= SAFE // 4:
            return
        deep = instance.n * instance.edges <= _WALKS
        yield from _stars(instance, self.heads, self.tails, deep=deep, backwards=False)
        yield from _stars(instance.mirrored(), self.tails, self.heads, deep=deep, backwards=True)

    def _most(self) -> int:
        apart = int(self.instance.apart().max(initial=0))
        return int(self._work.sum()) + max(self.heads) + max(self.tails) + apart

    def _best(self, star: Star) -> StarWindow:
        """Return the best window of a star over the tails and the least delays."""
        nodes, slots = self.instance.nodes, self.instance.slots
        tails = star.tails()
        inside = star.after[None, :] >= tails[:, None]
        area = np.cumsum(np.where(inside, self._work[star.tasks][None, :], 0), axis=1)
        together = -(-area // slots)
        spread = -(-(area + slots * (nodes - 1) * star.delay) // (slots * nodes))
        value = np.where(area > 0, star.base + tails[:, None] + np.minimum(together, spread), 0)
        row, column = np.unravel_index(int(value.argmax()), value.shape)
        return StarWindow(
            int(value[row, column]),
            star.centre,
            int(star.delay[column]),
            int(area[row, column]),
            star.backwards,
        )


def _stars(
    instance: Identical, heads: list[int], tails: list[int], *, deep: bool, backwards: bool
) -> Iterator[Star]:
    for centre in _centres(instance, deep=deep):
        delays = _remote_delays(instance, centre) if deep else _near_delays(instance, centre)
        rows = sorted(((delay, task) for task, delay in delays.items()), reverse=True)
        tasks = [task for _, task in rows]
        yield Star(
            centre=centre,
            base=heads[centre] + instance.work[centre],
            tasks=np.array(tasks, np.int64),
            delay=np.array([delay for delay, _ in rows], np.int64),
            after=np.array([tails[task] for task in tasks], np.int64),
            backwards=backwards,
        )


def _centres(instance: Identical, *, deep: bool) -> list[int]:
    centres = [i for i in instance.order if len(instance.outgoing[i]) > 1]
    if deep:
        return centres
    centres.sort(key=lambda i: -len(instance.outgoing[i]))
    sizes = itertools.accumulate(_TAILS * len(instance.outgoing[i]) + 2000 for i in centres)
    return [i for i, size in zip(centres, sizes, strict=True) if size <= _CELLS]


def _near_delays(instance: Identical, centre: int) -> dict[int, int]:
    return {task: far for task, _, far in instance.outgoing[centre]}


def _remote_delays(instance: Identical, centre: int) -> dict[int, int]:
    """Return for each descendant its least start on another node than the centre.

    The start counts from the end of the centre.
    """
    work, incoming = instance.work, instance.incoming
    anywhere = {centre: -work[centre]}  # the same, on whatever node
    remote: dict[int, int] = {}
    for j in instance.order[instance.order.index(centre) + 1 :]:
        least = apart = -1
        for i, near, far in incoming[j]:
            if i == centre:
                least, apart = max(least, near), max(apart, far)
            elif i in remote:
                # On the node of j the predecessor is remote too; elsewhere it sends.
                least = max(least, anywhere[i] + work[i] + near)
                away = anywhere[i] + work[i] + far
                apart = max(apart, min(remote[i] + work[i] + near, away))
        if least >= 0:
            anywhere[j], remote[j] = least, apart
    return remote
