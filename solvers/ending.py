"""How methods report their end."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TypeVar

from allocsolve.models.result import Reason, Scalar, SolverInfo, Termination
from allocsolve.models.version import installed_version
from allocsolve.solvers.control import ControlOf, Outcome, Proof

__all__ = ["finished", "infeasible", "own_solver"]

AnswerT = TypeVar("AnswerT")
CostT = TypeVar("CostT", int, float)


def own_solver(
    control: ControlOf[AnswerT, CostT], options: Mapping[str, Scalar], threads: int = 1
) -> SolverInfo:
    """Return the provenance of an answer that needed no engine."""
    return SolverInfo("allocsolve", installed_version(), control.limits.seed, threads, options)


def infeasible(solver: SolverInfo, reason: Reason | None) -> Outcome:
    """Return the outcome of a proof that there is no answer."""
    return Outcome(Proof.INFEASIBLE, Termination.FINISHED, solver, reason=reason)


def finished(
    control: ControlOf[AnswerT, CostT],
    solver: SolverInfo,
    ended_by: Termination,
    *,
    deterministic: bool = True,
    warnings: tuple[str, ...] = (),
    abandoned: bool = False,
    baselines: Mapping[str, float | None] | None = None,
) -> Outcome:
    """Return the outcome of a run that may have an answer; it is proven if the bound meets it."""
    proven = control.is_proven()
    termination = Termination.FINISHED if proven else ended_by
    by_itself = termination in (Termination.FINISHED, Termination.GAP_LIMIT)
    return Outcome(
        Proof.OPTIMAL if proven else Proof.NOTHING,
        termination,
        solver,
        deterministic=deterministic and by_itself,
        warnings=warnings,
        abandoned=abandoned,
        baselines=baselines or {},
    )
