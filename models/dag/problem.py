"""The problem kind ``dag``: immutable data, validated and scaled at construction."""

from __future__ import annotations

import copy
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import cached_property
from operator import attrgetter

from allocsolve.models.dag.arrays import NO_LIMIT, DagArrays
from allocsolve.models.dag.data import DagData, DagDocument
from allocsolve.models.dag.scaling import build_arrays
from allocsolve.models.dag.validate import validate
from allocsolve.models.errors import InputError
from allocsolve.models.exact import exact
from allocsolve.models.result import InstanceInfo

__all__ = ["DagProblem", "Feature"]


class Feature:
    """Names of what an instance may ask of a method."""

    MODES = "several modes"
    NODES = "nodes"
    RENEWABLE = "renewable resources"
    NONRENEWABLE = "non-renewable resources"
    RELEASES = "release dates"
    DEADLINES = "deadlines"
    LAGS = "minimum lags"
    MAX_LAGS = "maximum lags"
    COMMUNICATION = "communication"
    CALENDARS = "calendars"
    SETUPS = "setup times"
    MEMORY = "memory"
    GANGS = "gangs"
    MOLDABLE = "moldable tasks"
    COLOCATION = "colocation"
    PROJECT = "tasks without nodes"
    START_LAGS = "lags from a start or below zero"


@dataclass(frozen=True, eq=False, repr=False)
class DagProblem(DagData):
    """Tasks with precedence, to be placed in time on nodes and resources.

    The fields are the data in input units (see :mod:`allocsolve.models.dag.data`);
    ``arrays`` holds the same as integers on an exact time grid.

    Raises
    ------
    InputError
        If an id, a reference, a number or the precedence is wrong, or if the numbers
        cannot be scaled to integers within 2^53.
    """

    origin: InstanceInfo = field(default_factory=InstanceInfo)
    notes: tuple[str, ...] = ()
    arrays: DagArrays = field(init=False, repr=False)

    def __post_init__(self) -> None:
        for name in ("tasks", "edges", "nodes", "links", "resources", "setups"):
            object.__setattr__(self, name, tuple(getattr(self, name)))
        validate(self)
        object.__setattr__(self, "arrays", build_arrays(self))
        if self.arrays.order is None:
            _refuse_cycle(self)

    def __repr__(self) -> str:
        """Say what it is in one line; a problem may have a hundred thousand tasks."""
        sizes = ("tasks", "edges", "nodes", "resources")
        counts = ", ".join(f"{len(getattr(self, name))} {name}" for name in sizes)
        return f"<DagProblem {self.name!r}: {counts}>"

    @classmethod
    def from_document(
        cls,
        document: DagDocument,
        origin: InstanceInfo | None = None,
        notes: tuple[str, ...] = (),
    ) -> DagProblem:
        """Build the problem that an instance document describes.

        ``notes`` are warnings of the reader of the file.
        """
        return cls(
            tasks=document.tasks,
            edges=document.edges,
            nodes=document.nodes,
            durations=document.durations,
            links=document.links,
            default_link=document.default_link,
            resources=document.resources,
            setups=document.setups,
            profiles=document.profiles,
            name=document.name,
            time_unit=document.time_unit,
            origin=origin or InstanceInfo(name=document.name),
            notes=notes,
        )

    def to_document(self) -> DagDocument:
        """Return the instance document of this problem."""
        return DagDocument(
            schema="allocsolve.instance/1",
            kind="dag",
            name=self.name,
            time_unit=self.time_unit,
            tasks=list(self.tasks),
            edges=list(self.edges),
            nodes=list(self.nodes),
            durations={task: dict(row) for task, row in self.durations.items()},
            links=list(self.links),
            default_link=self.default_link,
            resources=list(self.resources),
            setups=list(self.setups),
            profiles=self.profiles,
        )

    def replace(self, **changes: object) -> DagProblem:
        """Return a new problem with some data fields changed, validated again."""
        return replace(self, **changes)  # type: ignore[arg-type]  # validated by __post_init__

    def named(self, name: str, origin: InstanceInfo | None = None) -> DagProblem:
        """Return the same problem under another name, without validating its data again."""
        twin = copy.copy(self)
        object.__setattr__(twin, "name", name)
        object.__setattr__(twin, "origin", origin or InstanceInfo(name=name))
        return twin

    def on_grid(self, step: Fraction) -> DagProblem:
        """Return the same problem on a time grid that holds ``step`` too.

        Parameters
        ----------
        step
            A time in input units, at least 0; the tick becomes a divisor of it.

        Raises
        ------
        InputError
            If a time cannot be scaled to an integer within 2^53 on that grid.
        """
        if step % self.arrays.tick == 0:
            return self
        twin = copy.copy(self)
        object.__setattr__(twin, "arrays", build_arrays(self, step))
        return twin

    @property
    def kind(self) -> str:
        """The problem kind, ``"dag"``."""
        return "dag"

    @property
    def warnings(self) -> tuple[str, ...]:
        """What was repaired or left out while reading."""
        return (*self.notes, *self.arrays.warnings)

    @cached_property
    def task_index(self) -> Mapping[str, int]:
        """Index of each task id."""
        return {task.id: i for i, task in enumerate(self.tasks)}

    @cached_property
    def node_index(self) -> Mapping[str, int]:
        """Index of each node id."""
        return {node.id: k for k, node in enumerate(self.nodes)}

    @cached_property
    def features(self) -> frozenset[str]:
        """What this instance asks of a method: names of :class:`Feature`."""
        return frozenset(name for name, present in _features(self) if present)

    def units(self, ticks: int) -> Fraction:
        """Return a time of the grid in input units."""
        return ticks * self.arrays.tick


