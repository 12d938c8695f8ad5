"""The solution document ``allocsolve.solution/1``: what every kind has, and that of kind ``dag``.

A document written by hand needs only ``schema``, ``kind`` and the answer; every other field
may be absent, null or empty.
"""

from __future__ import annotations

from typing import Annotated, Any, Literal, TypeAlias, TypeVar

import msgspec
from msgspec import UNSET, UnsetType

from allocsolve.models.coded.reason_types import (
    BudgetBelowNeed,
    DeadlineOutOfReach,
    LoadLimitBelowNeed,
    PartitionOutOfReach,
    StorageBelowNeed,
    TooManyStragglers,
)
from allocsolve.models.dag.reason_types import (
    CriticalPath,
    DemandExceedsCapacity,
    NoEligibleNode,
    PositiveLagCycle,
    WindowOverload,
)
from allocsolve.models.errors import InputError
from allocsolve.models.exact import Number
from allocsolve.models.fair.reason_types import SloConflict
from allocsolve.models.result import SolverProof
from allocsolve.report.codec import Record, builtins, encode, loads, to_record

__all__ = [
    "AnyReason",
    "AppraisalEntry",
    "CertificateEntry",
    "DagSolution",
    "InstanceEntry",
    "ObjectiveEntry",
    "ObjectiveSettings",
    "RobustEntry",
    "ScheduleEntry",
    "SolutionDocument",
    "SolverEntry",
    "decode_solution",
    "encode_solution",
]

AnyReason: TypeAlias = (
    BudgetBelowNeed
    | DeadlineOutOfReach
    | LoadLimitBelowNeed
    | PartitionOutOfReach
    | StorageBelowNeed
    | TooManyStragglers
    | SloConflict
    | PositiveLagCycle
    | CriticalPath
    | DemandExceedsCapacity
    | NoEligibleNode
    | WindowOverload
    | SolverProof
)


class InstanceEntry(Record, frozen=True, kw_only=True):
    """Which instance was answered; ``sha256`` is of the decompressed bytes of its file."""

    name: str | None = None
    format: str | None = None
    sha256: str | None = None


class ObjectiveSettings(Record, frozen=True, kw_only=True, omit_defaults=True):
    """What the name of an objective leaves open; what is left out is as the instance says.

    ``q``, ``deadline`` and ``confidence`` belong to kind ``coded``, the others to ``fair``.
    """

    alpha: Annotated[float, msgspec.Meta(ge=0)] | None = None
    equal_split: Literal["best", "proportional"] | None = None
    split: Literal["equal", "weighted"] | None = None
    normalise: Literal["equal_split", "none"] | None = None
    q: float | None = None
    deadline: float | None = None
    confidence: float | None = None


class ObjectiveEntry(Record, frozen=True, kw_only=True):
    """Value of the answer and proven bound, in units of the input; null if unknown.

    ``settings`` say by what they are measured, where the name of the objective does not.
    """

    name: str | None = None
    sense: Literal["min", "max", ""] | None = None
    value: Number | None = None
    bound: Number | None = None
    gap: float | None = None
    settings: ObjectiveSettings | UnsetType | None = UNSET


class CertificateEntry(Record, frozen=True, kw_only=True):
    """What was proved, by whom, and whether the independent checker accepted the answer.

    ``kkt_residual`` says how far prices and answer are from the conditions of optimality.
    """

    bound_source: str | None = None
    checked: bool | None = None
    tolerance: Number | None = None
    reason: AnyReason | None = None
    explanation: str | None = None
    kkt_residual: float | UnsetType | None = UNSET


class ScheduleEntry(Record, frozen=True, kw_only=True):
    """When, where and how a task runs; ``nodes`` and ``width`` are for gangs."""

    task: str
    start: Number
    end: Number | None = None
    node: str | None = None
    mode: int | None = None
    nodes: list[str] | UnsetType | None = UNSET
    width: int | UnsetType | None = UNSET


class SolverEntry(Record, frozen=True, kw_only=True):
    """The engine, with everything needed to run it again."""

    name: str | None = None
    version: str | None = None
    seed: int | None = None
    threads: int | None = None
    options: dict[str, str | int | float | bool] | None = None


