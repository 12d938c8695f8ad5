"""CP-SAT in a thread of its own, beside a search that finds better schedules than it does.

Schedules flow both ways: what the engine finds is offered to the run, and once the run has a
shorter one than the engine began with, the engine begins anew with it, for longer each time.
Its bounds end the run as soon as they meet the best schedule.
"""

from __future__ import annotations

import threading
import time
from collections.abc import Mapping
from contextvars import copy_context

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import SolverCrash, SolverMissing
from allocsolve.models.result import Bound, Scalar
from allocsolve.solvers.control import Control
from allocsolve.solvers.dag import cpsat
from allocsolve.solvers.dag.refuting import refute
from allocsolve.solvers.engines.cpsat import EngineRun, EngineStatus, load, run

__all__ = ["REFUTING", "Prover"]

REFUTING = 0.15
"""Share of the time left in which lengths are refuted before the engine begins."""

_FIRST, _GROWTH = 0.7, 2.0
"""Seconds that the engine keeps on at least with the schedule it has, and how they grow."""

_GRACE = 0.6
"""Seconds after its end in which the engine may come back."""


class Prover:
    """The engine and its thread; :meth:`close` ends both.

    Parameters
    ----------
    settings
        As of the method ``cpsat``.
    workers
        Threads of the engine.

    Attributes
    ----------
    is_impossible
        Whether the engine has proven that there is no schedule.
    is_abandoned
        Whether a thread of the engine was left behind.
    has_run
        Whether the engine was asked anything.
    missing
        Why there is no engine, None if there is one.
    """

    def __init__(
        self,
        problem: DagProblem,
        control: Control[Schedule],
        settings: Mapping[str, int],
        workers: int,
    ) -> None:
        self.is_impossible = False
        self.is_abandoned = False
        self.has_run = False
        self.missing: str | None = None
        self._problem = problem
        self._control = control
        self._settings = settings
        self._workers = workers
        self._closed = threading.Event()
        self._error: BaseException | None = None
        context = copy_context()
        self._thread = threading.Thread(
            target=lambda: context.run(self._work), name="prover", daemon=True
        )

    def start(self) -> None:
        """Let the engine begin; it is loaded first if need be."""
        self._thread.start()

    @property
    def ends_the_run(self) -> bool:
        """Whether nobody else needs to go on: there is no schedule, or the engine has failed."""
        return self.is_impossible or self._error is not None

    def wait(self) -> None:
        """Let the engine go on alone until it or the run ends."""
        self._thread.join()

    def close(self) -> None:
        """End the engine, and raise what went wrong in it."""
        self._closed.set()
        self._thread.join(_GRACE)
        self.is_abandoned |= self._thread.is_alive()
        if self._error is not None:
            raise self._error

    def _work(self) -> None:
        try:
            seconds = REFUTING * self._control.remaining()
            refute(self._problem, self._control, seconds, stop=self._is_over)
            if load(self._is_over):
                self._prove()
        except cpsat.Ended:
            pass
        except SolverMissing as error:  # the others search on without it
            self.missing = str(error)
        except BaseException as error:  # raised again by `close`
            self._error = error

    def _prove(self) -> None:
        patience = _FIRST
        while not self._is_over():
            known = self._control.value
            formulation = cpsat.formulate(self._problem, self._control)
            self.has_run = True
            renew = time.monotonic() + patience
            report = run(
                formulation.model,
                self._control,
                cpsat.accept(formulation, self._control),
                self._parameters(),
                stop=lambda: self._is_over() or self._is_outdone(known, renew),  # noqa: B023
            )
            self._note(report)
            if report.abandoned or report.status in (
                EngineStatus.OPTIMAL,
                EngineStatus.INFEASIBLE,
            ):
                return
            patience *= _GROWTH

    def _parameters(self) -> dict[str, Scalar]:
        parameters = cpsat.engine_parameters(self._settings, self._workers)
        return {**parameters, "num_workers": self._workers}

    def _note(self, report: EngineRun) -> None:
        self.is_abandoned |= report.abandoned
        if report.status is EngineStatus.INFEASIBLE:
            if self._control.answer is not None:
                raise SolverCrash("CP-SAT calls an instance infeasible that has an answer")
            self.is_impossible = True
        if report.status is EngineStatus.OPTIMAL and report.bound is not None:
            self._control.raise_bound(Bound(report.bound, "cpsat", "proven by CP-SAT"))

    def _is_outdone(self, known: int | None, renew: float) -> bool:
        """Whether the engine searches on with a schedule that others have improved."""
        value = self._control.value
        is_better = value is not None and (known is None or value < known)
        return is_better and self._control.source != "cpsat" and time.monotonic() > renew

    def _is_over(self) -> bool:
        return self._closed.is_set() or self._control.stopped() is not None
