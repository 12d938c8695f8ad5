"""A lower bound from sharing the tasks among nodes: a linear program over windows of nodes.

If task i runs on node k for a share x_ik, every schedule of length T >= a + b satisfies::

    sum_i d_ik x_ik <= s_k (T - a - b)    over the tasks that cannot start on node k before a
                                          and have at least b to come after they end there
    sum_k (head_ik + d_ik + tail_ik) x_ik <= T    for every task i
    sum_i m_i x_ik <= M_k            for every node k with a limit of memory
    sum_k x_ik = 1, and x_ik = x_jk for tasks i and j that share a node

with durations d, slots s, memory m and M, and the heads and tails of the node table. Without
windows and memory this is the program of Lenstra, Shmoys and Tardos ("Approximation algorithms
for scheduling unrelated parallel machines", Mathematical Programming 46, 1990). Windows that
the last answer violates are added, round by round; only those with ``a + b`` up to the bound
proven so far hold for every schedule.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.dag.node_windows import NodeTable, NodeWindow
from allocsolve.solvers.engines.apart import run_apart
from allocsolve.solvers.engines.highs import highs, interruptible, require

if TYPE_CHECKING:
    import highspy

__all__ = ["AreaBound", "area_bound", "fits"]

_CELLS = 100_000
"""Pairs of a task and a node up to which the program is solved at all."""

_PACE = 10_000
"""Pairs for each second left up to which it is begun: the engine looks at its clock rarely."""

_ROUNDS = 8
"""Rounds of windows at most."""

_PER_NODE = 3
"""Windows that a round adds for each node at most."""

_HEADS = 64
"""Heads that are tried for each node at most."""

_VIOLATED = 1e-4
"""Least violation for which a window is added, as a share of the bound."""


@dataclass(frozen=True)
class AreaBound:
    """The bound in ticks, and the windows that it rests on."""

    value: int
    windows: tuple[NodeWindow, ...]


def fits(table: NodeTable, seconds: float) -> bool:
    """Whether the program is small enough for so many seconds."""
    return table.graph.duration.size <= min(_CELLS, _PACE * seconds)


def area_bound(table: NodeTable, least: int, seconds: Callable[[], float]) -> AreaBound:
    """Solve the program round by round.

    Parameters
    ----------
    table
        Every task must be possible on some node.
    least
        A lower bound in ticks that is proven already.
    seconds
        Returns the seconds left.

    Raises
    ------
    SolverMissing
        If HiGHS is not installed.
    """
    found = run_apart(
        lambda: _rounds(table, least, seconds), lambda: seconds() <= 0, "highs area bound"
    )
    return found or AreaBound(least, ())


def _rounds(table: NodeTable, least: int, seconds: Callable[[], float]) -> AreaBound:
    program = _Program(table, seconds)
    best = least
    for _ in range(_ROUNDS):
        answer = program.solve()
        if answer is None:
            break
        best = max(best, program.safe_bound(answer))
        if not program.extend(answer, best):
            break
    return AreaBound(best, tuple(program.windows))


class _Answer(NamedTuple):
    """Shares float64 (n, N), and the multipliers of tasks, memory and windows."""

    share: FloatArray
    through: FloatArray
    memory: FloatArray
    window: FloatArray


class _Program:
    """The linear program and its windows; times in multiples of ``unit``."""

    def __init__(self, table: NodeTable, seconds: Callable[[], float]) -> None:
        self.table = table
        self.graph = table.graph
        self.possible = table.possible
        self.unit = float(max(1, table.value))
        self.windows: list[NodeWindow] = []
        self._limited = _limited_nodes(table)
        self._seconds = seconds
        self._solver = highs()
        interruptible(self._solver, lambda: seconds() <= 0)
        require(self._solver.passModel(self._model()), "passing the shares of work")
        for node in self._limited.tolist():
            self._limit_memory(node)
        for node in range(self.graph.nodes):
            self._add(NodeWindow(node, 0, 0))

    def _model(self) -> highspy.HighsLp:
        """Build the program without windows: shares, then T; rows "whole", "through", "equal"."""
        import highspy
        from scipy.sparse import coo_array

        n, nodes = self.possible.shape
        cells = np.arange(n * nodes)
        task, last = cells // nodes, n * nodes
        through = np.where(self.possible, self.table.through, 0).ravel() / self.unit
        left, right = self._pairs()
        equal = np.arange(len(left))
        rows = np.concatenate([task, n + task, n + np.arange(n), 2 * n + equal, 2 * n + equal])
        columns = np.concatenate([cells, cells, np.full(n, last), left, right])
        signs = np.repeat([1.0, -1.0], len(left))
        values = np.concatenate([np.ones(len(cells)), -through, np.ones(n), signs])
        count = 2 * n + len(left)
        matrix = coo_array((values, (rows, columns)), shape=(count, last + 1)).tocsc()
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = last + 1, count
        program.col_cost_ = np.append(np.zeros(last), 1.0)
        program.col_lower_ = np.zeros(last + 1)
        program.col_upper_ = np.append(self.possible.ravel().astype(float), highspy.kHighsInf)
        program.row_lower_ = np.append(np.ones(n), np.zeros(count - n))
        most = np.append(np.ones(n), np.full(n, highspy.kHighsInf))
        program.row_upper_ = np.append(most, np.zeros(len(left)))
        program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        program.a_matrix_.start_, program.a_matrix_.index_ = matrix.indptr, matrix.indices
        program.a_matrix_.value_ = matrix.data
        return program

    def _pairs(self) -> tuple[IntArray, IntArray]:
        """Return the shares that are equal because their tasks share a node."""
        group = self.graph.group
        members = np.argsort(group, kind="stable")
        members = members[group[members] >= 0]
        same = np.flatnonzero(group[members[:-1]] == group[members[1:]])
        node = np.arange(self.graph.nodes)
        first = members[same][:, None] * self.graph.nodes + node
        second = members[same + 1][:, None] * self.graph.nodes + node
        return first.ravel(), second.ravel()

    def _limit_memory(self, node: int) -> None:
        """Add ``- sum m x >= - M``, in multiples of M."""
        import highspy

        room = float(max(1, self.graph.node_memory[node]))
        tasks = np.flatnonzero(self.possible[:, node] & (self.graph.memory > 0))
        columns = (tasks * self.graph.nodes + node).astype(np.int32)
        values = -self.graph.memory[tasks] / room
        added = self._solver.addRow(-1.0, highspy.kHighsInf, len(columns), columns, values)
        require(added, "limiting memory")

    def _add(self, window: NodeWindow) -> None:
        """Add ``s T - sum d x >= s (a + b)``."""
        import highspy

        tasks = np.flatnonzero(window.inside(self.table))
        slots = float(self.graph.slots[window.node])
        columns = np.append(tasks * self.graph.nodes + window.node, self.possible.size)
        values = np.append(-self.graph.duration[tasks, window.node] / self.unit, slots)
        least = slots * (window.head + window.tail) / self.unit
        added = self._solver.addRow(
            least, highspy.kHighsInf, len(columns), columns.astype(np.int32), values
        )
        require(added, "adding a window")
        self.windows.append(window)

    def solve(self) -> _Answer | None:
        """Return the optimal answer; None if there was no time for it."""
        import highspy

        seconds = self._seconds()
        if math.isfinite(seconds):
            spent = self._solver.getRunTime()
            self._solver.setOptionValue("time_limit", spent + max(seconds, 0.0))
        require(self._solver.run(), "sharing work")
        if self._solver.getModelStatus() != highspy.HighsModelStatus.kOptimal:
            return None
        solution, n = self._solver.getSolution(), self.graph.n
        limits = 2 * n + len(self._pairs()[0])
        share = np.array(solution.col_value[:-1]).reshape(self.possible.shape)
        dual = np.array(solution.row_dual).clip(0.0)
        memory, window = np.split(dual[limits:], [len(self._limited)])
        return _Answer(share.clip(0.0), dual[n : 2 * n], memory, window)

    def safe_bound(self, answer: _Answer) -> int:
        """Return the bound that the multipliers prove, whatever their errors.

        For weights z of the tasks, y of the windows and v of the memory, a schedule of length
        T has ``T (sum z + sum s y) >= sum_w y_w s (a + b) - sum_k v_k M_k + sum_i min_k
        (z_i through_ik + v_k m_i + sum_w y_w d_ik)``, the last sum over the windows of node k
        that hold task i. Tasks that share a node have the minimum of their sums.
        """
        cost = answer.through[:, None] * np.where(self.possible, self.table.through, 0)
        scale, known = float(answer.through.sum()), 0.0
        for window, weight in zip(self.windows, answer.window.tolist(), strict=True):
            if weight:
                slots = float(self.graph.slots[window.node])
                inside = window.inside(self.table)
                cost[inside, window.node] += weight * self.graph.duration[inside, window.node]
                known += weight * slots * (window.head + window.tail)
                scale += weight * slots
        for node, weight in zip(self._limited.tolist(), answer.memory.tolist(), strict=True):
            price = weight * self.unit / float(max(1, self.graph.node_memory[node]))
            cost[:, node] += price * self.graph.memory
            known -= price * float(self.graph.node_memory[node])
        if scale <= 0.0:
            return 0
        least = self._of_items(np.where(self.possible, cost, np.inf)).min(axis=1)
        gained = known + float(least.sum())
        error = 1e-9 * (abs(known) + float(np.abs(least).sum()))
        return max(0, math.ceil((gained - error) / scale - 1e-9))

    def _of_items(self, cost: FloatArray) -> FloatArray:
        """Return the sum of the costs of the tasks that share a node, (items, N)."""
        group, n = self.graph.group, self.graph.n
        if not self.graph.has_groups:
            return cost
        _, item = np.unique(np.where(group >= 0, group, n + np.arange(n)), return_inverse=True)
        total = np.zeros((int(item.max()) + 1, self.graph.nodes))
        np.add.at(total, item, cost)
        return total

    def extend(self, answer: _Answer, proven: int) -> bool:
        """Add windows that the answer violates; tell whether there were any."""
        known, added = set(self.windows), False
        for node in range(self.graph.nodes):
            work = answer.share[:, node] * self.graph.duration[:, node].clip(0)
            for window in self._violated(node, work, proven):
                if window not in known:
                    self._add(window)
                    added = True
        return added

    def _violated(self, node: int, work: FloatArray, proven: int) -> list[NodeWindow]:
        """Return the most violated windows of a node."""
        busy = np.flatnonzero((work > 0) & self.possible[:, node])
        busy = busy[np.argsort(-self.table.tail[busy, node], kind="stable")]
        head, tail = self.table.head[busy, node], self.table.tail[busy, node]
        slots = float(self.graph.slots[node])
        found: list[tuple[float, NodeWindow]] = []
        for least in _thinned(head).tolist():
            value = least + tail + np.cumsum(work[busy] * (head >= least)) / slots
            value[least + tail > proven] = 0.0
            place = int(value.argmax())
            found.append((float(value[place]), NodeWindow(node, least, int(tail[place]))))
        found.sort(reverse=True)
        enough = proven * (1 + _VIOLATED)
        return [window for value, window in found[:_PER_NODE] if value > enough]


def _limited_nodes(table: NodeTable) -> IntArray:
    """Return the nodes whose memory can run out."""
    total = int(table.graph.memory.sum())
    return np.flatnonzero(table.graph.node_memory < total)


def _thinned(values: IntArray) -> IntArray:
    """Return the distinct values, at most ``_HEADS`` of them."""
    distinct = np.unique(values)
    if len(distinct) <= _HEADS:
        return distinct
    return distinct[np.linspace(0, len(distinct) - 1, _HEADS).astype(np.int64)]
