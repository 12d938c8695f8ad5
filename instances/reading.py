"""Reading an instance: source, format, document, problem."""

from __future__ import annotations

import os
from dataclasses import replace
from typing import TYPE_CHECKING, BinaryIO, Literal, overload

import msgspec

from allocsolve.instances.detection import detect, looks_like
from allocsolve.instances.draft import Draft
from allocsolve.instances.kinds import Problem, require_kind
from allocsolve.instances.registry import Format, format_named
from allocsolve.instances.source import Source, load
from allocsolve.models.dag.data import DagDocument
from allocsolve.models.errors import InputError, UsageError
from allocsolve.models.result import InstanceInfo

if TYPE_CHECKING:
    from allocsolve.models.coded.problem import CodedProblem
    from allocsolve.models.dag.problem import DagProblem
    from allocsolve.models.fair.problem import FairProblem

__all__ = ["read", "read_dag"]


@overload
def read(
    source: str | os.PathLike[str] | BinaryIO,
    *,
    kind: Literal["dag"],
    format: str | None = ...,
    nodes: str | int | None = ...,
    index_base: int | None = ...,
) -> DagProblem: ...


@overload
def read(
    source: str | os.PathLike[str] | BinaryIO, *, kind: Literal["coded"], format: str | None = ...
) -> CodedProblem: ...


@overload
def read(
    source: str | os.PathLike[str] | BinaryIO,
    *,
    kind: Literal["fair"],
    format: str | None = ...,
    nodes: str | int | None = ...,
) -> FairProblem: ...


@overload
def read(
    source: str | os.PathLike[str] | BinaryIO,
    *,
    kind: None = ...,
    format: str | None = ...,
    nodes: str | int | None = ...,
    index_base: int | None = ...,
) -> Problem: ...


def read(
    source: str | os.PathLike[str] | BinaryIO,
    *,
    kind: str | None = None,
    format: str | None = None,  # noqa: A002  # the option is called --format
    nodes: str | int | None = None,
    index_base: int | None = None,
) -> Problem:
    """Read an instance.

    Parameters
    ----------
    source
        A path, ``"-"`` for standard input, or a binary stream; ``.gz`` data are unpacked.
    kind
        The problem kind that is expected (``"dag"``, ``"coded"``, ``"fair"``), so that type
        checkers know what comes back; None for whatever the file holds.
    format
        Name of the format; by default it is found by suffix, then by content.
    nodes
        Replaces the nodes of the instance: a count of identical nodes, or a JSON file. For a
        throughput table the units of each type, or a JSON file of types and jobs.
    index_base
        Number from which the file counts machines or jobs (0 or 1), if it is not the usual one.

    Raises
    ------
    InputError
        If the source cannot be read, its data are wrong or it holds another kind; it names
        file, line or JSON path.
    UsageError
        If the format is unknown or an option has no meaning for it.
    """
    forced = format_named(format) if format is not None else None
    if forced is not None and not forced.can_read:
        raise UsageError(f"format '{forced.name}' cannot be read")
    loaded = load(source)
    try:
        chosen = forced or detect(loaded, index_base)
        draft = _parse(loaded, chosen, index_base, guessed=forced is None)
        require_kind(draft.document, kind)
        draft = _with_files(draft, loaded)
        return _with_options(draft, chosen, nodes).build(_origin(loaded, chosen, draft))
    except InputError as error:
        raise error.located(loaded.label) from None


def read_dag(
    source: str | os.PathLike[str] | BinaryIO,
    *,
    format: str | None = None,  # noqa: A002  # the option is called --format
    nodes: str | int | None = None,
    index_base: int | None = None,
) -> DagProblem:
    """Read an instance of kind ``dag``, as :func:`read` does.

    Raises
    ------
    InputError, UsageError
        As :func:`read`.
    """
    return read(source, kind="dag", format=format, nodes=nodes, index_base=index_base)


def _parse(source: Source, chosen: Format, index_base: int | None, *, guessed: bool) -> Draft:
    try:
        draft = chosen.parse(source.text, index_base)
    except InputError as error:
        other = looks_like(source.text, but=chosen) if guessed else None
        if other is None or chosen.load().fits(source.text):
            raise
        raise InputError(
            f"{error.what} (read as {chosen.name} because of its suffix)",
            allowed=error.allowed,
            remedy=f"the content looks like {other.name}: give --format {other.name}",
            line=error.line,
            column=error.column,
            path=error.path,
        ) from None
    if draft.document.name:
        return draft
    return replace(draft, document=msgspec.structs.replace(draft.document, name=source.name))


def _with_files(draft: Draft, source: Source) -> Draft:
    """Put what files named in the instance hold in their place."""
    if '"file"' not in source.text:
        return draft
    from allocsolve.instances.traces import resolve_files

    return replace(draft, document=resolve_files(draft.document, source.folder))


def _with_options(draft: Draft, chosen: Format, nodes: str | int | None) -> Draft:
    document = draft.document
    if nodes is not None and chosen.kind == "fair":
        return _with_stock(draft, nodes)
    if nodes is not None:
        from allocsolve.instances.machines import with_nodes

        if not isinstance(document, DagDocument):
            raise UsageError(
                f"--nodes has no meaning for kind '{document.kind}' in format '{chosen.name}'"
                "\n  allowed: kind dag, and throughput tables"
            )
        return replace(draft, document=with_nodes(document, nodes))
    if chosen.tasks_only and chosen.kind == "fair":
        raise InputError(
            "a throughput table does not say how many units of each type there are",
            allowed="--nodes N (units of each type) or --nodes FILE (JSON with types and counts)",
            remedy="add --nodes N",
        )
    if chosen.tasks_only:
        raise InputError(
            f"a file in format '{chosen.name}' describes tasks only: it has no nodes to run on",
            allowed="--nodes N (identical nodes) or --nodes FILE (JSON with nodes and links)",
            remedy="add --nodes N",
        )
    return draft


def _with_stock(draft: Draft, nodes: str | int) -> Draft:
    from allocsolve.instances.stock import with_stock
    from allocsolve.instances.throughputs import TableDraft

    assert isinstance(draft, TableDraft)
    return with_stock(draft, nodes)


def _origin(source: Source, chosen: Format, draft: Draft) -> InstanceInfo:
    return InstanceInfo(name=draft.document.name, format=chosen.name, sha256=source.sha256)
