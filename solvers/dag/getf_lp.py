"""The linear program behind GETF, and a lower bound from it that rounding cannot break.

Chudak and Shmoys, "Approximation algorithms for precedence-constrained scheduling problems
on parallel machines that run at different speeds", Journal of Algorithms 30(2), 1999::

    min D    sum_k x_jk = 1                     every task j is split among classes k of nodes
             C_j >= r_j + sum_k d_jk x_jk       releases r, durations d
             C_b >= C_a + lag + sum_k d_bk x_bk for every edge a -> b
             sum_j d_jk x_jk <= m_k D           m_k slots of class k
             C_j <= D

Nodes with equal durations form a class, so the program is no weaker than with every node on
its own. Communication is left out; it only delays. The program is valid for unrelated nodes
too.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.dag.graph import CommGraph
from allocsolve.solvers.engines.apart import run_apart
from allocsolve.solvers.engines.highs import highs, interruptible, require

if TYPE_CHECKING:
    import highspy

__all__ = ["LpAnswer", "solve_lp"]

_PACE = 100_000
"""Coefficients for each second up to which it is begun: presolving looks at no clock."""

_GRACE = 0.1
"""Seconds that the engine has once it should stop: a schedule is still to be found then."""


@dataclass(frozen=True, eq=False)
class LpAnswer:
    """A solution of the linear program.

    Attributes
    ----------
    share
        float64 (n, N): part of each task on each node (a class shares alike among its slots).
    value
        Optimal D in ticks, as the engine reports it.
    bound
        Lower bound on every makespan in ticks, from the multipliers.
    """

    share: FloatArray
    value: float
    bound: int


@dataclass(frozen=True, eq=False)
class _Classes:
    """Classes of nodes: ``of`` int64 (N,), ``duration`` int64 (n, K), ``slots`` int64 (K,)."""

    of: IntArray
    duration: IntArray
    slots: IntArray


def _classes(graph: CommGraph) -> _Classes:
    distinct, of = np.unique(graph.duration, axis=1, return_inverse=True)
    slots = np.zeros(distinct.shape[1], np.int64)
    np.add.at(slots, of.reshape(-1), graph.slots)
    return _Classes(of.reshape(-1), distinct, slots)


def solve_lp(
    graph: CommGraph, seconds: float, stop: Callable[[], bool] = lambda: False
) -> LpAnswer | None:
    """Solve the linear program; None if it takes, or would take, longer than ``seconds``.

    Every task must be able to run on some node.

    Parameters
    ----------
    stop
        Asked again and again; true ends the run without an answer.

    Raises
    ------
    SolverMissing
        If HiGHS is not installed.
    """
    classes = _classes(graph)
    if (3 * graph.n + len(graph.edge_lag)) * len(classes.slots) > _PACE * seconds:
        return None
    return run_apart(lambda: _solve(graph, classes, seconds, stop), stop, "highs", _GRACE)


def _solve(
    graph: CommGraph, classes: _Classes, seconds: float, stop: Callable[[], bool]
) -> LpAnswer | None:
    unit = float(max(1, graph.duration.max(), graph.release.max(), graph.edge_lag.max(initial=0)))
    solver = highs()
    if math.isfinite(seconds):
        solver.setOptionValue("time_limit", max(seconds, 0.0))
    interruptible(solver, stop)
    require(solver.passModel(_model(graph, classes, unit)), "passing chains and loads")
    require(solver.run(), "solving chains and loads")
    if not _is_optimal(solver):
        return None
    solution = solver.getSolution()
    n, count = graph.n, len(classes.slots)
    split = np.array(solution.col_value[: n * count]).reshape(n, count).clip(0.0)
    per_slot = split[:, classes.of] / classes.slots[classes.of]
    share = per_slot * graph.slots
    share /= np.maximum(share.sum(axis=1, keepdims=True), 1e-12)
    bound = _safe_bound(graph, classes, np.array(solution.row_dual))
    return LpAnswer(share, float(solution.col_value[-1]) * unit, bound)


def _is_optimal(solver: highspy.Highs) -> bool:
    import highspy

    return bool(solver.getModelStatus() == highspy.HighsModelStatus.kOptimal)


def _model(graph: CommGraph, classes: _Classes, unit: float) -> highspy.HighsLp:
    """Build the program in the order of the module's text; times in multiples of ``unit``."""
    import highspy
    from scipy.sparse import coo_array

    n, edges, count = graph.n, len(graph.edge_lag), len(classes.slots)
    length = classes.duration.clip(0) / unit
    cells = np.arange(n * count).reshape(n, count)
    ends, last = n * count + np.arange(n), n * count + n
    sources, targets = graph.edge_source, graph.edge_target
    rows: list[tuple[IntArray, IntArray, FloatArray]] = []

    def add(row: IntArray, column: IntArray, value: FloatArray | float) -> None:
        row, column = np.broadcast_arrays(row, column)
        rows.append((row.ravel(), column.ravel(), np.broadcast_to(value, row.shape).ravel()))

    task, edge, area = np.arange(n), n + np.arange(edges), n + edges + np.arange(count)
    finish, whole = n + edges + count + np.arange(n), 2 * n + edges + count + np.arange(n)
    add(task, ends, 1.0)
    add(task[:, None], cells, -length)
    add(edge, ends[targets], 1.0)
    add(edge, ends[sources], -1.0)
    add(edge[:, None], cells[targets], -length[targets])
    add(area, np.array(last), classes.slots.astype(np.float64))
    add(area[None, :], cells, -length)
    add(finish, np.array(last), 1.0)
    add(finish, ends, -1.0)
    add(whole[:, None], cells, 1.0)
    total = 3 * n + edges + count
    i, j, v = (np.concatenate([part[k] for part in rows]) for k in range(3))
    matrix = coo_array((v, (i, j)), shape=(total, last + 1)).tocsc()
    lower = np.zeros(total)
    lower[task], lower[edge], lower[whole] = graph.release / unit, graph.edge_lag / unit, 1.0
    upper = np.full(total, highspy.kHighsInf)
    upper[whole] = 1.0
    most = np.full(last + 1, highspy.kHighsInf)
    most[: n * count] = (classes.duration >= 0).ravel()
    cost = np.zeros(last + 1)
    cost[last] = 1.0
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = last + 1, total
    program.col_cost_, program.col_lower_, program.col_upper_ = cost, np.zeros(last + 1), most
    program.row_lower_, program.row_upper_ = lower, upper
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_, program.a_matrix_.index_ = matrix.indptr, matrix.indices
    program.a_matrix_.value_ = matrix.data
    return program


