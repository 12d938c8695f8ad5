"""The one place where what a method says becomes a status: a total function."""

from __future__ import annotations

from dataclasses import dataclass, replace

from allocsolve.models.result import BoundOf, Reason, Status, Termination
from allocsolve.solvers.control import Proof

__all__ = ["Facts", "Verdict", "judge"]


@dataclass(frozen=True)
class Facts:
    """What is known when a method has ended.

    Attributes
    ----------
    value
        Cost of the answer that the checker accepted, None without one.
    broken
        The method gave an answer that the checker did not accept.
    bound
        Best bound on the cost.
    proof, termination
        What the method says.
    exact
        Whether the method may claim a proof at all.
    reason
        Why there is no answer: verified, or the word of an exact solver.
    solver
        Name of the engine, the source of a proof without a bound of its own.
    slack
        By how much cost and bound may differ and still count as equal.
    """

    value: float | None
    broken: bool
    bound: BoundOf[float] | None
    proof: Proof
    termination: Termination
    exact: bool
    reason: Reason | None
    solver: str
    slack: float = 0.0


@dataclass(frozen=True)
class Verdict:
    """Status and certificate of a run; ``warning`` tells of a contradiction."""

    status: Status
    termination: Termination
    bound: BoundOf[float] | None = None
    reason: Reason | None = None
    warning: str | None = None


def judge(facts: Facts) -> Verdict:
    """Return the status that the facts allow, never more."""
    if facts.broken:
        return Verdict(
            Status.ERROR,
            Termination.SOLVER_ERROR,
            warning="the answer of the method did not pass the checker and is withheld",
        )
    if facts.value is None:
        return _without_answer(facts)
    return _with_answer(facts, facts.value)


def _with_answer(facts: Facts, value: float) -> Verdict:
    bound = facts.bound
    if facts.proof is Proof.INFEASIBLE:
        return Verdict(
            Status.FEASIBLE,
            Termination.SOLVER_ERROR,
            warning="the method claims that there is no answer beside one that was checked",
        )
    if bound is not None and bound.value > value + facts.slack:
        return Verdict(
            Status.FEASIBLE,
            Termination.SOLVER_ERROR,
            warning=f"the bound of {bound.source} is above the value of a checked answer",
        )
    if bound is not None and bound.value >= value - facts.slack:
        return Verdict(Status.OPTIMAL, Termination.FINISHED, _clipped(bound, value))
    if facts.proof is Proof.OPTIMAL and facts.exact:
        return Verdict(Status.OPTIMAL, Termination.FINISHED, BoundOf[float](value, facts.solver))
    return Verdict(Status.FEASIBLE, facts.termination, bound)


def _clipped(bound: BoundOf[float], value: float) -> BoundOf[float]:
    """Return a bound that rounding put beyond the value of a checked answer as that value."""
    return replace(bound, value=value) if bound.value > value else bound


def _without_answer(facts: Facts) -> Verdict:
    if facts.reason is not None:
        return Verdict(Status.INFEASIBLE, Termination.FINISHED, reason=facts.reason)
    if facts.proof is Proof.OPTIMAL:
        return Verdict(
            Status.ERROR,
            Termination.SOLVER_ERROR,
            warning="the method claims an optimum without an answer",
        )
    if facts.termination is Termination.SOLVER_ERROR:
        return Verdict(Status.ERROR, Termination.SOLVER_ERROR, facts.bound)
    if facts.proof is Proof.INFEASIBLE:
        return Verdict(
            Status.UNKNOWN,
            facts.termination,
            facts.bound,
            warning="the method claims infeasibility, which it cannot prove",
        )
    return Verdict(Status.UNKNOWN, facts.termination, facts.bound)
