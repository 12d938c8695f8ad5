"""The linear program of one stage of a leximin answer, changed and solved again by HiGHS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.models.arrays import BoolArray, FloatArray
from allocsolve.models.errors import SolverCrash
from allocsolve.solvers.engines.highs import highs, interruptible, require

if TYPE_CHECKING:
    import highspy

__all__ = ["LevelProgram", "Stage"]

_TOLERANCES = (1e-9, 1e-8, 1e-7)
_FAR = 1e-3


@dataclass(frozen=True)
class Stage:
    """The highest level, shares (n, m), dual of each job's row (n,), price of each type (m,)."""

    level: float
    share: FloatArray
    worth: FloatArray
    prices: FloatArray


class LevelProgram:
    """``max t`` with ``sum_j pace_ij x_ij >= rises_i t + floor_i`` for n jobs and m types.

    Parameters
    ----------
    pace
        float64 (n, m), levels that a full time share of a type brings.
    gang, stock
        float64 (n,) and (m,).
    time
        Whether the shares of a job sum to at most 1.
    stop
        Asked while HiGHS works; True ends it.
    """

    def __init__(
        self,
        pace: FloatArray,
        gang: FloatArray,
        stock: FloatArray,
        *,
        time: bool,
        stop: Callable[[], bool],
    ) -> None:
        self.n, self.m = pace.shape
        self.solved = 0
        self._time = time
        self._solver = highs()
        require(self._solver.setOptionValue("parallel", "off"), "setting parallel")
        interruptible(self._solver, stop)
        require(self._solver.passModel(self._program(pace, gang, stock)), "passing the program")

    def _program(self, pace: FloatArray, gang: FloatArray, stock: FloatArray) -> highspy.HighsLp:
        """Columns: shares job by job, then the level. Rows: jobs, types, time of each job."""
        import highspy
        from scipy.sparse import csc_matrix

        n, m = self.n, self.m
        job, kind = np.repeat(np.arange(n), m), np.tile(np.arange(m), n)
        column = np.arange(n * m)
        self._used = pace.ravel() > 0
        rows = [job[self._used], n + kind[self._used]]
        values = [
            pace.ravel()[self._used],
            np.repeat(gang, m)[self._used] / stock[kind][self._used],
        ]
        if self._time:
            rows.append(n + m + job[self._used])
            values.append(np.ones(int(self._used.sum())))
        columns = np.tile(column[self._used], len(rows))
        height = n + m + (n if self._time else 0)
        rows.append(np.arange(n))
        values.append(-np.ones(n))
        table = csc_matrix(
            (
                np.concatenate(values),
                (np.concatenate(rows), np.concatenate([columns, np.full(n, n * m)])),
            ),
            shape=(height, n * m + 1),
        )
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = n * m + 1, height
        program.sense_ = highspy.ObjSense.kMaximize
        program.col_cost_ = np.append(np.zeros(n * m), 1.0)
        program.col_lower_ = np.append(np.zeros(n * m), -highspy.kHighsInf)
        # No level is higher than all paces; the bound matters where no row rises.
        program.col_upper_ = np.append(np.full(n * m, highspy.kHighsInf), 2 * pace.max())
        program.row_lower_ = np.append(np.zeros(n), np.full(height - n, -highspy.kHighsInf))
        program.row_upper_ = np.append(np.full(n, highspy.kHighsInf), np.ones(height - n))
        program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        program.a_matrix_.start_ = table.indptr
        program.a_matrix_.index_ = table.indices
        program.a_matrix_.value_ = table.data
        self._stock, self._rises = stock, np.ones(n, dtype=np.bool_)
        return program

    def _run(self) -> highspy.HighsModelStatus:
        """Solve, from scratch and less strictly if HiGHS cannot decide.

        A program that it still leaves open far from any solution counts as infeasible: near
        ties, which only a proof could tell apart.
        """
        import highspy

        solver = self._solver
        for tolerance in _TOLERANCES:
            for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
                require(solver.setOptionValue(name, tolerance), f"setting {name}")
            require(solver.run(), "solving")
            self.solved += 1
            status = solver.getModelStatus()
            if status != highspy.HighsModelStatus.kUnknown:
                return status
            far = solver.getInfo().max_primal_infeasibility > _FAR
            require(solver.clearSolver(), "forgetting a basis")
        return highspy.HighsModelStatus.kInfeasible if far else status

    def solve_stage(self, rises: BoolArray, floor: FloatArray) -> Stage | None:
        """Solve with these rows; None if the floors cannot be met, or the run was stopped.

        Raises
        ------
        SolverCrash
            If HiGHS ends with a status that is not known.
        """
        import highspy

        n, m, solver = self.n, self.m, self._solver
        for i in np.flatnonzero(rises != self._rises).tolist():
            require(solver.changeCoeff(i, n * m, -1.0 if rises[i] else 0.0), "changing a row")
        self._rises = rises.copy()
        places = np.arange(n, dtype=np.int32)
        change = solver.changeRowsBounds  # type: ignore[attr-defined]  # its stub lacks it
        above = np.full(n, highspy.kHighsInf)
        require(
            change(n, places, np.asarray(floor, dtype=np.float64), above),
            "changing the floors",
        )
        status, kind = self._run(), highspy.HighsModelStatus
        if status in (kind.kInfeasible, kind.kInterrupt, kind.kTimeLimit):
            return None
        if status != kind.kOptimal:
            raise SolverCrash(f"HiGHS ended with status {status}")
        found = solver.getSolution()
        value, dual = np.asarray(found.col_value), np.abs(np.asarray(found.row_dual))
        share = np.where(self._used, np.maximum(value[:-1], 0.0), 0.0).reshape(n, m)
        return Stage(float(value[-1]), share, dual[:n], dual[n : n + m] / self._stock)
