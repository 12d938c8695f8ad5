"""The ``dag`` problem as a CP-SAT model, with its decoder and a complete hint.

Variables: the start of each task, one literal for each mode of a task that has several, the
makespan. A mode is an interval: mandatory if it is the only one of its task, optional
otherwise; intervals that share a node of one slot do not overlap, those that share more
slots or a renewable resource stay within a cumulative capacity. Zero-length modes are left
out of both, because CP-SAT forbids an empty interval inside another one of a no-overlap
constraint. Times are ticks; all domains are finite, by the horizon and the longest paths.
"""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.arrays import NO_LIMIT, DagArrays
from allocsolve.models.dag.bounds import earliest_starts, latest_starts
from allocsolve.models.dag.problem import DagProblem

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

__all__ = ["DagCpModel", "build", "overflow"]

_SAFE = 2**61
"""Products and sums of the model stay below this, four times below what int64 holds."""

Pulse = Callable[[], None]


def _go_on() -> None:
    """Do nothing: the pulse of a build that nobody may interrupt."""


@dataclass(frozen=True, eq=False)
class DagCpModel:
    """A built model and the way back.

    Attributes
    ----------
    start
        Start variable of each task.
    options
        For each task its usable modes with their literals; the literal is None if there is
        only one.
    makespan
        The objective.
    """

    problem: DagProblem
    model: cp_model.CpModel
    start: Sequence[cp_model.IntVar]
    options: Sequence[Sequence[tuple[int, cp_model.IntVar | None]]]
    makespan: cp_model.IntVar

    def decode(self, value_of: Callable[[cp_model.IntVar], int]) -> Schedule:
        """Return the schedule of a solution.

        Parameters
        ----------
        value_of
            Gives the value of a variable.
        """
        mode = [_chosen(options, value_of) for options in self.options]
        return Schedule.of(self.problem, [value_of(start) for start in self.start], mode)

    def hint(self, schedule: Schedule) -> None:
        """Give every variable of the model the value it has in a schedule."""
        self.model.clear_hints()  # type: ignore[no-untyped-call]  # ortools leaves it untyped
        starts, modes = schedule.start.tolist(), schedule.mode.tolist()
        for variable, options, start, mode in zip(
            self.start, self.options, starts, modes, strict=True
        ):
            self.model.add_hint(variable, start)
            for option, literal in options:
                if literal is not None:
                    self.model.add_hint(literal, option == mode)
        self.model.add_hint(self.makespan, schedule.makespan)


def _chosen(
    options: Sequence[tuple[int, cp_model.IntVar | None]],
    value_of: Callable[[cp_model.IntVar], int],
) -> int:
    return next(mode for mode, literal in options if literal is None or value_of(literal))


def _first_of_pair(pair: tuple[int | None, object]) -> int:
    return pair[0] or 0


def _conditions(
    literal: cp_model.IntVar | None,
    choices: Sequence[cp_model.IntVar | None],
    nearer: Sequence[cp_model.IntVar | None],
) -> list[list[cp_model.LiteralT]]:
    """Return conjunctions that together hold if the target takes one of ``choices``."""
    own: list[cp_model.LiteralT] = [] if literal is None else [literal]
    if len(nearer) <= 1:
        return [own + [choice.negated() for choice in nearer if choice is not None]]
    return [[*own, choice] for choice in choices if choice is not None]


def overflow(problem: DagProblem, horizon: int) -> str | None:
    """Return why the model could leave 64-bit integers inside CP-SAT, None if it cannot."""
    arrays = problem.arrays
    largest = max(horizon, _largest_time(arrays))
    if largest * (len(arrays.release) + 1) >= _SAFE:
        return f"{len(arrays.release)} times of up to {largest} ticks may leave 64-bit integers"
    for k, resource in enumerate(problem.resources):
        demand = sum(arrays.mode_demand[:, k].tolist())
        if largest * max(int(arrays.capacity[k]), demand) >= _SAFE:
            return f"resource '{resource.id}' over {largest} ticks may leave 64-bit integers"
    return None


def _largest_time(arrays: DagArrays) -> int:
    finite = arrays.edge_max_lag[arrays.edge_max_lag < NO_LIMIT]
    columns = (arrays.edge_min_lag, finite, arrays.mode_duration, arrays.release)
    return max(int(abs(column).max(initial=0)) for column in columns)


def build(
    problem: DagProblem, horizon: int, *, lower: int = 0, pulse: Pulse = _go_on
) -> DagCpModel:
    """Build the model for schedules that end by ``horizon``.

    Parameters
    ----------
    horizon
        Ticks; the problem's own horizon or the makespan of a known answer.
    lower
        A proven lower bound on the makespan, ticks.
    pulse
        Called again and again while building; it may raise to end the build.
    """
    return _Builder(problem, horizon, lower, pulse).build()


