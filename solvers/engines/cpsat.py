"""Runs a CP-SAT model under the limits of a control, interruptible at any time.

The engine works in its own thread and never sees a signal; the caller looks at the clock
and at the cancellation token in short steps. If the engine does not come back in time
(presolve does not always look at the clock), its thread is left behind and the best
answer so far is given.
"""

from __future__ import annotations

import importlib
import math
import threading
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Generic, TypeAlias, TypeVar

from allocsolve.models.errors import SolverCrash, SolverMissing, UsageError
from allocsolve.models.result import Bound, Scalar
from allocsolve.solvers.control import Control
from allocsolve.solvers.engines.apart import leave_behind, never, run_apart

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

    Accept: TypeAlias = Callable[[Callable[[cp_model.IntVar], int]], None]

__all__ = ["EngineRun", "EngineStatus", "load", "map_status", "run", "version"]

AnswerT = TypeVar("AnswerT")

_STEP = 0.05
"""Seconds between two looks at the clock and the token."""

_GRACE = 0.25
"""Seconds after the limit (or a cancellation) at which the engine's thread is left behind."""


class EngineStatus(Enum):
    """What the engine says about the model it was given."""

    OPTIMAL = "optimal"
    FEASIBLE = "feasible"
    INFEASIBLE = "infeasible"
    UNKNOWN = "unknown"


@dataclass(frozen=True)
class EngineRun:
    """How a run of the engine ended.

    Attributes
    ----------
    bound
        Proven lower bound on the objective, None if there is none.
    abandoned
        The engine's thread is still at work: leave the process with ``os._exit``.
    """

    status: EngineStatus
    bound: int | None
    abandoned: bool = False


_MODULE = "ortools.sat.python.cp_model"


def load(stop: Callable[[], bool] = never) -> bool:
    """Import the engine, so that this time is spent where the caller wants it.

    Parameters
    ----------
    stop
        Asked again and again; once it says so the import is left to a thread of its own.

    Returns
    -------
    bool
        Whether the engine is loaded.

    Raises
    ------
    SolverMissing
        If ortools is not installed or cannot be loaded.
    """
    try:
        module = run_apart(lambda: importlib.import_module(_MODULE), stop, "load cp-sat", 0.0)
    except ImportError as error:
        raise SolverMissing(f"CP-SAT needs ortools: pip install ortools ({error})") from None
    return module is not None


def version() -> str:
    """Return the version of ortools."""
    from importlib.metadata import version as version_of

    return version_of("ortools")


def map_status(status: int) -> EngineStatus:
    """Return the meaning of a status of CP-SAT.

    Raises
    ------
    SolverCrash
        For an invalid model and for every status that is not known here.
    """
    from ortools.sat.python import cp_model

    known = {
        int(cp_model.OPTIMAL): EngineStatus.OPTIMAL,
        int(cp_model.FEASIBLE): EngineStatus.FEASIBLE,
        int(cp_model.INFEASIBLE): EngineStatus.INFEASIBLE,
        int(cp_model.UNKNOWN): EngineStatus.UNKNOWN,
    }
    if int(status) not in known:
        raise SolverCrash(f"CP-SAT ended with status {status}, which is no answer")
    return known[int(status)]


def run(
    model: cp_model.CpModel,
    control: Control[AnswerT],
    accept: Accept,
    parameters: Mapping[str, Scalar],
    seconds: float = math.inf,
    stop: Callable[[], bool] = never,
) -> EngineRun:
    """Minimise a model.

    Parameters
    ----------
    accept
        Called with a function from variables to values for every solution found.
    parameters
        Fields of ``SatParameters``; limits, seed and threads come from the control.
    seconds
        Limit of this run, beside those of the control.
    stop
        Asked again and again; once it says so the run ends with what it has.

    Raises
    ------
    SolverCrash
        If the engine fails, or gives a status that is not known.
    """
    until = time.monotonic() + seconds
    job = _Job(model, control, accept, parameters)
    job.limit(min(seconds, control.remaining()))
    thread = threading.Thread(target=job.work, name="cp-sat", daemon=True)
    thread.start()
    abandoned = not _wait(job, control, lambda: stop() or time.monotonic() > until)
    if abandoned:
        leave_behind(thread)
    return job.outcome(abandoned=abandoned)


