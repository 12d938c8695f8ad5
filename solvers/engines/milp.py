"""Runs a Pyomo model in HiGHS under the limits of a control, interruptible at any time.

The model is compiled to arrays and passed to HiGHS directly: the solver interfaces of Pyomo
exchange file descriptors of the whole process and hang in threads. HiGHS works in a thread of
its own, always with one thread (it refuses a second number of threads in the same process),
and looks at the limits in its callbacks. If it does not come back in time, its thread is left
behind and the best answer so far is given.
"""

from __future__ import annotations

import math
import threading
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

import numpy as np
from numpy.typing import NDArray

from allocsolve.models.errors import SolverCrash, SolverMissing
from allocsolve.models.result import Bound
from allocsolve.solvers.control import Control
from allocsolve.solvers.engines.apart import leave_behind
from allocsolve.solvers.engines.highs import highs, require

if TYPE_CHECKING:
    import highspy
    import pyomo.environ as pyo

    Values: TypeAlias = Sequence[float] | NDArray[np.float64]
    ValueOf: TypeAlias = Callable[[pyo.Var], float]
    Accept: TypeAlias = Callable[[ValueOf], None]

__all__ = ["EngineRun", "EngineStatus", "Numerics", "load", "map_status", "run", "version"]

AnswerT = TypeVar("AnswerT")

_STEP = 0.05
"""Seconds between two looks at the clock and the token."""

_GRACE = 0.25
"""Seconds after the limit (or a cancellation) at which the engine's thread is left behind."""

_CLOSE = 0.98
"""Absolute gap at which an integral objective is proven, with room for rounding."""

_CONTINUOUS = 1e-9
"""Gap, absolute and relative, at which an objective that is not integral is proven."""

_compiling = threading.Lock()
"""Held while Pyomo compiles a model: it sets itself up at its first use, and pauses the garbage
collector of the whole process."""

_ROUNDING = 0.01
"""A bound this far above an integer is rounded down to it, not up."""


class EngineStatus(Enum):
    """What the engine says about the model it was given."""

    OPTIMAL = "optimal"
    INFEASIBLE = "infeasible"
    STOPPED = "stopped"


@dataclass(frozen=True)
class EngineRun:
    """How a run of the engine ended.

    Attributes
    ----------
    bound
        Proven lower bound on the integral objective, None if there is none.
    abandoned
        The engine's thread is still at work: leave the process with ``os._exit``.
    real_bound
        The bound as it is, where the objective is not integral; then ``bound`` is None.
    """

    status: EngineStatus
    bound: int | None
    abandoned: bool = False
    real_bound: float | None = None


@dataclass(frozen=True)
class Numerics:
    """What the engine may take for an integer or for satisfied, and how long it tries.

    Attributes
    ----------
    tolerance
        From 1e-10 to 1e-6.
    whole
        Whether the objective is integral at every solution.
    nodes
        Largest number of nodes of its search tree, None for no limit.
    """

    tolerance: float = 1e-6
    whole: bool = True
    nodes: int | None = None


def load() -> None:
    """Import Pyomo and HiGHS, so that this time is spent where the caller wants it.

    Raises
    ------
    SolverMissing
        If one of them is not installed or cannot be loaded.
    """
    try:
        import pyomo.environ
        import pyomo.repn.plugins.standard_form  # noqa: F401
    except ImportError as error:
        raise SolverMissing(f"method 'milp' needs pyomo: pip install pyomo ({error})") from None
    highs()


def version() -> str:
    """Return the version of HiGHS."""
    from importlib.metadata import version as version_of

    return version_of("highspy")


def map_status(status: highspy.HighsModelStatus) -> EngineStatus:
    """Return the meaning of a model status of HiGHS.

    Raises
    ------
    SolverCrash
        For every status that is not known here.
    """
    import highspy

    kind = highspy.HighsModelStatus
    known = {
        kind.kOptimal: EngineStatus.OPTIMAL,
        kind.kModelEmpty: EngineStatus.OPTIMAL,
        kind.kInfeasible: EngineStatus.INFEASIBLE,
        # Presolve does not always tell the two apart; our objectives are bounded from below.
        kind.kUnboundedOrInfeasible: EngineStatus.INFEASIBLE,
        kind.kTimeLimit: EngineStatus.STOPPED,
        kind.kInterrupt: EngineStatus.STOPPED,
        kind.kSolutionLimit: EngineStatus.STOPPED,
    }
    if status not in known:
        raise SolverCrash(f"HiGHS ended with status {status.name}, which is no answer")
    return known[status]


