"""Why a ``dag`` instance has no schedule: typed objects that the checker can verify.

Numbers are in units of the input. "Modes that fit" are the modes (or eligible nodes) of a
task none of whose demands exceeds a capacity; a mode of zero length holds nothing, so only
its demand for non-renewable resources counts.
"""

from __future__ import annotations

from allocsolve.models.result import Reason

__all__ = [
    "CriticalPath",
    "DemandExceedsCapacity",
    "NoEligibleNode",
    "PositiveLagCycle",
    "WindowOverload",
]

_SHOWN = 12
"""Ids that a sentence lists at most; the object holds all."""


def _named(ids: list[str], joint: str) -> str:
    if len(ids) <= _SHOWN:
        return joint.join(ids)
    return joint.join([*ids[: _SHOWN - 1], f"({len(ids) - _SHOWN} more)", ids[-1]])


class PositiveLagCycle(Reason, frozen=True, tag="positive_lag_cycle", kw_only=True):
    """Lags that make each task of a cycle start after itself.

    Attributes
    ----------
    path
        Ids in order, each once; the last one leads back to the first.
    length
        Sum of the start-to-start lags along the cycle, positive. A minimum lag leads
        forward (with the shortest duration of the modes that fit, if it counts from the
        end); a maximum lag leads back with its negative (less the longest such duration).
        Between two tasks the longest of these holds.
    """

    path: list[str]
    length: int | float

    def sentence(self) -> str:
        """Say the reason in English."""
        return (
            f"the lags along {_named([*self.path, self.path[0]], ' -> ')} add up to {self.length}, "
            f"so task '{self.path[0]}' would have to start {self.length} after itself"
        )


class CriticalPath(Reason, frozen=True, tag="critical_path", kw_only=True):
    """A task that cannot end by its deadline.

    Attributes
    ----------
    path
        Ids from a task that starts at its release to ``task``, linked by start-to-start
        lags as in :class:`PositiveLagCycle`.
    length
        Earliest possible end of the task: release of the first task, lags along the path,
        shortest duration of the task.
    """

    task: str
    path: list[str]
    length: int | float
    deadline: int | float

    def sentence(self) -> str:
        """Say the reason in English."""
        return (
            f"task '{self.task}' has the deadline {self.deadline} but cannot end before "
            f"{self.length} (critical path {_named(self.path, ' -> ')})"
        )


class DemandExceedsCapacity(Reason, frozen=True, tag="demand_exceeds_capacity", kw_only=True):
    """More of a resource is needed than there is.

    Attributes
    ----------
    task
        A task none of whose modes fits, or None: all tasks together.
    demand
        For a task the least demand among its modes that exceed ``capacity``; otherwise the
        total of the least demands of all tasks (over the modes that fit) for a
        non-renewable resource.
    """

    task: str | None = None
    resource: str
    demand: int | float
    capacity: int | float

    def sentence(self) -> str:
        """Say the reason in English."""
        if self.task is None:
            return (
                f"the tasks together need at least {self.demand} of the non-renewable resource "
                f"'{self.resource}', its capacity is {self.capacity}"
            )
        return (
            f"task '{self.task}' needs {self.demand} of resource '{self.resource}', "
            f"its capacity is {self.capacity}, and no other mode of the task fits"
        )


class NoEligibleNode(Reason, frozen=True, tag="no_eligible_node", kw_only=True):
    """A task that can run on no node: none is eligible, alive and has memory enough for it."""

    # All of that is asked for the task together with those that share its node.

    task: str

    def sentence(self) -> str:
        """Say the reason in English."""
        return (
            f"task '{self.task}' can run on no node: none is eligible, alive and has enough memory "
            "for it and all tasks that share its node"
        )


class WindowOverload(Reason, frozen=True, tag="window_overload", kw_only=True):
    """Tasks that must run within a window and need more than it offers.

    Attributes
    ----------
    resource, node
        The renewable resource, or the node to which the tasks are bound; both None: all
        nodes on which at least one of the tasks can run.
    start, end
        The window. Releases, deadlines and lags force every task of ``tasks`` to start at
        ``start`` or later and to end by ``end``.
    work
        Least amount times time (on nodes: least time) that the tasks need together, over
        the modes that fit.
    available
        Capacity (on nodes: slots) times the length of the window.
    exclusive
        Any two of the tasks need more of the resource than there is, so that they run one after
        another and each counts with the whole capacity for its shortest time.
    """

    resource: str | None = None
    node: str | None = None
    start: int | float
    end: int | float
    work: int | float
    available: int | float
    tasks: list[str]
    exclusive: bool = False

    def sentence(self) -> str:
        """Say the reason in English."""
        where = "the nodes"
        if self.resource is not None:
            where = f"resource '{self.resource}'"
        elif self.node is not None:
            where = f"node '{self.node}'"
        return (
            f"between {self.start} and {self.end} the tasks {_named(self.tasks, ', ')} need "
            f"{self.work} on {where}, which offers only {self.available}"
            + (" (no two of them fit at once, so each counts as all of it)" * self.exclusive)
        )
