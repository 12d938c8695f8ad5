"""The linear program of one stage of a leximin answer, changed and solved again by HiGHS."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from itertools import product
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.models.arrays import BoolArray, FloatArray, IntArray
from allocsolve.models.errors import SolverCrash
from allocsolve.solvers.engines.highs import highs, interruptible, require

if TYPE_CHECKING:
    import highspy

__all__ = ["CLOSE", "ROOM", "LevelProgram", "Stage", "WholeLevels"]

CLOSE = 1e-9
"""Relative difference of levels that counts as none."""

ROOM = 1e-12
"""Relative room that floors leave; prices of a late stage multiply it by some thousands."""

_TOLERANCES = (1e-9, 1e-8, 1e-7)
_STRATEGIES = (1, 4)
"""The dual simplex method, and the primal one where it cannot decide."""

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

    The shares of a job sum to at most 1, and no type is held beyond its stock.

    Parameters
    ----------
    pace
        float64 (n, m), levels that a full time share of a type brings.
    gang, stock
        float64 (n,) and (m,).
    stop
        Asked while HiGHS works; True ends it.
    others
        What other jobs hold of each type: (2, m), the amount at level 0 and how it rises.
    """

    def __init__(
        self,
        pace: FloatArray,
        gang: FloatArray,
        stock: FloatArray,
        *,
        stop: Callable[[], bool],
        others: FloatArray | None = None,
    ) -> None:
        self.n, self.m = pace.shape
        self._others = np.zeros((2, self.m)) if others is None else others / stock
        top = pace.max(axis=1, initial=0.0)
        lowest = float(top.min(initial=np.inf, where=top > 0))
        self._unit = lowest if np.isfinite(lowest) else 1.0
        # Rows between what they gain and what the level asks of them, geometrically: both may
        # be spread over many powers of ten.
        self._row: FloatArray = 1 / np.sqrt(np.where(top > 0, top, self._unit) * self._unit)
        self.solved = 0
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
        rows = [job[self._used], n + kind[self._used], n + m + job[self._used]]
        values = [
            (pace * self._row[:, None]).ravel()[self._used],
            np.repeat(gang, m)[self._used] / stock[kind][self._used],
            np.ones(int(self._used.sum())),
        ]
        columns = np.tile(column[self._used], len(rows))
        height = n + m + n
        # The level, the last column: what it asks of jobs, and what others hold with it.
        rows.append(np.arange(n + m))
        values.append(np.concatenate([-self._row * self._unit, self._others[1] * self._unit]))
        table = csc_matrix(
            (
                np.concatenate(values),
                (np.concatenate(rows), np.concatenate([columns, np.full(n + m, n * m)])),
            ),
            shape=(height, n * m + 1),
        )
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = n * m + 1, height
        program.sense_ = highspy.ObjSense.kMaximize
        program.col_cost_ = np.append(np.zeros(n * m), 1.0)
        program.col_lower_ = np.append(np.zeros(n * m), -highspy.kHighsInf)
        # No level is higher than all paces; the bound matters where no row rises.
        program.col_upper_ = np.append(
            np.full(n * m, highspy.kHighsInf), 2 * pace.max() / self._unit
        )
        program.row_lower_ = np.append(np.zeros(n), np.full(height - n, -highspy.kHighsInf))
        upper = np.append(np.full(n, highspy.kHighsInf), np.ones(height - n))
        upper[n : n + m] -= self._others[0]
        program.row_upper_ = upper
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
        for strategy, tolerance in product(_STRATEGIES, _TOLERANCES):
            require(solver.setOptionValue("simplex_strategy", strategy), "setting a strategy")
            for name in ("primal_feasibility_tolerance", "dual_feasibility_tolerance"):
                require(solver.setOptionValue(name, tolerance), f"setting {name}")
            ran = solver.run() != highspy.HighsStatus.kError
            self.solved += 1
            status = solver.getModelStatus()
            if ran and status != highspy.HighsModelStatus.kUnknown:
                return status
            info = solver.getInfo()
            wrong = max(info.max_primal_infeasibility, info.max_dual_infeasibility)
            if ran and wrong <= _TOLERANCES[-1]:  # a vertex that only rescaling makes doubtful
                return highspy.HighsModelStatus.kOptimal
            far = info.max_primal_infeasibility > _FAR
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
            asked = -float(self._row[i] * self._unit) if rises[i] else 0.0
            require(solver.changeCoeff(i, n * m, asked), "changing a row")
        self._rises = rises.copy()
        places = np.arange(n, dtype=np.int32)
        change = solver.changeRowsBounds  # type: ignore[attr-defined]  # its stub lacks it
        above = np.full(n, highspy.kHighsInf)
        require(
            change(n, places, np.asarray(floor * self._row, dtype=np.float64), above),
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
        worth, prices = dual[:n] * self._row, dual[n : n + m] / self._stock
        unit = self._unit
        return Stage(float(value[-1]) * unit, share, worth * unit, prices * unit)


class WholeLevels:
    """Stages in which every program holds all jobs, the frozen ones with their level as floor.

    Attributes
    ----------
    programs
        How many were asked for.
    """

    def __init__(
        self, pace: FloatArray, gang: FloatArray, stock: FloatArray, stop: Callable[[], bool]
    ) -> None:
        self.programs = 0
        self._program = LevelProgram(pace, gang, stock, stop=stop)
        self._floor = np.zeros(len(gang))
        self._fitting: Stage | None = None

    def raise_to(
        self,
        stopped: IntArray,
        rising: IntArray,
        reach: FloatArray,
        types: BoolArray,  # noqa: ARG002 - reach says what the open types bring
    ) -> Stage | None:
        """Raise some jobs together, others to their reach only; None if that cannot be."""
        floor = self._floor * (1 - ROOM)
        rises = np.zeros(len(floor), dtype=np.bool_)
        rises[rising] = True
        floor[stopped] = reach[stopped] * (1 - ROOM)
        self.programs += 1
        return self._program.solve_stage(rises, floor)

    def together(self, order: IntArray, reach: FloatArray, types: BoolArray) -> Stage | None:
        """Raise all of these jobs."""
        return self.raise_to(order[:0], order, reach, types)

    def fits(self, order: IntArray, stopped: int, reach: FloatArray, types: BoolArray) -> bool:
        """Tell whether the first jobs reach what they can, and the others as much as the last."""
        tried = self.raise_to(order[:stopped], order[stopped:], reach, types)
        fitting = tried is not None and tried.level >= reach[order[stopped - 1]] * (1 - CLOSE)
        if fitting:
            self._fitting = tried
        return fitting

    def above(
        self,
        order: IntArray,  # noqa: ARG002 - the last that did fit is known
        stopped: int,  # noqa: ARG002
        reach: FloatArray,  # noqa: ARG002
        types: BoolArray,  # noqa: ARG002
    ) -> Stage | None:
        """Return the stage of the others, where as many as fit stop at their reach."""
        return self._fitting

    def freeze_at_reach(self, jobs: IntArray, reach: FloatArray, types: BoolArray) -> None:  # noqa: ARG002
        """Leave these jobs at their own reach."""
        self._floor[jobs] = reach[jobs]

    def freeze(self, jobs: IntArray, stage: Stage, types: BoolArray) -> None:  # noqa: ARG002
        """Leave these jobs at the level of a stage."""
        self._floor[jobs] = stage.level
