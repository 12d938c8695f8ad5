"""Placements of a gradient in whole results: what decides their law, and what is near them.

Under a code from which all but s of the working nodes decode, the law depends on the loads alone.
More copies than are needed never help: a node more to wait for, or a larger load of a node, only
comes later. So the loads add up to (s + m) times the partitions, and a node may have none. Under
fractional repetition the law depends on the groups and on how many partitions each of them shares;
nodes may belong to none.
"""

from __future__ import annotations

import itertools
from abc import ABC, abstractmethod
from collections.abc import Iterator, Sequence
from typing import Generic, TypeAlias, TypeVar

import numpy as np

from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.baselines_gradient import GradientJob
from allocsolve.models.coded.node_classes import node_classes
from allocsolve.models.coded.placing import arcs, flow_placement

__all__ = ["Groups", "GroupsOf", "Loads", "LoadsOf", "Moves"]

LoadsOf: TypeAlias = tuple[int, ...]
"""Partitions of each node."""

GroupsOf: TypeAlias = tuple[tuple[tuple[int, ...], int], ...]
"""Nodes and number of partitions of each group."""

StateT = TypeVar("StateT")

_STARTS = 12
"""Numbers of working nodes from which a search starts."""

_PARTS = 32
"""Steps in which the load of a node is spread over others."""

_FEW, _SOME = 7, 60
"""Nodes up to which all groups, and all loads, are counted."""

_MOST_MOVES = 20_000
"""Moves up to which all are tried."""


class Moves(ABC, Generic[StateT]):
    """States of one family of codes."""

    def __init__(self, job: GradientJob) -> None:
        self.job = job
        self.alive = [i for i, cap in enumerate(job.caps) if cap > 0]
        self.ranked = sorted(self.alive, key=lambda i: (job.time(i, 1), i))
        self.holds = job.problem.arrays.holds
        self.class_of = node_classes(job.problem).tolist()

    @abstractmethod
    def answer(self, state: StateT) -> CodedAnswer | None:
        """Return a placement of the state, None if there is none."""

    @abstractmethod
    def every(self) -> Iterator[StateT] | None:
        """Return all states, those that differ by nodes alike once; None of many nodes."""

    @abstractmethod
    def starts(self, best: CodedAnswer | None) -> Iterator[StateT]:
        """Yield states from which a search may start."""

    def near(self, state: StateT, step: int, draw: np.random.Generator) -> Iterator[StateT]:
        """Yield states that one move leads to, in random order; of very many moves a part."""
        count = self.moves(state)
        few = count <= _MOST_MOVES
        codes = draw.permutation(count) if few else draw.integers(0, count, _MOST_MOVES)
        for code in codes.tolist():
            found = self.moved(state, code, step)
            if found is not None:
                yield found

    @abstractmethod
    def moves(self, state: StateT) -> int:
        """Return the number of moves; they are counted from 0."""

    @abstractmethod
    def moved(self, state: StateT, code: int, step: int) -> StateT | None:
        """Return the state after a move, None if it is not possible."""

    @abstractmethod
    def largest(self, state: StateT) -> int:
        """Return the largest step of a move."""


