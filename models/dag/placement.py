"""Where the entries of a schedule put the tasks, judged by the data of the instance.

Part of the independent checker: it reads ids and numbers as a person wrote them, never
the scaled arrays that solvers read.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

from allocsolve.models.dag.answer import ScheduledTask
from allocsolve.models.dag.data import DagData, Mode, Node, Task
from allocsolve.models.errors import suggest
from allocsolve.models.exact import Number, exact
from allocsolve.models.result import Violation

__all__ = ["Placed", "Places", "place"]


@dataclass(frozen=True, slots=True)
class Placed:
    """A task of the instance with the one entry that schedules it.

    Attributes
    ----------
    node
        The node, None if there is none or if the entry names one that is not allowed.
    duration
        What the data says it takes there, None if the place is not allowed.
    demand
        Resources held (or used up), empty if the place is not allowed.
    """

    task: Task
    start: Fraction
    end: Fraction
    node: str | None
    duration: Fraction | None
    demand: Mapping[str, Number]


class Places:
    """What each task may run on and how long it takes there, in exact input units."""

    def __init__(self, data: DagData) -> None:
        self._durations = data.durations
        self._nodes = {node.id: node for node in data.nodes}
        self._speeds = {node.id: exact(node.speed) for node in data.nodes}

    @property
    def nodes(self) -> Mapping[str, Node]:
        """The nodes by id."""
        return self._nodes

    def eligible(self, task: Task) -> list[str]:
        """Return the ids of the nodes that the task may run on."""
        return [node for node in self._nodes if self.duration(task, node) is not None]

    def duration(self, task: Task, node_id: str) -> Fraction | None:
        """Return the time of a node task on a known node, None if it may not run there.

        A node of speed 0 is dead, also for tasks with a table of durations.
        """
        node, speed = self._nodes[node_id], self._speeds[node_id]
        allowed = task.eligible
        if not speed or not (allowed is None or node.id in allowed or node.type in allowed):
            return None
        if task.work is not None:
            return _quotient(exact(task.work), speed)
        duration = self._durations[task.id].get(node_id)
        return None if duration is None else exact(duration)

    def has_room(self, task: Task, node_id: str) -> bool:
        """Whether the memory of a known node is enough for the task alone."""
        limit = self._nodes[node_id].memory
        return limit is None or exact(task.memory or 0) <= exact(limit)


def _quotient(work: Fraction, speed: Fraction) -> Fraction:
    """Return ``work / speed`` several times faster than fractions divide."""
    if speed == 1:
        return work
    return Fraction(work.numerator * speed.denominator, work.denominator * speed.numerator)


def place(data: DagData, entries: Sequence[ScheduledTask]) -> tuple[list[Placed], list[Violation]]:
    """Match entries and tasks.

    Returns
    -------
    placed
        The tasks with at least one entry, in the order of the instance; of repeated
        entries the first one counts.
    violations
        Rules ``unknown_task``, ``duplicate_task``, ``missing_task`` and those of the place.
    """
    violations: list[Violation] = []
    by_task = _by_task(data, entries, violations)
    places = Places(data)
    placed: list[Placed] = []
    for task in data.tasks:
        entry = by_task.get(task.id)
        if entry is None:
            violations.append(Violation("missing_task", f"task '{task.id}' is not scheduled"))
            continue
        placed.append(_placed(places, task, entry, violations))
    return placed, violations


def _by_task(
    data: DagData, entries: Sequence[ScheduledTask], violations: list[Violation]
) -> dict[str, ScheduledTask]:
    """Return the first entry of each id, and report ids that are unknown or repeated."""
    by_task: dict[str, ScheduledTask] = {}
    for entry in entries:
        by_task.setdefault(entry.task, entry)
    known = {task.id for task in data.tasks}
    for token in by_task:
        if token not in known:
            hint = suggest(token, list(known)) if len(known) <= 1000 else ""
            message = f"the instance has no task '{token}'{hint}"
            violations.append(Violation("unknown_task", message))
    if len(by_task) < len(entries):
        for token, count in Counter(entry.task for entry in entries).items():
            if count > 1:
                message = f"task '{token}' is scheduled {count} times"
                violations.append(Violation("duplicate_task", message))
    return by_task


def _placed(
    places: Places, task: Task, entry: ScheduledTask, violations: list[Violation]
) -> Placed:
    start, end = exact(entry.start), exact(entry.end)
    if task.modes is None:
        wrong, duration = _judge_node(places, task, entry)
        demand: Mapping[str, Number] = task.demand
    else:
        wrong, mode = _judge_mode(task, task.modes, entry)
        duration = None if mode is None else exact(mode.duration)
        demand = {} if mode is None else mode.demand
    violations.extend(wrong)
    node = entry.node if task.modes is None and duration is not None else None
    return Placed(task, start, end, node, duration, {} if duration is None else demand)


def _judge_node(
    places: Places, task: Task, entry: ScheduledTask
) -> tuple[list[Violation], Fraction | None]:
    """Judge the place of a task that runs on a node; return its duration there."""
    wrong: list[Violation] = []
    if entry.mode != 0:
        message = f"task '{task.id}' runs on a node and has only mode 0, not {entry.mode}"
        wrong.append(Violation("unknown_mode", message))
    if entry.node is None:
        message = f"task '{task.id}' must run on a node, but its entry names none"
        return [*wrong, Violation("node_missing", message)], None
    if entry.node not in places.nodes:
        hint = suggest(entry.node, list(places.nodes))
        message = f"task '{task.id}': the instance has no node '{entry.node}'{hint}"
        return [*wrong, Violation("unknown_node", message)], None
    duration = places.duration(task, entry.node)
    if duration is None:
        allowed = ", ".join(places.eligible(task)) or "none"
        message = f"task '{task.id}' may not run on node '{entry.node}' (eligible: {allowed})"
        wrong.append(Violation("ineligible_node", message))
    return wrong, duration


def _judge_mode(
    task: Task, modes: Sequence[Mode], entry: ScheduledTask
) -> tuple[list[Violation], Mode | None]:
    """Judge the place of a task of the project form; return its mode."""
    wrong: list[Violation] = []
    if entry.node is not None:
        message = f"task '{task.id}' has modes and runs on no node, but its entry names "
        wrong.append(Violation("node_unexpected", f"{message}'{entry.node}'"))
    if 0 <= entry.mode < len(modes):
        return wrong, modes[entry.mode]
    message = f"task '{task.id}' has the modes 0 to {len(modes) - 1}, not {entry.mode}"
    return [*wrong, Violation("unknown_mode", message)], None
