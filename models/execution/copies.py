"""What a policy works with: the instance as plain lists, and the draws of single copies."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.problem import DagProblem, Feature
from allocsolve.models.errors import FeatureRefused
from allocsolve.models.execution.disturbances import Disturbances, break_down, draw_rows
from allocsolve.models.execution.replay import DURATIONS, FAILURES, LOSS, SLOWDOWN
from allocsolve.models.nodes import RuntimeLaw
from allocsolve.models.processes import Markov, NodeProcess, UniformSource
from allocsolve.models.random import GROUP, top_word, uniforms

__all__ = ["CopyDraws", "GroupDraws", "Setting", "setting_of"]

_HONOURED = frozenset(
    {
        Feature.MODES,
        Feature.NODES,
        Feature.RELEASES,
        Feature.DEADLINES,
        Feature.LAGS,
        Feature.START_LAGS,
        Feature.COMMUNICATION,
    }
)

_MOST_DRAWS = 20_000
"""Numbers of one copy for its failures."""


@dataclass(frozen=True, eq=False)
class Setting:
    """An instance and a plan for it; times in ticks.

    Attributes
    ----------
    duration, release, planned_start
        float64 (n,).
    planned_node
        int64 (n,).
    expected
        float64 (n, N), infinite where a task cannot run.
    slots
        Of each node.
    waits
        Number of edges into each task.
    successors
        Targets of the edges of each task.
    incoming
        Of each task: (source, lag, whether it counts from the start, edge).
    """

    problem: DagProblem
    duration: FloatArray
    release: FloatArray
    planned_start: FloatArray
    planned_node: IntArray
    expected: FloatArray
    slots: Sequence[int]
    waits: Sequence[int]
    successors: Sequence[Sequence[int]]
    incoming: Sequence[Sequence[tuple[int, float, bool, int]]]

    def delay(self, edge: int, source: int, target: int) -> float:
        """Return how long the data of an edge travels, infinite without a link."""
        found = self.problem.arrays.delay(edge, source, target)
        return np.inf if found is None else float(found)


def setting_of(schedule: Schedule, policy: str) -> Setting:
    """Return what a policy needs.

    Raises
    ------
    FeatureRefused
        If the instance limits where tasks may go in a way that policies do not know.
    """
    problem, arrays = schedule.problem, schedule.problem.arrays
    refused = sorted(problem.features - _HONOURED)
    if refused:
        raise FeatureRefused(policy, refused, ("static",), sort="policy", sorts="policies")
    n = len(problem.tasks)
    expected = np.full((n, len(problem.nodes)), np.inf)
    expected[arrays.mode_task, arrays.mode_node] = arrays.mode_duration
    successors: list[list[int]] = [[] for _ in range(n)]
    incoming: list[list[tuple[int, float, bool, int]]] = [[] for _ in range(n)]
    rows = zip(
        arrays.edge_source.tolist(),
        arrays.edge_target.tolist(),
        arrays.edge_min_lag.tolist(),
        arrays.edge_from_start.tolist(),
        strict=True,
    )
    for edge, (source, target, lag, from_start) in enumerate(rows):
        successors[source].append(target)
        incoming[target].append((source, float(lag), from_start, edge))
    return Setting(
        problem=problem,
        duration=(schedule.end - schedule.start).astype(np.float64),
        release=arrays.release.astype(np.float64),
        planned_start=schedule.start.astype(np.float64),
        planned_node=arrays.mode_node[schedule.mode],
        expected=expected,
        slots=arrays.node_slots.tolist(),
        waits=[len(row) for row in incoming],
        successors=successors,
        incoming=incoming,
    )


class GroupDraws:
    """Draws of one group of replications, each row made when it is first asked for."""

    def __init__(
        self,
        setting: Setting,
        disturbances: Disturbances,
        law: RuntimeLaw | None,
        node_laws: Sequence[RuntimeLaw | None],
        group: int,
    ) -> None:
        self.setting, self.disturbances = setting, disturbances
        self._law, self._node_laws, self.group = law, node_laws, group
        self._top = top_word(disturbances.seed)
        self._factors: dict[tuple[int, int, int], FloatArray] = {}
        self._uniforms: dict[tuple[int, int, int], FloatArray] = {}

    def factor(self, task: int, node: int, copy: int) -> FloatArray:
        """Return the factors of the duration of a copy by the law, one for each replication."""
        law = self._law or self._node_laws[node]
        key = (id(law), task, copy)
        if key not in self._factors:
            place = (DURATIONS, copy, self._top)
            form = self.disturbances.form(law)
            seed = self.disturbances.seed
            self._factors[key] = draw_rows(form, seed, task, self.group, place)
        return self._factors[key]

    def uniform(self, purpose: int, stream: int, number: int) -> FloatArray:
        """Return uniform numbers, one for each replication."""
        key = (purpose, stream, number)
        if key not in self._uniforms:
            first, seed = self.group * GROUP, self.disturbances.seed
            v = uniforms(seed, stream, first, GROUP, purpose=purpose, draw=number)
            self._uniforms[key] = 1.0 - v
        return self._uniforms[key]

    @cached_property
    def losses(self) -> dict[int, FloatArray]:
        """When nodes are lost, ticks."""
        owner, tick = self.disturbances, float(self.setting.problem.arrays.tick)
        return {
            node: draw_rows(
                owner.form(owner.processes[node].loss),
                owner.seed,
                owner.streams[node],
                self.group,
                (LOSS, 0, self._top),
            )
            / tick
            for node in owner.losses
        }


class CopyDraws:
    """Draws of one replication.

    A node whose slowdown moves from task to task takes its steps as tasks start on it.
    """

    def __init__(self, group: GroupDraws, column: int) -> None:
        self._group, self._column = group, column
        self._steps: dict[int, int] = {}
        self._slow: dict[int, bool] = {}

    def losses(self) -> Iterator[tuple[int, float]]:
        """Yield each node that is lost with the moment, ticks."""
        for node, row in self._group.losses.items():
            yield node, float(row[self._column])

    def duration(self, task: int, node: int, copy: int) -> tuple[float, float]:
        """Return how long a copy takes, and how much of that failures cost it, ticks."""
        setting, process = self._group.setting, self._group.disturbances.processes[node]
        factor = float(self._group.factor(task, node, copy)[self._column])
        work = factor * float(setting.expected[task, node])
        work *= self._slowdown(process, task, node, copy)
        if process.failures is None:
            return work, 0.0
        tick = float(setting.problem.arrays.tick)
        source = self._source(FAILURES, task, copy * _MOST_DRAWS)
        took, lost = break_down(process.failures, np.array([work * tick]), source)
        return float(took[0]) / tick, float(lost[0]) / tick

    def _source(self, purpose: int, stream: int, offset: int) -> UniformSource:
        at = slice(self._column, self._column + 1)
        return lambda k: self._group.uniform(purpose, stream, offset + k)[at]

    def _slowdown(self, process: NodeProcess, task: int, node: int, copy: int) -> float:
        slowdown, owner = process.slowdown, self._group.disturbances
        if slowdown is None:
            return 1.0
        step = self._steps.get(node, 0)
        self._steps[node] = step + 1
        source = self._source(SLOWDOWN, owner.streams[node], 0)
        if isinstance(slowdown, Markov):
            return self._move(slowdown, node, step, float(source(step)[0]))
        if owner.is_free(process):
            source = self._source(SLOWDOWN, len(owner.processes) + task, copy)
            return float(slowdown.factors(1, source)[0, 0])
        rows = slowdown.factors(step + 1, source)
        return float(rows[step, 0])

    def _move(self, chain: Markov, node: int, step: int, u: float) -> float:
        """Take one step of the chain of a node; return the factor there."""
        if step == 0:
            chance = chain.stationary_slow()
        else:
            chance = 1.0 - chain.to_good if self._slow[node] else chain.to_slow
        self._slow[node] = u >= 1.0 - chance
        return chain.factor if self._slow[node] else 1.0
