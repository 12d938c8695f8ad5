"""Answers of the problem kind ``coded``: who gets how much, under which code."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from fractions import Fraction
from typing import TypeAlias

from allocsolve.models.exact import Number, exact
from allocsolve.models.result import Result

__all__ = ["Code", "CodedAnswer", "CodedResult", "Entry", "Metrics", "Piece"]

Entry: TypeAlias = float | complex
"""A number of an encoding matrix."""


@dataclass(frozen=True)
class Code:
    """The code that makes results of some nodes stand for those of others.

    Attributes
    ----------
    family
        ``"mds"`` is any code in which every k coded units decode.
    n, k
        Coded units in all and those that suffice, or for ``replication`` and
        ``fractional_repetition`` the number of groups as k; None follows from the answer. For
        ``approximate`` k is the number of nodes that are waited for.
    copies
        ``approximate``: the least number of nodes that a partition is on.
    stragglers, messages, seed
        Further parameters, None where the family has none.
    points
        Evaluation points.
    matrix
        Rows of the encoding matrix: a row for each node, a column for each partition.
    """

    family: str = "mds"
    n: int | None = None
    k: int | None = None
    copies: int | None = None
    stragglers: int | None = None
    messages: int | None = None
    seed: int | None = None
    points: tuple[Entry, ...] | None = None
    matrix: tuple[tuple[Entry, ...], ...] | None = None


@dataclass(frozen=True)
class Piece:
    """A part of the matrix in elastic computing: its share of [0, 1] and who computes it."""

    size: Fraction
    nodes: tuple[str, ...]


@dataclass(frozen=True)
class CodedAnswer:
    """Loads of the nodes, in the order of the instance; anything may be wrong with it.

    Attributes
    ----------
    loads
        Coded rows, products or partitions of each node; for elastic tasks shares of the matrix.
    batches
        Results in which a node sends its load, at most one for each unit; None is what the
        limits of the instance say (1 where they leave it free).
    partitions
        Gradients: partitions of each node, counted from 0; ``replication``: the block of each.
    order
        Gradients: the partitions of each node in the order in which it works through them;
        None is the order of ``partitions``.
    pieces
        Elastic: how [0, 1] is cut, in the order in which nodes work through it.
    """

    loads: tuple[Fraction, ...]
    code: Code = field(default_factory=Code)
    batches: int | None = None
    partitions: tuple[tuple[int, ...], ...] | None = None
    order: tuple[tuple[int, ...], ...] | None = None
    pieces: tuple[Piece, ...] | None = None

    @classmethod
    def of(
        cls,
        loads: Sequence[Number],
        *,
        code: Code | None = None,
        batches: int | None = None,
        partitions: Sequence[Sequence[int]] | None = None,
        order: Sequence[Sequence[int]] | None = None,
        pieces: Sequence[tuple[Number, Sequence[str]]] | None = None,
    ) -> CodedAnswer:
        """Build an answer from plain sequences; a piece is its size and its nodes."""
        return cls(
            loads=tuple(exact(load) for load in loads),
            code=code or Code(),
            batches=batches,
            partitions=_table(partitions),
            order=_table(order),
            pieces=None
            if pieces is None
            else tuple(Piece(exact(size), tuple(nodes)) for size, nodes in pieces),
        )


def _table(rows: Sequence[Sequence[int]] | None) -> tuple[tuple[int, ...], ...] | None:
    return None if rows is None else tuple(tuple(row) for row in rows)


@dataclass(frozen=True)
class Metrics:
    """What is known of the completion law of an answer.

    Attributes
    ----------
    mean
        Infinite if the mean is; None if the law has no exact form.
    quantiles
        By probability.
    deadline_probability
        None without a deadline.
    """

    mean: float | None = None
    quantiles: Mapping[float, float] = field(default_factory=dict)
    deadline_probability: float | None = None


@dataclass(frozen=True)
class CodedResult(Result[CodedAnswer]):
    """Result of a ``coded`` problem.

    Attributes
    ----------
    metrics
        The completion law of the answer, None without an answer.
    baselines
        Value of each rule of the literature that the answer was compared with, None where it
        gives no answer.
    """

    metrics: Metrics | None = None
    baselines: Mapping[str, float | None] = field(default_factory=dict)

    @property
    def assignment(self) -> CodedAnswer:
        """The loads and their code.

        Raises
        ------
        NoSolution
            If there are none.
        """
        return self.require()
