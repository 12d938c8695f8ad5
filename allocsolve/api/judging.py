"""Checks of answers with their claims."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from allocsolve.api.case import Case
from allocsolve.api.cases import case_of
from allocsolve.api.given import Answer, claim_of, foreign
from allocsolve.models.exact import plain
from allocsolve.models.result import CheckReport, SolverProof, Status, Violation
from allocsolve.report.checks import ClaimEntry, ClaimReport
from allocsolve.report.claims import Claim

if TYPE_CHECKING:
    from allocsolve.instances.kinds import Problem

__all__ = ["Answer", "check", "claim_of", "judged"]

_RULES_OF_CLAIMS = {
    "status": ("status", "infeasible_claim"),
    "value": ("objective_value",),
    "bound": ("bound", "certificate"),
    "reason": ("reason",),
    "sense": ("sense",),
    "gap": ("gap",),
}


def check(problem: Problem, answer: Answer) -> ClaimReport:
    """Judge an answer by every rule of its instance, and what is claimed about it.

    Parameters
    ----------
    answer
        A result, an answer (for kind ``dag`` also its entries) or a solution document: its
        path, its bytes, or a dict as ``json.load`` returns it.

    Returns
    -------
    ClaimReport
        Broken rules with amounts; ``raise_if_violated()`` raises if there is one.

    Raises
    ------
    InputError
        If a document cannot be read.
    FeatureRefused
        If the instance has a feature that no rule covers.
    UsageError
        If the answer is nothing of that.
    """
    return judged(problem, answer)[1]


def judged(problem: Problem, answer: Answer) -> tuple[Claim[object], ClaimReport]:
    """Return an answer with what is claimed about it, and what :func:`check` says of that.

    Raises
    ------
    InputError, FeatureRefused, UsageError
        As :func:`check`.
    """
    claim = claim_of(problem, answer)
    case = case_of(problem, claim.objective, claim.options)
    report = None if claim.answer is None else case.report(claim.answer)
    about_claims = [*case.judge_claims(claim, report), *_unfounded(case, claim)]
    if report is None and claim.status is not Status.INFEASIBLE and not about_claims:
        about_claims.append(Violation(case.missing, "there is no answer to be checked"))
    judgement = ClaimReport(
        violations=(*(report.violations if report else ()), *about_claims),
        value=report.value if report else None,
        claims=tuple(_claim_entries(claim, report, about_claims)),
        warnings=(*foreign(problem, claim), *_caveats(case, claim, report)),
    )
    return claim, judgement


def _unfounded(case: Case[object, object], claim: Claim[object]) -> list[Violation]:
    """Refuse a claim of infeasibility without any reason; other claims pass."""
    if claim.status is not Status.INFEASIBLE or claim.answer is not None or claim.reason:
        return []
    reason = case.reason()
    if reason is not None and case.is_verified(reason):
        return []
    return [Violation("reason", "INFEASIBLE is claimed without a reason")]


def _claim_entries(
    claim: Claim[object], report: CheckReport | None, violations: Sequence[Violation]
) -> list[ClaimEntry]:
    claimed: dict[str, str | int | float | None] = {
        "status": claim.status.value if claim.status else None,
        "value": None if claim.value is None else plain(claim.value),
        "bound": None if claim.bound is None else plain(claim.bound),
        "reason": None if claim.reason is None else claim.reason.sentence(),
        "sense": claim.sense,
        "gap": claim.gap,
    }
    broken = {violation.rule: violation.message for violation in violations}
    entries = []
    for name, value in claimed.items():
        if value is None:
            continue
        rules = _RULES_OF_CLAIMS[name]
        if name == "status" and claim.status is Status.INFEASIBLE:
            rules = (*rules, "reason")
        note = next((broken[rule] for rule in rules if rule in broken), "")
        holds = False if note else _holds(name, claim, report)
        entries.append(ClaimEntry(name=name, claimed=value, holds=holds, note=note))
    return entries


def _holds(name: str, claim: Claim[object], report: CheckReport | None) -> bool | None:
    """Whether an uncontradicted claim is verified (True) or only not refuted (None)."""
    if name == "value":
        return None if report is None or report.value is None else True
    if name == "reason":
        return None if isinstance(claim.reason, SolverProof) else True
    if name in ("sense", "gap"):
        return True
    if name == "status" and claim.status is Status.FEASIBLE:
        return report is not None and report.valid
    if name == "status" and claim.status is Status.INFEASIBLE:
        return None if isinstance(claim.reason, SolverProof) else True
    return None


def _caveats(
    case: Case[object, object], claim: Claim[object], report: CheckReport | None
) -> list[str]:
    """Return what was not tried of an answer that is right as far as anybody looked."""
    return case.caveats(claim.answer) if report is not None and report.valid else []