def _features(problem: DagProblem) -> list[tuple[str, bool]]:
    arrays = problem.arrays
    tasks, nodes = problem.tasks, problem.nodes
    return [
        (Feature.MODES, len(arrays.mode_task) > len(tasks)),
        (Feature.NODES, bool((arrays.mode_node >= 0).any())),
        (Feature.RENEWABLE, bool(arrays.renewable.any())),
        (Feature.NONRENEWABLE, not bool(arrays.renewable.all())),
        (Feature.RELEASES, bool(arrays.release.any())),
        (Feature.DEADLINES, bool((arrays.deadline < NO_LIMIT).any())),
        (Feature.LAGS, bool((arrays.edge_min_lag != 0).any() or arrays.edge_from_start.any())),
        (Feature.MAX_LAGS, _has_maximum_lags(arrays)),
        (Feature.COMMUNICATION, arrays.communicates),
        (Feature.CALENDARS, any(node.unavailable for node in nodes)),
        (Feature.SETUPS, bool(problem.setups)),
        (Feature.MEMORY, any(map(attrgetter("memory"), tasks))),
        (Feature.GANGS, not {None, 1}.issuperset(map(attrgetter("width"), tasks))),
        (Feature.MOLDABLE, any(task.speedup is not None for task in tasks)),
        (Feature.COLOCATION, bool((arrays.colocation >= 0).any())),
        (Feature.PROJECT, bool((arrays.mode_node < 0).any())),
        (Feature.START_LAGS, bool(arrays.edge_from_start.any() or (arrays.edge_min_lag < 0).any())),
    ]


def _has_maximum_lags(arrays: DagArrays) -> bool:
    """Whether a start may bound an earlier one from above: by a maximum or a negative lag."""
    return bool(
        (arrays.edge_max_lag < NO_LIMIT).any()
        or (arrays.start_lag < 0).any()
        or arrays.order is None
    )


def _refuse_cycle(problem: DagProblem) -> None:
    """Refuse a cycle of plain precedence (end to start, no lags): it can only be a mistake."""
    successors: dict[str, list[str]] = {task.id: [] for task in problem.tasks}
    for edge in problem.edges:
        if edge.lag_from == "end" and exact(edge.min_lag) == 0 and edge.max_lag is None:
            successors[edge.source].append(edge.target)
    cycle = _find_cycle(successors)
    if cycle is not None:
        ends = (cycle[-1], cycle[0])
        closing = [(edge.source, edge.target) for edge in problem.edges].index(ends)
        raise InputError(
            f"precedence has a cycle: {' -> '.join([*cycle, cycle[0]])}",
            allowed="precedence without cycles",
            remedy="delete or turn round one edge of the path",
            path=f"$.edges[{closing}]",
        )


def _find_cycle(successors: Mapping[str, Sequence[str]]) -> list[str] | None:
    """Return the ids of one cycle, or None; depth-first without recursion."""
    state = dict.fromkeys(successors, 0)
    for root in successors:
        if state[root]:
            continue
        path, iterators = [root], [iter(successors[root])]
        state[root] = 1
        while path:
            child = next(iterators[-1], None)
            if child is None:
                state[path.pop()] = 2
                iterators.pop()
            elif state[child] == 1:
                return path[path.index(child) :]
            elif state[child] == 0:
                state[child] = 1
                path.append(child)
                iterators.append(iter(successors[child]))
    return None