def _safe_bound(graph: CommGraph, classes: _Classes, dual: FloatArray) -> int:
    """Return a bound that holds for any multipliers: they are mended to balance exactly.

    A flow f along the edges that enters with ``enter`` and leaves with ``leave``, and weights
    y of the classes, give for every schedule of length D::

        D (sum leave + sum_k m_k y_k) >= sum_j min_k d_jk (through_j + y_k)
                                         + sum_j r_j enter_j + sum_e lag_e f_e
    """
    n, edges, count = graph.n, len(graph.edge_lag), len(classes.slots)
    flow = dual[n : n + edges].clip(0.0)
    weight = dual[n + edges : n + edges + count].clip(0.0)
    leave = dual[n + edges + count : 2 * n + edges + count].clip(0.0)
    through, enter = leave.copy(), np.zeros(n)
    for task in graph.order[::-1].tolist():
        into = graph.pred_edge[graph.pred_offset[task] : graph.pred_offset[task + 1]]
        arriving = float(flow[into].sum())
        if arriving > through[task]:
            flow[into] *= through[task] / arriving
            arriving = float(flow[into].sum())
        enter[task] = max(through[task] - arriving, 0.0)
        np.add.at(through, graph.edge_source[into], flow[into])
    scale = float(leave.sum() + (classes.slots * weight).sum())
    if scale <= 0.0:
        return 0
    cost = classes.duration * (through[:, None] + weight[None, :])
    cheapest = np.where(classes.duration >= 0, cost, np.inf).min(axis=1)
    value = cheapest.sum() + (graph.release * enter).sum() + (graph.edge_lag * flow).sum()
    return max(0, math.ceil(float(value) / scale * (1.0 - 1e-9) - 1e-9))
