"""One run of a method, from the request to a result that the checker has seen."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace

from allocsolve.api.progress import Incumbent, Listener, Progress
from allocsolve.api.request import Request
from allocsolve.api.verdict import Facts, Verdict, judge
from allocsolve.api.warm import WarmStart, prepare
from allocsolve.models.dag.answer import DagResult, Schedule
from allocsolve.models.dag.bounds import lower_bounds
from allocsolve.models.dag.check import check, verify_reason
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.reasons import find_reason
from allocsolve.models.dag.surplus import core_of
from allocsolve.models.errors import FeatureRefused, InputError, SolverMissing, UsageError
from allocsolve.models.exact import plain
from allocsolve.models.result import (
    Certificate,
    Objective,
    Reason,
    Sense,
    SolverInfo,
    SolverProof,
    Termination,
)
from allocsolve.solvers.control import Control, Limits, Outcome, Proof, Token
from allocsolve.solvers.dag.ending import own_solver
from allocsolve.solvers.routes import Method, method_named, refuse_unsupported

__all__ = ["Callbacks", "run"]


@dataclass(frozen=True)
class Callbacks:
    """Functions of the caller and the token that ends the run."""

    on_incumbent: Callable[[Incumbent], object] | None = None
    on_event: Callable[[Progress], object] | None = None
    token: Token = field(default_factory=Token)


def run(
    problem: DagProblem,
    request: Request,
    callbacks: Callbacks | None = None,
    warm_start: WarmStart | None = None,
) -> DagResult:
    """Solve a problem as requested.

    Raises
    ------
    UsageError
        If the method is unknown or cannot honour the instance or the objective.
    InputError
        If the document of a warm start cannot be read.
    SolverMissing
        If the method's engine is not installed.
    """
    method = method_named("dag", request.method)
    refuse_unsupported(method, problem, request.objective)
    return _Run(problem, request, method, callbacks or Callbacks()).result(warm_start)


class _Run:
    """The state of one run."""

    def __init__(
        self, problem: DagProblem, request: Request, method: Method, callbacks: Callbacks
    ) -> None:
        self.problem = problem
        self.core = core_of(problem)
        self.request = request
        self.method = method
        self.warnings = list(problem.warnings)
        self.timing = dict(request.elapsed)
        self.listener = Listener(
            self.core,
            request.started,
            callbacks.token,
            callbacks.on_incumbent,
            callbacks.on_event,
        )
        limits = Limits(
            request.deadline, request.gap, request.thread_count, request.seed, request.options
        )
        self.control: Control[Schedule] = Control(limits, callbacks.token, self.listener)
        self.listener.control = self.control

    def result(self, warm_start: WarmStart | None) -> DagResult:
        """Find, check and judge an answer."""
        self._begin(warm_start)
        reason = self._verified(find_reason(self.core.problem))
        if reason is not None and self.control.answer is None:
            outcome = Outcome(Proof.INFEASIBLE, Termination.FINISHED, self._own(), reason=reason)
        else:
            self.control.examined = reason is None
            self._bound()
            outcome = self._search()
        self.listener.close()
        build = self.listener.seconds_of("building")
        if build is not None:
            self.timing["build"] = build
        if self.listener.failure is not None:
            raise self.listener.failure
        self.warnings.extend(outcome.warnings)
        return self._report(outcome)

    def _begin(self, warm_start: WarmStart | None) -> None:
        if warm_start is None:
            return
        schedule, warnings = prepare(self.problem, warm_start)
        self.warnings.extend(warnings)
        if schedule is None:
            return
        self.control.warm_start = schedule = self.core.lower(schedule)
        if self.request.time_limit != 0:
            self.control.offer(schedule, schedule.makespan, "warm_start")

    def _bound(self) -> None:
        with _Stopwatch(self.timing, "bound"):
            for bound in lower_bounds(self.core.problem)[:1]:
                self.control.raise_bound(bound)

    def _search(self) -> Outcome:
        if self.request.time_limit == 0:
            return Outcome(Proof.NOTHING, Termination.TIME_LIMIT, self._own())
        if self.control.token.cancelled:
            return Outcome(Proof.NOTHING, Termination.INTERRUPTED, self._own())
        with _Stopwatch(self.timing, "solve"):
            return self._call()

    def _call(self) -> Outcome:
        try:
            return self.method.load()(self.core.problem, self.control)
        except (FeatureRefused, InputError, SolverMissing, UsageError):
            raise
        except MemoryError:
            warning = "the method ran out of memory"
            return self._failed(Termination.MEMORY_LIMIT, warning)
        except Exception as error:  # whatever an engine raises, an answer found before it counts
            warning = f"the method failed: {type(error).__name__}: {error}"
            return self._failed(Termination.SOLVER_ERROR, warning)

    def _failed(self, termination: Termination, warning: str) -> Outcome:
        return Outcome(
            Proof.NOTHING, termination, self._own(), deterministic=False, warnings=(warning,)
        )

    def _own(self) -> SolverInfo:
        """Return the provenance of what needs no engine."""
        return own_solver(self.control, {})

    def _verified(self, reason: Reason | None) -> Reason | None:
        """Return the reason if the checker can verify it."""
        if reason is None or isinstance(reason, SolverProof):
            return None
        return reason if verify_reason(self.problem, reason) else None

    def _report(self, outcome: Outcome) -> DagResult:
        found = self.control.answer
        answer = None if found is None else self.core.lift(found)
        with _Stopwatch(self.timing, "check"):
            broken = [] if answer is None else self._violations(answer)
        verdict = judge(self._facts(outcome, answer, broken=bool(broken)))
        self.warnings.extend(broken[:5])
        if verdict.warning is not None:
            self.warnings.append(verdict.warning)
        self.timing["total"] = time.monotonic() - self.request.started
        return self._assemble(outcome, verdict, None if broken else answer)

    def _violations(self, answer: Schedule) -> list[str]:
        report = check(self.problem, answer.entries())
        found = [f"{violation.rule}: {violation.message}" for violation in report.violations]
        makespan = plain(self.problem.units(answer.makespan))
        if not found and report.value != makespan:
            found.append(f"objective_value: {makespan} instead of {report.value}")
        return found

    def _facts(self, outcome: Outcome, answer: Schedule | None, *, broken: bool) -> Facts:
        return Facts(
            value=None if answer is None or broken else answer.makespan,
            broken=broken,
            bound=self.control.bound,
            proof=outcome.proof,
            termination=outcome.termination,
            exact=self.method.exact,
            reason=self._reason(outcome),
            solver=outcome.solver.name,
        )

    def _reason(self, outcome: Outcome) -> Reason | None:
        """Return a verified reason, or the word of an exact solver that gives none, else None.

        A reason that the checker refuses counts for nothing, whoever gives it.
        """
        if outcome.proof is not Proof.INFEASIBLE:
            return None
        if outcome.reason is not None:
            return self._verified(outcome.reason)
        return SolverProof(solver=outcome.solver.name) if self.method.exact else None

    def _assemble(self, outcome: Outcome, verdict: Verdict, answer: Schedule | None) -> DagResult:
        bound = verdict.bound
        units = self.problem.units
        known = None if answer is None else plain(units(answer.makespan))
        return DagResult(
            kind="dag",
            method=self.method.name,
            status=verdict.status,
            termination=verdict.termination,
            objective=Objective(
                self.request.objective,
                Sense.MIN,
                known,
                None if bound is None else plain(units(bound.value)),
            ),
            certificate=Certificate(
                bound_source=None if bound is None else bound.source,
                checked=answer is not None,
                reason=verdict.reason,
            ),
            answer=answer,
            solver=replace(outcome.solver, options=dict(outcome.solver.options)),
            deterministic=_is_deterministic(outcome),
            instance=self.problem.origin,
            timing=self.timing,
            warnings=tuple(self.warnings),
        )


def _is_deterministic(outcome: Outcome) -> bool:
    """Whether the same request gives the same document again, on a machine of any speed."""
    ended_by_itself = outcome.termination in (Termination.FINISHED, Termination.GAP_LIMIT)
    return outcome.deterministic and outcome.solver.threads == 1 and ended_by_itself


class _Stopwatch:
    """Adds the seconds of a ``with`` block to a table."""

    def __init__(self, timing: dict[str, float], name: str) -> None:
        self._timing = timing
        self._name = name

    def __enter__(self) -> None:
        self._began = time.monotonic()

    def __exit__(self, *_: object) -> None:
        spent = time.monotonic() - self._began
        self._timing[self._name] = self._timing.get(self._name, 0.0) + spent
