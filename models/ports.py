"""What the execution model asks of policies that are handed in: decisions while work runs.

The execution model decides nothing itself. Whoever wants other decisions writes an object with
the methods below; no base class is needed.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Protocol

from allocsolve.models.arrays import FloatArray, IntArray

__all__ = ["Dispatcher", "Running", "SharePolicy", "Situation", "Start"]


@dataclass(frozen=True, slots=True)
class Running:
    """A copy of a task that runs.

    Attributes
    ----------
    task, node
        Indices.
    since
        When it started.
    expected
        How long it takes without slowdown.
    """

    task: int
    node: int
    since: float
    expected: float


@dataclass(frozen=True)
class Situation:
    """What a dispatcher sees at one moment; all times are ticks of the instance.

    Attributes
    ----------
    time
        Now.
    ready
        Tasks that may start and of which no copy runs, by planned start.
    begun
        Number of copies of each task that were started so far.
    idle
        Number of free slots of each node that is up and has one.
    running
        The copies that run.
    expected
        Expected duration of each task (row) on each node (column), infinite where it cannot run.
    arrival
        Of a task on a node: when its data is there. A copy that starts before waits on the node.
    planned_node, planned_start
        The plan: node (-1 for none) and start of each task.
    """

    time: float
    ready: Sequence[int]
    begun: Sequence[int]
    idle: Mapping[int, int]
    running: Sequence[Running]
    expected: FloatArray
    arrival: Callable[[int, int], float]
    planned_node: IntArray
    planned_start: FloatArray


@dataclass(frozen=True, slots=True)
class Start:
    """Start a copy of a task on a node now."""

    task: int
    node: int


class Dispatcher(Protocol):
    """Decides which ready tasks start on which idle nodes, and which get a second copy."""

    @property
    def name(self) -> str:
        """Name in documents."""
        ...

    def dispatch(self, situation: Situation) -> Sequence[Start]:
        """Return what starts now; asked again whenever something ends or a node changes."""
        ...

    def next_look(self, situation: Situation) -> float | None:
        """Return when to ask again although nothing ends before, None for never."""
        ...


class SharePolicy(Protocol):
    """Decides the shares of jobs whenever one arrives or ends."""

    @property
    def name(self) -> str:
        """Name in documents."""
        ...

    def shares(self, time: float, active: IntArray, remaining: FloatArray) -> FloatArray:
        """Return the shares, float64 (active jobs, types), in the order of ``active``."""
        ...