class Loads(Moves[LoadsOf]):
    """Loads under a code from which all but s of the working nodes decode."""

    def __init__(self, job: GradientJob) -> None:
        super().__init__(job)
        self.total = job.copies * job.task.partitions

    def answer(self, state: LoadsOf) -> CodedAnswer | None:
        """Return partitions on arcs of a circle, or by a maximum flow."""
        if self.holds is None:
            return self.job.answer(arcs(state, self.job.task.partitions), "mds")
        parts = flow_placement(state, self.holds, self.job.copies)
        return None if parts is None else self.job.answer(parts, "mds")

    def every(self) -> Iterator[LoadsOf] | None:
        """Return all loads; of nodes alike, the first ones have the larger loads."""
        if len(self.job.caps) > _SOME:
            return None
        return _spread(self.job.caps, self.class_of, self.total)

    def starts(self, best: CodedAnswer | None) -> Iterator[LoadsOf]:
        """Yield the loads of the best answer, and those by speed on some fast or cheap nodes."""
        if best is not None and sum(best.loads) == self.total:
            yield tuple(int(load) for load in best.loads)
        times = self.job.times().tolist()
        by_price = sorted(self.alive, key=lambda i: (self.job.problem.arrays.cost[i], i))
        counts = np.linspace(len(self.alive), 1, _STARTS).round().astype(int).tolist()
        for ranked in (self.ranked, by_price)[: 2 if self.job.problem.arrays.cost.any() else 1]:
            for count in dict.fromkeys(counts):
                loads = self._levelled(ranked[:count], times)
                if loads is not None:
                    yield loads

    def _levelled(self, nodes: Sequence[int], times: Sequence[float]) -> LoadsOf | None:
        """Return the loads that some nodes can work through in the least of some times."""
        low, high, chosen, found = 0, len(times), set(nodes), None
        while low < high:
            middle = (low + high) // 2
            most = self.job.most(times[middle])
            parts = self.job.place([cap if i in chosen else 0 for i, cap in enumerate(most)])
            if parts is None:
                low = middle + 1
            else:
                high, found = middle, tuple(len(mine) for mine in parts)
        return found

    def moves(self, state: LoadsOf) -> int:
        """Return twice the pairs of nodes that can work."""
        del state
        return 2 * len(self.alive) ** 2

    def moved(self, state: LoadsOf, code: int, step: int) -> LoadsOf | None:
        """Move partitions from a node to another, exchange two loads, or empty a node."""
        pair, exchanged = divmod(code, 2)
        i, j = (self.alive[k] for k in divmod(pair, len(self.alive)))
        if i == j:
            return self._emptied(state, i) if state[i] > 0 and exchanged else None
        if exchanged:
            differ = i < j and state[i] != state[j] and self._fits(state, i, j)
            return _with(state, {i: state[j], j: state[i]}) if differ else None
        amount = min(step, state[i], self.job.caps[j] - state[j])
        return _with(state, {i: state[i] - amount, j: state[j] + amount}) if amount > 0 else None

    def _fits(self, state: LoadsOf, i: int, j: int) -> bool:
        return state[i] <= self.job.caps[j] and state[j] <= self.job.caps[i]

    def _emptied(self, state: LoadsOf, node: int) -> LoadsOf | None:
        """Spread the load of a node over the other working ones, as they are done first."""
        loads, rest, unit = list(state), state[node], max(1, state[node] // _PARTS)
        loads[node] = 0
        others = [i for i in self.alive if i != node and state[i] > 0]
        while rest:
            free = [i for i in others if loads[i] < self.job.caps[i]]
            if not free:
                return None
            i = min(free, key=lambda i: (self.job.time(i, loads[i] + 1), i))
            more = min(unit, rest, self.job.caps[i] - loads[i])
            loads[i], rest = loads[i] + more, rest - more
        return tuple(loads)

    def largest(self, state: LoadsOf) -> int:
        """Return the largest load."""
        return max(state)


class Groups(Moves[GroupsOf]):
    """Groups of at least s + 1 nodes with the same partitions, different for each group."""

    def __init__(self, job: GradientJob) -> None:
        super().__init__(job)
        self._rank = {i: place for place, i in enumerate(self.ranked)}

    def answer(self, state: GroupsOf) -> CodedAnswer | None:
        """Return partitions one group after another, or by a maximum flow."""
        shares = [share for _, share in state]
        if any(share > self._room(nodes) for nodes, share in state):
            return None
        if self.holds is None:
            mine = [
                range(end - share, end) for end, share in zip(_ends(shares), shares, strict=True)
            ]
            parts_of = [tuple(part) for part in mine]
        else:
            common = np.array([self.holds[list(nodes)].all(axis=0) for nodes, _ in state])
            found = flow_placement(shares, common, 1)
            if found is None:
                return None
            parts_of = found
        parts: list[tuple[int, ...]] = [()] * len(self.job.caps)
        for (nodes, _), taken in zip(state, parts_of, strict=True):
            for i in nodes:
                parts[i] = taken
        return self.job.answer(parts, "fractional_repetition")

    def _room(self, nodes: Sequence[int]) -> int:
        """Return how many partitions all of some nodes can take."""
        room = min(self.job.caps[i] for i in nodes)
        if self.holds is None:
            return room
        return min(room, int(self.holds[list(nodes)].all(axis=0).sum()))

    def every(self) -> Iterator[GroupsOf] | None:
        """Return all groups with all shares."""
        return None if len(self.alive) > _FEW else self._every()

    def _every(self) -> Iterator[GroupsOf]:
        seen: set[object] = set()
        for groups in _groupings(self.alive, self.job.copies):
            room = [self._room(nodes) for nodes in groups]
            for shares in _spread(room, list(range(len(room))), self.job.task.partitions):
                kinds = [tuple(sorted(self.class_of[i] for i in nodes)) for nodes in groups]
                key = tuple(sorted(zip(kinds, shares, strict=True)))
                if min(shares) > 0 and key not in seen:
                    seen.add(key)
                    yield tuple(zip(groups, shares, strict=True))

    def starts(self, best: CodedAnswer | None) -> Iterator[GroupsOf]:
        """Yield the groups of the best answer, nodes alike in speed or room, nodes that hold alike.

        Nodes that are slow or take little are also left out.
        """
        if best is not None and best.code.family == "fractional_repetition":
            yield _groups_of(best)
        if self.holds is not None:
            held: dict[bytes, list[int]] = {}
            for i in self.alive:
                held.setdefault(self.holds[i].tobytes(), []).append(i)
            yield from self._shared(list(held.values()))
        by_room = sorted(self.alive, key=lambda i: (-self.job.caps[i], self._rank[i]))
        most = len(self.alive) // self.job.copies
        for count in dict.fromkeys(np.linspace(1, max(most, 1), _STARTS).round().tolist()):
            least = int(count) * self.job.copies
            for used in dict.fromkeys((len(self.alive), (len(self.alive) + least) // 2, least)):
                for ranked in (self.ranked, by_room):
                    parts = np.array_split(np.array(ranked[:used]), int(count))
                    yield from self._shared([part.tolist() for part in parts])

    def _shared(self, groups: Sequence[Sequence[int]]) -> Iterator[GroupsOf]:
        """Yield groups with shares, one partition after another to the group that is done first."""
        if any(len(nodes) < self.job.copies for nodes in groups):
            return
        shares, room = [0] * len(groups), [self._room(nodes) for nodes in groups]
        for _ in range(self.job.task.partitions):
            free = [g for g, share in enumerate(shares) if share < room[g]]
            if not free:
                return
            late = {g: min(self.job.time(i, shares[g] + 1) for i in groups[g]) for g in free}
            shares[min(free, key=lambda g: (late[g], g))] += 1
        pairs = zip(groups, shares, strict=True)
        yield tuple((tuple(sorted(nodes)), share) for nodes, share in pairs if share)

    def moves(self, state: GroupsOf) -> int:
        """Return the pairs of groups, of nodes and groups, and of nodes, some of them twice."""
        groups, nodes = len(state), len(self.alive)
        return 2 * groups * groups + nodes * (groups + 1) + nodes * nodes

    def moved(self, state: GroupsOf, code: int, step: int) -> GroupsOf | None:
        """Move partitions or a node between groups, leave a node out, join or split groups."""
        count, nodes = len(state), len(self.alive)
        if code < count * count:
            return self._shifted(state, *divmod(code, count), step)
        code -= count * count
        if code < count * count:
            return self._joined(state, *divmod(code, count))
        code -= count * count
        if code < nodes * (count + 1):
            k, target = divmod(code, count + 1)
            return self._put(state, self.alive[k], target)
        i, j = (self.alive[k] for k in divmod(code - nodes * (count + 1), nodes))
        return self._exchanged(state, i, j) if i < j else None

    def _shifted(self, state: GroupsOf, g: int, h: int, step: int) -> GroupsOf | None:
        """Move partitions from a group to another."""
        amount = min(step, state[g][1] - 1)
        if g == h or amount < 1:
            return None
        shares = {g: state[g][1] - amount, h: state[h][1] + amount}
        return _with(state, {k: (state[k][0], share) for k, share in shares.items()})

    def _joined(self, state: GroupsOf, g: int, h: int) -> GroupsOf | None:
        """Join two groups, or split one into its fast and its slow nodes."""
        (mine, share), (theirs, other) = state[g], state[h]
        rest = tuple(pair for k, pair in enumerate(state) if k not in (g, h))
        if g < h:
            return (*rest, (tuple(sorted(mine + theirs)), share + other))
        if g > h or len(mine) < 2 * self.job.copies or share < 2:
            return None
        fast, middle = sorted(mine, key=self._rank.__getitem__), len(mine) // 2
        halves = (fast[:middle], share - share // 2), (fast[middle:], share // 2)
        return (*rest, *((tuple(sorted(part)), less) for part, less in halves))

    def _put(self, state: GroupsOf, node: int, target: int) -> GroupsOf | None:
        """Put a node into a group, or into none."""
        found = []
        for k, (nodes, share) in enumerate(state):
            members = {*nodes} - {node} | ({node} if k == target else set())
            if len(members) < self.job.copies:
                return None
            found.append((tuple(sorted(members)), share))
        return tuple(found) if tuple(found) != state else None

    def _exchanged(self, state: GroupsOf, i: int, j: int) -> GroupsOf | None:
        """Let two nodes change places."""
        other = {i: j, j: i}
        found = tuple(
            (tuple(sorted(other.get(k, k) for k in mine)), share) for mine, share in state
        )
        return found if found != state else None

    def largest(self, state: GroupsOf) -> int:
        """Return the largest share."""
        return max(share for _, share in state)


ItemT = TypeVar("ItemT")


def _with(state: tuple[ItemT, ...], changes: dict[int, ItemT]) -> tuple[ItemT, ...]:
    return tuple(changes.get(k, item) for k, item in enumerate(state))


def _ends(shares: Sequence[int]) -> list[int]:
    return list(itertools.accumulate(shares))


def _groups_of(answer: CodedAnswer) -> GroupsOf:
    """Return the groups of an answer of fractional repetition."""
    members: dict[frozenset[int], list[int]] = {}
    for i, mine in enumerate(answer.partitions or ()):
        if mine:
            members.setdefault(frozenset(mine), []).append(i)
    return tuple((tuple(nodes), len(mine)) for mine, nodes in members.items())


def _spread(caps: Sequence[int], class_of: Sequence[int], total: int) -> Iterator[LoadsOf]:
    """Yield all ways to spread a total, not rising within a class."""
    last: dict[int, int] = {}

    def room(first: int) -> int:
        return sum(
            min(cap, last.get(c, cap))
            for cap, c in zip(caps[first:], class_of[first:], strict=True)
        )

    def fill(i: int, rest: int) -> Iterator[LoadsOf]:
        if i == len(caps):
            yield ()
            return
        before = last.get(class_of[i])
        for load in range(min(caps[i], rest, rest if before is None else before), -1, -1):
            last[class_of[i]] = load
            if rest - load > room(i + 1):
                break
            yield from ((load, *others) for others in fill(i + 1, rest - load))
        if before is None:
            last.pop(class_of[i], None)
        else:
            last[class_of[i]] = before

    if total <= sum(caps):
        yield from fill(0, total)


def _groupings(nodes: Sequence[int], least: int) -> Iterator[tuple[tuple[int, ...], ...]]:
    """Yield all sets of disjoint groups of at least ``least`` nodes; some nodes are in none."""
    groups: list[list[int]] = []

    def fill(k: int) -> Iterator[tuple[tuple[int, ...], ...]]:
        if k == len(nodes):
            if groups and min(len(group) for group in groups) >= least:
                yield tuple(tuple(group) for group in groups)
            return
        yield from fill(k + 1)
        for group in groups:
            group.append(nodes[k])
            yield from fill(k + 1)
            group.pop()
        groups.append([nodes[k]])
        yield from fill(k + 1)
        groups.pop()

    yield from fill(0)
