"""What the solution documents of all kinds have in common, from a result and back."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import Literal, TypedDict, cast

import msgspec
from msgspec import UNSET, UnsetType

from allocsolve.models.exact import exact
from allocsolve.models.result import Certificate, Result
from allocsolve.report.solution import (
    AnyReason,
    CertificateEntry,
    InstanceEntry,
    ObjectiveEntry,
    ObjectiveSettings,
    SolverEntry,
)

__all__ = ["CommonFields", "common_fields"]


class CommonFields(TypedDict):
    """Fields of every solution document."""

    schema: Literal["allocsolve.solution/1"]
    instance: InstanceEntry
    method: str
    status: Literal["OPTIMAL", "FEASIBLE", "INFEASIBLE", "UNKNOWN", "ERROR"]
    termination: Literal[
        "finished", "time_limit", "gap_limit", "interrupted", "memory_limit", "solver_error"
    ]
    deterministic: bool
    objective: ObjectiveEntry
    certificate: CertificateEntry
    solver: SolverEntry
    timing: dict[str, float]
    warnings: list[str]


def common_fields(result: Result[object]) -> CommonFields:
    """Return all of a result but its answer, as a solution document holds it."""
    objective, solver = result.objective, result.solver
    return CommonFields(
        schema="allocsolve.solution/1",
        instance=InstanceEntry(
            name=result.instance.name,
            format=result.instance.format,
            sha256=result.instance.sha256,
        ),
        method=result.method,
        status=result.status.value,
        termination=result.termination.value,
        deterministic=result.deterministic,
        objective=ObjectiveEntry(
            name=objective.name,
            sense=objective.sense.value,
            value=_number(objective.known),
            bound=_number(objective.bound),
            gap=objective.gap,
            settings=_settings_entry(objective.settings),
        ),
        certificate=_certificate_entry(result.certificate),
        solver=SolverEntry(
            name=solver.name,
            version=solver.version,
            seed=solver.seed,
            threads=solver.threads,
            options=dict(solver.options),
        ),
        timing={name: round(seconds, 6) for name, seconds in result.timing.items()},
        warnings=list(result.warnings),
    )


def _settings_entry(settings: Mapping[str, object]) -> ObjectiveSettings | UnsetType:
    """Return what the name of the objective leaves open; nothing where that is nothing."""
    return msgspec.convert(dict(settings), ObjectiveSettings) if settings else UNSET


def _number(value: int | float | None) -> Fraction | None:
    """Return a number as documents hold it; what is infinite is unknown to JSON."""
    return None if value is None or not math.isfinite(value) else exact(value)


def _certificate_entry(certificate: Certificate) -> CertificateEntry:
    reason = certificate.reason
    return CertificateEntry(
        bound_source=certificate.bound_source,
        checked=certificate.checked,
        tolerance=exact(certificate.tolerance),
        reason=cast("AnyReason | None", reason),
        explanation=None if reason is None else reason.sentence(),
        kkt_residual=UNSET if certificate.kkt_residual is None else certificate.kkt_residual,
    )