def _wait(job: _Job[AnswerT], control: Control[AnswerT], stop: Callable[[], bool]) -> bool:
    """Wait for the job; False if it did not end in time."""
    patience = _GRACE
    while not job.done.wait(_STEP):
        if control.token.cancelled or control.remaining() <= 0 or stop():
            job.stop()
            patience -= _STEP
            if patience <= 0:
                return job.done.is_set()
    return True


class _Job(Generic[AnswerT]):
    """One run of the engine in its thread."""

    def __init__(
        self,
        model: cp_model.CpModel,
        control: Control[AnswerT],
        accept: Accept,
        parameters: Mapping[str, Scalar],
    ) -> None:
        from ortools.sat.python import cp_model

        self.done = threading.Event()
        self._model = model
        self._control = control
        self._error: BaseException | None = None
        self._run: EngineRun | None = None
        self._bound: int | None = None
        self._left_behind = False
        self._solver = cp_model.CpSolver()
        self._solver.best_bound_callback = self._note_bound
        self._accept = accept
        self._callback = _callback(self)
        _configure(self._solver.parameters, control, parameters)

    def work(self) -> None:
        """Solve; run in the engine's thread."""
        try:
            status = map_status(int(self._solver.solve(self._model, self._callback)))
            if status in (EngineStatus.OPTIMAL, EngineStatus.FEASIBLE):
                self._note_bound(self._solver.best_objective_bound)
            self._run = EngineRun(status, self._bound)
        except BaseException as error:
            self._error = error
        finally:
            self.done.set()

    def limit(self, seconds: float) -> None:
        """Give the engine so many seconds."""
        if math.isfinite(seconds):
            self._solver.parameters.max_time_in_seconds = max(seconds, 0.01)

    def stop(self) -> None:
        """Ask the engine to end; to be repeated, for it may not have begun."""
        self._solver.stop_search()

    def fail(self, error: BaseException) -> None:
        """Note an error of a callback, which must not pass through the engine."""
        self._error = self._error or error
        self._solver.stop_search()

    def take(self, value_of: Callable[[cp_model.IntVar], int]) -> None:
        """Hand a solution on, unless the caller has left."""
        try:
            if not self._left_behind:
                self._accept(value_of)
        except BaseException as error:
            self.fail(error)

    def outcome(self, *, abandoned: bool) -> EngineRun:
        """Return how the run ended, or raise what went wrong."""
        if self._error is not None:
            raise self._error
        if abandoned or self._run is None:
            self._left_behind = True
            return EngineRun(EngineStatus.UNKNOWN, self._bound, abandoned=True)
        return self._run

    def _note_bound(self, bound: float) -> None:
        """Keep a bound; the objective is integral, so it can be rounded up."""
        try:
            if self._left_behind or not math.isfinite(bound):
                return
            value = math.ceil(bound - 1e-6)
            self._bound = value if self._bound is None else max(value, self._bound)
            self._control.raise_bound(Bound(self._bound, "cpsat", "proven by CP-SAT"))
        except BaseException as error:
            self.fail(error)


def _callback(job: _Job[AnswerT]) -> cp_model.CpSolverSolutionCallback:
    from ortools.sat.python import cp_model

    class Callback(cp_model.CpSolverSolutionCallback):
        """Hands every solution on."""

        def on_solution_callback(self) -> None:
            """Take the solution; called by the engine."""
            job.take(self.value)

    return Callback()


def _configure(
    target: cp_model.SatParameters, control: Control[AnswerT], parameters: Mapping[str, Scalar]
) -> None:
    limits = control.limits
    target.catch_sigint_signal = False
    target.log_to_stdout = False
    target.num_workers = limits.threads
    target.random_seed = limits.seed % 2**31
    target.relative_gap_limit = limits.gap
    for name, value in parameters.items():
        _set(target, name, value)


def _set(target: cp_model.SatParameters, name: str, value: Scalar) -> None:
    try:
        if name in ("subsolvers", "extra_subsolvers", "ignore_subsolvers"):
            getattr(target, name).extend(str(value).split(","))
        else:
            setattr(target, name, value)
    except (AttributeError, TypeError, ValueError) as error:
        raise UsageError(f"CP-SAT refuses {name} = {value!r}: {error}") from None
