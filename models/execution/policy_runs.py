"""Many executions under a policy, and what they have in common."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.execution.copies import CopyDraws, GroupDraws, setting_of
from allocsolve.models.execution.disturbances import Disturbances
from allocsolve.models.execution.events import Execution, Outcome
from allocsolve.models.execution.outcome import Replication, Simulation
from allocsolve.models.execution.rounds import Cancelled, Watch
from allocsolve.models.nodes import RuntimeLaw
from allocsolve.models.ports import Dispatcher
from allocsolve.models.random import GROUP

__all__ = ["PolicyRun"]


class PolicyRun:
    """Executions of an instance under a policy, in plain Python.

    Raises
    ------
    FeatureRefused
        If the instance has a feature that policies do not know.
    """

    def __init__(
        self,
        schedule: Schedule,
        disturbances: Disturbances,
        law: RuntimeLaw | None,
        node_laws: Sequence[RuntimeLaw | None],
        policy: Dispatcher,
    ) -> None:
        self._setting, self._disturbances = setting_of(schedule, policy.name), disturbances
        self._law, self._node_laws, self._policy = law, node_laws, policy
        self._group: GroupDraws | None = None
        self._busy = np.zeros(len(schedule.problem.nodes))
        self._wasted, self._copies, self._total, self._count = 0.0, 0, 0.0, 0

    def execute(self, number: int) -> Outcome:
        """Return the execution of one replication."""
        group, column = divmod(number, GROUP)
        if self._group is None or self._group.group != group:
            self._group = GroupDraws(
                self._setting, self._disturbances, self._law, self._node_laws, group
            )
        return Execution(self._setting, self._policy, CopyDraws(self._group, column)).run()

    def sample(self, first: int, count: int, watch: Watch) -> FloatArray:
        """Return the makespans of some replications, input units."""
        out = np.empty(count)
        for i in range(count):
            if watch.stops():
                raise Cancelled
            outcome = self.execute(first + i)
            out[i] = outcome.makespan
            self._count_in(outcome)
            watch.tell((i + 1) / count)
        return self._units(out)

    def _units(self, ticks: FloatArray) -> FloatArray:
        tick = self._setting.problem.arrays.tick
        return np.asarray(ticks * float(tick.numerator) / float(tick.denominator))

    def _count_in(self, outcome: Outcome) -> None:
        self._count += 1
        self._wasted += outcome.wasted
        self._copies += outcome.copies
        if math.isfinite(outcome.makespan):
            self._busy += outcome.busy
            self._total += outcome.makespan

    def detailed(self, simulation: Simulation, marks: Sequence[tuple[str, int]]) -> Simulation:
        """Add what was counted, and the replications to show, to a simulation."""
        nodes, tick = self._setting.problem.nodes, float(self._setting.problem.arrays.tick)
        shares = {
            node.id: float(self._busy[k] / (self._total * node.slots))
            for k, node in enumerate(nodes)
            if self._total > 0
        }
        return replace(
            simulation,
            utilisation=shares,
            wasted_work=self._wasted * tick / self._count,
            detailed=self._count,
            examples=tuple(self._show(*mark) for mark in marks),
            extra={"policy": self._policy.name, "copies": self._copies / self._count},
        )

    def _show(self, label: str, number: int) -> Replication:
        outcome, nodes = self.execute(number), self._setting.problem.nodes
        return Replication(
            label=label,
            number=number,
            value=float(self._units(np.array([outcome.makespan]))[0]),
            start=self._units(outcome.start),
            end=self._units(outcome.end),
            node=tuple(None if k < 0 else nodes[k].id for k in outcome.node),
        )
