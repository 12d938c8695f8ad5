"""The problem kinds that an instance document may describe; each loads when it is met."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, TypeAlias, cast

import msgspec

from allocsolve.models.errors import InputError

if TYPE_CHECKING:
    from allocsolve.models.coded.data import CodedDocument
    from allocsolve.models.coded.problem import CodedProblem
    from allocsolve.models.dag.data import DagDocument
    from allocsolve.models.dag.problem import DagProblem
    from allocsolve.models.fair.data import FairDocument
    from allocsolve.models.fair.problem import FairProblem
    from allocsolve.models.result import InstanceInfo

__all__ = ["KINDS", "Document", "Kind", "Problem", "kind_named", "require_kind"]

Document: TypeAlias = "DagDocument | CodedDocument | FairDocument"
"""An instance as a person writes it."""

Problem: TypeAlias = "DagProblem | CodedProblem | FairProblem"
"""An instance that was validated."""


@dataclass(frozen=True)
class Kind:
    """A problem kind.

    Attributes
    ----------
    name
        Value of ``kind`` in documents.
    document, problem
        ``module:class`` of the record that holds an instance and of the problem built from it.
    """

    name: str
    document: str
    problem: str

    def record(self) -> type[msgspec.Struct]:
        """Return the type of the instance documents."""
        return cast("type[msgspec.Struct]", _load(self.document))

    def build(self, document: Document, origin: InstanceInfo, notes: tuple[str, ...]) -> Problem:
        """Build the problem that a document describes.

        Raises
        ------
        InputError
            If ids, references or numbers are wrong.
        """
        from_document = cast(
            "Callable[[Document, InstanceInfo, tuple[str, ...]], Problem]",
            getattr(_load(self.problem), "from_document"),  # noqa: B009  # object has no such method
        )
        return from_document(document, origin, notes)


def _load(target: str) -> object:
    module, name = target.split(":")
    value: object = getattr(importlib.import_module(module), name)
    return value


KINDS: tuple[Kind, ...] = (
    Kind(
        "dag",
        "allocsolve.models.dag.data:DagDocument",
        "allocsolve.models.dag.problem:DagProblem",
    ),
    Kind(
        "coded",
        "allocsolve.models.coded.data:CodedDocument",
        "allocsolve.models.coded.problem:CodedProblem",
    ),
    Kind(
        "fair",
        "allocsolve.models.fair.data:FairDocument",
        "allocsolve.models.fair.problem:FairProblem",
    ),
)


def kind_named(name: str) -> Kind:
    """Return the kind of that name; documents are decoded only for kinds that exist."""
    return next(kind for kind in KINDS if kind.name == name)


def require_kind(document: Document, kind: str | None) -> None:
    """Refuse a document of another kind than the one that is asked for, if one is.

    Raises
    ------
    InputError
        If the kinds differ.
    """
    if kind is not None and document.kind != kind:
        raise InputError(
            f"the instance is of kind '{document.kind}'",
            allowed=f"an instance of kind '{kind}'",
            path="$.kind",
        )