def run(
    model: pyo.ConcreteModel, control: Control[AnswerT], accept: Accept, numerics: Numerics
) -> EngineRun:
    """Minimise a model.

    If every variable has a value in the model, the engine begins there.

    Parameters
    ----------
    accept
        Called with a function from variables to values for every better solution.

    Raises
    ------
    SolverCrash
        If the engine fails, or gives a status that is not known.
    """
    job = _Job(model, control, accept, numerics)
    thread = threading.Thread(target=job.work, name="highs", daemon=True)
    thread.start()
    patience = _GRACE
    while not job.done.wait(_STEP):
        if job.should_stop():
            patience -= _STEP
            if patience <= 0:
                break
    abandoned = not job.done.is_set()
    if abandoned:
        leave_behind(thread)
    return job.outcome(abandoned=abandoned)


class _Job(Generic[AnswerT]):
    """One run of the engine in its thread."""

    def __init__(
        self,
        model: pyo.ConcreteModel,
        control: Control[AnswerT],
        accept: Accept,
        numerics: Numerics,
    ) -> None:
        self.done = threading.Event()
        self._model = model
        self._control = control
        self._accept = accept
        self._numerics = numerics
        self._columns: dict[int, int] = {}
        self._bound: int | None = None
        self._real_bound: float | None = None
        self._run: EngineRun | None = None
        self._error: BaseException | None = None
        self._left_behind = False

    def work(self) -> None:
        """Compile and solve; run in the engine's thread."""
        try:
            self._run = self._solve()
        except BaseException as error:
            self._error = self._error or error
        finally:
            self.done.set()

    def should_stop(self) -> bool:
        """Whether a limit is reached, the token is set, or what was found is enough."""
        return self._left_behind or self._error is not None or self._control.stopped() is not None

    def outcome(self, *, abandoned: bool) -> EngineRun:
        """Return how the run ended, or raise what went wrong."""
        if self._error is not None:
            raise self._error
        if abandoned or self._run is None:
            self._left_behind = True
            return EngineRun(
                EngineStatus.STOPPED, self._bound, abandoned=True, real_bound=self._real_bound
            )
        return self._run

    def _solve(self) -> EngineRun:
        import highspy

        while not _compiling.acquire(timeout=_STEP):
            if self.should_stop():
                return EngineRun(EngineStatus.STOPPED, None)
        try:
            program, variables = _compile(self._model)
        finally:
            _compiling.release()
        discrete = any(kind == highspy.HighsVarType.kInteger for kind in program.integrality_)
        self._columns = {id(variable): k for k, variable in enumerate(variables)}
        solver = highs()
        self._configure(solver)
        require(solver.passModel(program), "passing the model")
        _begin(solver, variables)
        solver.cbMipImprovingSolution += self._on_solution
        solver.cbMipInterrupt += self._on_node
        solver.cbSimplexInterrupt += self._on_interrupt
        if self.should_stop():
            return EngineRun(EngineStatus.STOPPED, None)
        require(solver.run(), "solving")
        status = map_status(solver.getModelStatus())
        if status is EngineStatus.OPTIMAL:
            self._take(solver.getSolution().col_value)
        info = solver.getInfo()
        if discrete and status is not EngineStatus.INFEASIBLE:
            self._note_bound(info.mip_dual_bound)
        elif status is EngineStatus.OPTIMAL:
            self._note_bound(info.objective_function_value)
        return EngineRun(status, self._bound, real_bound=self._real_bound)

    def _configure(self, solver: highspy.Highs) -> None:
        limits, tolerance = self._control.limits, self._numerics.tolerance
        options: dict[str, str | float] = {
            "parallel": "off",
            "random_seed": limits.seed % 2**31,
            "mip_rel_gap": limits.gap if self._numerics.whole else max(limits.gap, _CONTINUOUS),
            "mip_abs_gap": _CLOSE if self._numerics.whole else _CONTINUOUS,
            "mip_feasibility_tolerance": tolerance,
            "primal_feasibility_tolerance": tolerance,
        }
        if limits.deadline is not None:
            options["time_limit"] = max(self._control.remaining(), 0.01)
        if self._numerics.nodes is not None:
            options["mip_max_nodes"] = self._numerics.nodes
        for name, value in options.items():
            require(solver.setOptionValue(name, value), f"setting {name} = {value}")

    def _on_solution(self, event: highspy.HighsCallbackEvent) -> None:
        self._take(event.data_out.mip_solution)

    def _on_node(self, event: highspy.HighsCallbackEvent) -> None:
        self._note_bound(event.data_out.mip_dual_bound)
        self._on_interrupt(event)

    def _on_interrupt(self, event: highspy.HighsCallbackEvent) -> None:
        if event.data_in is not None and self.should_stop():
            event.data_in.user_interrupt = True

    def _take(self, values: Values) -> None:
        """Hand a solution on, unless the caller has left."""
        try:
            if not self._left_behind:
                self._accept(lambda variable: self._value(values, variable))
        except BaseException as error:
            # It must not pass through the engine, which stops at its next look.
            self._error = self._error or error

    def _value(self, values: Values, variable: pyo.Var) -> float:
        """Return the value of a variable, 0 if nothing in the model depends on it."""
        column = self._columns.get(id(variable))
        return 0.0 if column is None else float(values[column])

    def _note_bound(self, bound: float) -> None:
        """Keep a bound; if the objective is integral it can be rounded up."""
        if self._left_behind or not math.isfinite(bound):
            return
        if not self._numerics.whole:
            self._real_bound = max(bound, bound if self._real_bound is None else self._real_bound)
            return
        value = math.ceil(bound - _ROUNDING)
        self._bound = value if self._bound is None else max(value, self._bound)
        try:
            self._control.raise_bound(Bound(self._bound, "highs", "proven by HiGHS"))
        except BaseException as error:
            self._error = self._error or error