class SolutionDocument(Record, frozen=True, kw_only=True):
    """Status, bound, certificate and provenance of an answer; each kind adds the answer."""

    schema: Literal["allocsolve.solution/1"]
    kind: Literal["dag", "coded", "fair"]
    instance: InstanceEntry | None = None
    method: str | None = None
    status: Literal["OPTIMAL", "FEASIBLE", "INFEASIBLE", "UNKNOWN", "ERROR", ""] | None = None
    termination: (
        Literal[
            "finished",
            "time_limit",
            "gap_limit",
            "interrupted",
            "memory_limit",
            "solver_error",
            "",
        ]
        | None
    ) = None
    deterministic: bool | None = None
    objective: ObjectiveEntry | None = None
    certificate: CertificateEntry | None = None
    solver: SolverEntry | None = None
    timing: dict[str, float] | None = None
    warnings: list[str] | None = None


DocumentT = TypeVar("DocumentT", bound=SolutionDocument)


class AppraisalEntry(Record, frozen=True, kw_only=True):
    """A schedule on drawn nodes; ``value`` is the quantile, null where it is infinite."""

    makespan: float
    value: float | None
    ci: tuple[float | None, float | None]


class RobustEntry(Record, frozen=True, kw_only=True):
    """How the schedule was chosen for a quantile of its makespan, and what that costs.

    ``price`` is by which share it is longer than the nominally best schedule, as planned;
    ``gain`` by which share its quantile is less.
    """

    quantile: float
    chosen: AppraisalEntry
    nominal: AppraisalEntry
    price: float
    gain: float | None
    source: str
    candidates: int
    replications: int
    seed: int
    law: dict[str, Any] | None = None


class DagSolution(SolutionDocument, frozen=True, kw_only=True):
    """A solution document of kind ``dag``."""

    kind: Literal["dag"]
    schedule: list[ScheduleEntry] | None = None
    robust: RobustEntry | UnsetType | None = UNSET


def decode_solution(data: bytes, kind: str, record: type[DocumentT]) -> DocumentT:
    """Read a solution document of a kind.

    Parameters
    ----------
    kind
        The kind that the instance has.
    record
        What solution documents of that kind are.

    Raises
    ------
    InputError
        With the place in the text or the JSON path.
    """
    value = loads(data)
    if not isinstance(value, dict):
        raise InputError(
            "a solution document is a JSON object",
            allowed=f'{{"schema": "allocsolve.solution/1", "kind": "{kind}", ...}}',
            path="$",
        )
    _refuse_other_documents(value, kind)
    return to_record(_without_empty(value), record)


def _refuse_other_documents(value: dict[str, object], kind: str) -> None:
    for key, allowed in (("schema", "allocsolve.solution/1"), ("kind", kind)):
        if value.get(key) != allowed:
            found = f"'{value[key]}'" if key in value else "missing"
            raise InputError(f"{key} is {found}", allowed=f"'{allowed}'", path=f"$.{key}")


_ANSWERS = ("schedule", "assignment", "allocation")
_EMPTY: tuple[object, ...] = (None, "", {}, [])


def _without_empty(value: dict[str, object]) -> dict[str, object]:
    """Drop fields that stand for nothing, so that a form may be left blank.

    The answer stays as it is (an instance may have no tasks), and so does all that is within
    a reason, where null means something.
    """
    kept: dict[str, object] = {}
    for key, item in value.items():
        if key in _ANSWERS:
            kept[key] = item
            continue
        field = _filled(item) if isinstance(item, dict) else item
        if field not in _EMPTY:
            kept[key] = field
    return kept


def _filled(value: dict[str, object]) -> dict[str, object]:
    return {key: item for key, item in value.items() if item not in _EMPTY}


def encode_solution(document: SolutionDocument) -> bytes:
    """Return the document as strict JSON, one line for each field and each entry of the answer.

    The answer stands behind its certificate, before what a reader seldom looks at.
    """
    values = builtins(document)
    last = {key: values.pop(key) for key in ("solver", "timing", "warnings") if key in values}
    return encode(values | last)
