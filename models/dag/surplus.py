"""Instances with more identical nodes than tasks: what no schedule needs is left out.

n tasks run on at most n nodes, and nodes that are alike may be exchanged: some optimal schedule
uses only the first n of them. Ten thousand nodes for a hundred tasks then cost no more than
a hundred, whatever the method.
"""

from __future__ import annotations

from dataclasses import dataclass

import msgspec

from allocsolve.models.arrays import frozen, integers, is_uniform
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.problem import DagProblem

__all__ = ["Core", "core_of"]


@dataclass(frozen=True, eq=False)
class Core:
    """A problem without surplus nodes, and how its schedules belong to those of the whole.

    Attributes
    ----------
    problem
        The part: tasks as in the whole, and the first of its nodes. It has a schedule if and
        only if the whole has one, and the same optimum.
    """

    whole: DagProblem
    problem: DagProblem

    def lift(self, schedule: Schedule) -> Schedule:
        """Return a schedule of the part as one of the whole."""
        if schedule.problem is self.whole:
            return schedule
        shift = self.whole.arrays.mode_offset[:-1] - self.problem.arrays.mode_offset[:-1]
        return Schedule(self.whole, schedule.start, frozen(schedule.mode + shift))

    def lower(self, schedule: Schedule) -> Schedule:
        """Return a schedule of the whole as one of the part: its nodes in the order of use."""
        if self.problem is self.whole:
            return schedule
        names: dict[int, int] = {}
        modes = []
        for task, mode in enumerate(schedule.mode.tolist()):
            node = int(self.whole.arrays.mode_node[mode])
            way = mode - int(self.whole.arrays.mode_offset[task])
            place = way if node < 0 else names.setdefault(node, len(names))
            modes.append(int(self.problem.arrays.mode_offset[task]) + place)
        return Schedule(self.problem, schedule.start, integers(modes))


def core_of(problem: DagProblem) -> Core:
    """Return the problem without surplus nodes; the problem itself if there are none."""
    kept = max(len(problem.tasks), 1)
    if len(problem.nodes) <= kept or not _are_exchangeable(problem):
        return Core(problem, problem)
    return Core(problem, problem.replace(nodes=problem.nodes[:kept]))


def _are_exchangeable(problem: DagProblem) -> bool:
    """Whether nothing in the data tells one node from another."""
    arrays = problem.arrays
    if problem.durations or problem.setups or any(task.eligible for task in problem.tasks):
        return False
    if not all(map(is_uniform, (arrays.latency, arrays.data_time))) or problem.links:
        return False
    first = problem.nodes[0]
    return all(msgspec.structs.replace(node, id=first.id) == first for node in problem.nodes)