def _compile(model: pyo.ConcreteModel) -> tuple[highspy.HighsLp, Sequence[pyo.Var]]:
    """Return the arrays of a model, and its variables in the order of the columns."""
    import highspy
    from pyomo.repn.plugins.standard_form import LinearStandardFormCompiler

    form = LinearStandardFormCompiler().write(model, mixed_form=True)
    matrix, sides = form.A.tocsc(), np.asarray(form.rhs, float)
    # The bound type of a row: 1 for "<= side", 0 for "== side", -1 for ">= side".
    kind = np.array([row.bound_type for row in form.rows], int)
    program = highspy.HighsLp()
    program.num_col_, program.num_row_ = len(form.columns), len(sides)
    program.col_cost_ = form.c.toarray().ravel().astype(float)
    program.offset_ = float(form.c_offset[0])
    program.col_lower_ = _bounds([column.lb for column in form.columns], -highspy.kHighsInf)
    program.col_upper_ = _bounds([column.ub for column in form.columns], highspy.kHighsInf)
    program.row_lower_ = np.where(kind <= 0, sides, -highspy.kHighsInf)
    program.row_upper_ = np.where(kind >= 0, sides, highspy.kHighsInf)
    program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
    program.a_matrix_.start_, program.a_matrix_.index_ = matrix.indptr, matrix.indices
    program.a_matrix_.value_ = matrix.data.astype(float)
    integer, continuous = highspy.HighsVarType.kInteger, highspy.HighsVarType.kContinuous
    program.integrality_ = [integer if c.is_integer() else continuous for c in form.columns]
    return program, form.columns


def _begin(solver: highspy.Highs, variables: Sequence[pyo.Var]) -> None:
    """Begin at the values of the variables, if they all have one."""
    import highspy

    values = [variable.value for variable in variables]
    if values and None not in values:
        start = highspy.HighsSolution()
        start.col_value = values
        require(solver.setSolution(start), "taking a start")


def _bounds(values: Sequence[float | None], missing: float) -> NDArray[np.float64]:
    return np.array([missing if value is None else value for value in values], float)
