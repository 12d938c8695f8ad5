"""The data of a ``coded`` instance as a person writes it: ids, input units, exact numbers.

These types are the JSON document ``allocsolve.instance/1`` of kind ``coded`` and, at the
same time, the arguments of :class:`allocsolve.models.coded.problem.CodedProblem`.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Literal, TypeAlias

import msgspec

from allocsolve.models.exact import Number
from allocsolve.models.nodes import Law

__all__ = [
    "OBJECTIVES",
    "OBJECTIVE_SETTINGS",
    "CodedData",
    "CodedDocument",
    "Elastic",
    "Gradient",
    "Limits",
    "MatMul",
    "MatVec",
    "Node",
    "ObjectiveName",
    "ObjectiveSpec",
    "Scaling",
    "Scenarios",
    "Sequential",
    "Task",
]

Scaling: TypeAlias = Literal["load", "additive", "per_row"]
ObjectiveName: TypeAlias = Literal["mean", "quantile", "deadline_probability", "cost", "worst_case"]

OBJECTIVES: tuple[ObjectiveName, ...] = (
    "mean",
    "quantile",
    "deadline_probability",
    "cost",
    "worst_case",
)
"""Names of the objectives; all but ``deadline_probability`` are minimised."""

OBJECTIVE_SETTINGS = ("q", "deadline", "confidence")
"""Numbers that objectives need beside their name, which a run may set anew."""


class _Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A strict, immutable record."""


class MatVec(_Record, frozen=True, kw_only=True, tag_field="type", tag="matvec"):
    """A matrix times a vector: done when ``rows`` coded rows have arrived."""

    rows: int


class MatMul(_Record, frozen=True, kw_only=True, tag_field="type", tag="matmul"):
    """A product of matrices, ``rows x inner`` by ``inner x columns``, cut into blocks.

    Attributes
    ----------
    split
        ``[m, p, n]``: the first matrix is cut into m x p blocks, the second into p x n. A unit
        of load is one product of two (coded) blocks.
    """

    rows: int
    inner: int
    columns: int
    split: tuple[int, int, int]


class Sequential(_Record, frozen=True, kw_only=True, rename={"lam": "lambda"}):
    """Stragglers over many rounds.

    In any ``window`` rounds at most ``lam`` nodes straggle, each within ``burst`` rounds.
    """

    burst: int
    window: int
    lam: int


class Gradient(
    _Record, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="gradient"
):
    """The sum of the gradients of all partitions, though ``stragglers`` nodes never answer.

    Attributes
    ----------
    messages
        Parts m of a gradient of which a node sends one: its message is m times shorter, and
        every partition is needed on ``stragglers + messages`` nodes.
    sequential
        Stragglers over rounds instead; then ``stragglers`` is 0 or the same as its ``lambda``.
    error
        Largest expected squared error that is accepted, by the number of partitions, 0 <= e < 1,
        where all sets of nodes that answer first are equally likely; None is an exact gradient.
    """

    partitions: int
    stragglers: int
    messages: int = 1
    sequential: Sequential | None = None
    error: Number | None = None


class Elastic(
    _Record, frozen=True, kw_only=True, omit_defaults=True, tag_field="type", tag="elastic"
):
    """A coded matrix of which every part is computed by enough nodes of a changing set.

    Each part of [0, 1] is computed by ``recovery_threshold + stragglers`` nodes.

    Attributes
    ----------
    partitions
        Blocks of equal size into which [0, 1] is cut, counted from 0, where nodes hold some
        of them only (``holds``). Uncoded replicated storage has the recovery threshold 1.
    """

    recovery_threshold: int
    stragglers: int = 0
    partitions: int | None = None


Task: TypeAlias = MatVec | MatMul | Gradient | Elastic


class Node(_Record, frozen=True, kw_only=True, omit_defaults=True):
    """A node with its runtime law.

    Attributes
    ----------
    runtime
        Law of the time X per unit of load. Gradient and elastic tasks may leave it out: the
        node then takes exactly one unit of time.
    speed
        Units of load are done that many times faster; 0 is a dead node.
    storage
        Largest load: rows or partitions, for elastic tasks a fraction of the matrix; None is
        no limit.
    cost
        Price of a unit of load.
    startup, message
        Time before the first row, and time of sending one result.
    row_time
        Time of a row in the scaling ``additive``.
    holds
        Partitions that the node may take, or blocks that it has stored, counted from 0; None is
        all.
    group
        Nodes of one group straggle together: one uniform number draws the times of all.
    """

    id: str
    runtime: Law | None = None
    speed: Number = 1
    storage: Number | None = None
    cost: Number = 0
    startup: Number = 0
    message: Number = 0
    row_time: Number = 0
    holds: list[int] | None = None
    group: str | None = None


class Scenarios(_Record, frozen=True, kw_only=True, omit_defaults=True):
    """Joint draws of the times X instead of laws: a row is a draw, a column is a node."""

    samples: list[list[Number]] | None = None
    file: str | None = None


class ObjectiveSpec(_Record, frozen=True, kw_only=True, omit_defaults=True):
    """What is minimised: a time, or a cost; ``deadline_probability`` is maximised.

    Attributes
    ----------
    name
        None is ``mean``; ``worst_case`` for gradient and elastic tasks.
    q
        Of ``quantile``, within (0, 1).
    deadline, confidence
        Of ``deadline_probability`` and ``cost``: P(T <= deadline) >= confidence.
    """

    name: ObjectiveName | None = None
    q: Number | None = None
    deadline: Number | None = None
    confidence: Number | None = None


class Limits(_Record, frozen=True, kw_only=True, omit_defaults=True):
    """Limits on all nodes together.

    Attributes
    ----------
    total_load, budget
        Largest sum of loads, and of costs; None is no limit.
    batches
        Results that a node may send its load in, at most; ``"free"`` leaves it to the solver.
    """

    total_load: Number | None = None
    budget: Number | None = None
    batches: int | Literal["free"] = 1


@dataclass(frozen=True, eq=False)
class CodedData:
    """The fields of a ``coded`` problem in input units."""

    task: Task
    nodes: Sequence[Node]
    scaling: Scaling = "load"
    scenarios: Scenarios | None = None
    objective: ObjectiveSpec = field(default_factory=ObjectiveSpec)
    limits: Limits = field(default_factory=Limits)
    name: str = ""
    time_unit: str = "s"


class CodedDocument(_Record, frozen=True, kw_only=True, omit_defaults=True):
    """The whole instance document."""

    schema: Literal["allocsolve.instance/1"]
    kind: Literal["coded"]
    task: Task
    nodes: list[Node]
    name: str = ""
    time_unit: str = "s"
    scaling: Scaling = "load"
    scenarios: Scenarios | None = None
    objective: ObjectiveSpec = ObjectiveSpec()
    limits: Limits = Limits()
