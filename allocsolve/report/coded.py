"""The ``assignment`` of a solution document of kind ``coded``, both ways."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from typing import TypeAlias

from msgspec import UNSET, UnsetType, field

from allocsolve.models.coded.answer import Code, CodedAnswer, Entry, Metrics, Piece
from allocsolve.models.errors import InputError
from allocsolve.models.exact import Number, exact
from allocsolve.report.codec import Record, finite

__all__ = [
    "AssignmentEntry",
    "BaselineEntry",
    "CodeEntry",
    "ConditionEntry",
    "MetricsEntry",
    "PieceEntry",
    "assignment_entry",
    "coded_answer",
    "metrics_entry",
]

NumberEntry: TypeAlias = float | tuple[float, float]
"""A real number, or a complex one as ``[re, im]``."""


class CodeEntry(Record, frozen=True, kw_only=True):
    """The code; families without a parameter leave it out."""

    family: str = "mds"
    n: int | UnsetType | None = UNSET
    k: int | UnsetType | None = UNSET
    copies: int | UnsetType | None = UNSET
    stragglers: int | UnsetType | None = UNSET
    messages: int | UnsetType | None = UNSET
    seed: int | UnsetType | None = UNSET
    points: list[NumberEntry] | UnsetType | None = UNSET
    matrix: list[list[NumberEntry]] | UnsetType | None = UNSET


class MetricsEntry(Record, frozen=True, kw_only=True):
    """The completion law: null where it has no exact form, or where the number is infinite."""

    mean: float | None = None
    infinite: bool | UnsetType | None = UNSET
    quantiles: dict[str, float | None] = field(default_factory=dict)
    deadline_probability: float | None = None


class BaselineEntry(Record, frozen=True, kw_only=True):
    """The value of a rule of the literature; null where it gives no answer."""

    name: str
    value: float | None


class ConditionEntry(Record, frozen=True, kw_only=True):
    """The worst condition number over sets of stragglers; ``all``: none was left out."""

    worst: float | None
    sets: int
    all: bool


class PieceEntry(Record, frozen=True, kw_only=True):
    """A part of [0, 1] and the ids of the nodes that compute it."""

    size: Number
    nodes: list[str]


class AssignmentEntry(Record, frozen=True, kw_only=True):
    """Loads of the nodes in the order of the instance; a form may hold nothing but them."""

    loads: list[Number]
    code: CodeEntry | None = None
    batches: int | None = None
    partitions: list[list[int]] | UnsetType | None = UNSET
    order: list[list[int]] | UnsetType | None = UNSET
    pieces: list[PieceEntry] | UnsetType | None = UNSET
    metrics: MetricsEntry | UnsetType | None = UNSET
    baselines: list[BaselineEntry] | UnsetType | None = UNSET
    condition: ConditionEntry | UnsetType | None = UNSET


def assignment_entry(
    answer: CodedAnswer,
    *,
    metrics: MetricsEntry | None = None,
    baselines: Mapping[str, float | None] | None = None,
    condition: ConditionEntry | None = None,
) -> AssignmentEntry:
    """Return the record of an answer.

    Parameters
    ----------
    baselines
        Value of each rule that the answer was compared with.
    """
    return AssignmentEntry(
        loads=list(answer.loads),
        code=_code_entry(answer.code),
        batches=answer.batches,
        partitions=_lists(answer.partitions),
        order=_lists(answer.order),
        pieces=UNSET
        if answer.pieces is None
        else [PieceEntry(size=piece.size, nodes=list(piece.nodes)) for piece in answer.pieces],
        metrics=UNSET if metrics is None else metrics,
        baselines=UNSET
        if baselines is None
        else [BaselineEntry(name=name, value=finite(v)) for name, v in baselines.items()],
        condition=UNSET if condition is None else condition,
    )


def _code_entry(code: Code) -> CodeEntry:
    return CodeEntry(
        family=code.family,
        n=_present(code.n),
        k=_present(code.k),
        copies=_present(code.copies),
        stragglers=_present(code.stragglers),
        messages=_present(code.messages),
        seed=_present(code.seed),
        points=UNSET if code.points is None else [_number_entry(x) for x in code.points],
        matrix=UNSET
        if code.matrix is None
        else [[_number_entry(x) for x in row] for row in code.matrix],
    )


def _present(value: int | None) -> int | UnsetType:
    return UNSET if value is None else value


def _number_entry(value: Entry) -> NumberEntry:
    return (value.real, value.imag) if isinstance(value, complex) else float(value)


def _lists(rows: Sequence[Sequence[int]] | None) -> list[list[int]] | UnsetType:
    return UNSET if rows is None else [list(row) for row in rows]


def metrics_entry(metrics: Metrics) -> MetricsEntry:
    """Return the record of the measures of an answer."""
    mean = metrics.mean
    return MetricsEntry(
        mean=finite(mean),
        infinite=True if mean is not None and math.isinf(mean) else UNSET,
        quantiles={f"{q:g}": finite(value) for q, value in metrics.quantiles.items()},
        deadline_probability=metrics.deadline_probability,
    )


def coded_answer(entry: AssignmentEntry, path: str = "$.assignment") -> CodedAnswer:
    """Return the answer that a record stands for; nothing of it is checked.

    Parameters
    ----------
    path
        Place of the record in its document, for errors.

    Raises
    ------
    InputError
        If rows of an encoding matrix differ in length.
    """
    return CodedAnswer(
        loads=tuple(exact(load) for load in entry.loads),
        code=_code(entry.code or CodeEntry(), path),
        batches=entry.batches,
        partitions=_table(entry.partitions),
        order=_table(entry.order),
        pieces=tuple(Piece(exact(p.size), tuple(p.nodes)) for p in entry.pieces)
        if entry.pieces
        else None,
    )


def _code(entry: CodeEntry, path: str) -> Code:
    matrix = entry.matrix or None
    if matrix and len({len(row) for row in matrix}) > 1:
        raise InputError(
            "the rows of the encoding matrix differ in length",
            allowed="a row for each node, an entry for each partition",
            path=f"{path}.code.matrix",
        )
    return Code(
        family=entry.family,
        n=entry.n or None,
        k=entry.k or None,
        copies=_kept(entry.copies),
        stragglers=_kept(entry.stragglers),
        messages=entry.messages or None,
        seed=_kept(entry.seed),
        points=tuple(_number(x) for x in entry.points) if entry.points else None,
        matrix=tuple(tuple(_number(x) for x in row) for row in matrix) if matrix else None,
    )


def _kept(value: int | UnsetType | None) -> int | None:
    return None if isinstance(value, UnsetType) else value


def _number(value: NumberEntry) -> Entry:
    return complex(*value) if isinstance(value, tuple) else value


def _table(rows: list[list[int]] | UnsetType | None) -> tuple[tuple[int, ...], ...] | None:
    return tuple(tuple(row) for row in rows) if isinstance(rows, list) else None
