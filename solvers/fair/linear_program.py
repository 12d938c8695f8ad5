"""Linear programs in shares handed to HiGHS as they are, without a modelling layer between."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.errors import SolverCrash
from allocsolve.solvers.engines.highs import highs, interruptible, require

if TYPE_CHECKING:
    import highspy
    from scipy.sparse import csc_matrix

__all__ = ["Linear", "Optimum", "solve_linear"]

_SHORT = 4000
"""Shares up to which a program is solved before anybody could want to stop it."""

_TOLERANCES = (1e-10, 1e-9, 1e-7)


@dataclass(frozen=True, eq=False)
class Linear:
    """``max sum worth x`` with ``sum_j pace_ij x_ij >= need_i`` for k jobs and m types.

    The shares of a job sum to at most 1, and no type is held beyond its stock.

    Attributes
    ----------
    pace
        float64 (k, m), where it is 0 there is no share.
    worth
        float64 (k, m), what a full time share brings; below 0 for a cost.
    gang, stock
        float64 (k,) and (m,), above 0.
    need
        float64 (k,), None for none.
    """

    pace: FloatArray
    worth: FloatArray
    gang: FloatArray
    stock: FloatArray
    need: FloatArray | None = None

    def part(self, rows: np.ndarray, stock: FloatArray) -> Linear:
        """Return the program of some jobs with another stock."""
        need = None if self.need is None else self.need[rows]
        return Linear(self.pace[rows], self.worth[rows], self.gang[rows], stock, need)


@dataclass(frozen=True, eq=False)
class Optimum:
    """Shares (k, m), price of each type (m,), price of a unit of what each job needs (k,)."""

    share: FloatArray
    prices: FloatArray
    worth: FloatArray


class _Cells:
    """The shares that may be positive, counted as parts of the most that a job can hold."""

    def __init__(self, program: Linear) -> None:
        self.job, self.kind = np.nonzero(program.pace > 0)
        place = (self.job, self.kind)
        self.most: FloatArray = np.minimum(program.stock[self.kind] / program.gang[self.job], 1.0)
        self.worth: FloatArray = program.worth[place] * self.most
        self.load: FloatArray = program.gang[self.job] * self.most / program.stock[self.kind]
        self.gain: FloatArray = program.pace[place] * self.most

    def table(self, jobs: int, types: int, need: FloatArray | None) -> csc_matrix:
        """Return the rows: types, time of each job, and parts of what each needs."""
        from scipy.sparse import csc_matrix

        column = np.arange(len(self.job))
        rows = [self.kind, types + self.job]
        values = [self.load, self.most]
        if need is not None:
            with np.errstate(divide="ignore"):
                rows.append(types + jobs + self.job)
                values.append(np.where(need[self.job] > 0, self.gain / need[self.job], 0.0))
        height = types + jobs * len(rows[1:])
        places = (np.concatenate(rows), np.tile(column, len(rows)))
        return csc_matrix((np.concatenate(values), places), shape=(height, len(column)))


def solve_linear(program: Linear, stop: Callable[[], bool]) -> Optimum | None:
    """Return an optimum; None if there is no solution, or the run was stopped.

    Raises
    ------
    SolverCrash
        If HiGHS ends with a status that is not known.
    """
    import highspy

    k, m = program.pace.shape
    cells = _Cells(program)
    unit = float(np.abs(cells.worth).max(initial=0.0)) or 1.0
    solver = highs()
    require(solver.setOptionValue("parallel", "off"), "setting parallel")
    if program.pace.size > _SHORT:
        interruptible(solver, stop)
    require(solver.passModel(_model(program, cells, unit)), "passing the program")
    status, kind = _run(solver), highspy.HighsModelStatus
    if status in (kind.kInfeasible, kind.kInterrupt, kind.kTimeLimit):
        return None
    if status not in (kind.kOptimal, kind.kModelEmpty):
        raise SolverCrash(f"HiGHS ended with status {status}")
    found = solver.getSolution()
    dual = np.abs(np.asarray(found.row_dual, dtype=np.float64)) * unit
    share = np.zeros((k, m))
    share[cells.job, cells.kind] = np.maximum(np.asarray(found.col_value), 0.0) * cells.most
    worth = np.zeros(k)
    if program.need is not None:
        needed = program.need > 0
        worth[needed] = dual[m + k :][needed] / program.need[needed]
    return Optimum(share, dual[:m] / program.stock, worth)


def _model(program: Linear, cells: _Cells, unit: float) -> highspy.HighsLp:
    import highspy

    k, m = program.pace.shape
    table, count = cells.table(k, m, program.need), len(cells.job)
    model, far = highspy.HighsLp(), highspy.kHighsInf
    model.num_col_, model.num_row_ = count, table.shape[0]
    model.sense_ = highspy.ObjSense.kMaximize
    model.col_cost_ = cells.worth / unit
    model.col_lower_, model.col_upper_ = np.zeros(count), np.full(count, far)
    lower, upper = np.full(table.shape[0], -far), np.ones(table.shape[0])
    if program.need is not None:
        lower[m + k :], upper[m + k :] = np.where(program.need > 0, 1.0, -far), far
    model.row_lower_, model.row_upper_ = lower, upper
    model.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    model.a_matrix_.start_ = table.indptr
    model.a_matrix_.index_ = table.indices
    model.a_matrix_.value_ = table.data
    return model


def _run(solver: highspy.Highs) -> highspy.HighsModelStatus:
    """Solve, less strictly if HiGHS cannot decide."""
    import highspy

    for tolerance in _TOLERANCES:
        for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
            require(solver.setOptionValue(name, tolerance), f"setting {name}")
        require(solver.run(), "solving")
        status = solver.getModelStatus()
        if status != highspy.HighsModelStatus.kUnknown:
            break
        require(solver.clearSolver(), "forgetting a basis")
    return status
