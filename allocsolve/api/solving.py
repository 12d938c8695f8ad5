"""One run of a method, from the request to a result that the checker has seen."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from allocsolve.api.case import Case, Ending
from allocsolve.api.cases import case_of
from allocsolve.api.progress import Incumbent, Listener, Progress
from allocsolve.api.request import Request
from allocsolve.api.verdict import Facts, Verdict, judge
from allocsolve.models.errors import FeatureRefused, InputError, SolverMissing, UsageError
from allocsolve.models.result import (
    Certificate,
    Objective,
    Reason,
    Result,
    SolverInfo,
    SolverProof,
    Termination,
)
from allocsolve.solvers.control import Limits, Outcome, Proof, Token
from allocsolve.solvers.ending import own_solver
from allocsolve.solvers.routes import Method, method_named, refuse_unsupported

if TYPE_CHECKING:
    from allocsolve.instances.kinds import Problem

__all__ = ["Callbacks", "run"]


_PER_TASK, _MOST_RESERVED = 4e-5, 0.25
"""Seconds that checking and writing take for each task, with some room, and the share of the
time left that is kept for them at most."""


@dataclass(frozen=True)
class Callbacks:
    """Functions of the caller and the token that ends the run."""

    on_incumbent: Callable[[Incumbent], object] | None = None
    on_event: Callable[[Progress], object] | None = None
    token: Token = field(default_factory=Token)


def run(
    problem: Problem,
    request: Request,
    callbacks: Callbacks | None = None,
    warm_start: object | None = None,
) -> Result[object]:
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
    case = case_of(problem, request.objective, request.options)
    method = method_named(case.kind, request.method)
    refuse_unsupported(method, problem, case.objective)
    if request.robust is not None:
        return _robust(case, request, method, callbacks or Callbacks(), warm_start)
    return _Run(case, request, method, callbacks or Callbacks()).result(warm_start)


def _robust(
    case: Case[object, object],
    request: Request,
    method: Method,
    callbacks: Callbacks,
    warm_start: object | None,
) -> Result[object]:
    """Solve with a method behind which the choice by a quantile stands."""
    from allocsolve.api.robust import RobustMethod

    robust = RobustMethod.around(method, case.problem, request)
    return robust.told(_Run(case, request, robust, callbacks).result(warm_start))


class _Run:
    """The state of one run."""

    def __init__(
        self, case: Case[object, object], request: Request, method: Method, callbacks: Callbacks
    ) -> None:
        self.case = case
        self.request = request
        self.method = method
        self.warnings = list(case.warnings)
        self.timing = dict(request.elapsed)
        self.listener = Listener(
            case,
            request.started,
            callbacks.token,
            callbacks.on_incumbent,
            callbacks.on_event,
        )
        limits = Limits(
            _search_deadline(case, request),
            request.gap,
            request.thread_count,
            request.seed,
            request.options,
        )
        self.control = case.control(limits, callbacks.token, self.listener)
        self.listener.control = self.control

    def result(self, warm_start: object | None) -> Result[object]:
        """Find, check and judge an answer."""
        self._begin(warm_start)
        reason = self._verified(self.case.reason())
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

    def _begin(self, warm_start: object | None) -> None:
        if warm_start is None:
            return
        answer, warnings = self.case.prepare(warm_start)
        self.warnings.extend(warnings)
        if answer is None:
            return
        self.control.warm_start = answer = self.case.lower(answer)
        if self.request.time_limit != 0:
            self.control.offer(answer, self.case.cost(answer), "warm_start")

    def _bound(self) -> None:
        with _Stopwatch(self.timing, "bound"):
            for bound in self.case.bounds()[:1]:
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
            return self.method.load()(self.case.asked, self.control)
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
        return reason if self.case.is_verified(reason) else None

    def _report(self, outcome: Outcome) -> Result[object]:
        found = self.control.answer
        answer = None if found is None else self.case.lift(found)
        with _Stopwatch(self.timing, "check"):
            broken = [] if answer is None else self.case.violations(answer)
        verdict = judge(self._facts(outcome, answer, broken=bool(broken)))
        self.warnings.extend(broken[:5])
        if verdict.warning is not None:
            self.warnings.append(verdict.warning)
        self.timing["total"] = time.monotonic() - self.request.started
        accepted = None if broken else answer
        if accepted is not None:
            self.warnings.extend(self.case.caveats(accepted))
        self.case.note(outcome)
        return self.case.result(accepted, self._ending(outcome, verdict, accepted))

    def _facts(self, outcome: Outcome, answer: object | None, *, broken: bool) -> Facts:
        cost = None if answer is None or broken else self.case.cost(answer)
        bound, slack = self.control.bound, 0.0
        if cost is not None and bound is not None:
            slack = self.case.slack(cost, bound.value)
        return Facts(
            value=cost,
            broken=broken,
            bound=bound,
            proof=outcome.proof,
            termination=outcome.termination,
            exact=self.method.exact,
            reason=self._reason(outcome),
            solver=outcome.solver.name,
            slack=slack,
        )

    def _reason(self, outcome: Outcome) -> Reason | None:
        """Return a verified reason, or the word of an exact solver that gives none, else None.

        A reason that the checker refuses counts for nothing, whoever gives it.
        """
        if outcome.proof is not Proof.INFEASIBLE:
            return None
        if isinstance(outcome.reason, SolverProof):
            return outcome.reason if self.method.exact else None
        if outcome.reason is not None:
            return self._verified(outcome.reason)
        return SolverProof(solver=outcome.solver.name) if self.method.exact else None

    def _ending(self, outcome: Outcome, verdict: Verdict, answer: object | None) -> Ending:
        bound, case = verdict.bound, self.case
        return Ending(
            method=self.method.name,
            status=verdict.status,
            termination=verdict.termination,
            objective=Objective(
                case.objective,
                case.sense,
                None if answer is None else case.number(case.cost(answer)),
                None if bound is None else case.number(bound.value),
                case.gap_scale,
                case.objective_settings,
            ),
            certificate=Certificate(
                bound_source=None if bound is None else bound.source,
                checked=answer is not None,
                tolerance=case.tolerance,
                reason=verdict.reason,
                kkt_residual=None if answer is None else case.kkt_residual(answer),
            ),
            solver=replace(outcome.solver, options=dict(outcome.solver.options)),
            deterministic=_is_deterministic(outcome),
            instance=case.origin,
            timing=self.timing,
            warnings=tuple(self.warnings),
        )


def _search_deadline(case: Case[object, object], request: Request) -> float | None:
    """Return when the search has to end, so that checking and writing end at the time limit."""
    if request.deadline is None:
        return None
    left = max(0.0, request.deadline - time.monotonic())
    rest = _PER_TASK * len(getattr(case.problem, "tasks", ()))
    return request.deadline - min(rest, _MOST_RESERVED * left)


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
