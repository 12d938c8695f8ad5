"""The problem kind ``coded``: immutable data, validated at construction."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from functools import cached_property

from allocsolve.models.coded.arrays import CodedArrays, build_arrays
from allocsolve.models.coded.data import (
    CodedData,
    CodedDocument,
    Elastic,
    Gradient,
    MatMul,
    MatVec,
    ObjectiveName,
)
from allocsolve.models.coded.validate import validate
from allocsolve.models.result import InstanceInfo, Sense

__all__ = ["CodedProblem", "Feature"]


class Feature:
    """Names of what an instance may ask of a method."""

    MATVEC = "matrix-vector products"
    MATMUL = "matrix products"
    GRADIENT = "gradients"
    ELASTIC = "elastic loads"
    SEQUENTIAL = "stragglers over rounds"
    ERROR = "approximate gradients"
    SCENARIOS = "scenarios"
    GROUPS = "correlated nodes"
    BATCHES = "batches"
    MESSAGES = "message times"
    ADDITIVE = "additive delays"
    PER_ROW = "a draw for each row"
    STORAGE = "storage"
    TOTAL_LOAD = "a limit of the total load"
    BUDGET = "a budget"
    HOLDS = "data locality"


@dataclass(frozen=True, eq=False, repr=False)
class CodedProblem(CodedData):
    """A task whose work is spread redundantly over straggling nodes.

    The fields are the data in input units (see :mod:`allocsolve.models.coded.data`);
    ``arrays`` holds the same as arrays over the nodes.

    Raises
    ------
    InputError
        If an id, a reference, a number or a law is wrong.
    """

    origin: InstanceInfo = field(default_factory=InstanceInfo)
    notes: tuple[str, ...] = ()
    arrays: CodedArrays = field(init=False, repr=False)

    def __post_init__(self) -> None:
        object.__setattr__(self, "nodes", tuple(self.nodes))
        validate(self)
        object.__setattr__(self, "arrays", build_arrays(self))

    def __repr__(self) -> str:
        """Say what it is in one line."""
        task = type(self.task).__name__.lower()
        return f"<CodedProblem {self.name!r}: {task} on {len(self.nodes)} nodes>"

    @classmethod
    def from_document(
        cls,
        document: CodedDocument,
        origin: InstanceInfo | None = None,
        notes: tuple[str, ...] = (),
    ) -> CodedProblem:
        """Build the problem that an instance document describes.

        ``notes`` are warnings of the reader of the file.
        """
        return cls(
            task=document.task,
            nodes=document.nodes,
            scaling=document.scaling,
            scenarios=document.scenarios,
            objective=document.objective,
            limits=document.limits,
            name=document.name,
            time_unit=document.time_unit,
            origin=origin or InstanceInfo(name=document.name),
            notes=notes,
        )

    def to_document(self) -> CodedDocument:
        """Return the instance document of this problem."""
        return CodedDocument(
            schema="allocsolve.instance/1",
            kind="coded",
            task=self.task,
            nodes=list(self.nodes),
            name=self.name,
            time_unit=self.time_unit,
            scaling=self.scaling,
            scenarios=self.scenarios,
            objective=self.objective,
            limits=self.limits,
        )

    def replace(self, **changes: object) -> CodedProblem:
        """Return a new problem with some data fields changed, validated again."""
        return replace(self, **changes)  # type: ignore[arg-type]  # validated by __post_init__

    @property
    def kind(self) -> str:
        """The problem kind, ``"coded"``."""
        return "coded"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was repaired or left out while reading."""
        return self.notes

    @property
    def objective_name(self) -> ObjectiveName:
        """The objective that is asked for, or the default of the task."""
        spread = isinstance(self.task, Gradient | Elastic)
        return self.objective.name or ("worst_case" if spread else "mean")

    @property
    def sense(self) -> Sense:
        """Whether the objective is minimised or maximised."""
        return Sense.MAX if self.objective_name == "deadline_probability" else Sense.MIN

    @cached_property
    def node_index(self) -> Mapping[str, int]:
        """Index of each node id."""
        return {node.id: i for i, node in enumerate(self.nodes)}

    @cached_property
    def features(self) -> frozenset[str]:
        """What this instance asks of a method: names of :class:`Feature`."""
        return frozenset(name for name, present in _features(self) if present)


def _features(problem: CodedProblem) -> list[tuple[str, bool]]:
    task, arrays, limits = problem.task, problem.arrays, problem.limits
    sequential = isinstance(task, Gradient) and task.sequential is not None
    return [
        (Feature.MATVEC, isinstance(task, MatVec)),
        (Feature.MATMUL, isinstance(task, MatMul)),
        (Feature.GRADIENT, isinstance(task, Gradient)),
        (Feature.ELASTIC, isinstance(task, Elastic)),
        (Feature.SEQUENTIAL, sequential),
        (Feature.ERROR, isinstance(task, Gradient) and task.error is not None),
        (Feature.SCENARIOS, arrays.scenarios is not None),
        (Feature.GROUPS, bool((arrays.group >= 0).any())),
        (Feature.BATCHES, limits.batches != 1),
        (Feature.MESSAGES, bool(arrays.message.any())),
        (Feature.ADDITIVE, problem.scaling == "additive"),
        (Feature.PER_ROW, problem.scaling == "per_row"),
        (Feature.STORAGE, any(node.storage is not None for node in problem.nodes)),
        (Feature.TOTAL_LOAD, limits.total_load is not None),
        (Feature.BUDGET, limits.budget is not None),
        (Feature.HOLDS, arrays.holds is not None),
    ]