class _Builder:
    """Builds one model, step by step."""

    def __init__(self, problem: DagProblem, horizon: int, lower: int, pulse: Pulse) -> None:
        from ortools.sat.python import cp_model

        self.problem = problem
        self.arrays = problem.arrays
        self.horizon = horizon
        self.lower = lower
        self.pulse = pulse
        self.model = cp_model.CpModel()
        self.duration: list[int] = problem.arrays.mode_duration.tolist()
        self.node: list[int] = problem.arrays.mode_node.tolist()
        self.start: list[cp_model.IntVar] = []
        self.options: list[list[tuple[int, cp_model.IntVar | None]]] = []
        self.length: list[cp_model.LinearExpr | int] = []
        self.interval: dict[int, cp_model.IntervalVar] = {}

    def build(self) -> DagCpModel:
        """Add variables and constraints, and return the model with its decoder."""
        makespan = self.model.new_int_var(min(self.lower, self.horizon), self.horizon, "makespan")
        self._tasks()
        self._precedence()
        self._nodes()
        self._resources()
        self._memory()
        self._colocation()
        self._ends(makespan)
        self.model.minimize(makespan)
        return DagCpModel(self.problem, self.model, self.start, self.options, makespan)

    def _tasks(self) -> None:
        first, last = earliest_starts(self.problem), latest_starts(self.problem, self.horizon)
        if first is None or last is None or bool((first > last).any()):
            self.model.add_bool_or([])  # no schedule ends by the horizon
            first = last = self.arrays.release
        for task, (low, high) in enumerate(zip(first.tolist(), last.tolist(), strict=True)):
            self.pulse()
            self.start.append(self.model.new_int_var(low, high, f"start_{task}"))
            self.options.append(self._options(task))
            self.length.append(self._length(task))
            self._deadline(task)

    def _options(self, task: int) -> list[tuple[int, cp_model.IntVar | None]]:
        modes = [mode for mode in self.arrays.modes_of(task) if self._is_usable(mode)]
        if len(modes) == 1:
            return [(modes[0], None)]
        literals = [self.model.new_bool_var(f"mode_{mode}") for mode in modes]
        self.model.add_exactly_one(literals)
        return list(zip(modes, literals, strict=True))

    def _is_usable(self, mode: int) -> bool:
        """Whether a mode alone is within the capacities it occupies or uses up."""
        binding = (self.duration[mode] > 0) | ~self.arrays.renewable
        return bool((self.arrays.mode_demand[mode] <= self.arrays.capacity)[binding].all())

    def _length(self, task: int) -> cp_model.LinearExpr | int:
        """Return the duration of a task: a constant, or linear in its literals."""
        options = self.options[task]
        lengths = {self.duration[mode] for mode, _ in options}
        if len(lengths) <= 1:
            return min(lengths, default=0)
        # The shortest duration as constant part keeps the linear relaxation tight.
        least = min(lengths)
        return least + sum(
            (self.duration[mode] - least) * literal
            for mode, literal in options
            if literal is not None
        )

    def _deadline(self, task: int) -> None:
        deadline = int(self.arrays.deadline[task])
        if deadline < NO_LIMIT:
            self.model.add(self.start[task] + self.length[task] <= deadline)

    def _precedence(self) -> None:
        arrays = self.arrays
        rows = zip(
            arrays.edge_source.tolist(),
            arrays.edge_target.tolist(),
            arrays.edge_min_lag.tolist(),
            arrays.edge_max_lag.tolist(),
            arrays.edge_from_start.tolist(),
            strict=True,
        )
        for edge, (source, target, min_lag, max_lag, from_start) in enumerate(rows):
            self.pulse()
            base = self.start[source] + (0 if from_start else self.length[source])
            self.model.add(self.start[target] >= base + min_lag)
            if max_lag < NO_LIMIT:
                self.model.add(self.start[target] <= base + max_lag)
            if arrays.edge_data[edge] and arrays.communicates:
                self._transfer(edge, source, target, base + min_lag)

    def _transfer(
        self, edge: int, source: int, target: int, ready: cp_model.LinearExpr | int
    ) -> None:
        """Make the target wait for data that comes from another node.

        For each node of the source the nodes of the target are taken in the order of their
        delay. If only one of them is nearer, "not that one" is the condition of a single
        precedence, which covers all nodes of one delay.
        """
        for mode, literal in self.options[source]:
            groups: dict[int | None, list[cp_model.IntVar | None]] = defaultdict(list)
            for other, choice in self.options[target]:
                delay = self.arrays.delay(edge, self.node[mode], self.node[other])
                groups[delay].append(choice)
            apart = groups.pop(None, [])
            nearer: list[cp_model.IntVar | None] = []
            for delay, choices in sorted(groups.items(), key=_first_of_pair):
                if delay:
                    for condition in _conditions(literal, choices, nearer):
                        wait = self.model.add(self.start[target] >= ready + delay)
                        wait.only_enforce_if(condition)
                nearer += choices
            if apart:
                self._link(literal, nearer)

    def _link(
        self, literal: cp_model.IntVar | None, linked: Sequence[cp_model.IntVar | None]
    ) -> None:
        """Allow the source this node only if the target takes a node linked with it."""
        near = [choice for choice in linked if choice is not None]
        self.model.add_bool_or(near if literal is None else [literal.negated(), *near])

    def _interval(
        self, task: int, mode: int, literal: cp_model.IntVar | None
    ) -> cp_model.IntervalVar:
        if mode not in self.interval:
            start, size, name = self.start[task], self.duration[mode], f"run_{mode}"
            self.interval[mode] = (
                self.model.new_fixed_size_interval_var(start, size, name)
                if literal is None
                else self.model.new_optional_fixed_size_interval_var(start, size, literal, name)
            )
        return self.interval[mode]

    def _running(self) -> Iterator[tuple[int, int, cp_model.IntVar | None]]:
        """Yield task, mode and literal of every usable mode that takes time."""
        for task, options in enumerate(self.options):
            for mode, literal in options:
                if self.duration[mode] > 0:
                    yield task, mode, literal

    def _nodes(self) -> None:
        users: dict[int, list[cp_model.IntervalVar]] = defaultdict(list)
        for task, mode, literal in self._running():
            if self.node[mode] >= 0:
                users[self.node[mode]].append(self._interval(task, mode, literal))
        for node, intervals in users.items():
            self.pulse()
            slots = int(self.arrays.node_slots[node])
            if slots == 1:
                self.model.add_no_overlap(intervals)
            elif slots < len(intervals):
                self.model.add_cumulative(intervals, [1] * len(intervals), slots)

    def _resources(self) -> None:
        for k, renewable in enumerate(self.arrays.renewable.tolist()):
            self.pulse()
            if renewable:
                self._renewable(k)
            else:
                self._nonrenewable(k)

    def _renewable(self, k: int) -> None:
        demand: list[int] = self.arrays.mode_demand[:, k].tolist()
        users = [row for row in self._running() if demand[row[1]]]
        if users:
            self.model.add_cumulative(
                [self._interval(*row) for row in users],
                [demand[mode] for _, mode, _ in users],
                int(self.arrays.capacity[k]),
            )

    def _nonrenewable(self, k: int) -> None:
        demand: list[int] = self.arrays.mode_demand[:, k].tolist()
        rows = [option for options in self.options for option in options]
        fixed = sum(demand[mode] for mode, literal in rows if literal is None)
        free = sum(demand[mode] * literal for mode, literal in rows if literal is not None)
        left = int(self.arrays.capacity[k]) - fixed
        if isinstance(free, int):
            if left < 0:
                self.model.add_bool_or([])
        else:
            self.model.add(free <= left)

    def _memory(self) -> None:
        """Keep the memory of the tasks on each node within what it has."""
        need, room = self.arrays.task_memory.tolist(), self.arrays.node_memory.tolist()
        held: dict[int, list[cp_model.LinearExprT]] = defaultdict(list)
        for task, options in enumerate(self.options):
            for mode, literal in options:
                if need[task]:
                    held[self.node[mode]].append(need[task] * (1 if literal is None else literal))
        for node, terms in held.items():
            if node >= 0 and room[node] < sum(need):
                self.model.add(sum(terms) <= room[node])

    def _colocation(self) -> None:
        """Give the tasks of each group the same node."""
        for first, *others in self.arrays.groups:
            leader = self._presence(first)
            for other in others:
                follower = self._presence(other)
                for node in leader.keys() | follower.keys():
                    self.model.add(leader.get(node, 0) == follower.get(node, 0))

    def _presence(self, task: int) -> dict[int, cp_model.IntVar | int]:
        """Return for each node of a task the literal that it runs there, 1 if it must."""
        options = self.options[task]
        return {self.node[m]: 1 if literal is None else literal for m, literal in options}

    def _ends(self, makespan: cp_model.IntVar) -> None:
        """Let the makespan cover the tasks that no later task covers."""
        for task, covered in enumerate(self._covered()):
            if not covered:
                self.model.add(makespan >= self.start[task] + self.length[task])

    def _covered(self) -> list[bool]:
        """Whether some other task never starts before the end of each task."""
        arrays = self.arrays
        covered = [False] * len(self.start)
        safe = ~arrays.edge_from_start & (arrays.edge_min_lag >= 0)
        acyclic = arrays.order is not None
        for source in arrays.edge_source[safe].tolist():
            covered[source] = acyclic
        return covered
