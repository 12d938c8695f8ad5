"""The ``dag`` problem as a disjunctive mixed-integer program.

Continuous starts and binary decisions "task i ends before task j starts":

* Manne, "On the job-shop scheduling problem", Operations Research 8 (1960): one binary for each
  pair of tasks that compete for a machine;
* Artigues, Michelon and Reusser, "Insertion techniques for static and dynamic
  resource-constrained project scheduling", European Journal of Operational Research 149 (2003):
  resources and nodes with several slots as flows from task to task; see also Kone, Artigues,
  Lopez and Mongeau, "Event-based MILP models for resource-constrained project scheduling
  problems", Computers and Operations Research 38 (2011), which compares it with time-indexed
  models.

================  ==========================================================================
``start[i]``      start of task i, ticks
``mode[m]``       1 if mode m is taken (only for tasks with a choice); on nodes, a mode is a node
``before[i, j]``  1 if task i ends before task j starts
``flow[p, i, j]`` amount of pool p that task i hands over to task j (-1: at the beginning or end)
``makespan``      the objective
================  ==========================================================================

Every "big M" is the least one that the windows of starts allow.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.earliest import earliest_schedule
from allocsolve.models.dag.milp_frame import EdgeRow, Frame, Pool, Pulse, edge_rows, frame, go_on
from allocsolve.models.dag.milp_modes import (
    Milp,
    add_rows,
    alike_nodes,
    build_within,
    choices,
    new_model,
    taken,
)
from allocsolve.models.dag.problem import DagProblem

if TYPE_CHECKING:
    import pyomo.environ as pyo

    from allocsolve.models.dag.milp_modes import Rows, Term

__all__ = ["build", "needs_flows", "too_large"]

_LONGEST = 10**8
"""Most tasks times ticks: a binary that is wrong by the tolerance of 1e-9 may move a start by
so much times the horizon, on a path of all tasks together a tenth of a tick."""

_PAIRS = 60_000
"""Most pairs of tasks that may need an order."""

_TERMS = 200_000
"""Most terms of the constraints that break the symmetry of nodes."""

_OUTSIDE = -1
"""Where flows begin and end."""


def too_large(problem: DagProblem, horizon: int) -> str | None:
    """Return why the program cannot be solved reliably or built in reasonable time, or None."""
    n = len(problem.tasks)
    if n * horizon > _LONGEST:
        return (
            f"{n} tasks over {horizon} ticks are beyond what floating-point numbers tell apart "
            f"in a disjunctive program (at most {_LONGEST} tasks times ticks)"
        )
    largest = int(problem.arrays.capacity.max(initial=0))
    if n * largest > _LONGEST:
        return f"{n} tasks share a resource of capacity {largest}: too fine for flows"
    if n * (n - 1) // 2 > _PAIRS:
        return f"{n} tasks have up to {n * (n - 1) // 2} pairs to order, at most {_PAIRS} are built"
    return None


def needs_flows(problem: DagProblem, horizon: int) -> bool:
    """Whether some resource or node may serve several tasks at once, so that flows are needed."""
    window = frame(problem, horizon)
    return window.possible and any(_flows(window, pool) for pool in window.pools)


def _flows(window: Frame, pool: Pool) -> bool:
    """Whether two users of a pool may run at once, so that pairs alone are not enough."""
    smallest = sorted(window.least(pool, i) for i in window.users(pool))[:2]
    return sum(smallest) <= pool.capacity


def build(problem: DagProblem, horizon: int, *, lower: int = 0, pulse: Pulse = go_on) -> Milp:
    """Build the program for schedules that end by ``horizon``.

    Parameters
    ----------
    horizon
        Ticks; the problem's own horizon, or a value that a better schedule must not exceed.
    lower
        A proven lower bound on the makespan, ticks.
    pulse
        Called again and again while building; it may raise to end the build.
    """
    window = frame(problem, horizon, lower)
    return build_within(window, lambda: _Builder(window, pulse).build())


class _Builder:
    """Builds one program, one kind of constraints after the other."""

    def __init__(self, window: Frame, pulse: Pulse) -> None:
        self.frame = window
        self.pulse = pulse
        self.model = new_model(window)
        self.any_order = _any_order(window)
        self.flow_pools = [] if self.any_order else [p for p in window.pools if _flows(window, p)]

    def build(self) -> Milp:
        """Add variables and constraints, and return the program with its decoder."""
        self._variables()
        model, window = self.model, self.frame
        add_rows(model, "one_mode", self._one_mode())
        add_rows(model, "choice", choices(window, self.chosen))
        add_rows(model, "symmetry", self._symmetry())
        add_rows(model, "window", self._windows())
        add_rows(model, "precedence", self._precedence())
        add_rows(model, "communication", self._communication())
        add_rows(model, "sequence", self._sequence())
        add_rows(model, "compete", self._compete())
        add_rows(model, "flow_balance", self._flow_balance())
        add_rows(model, "flow_order", self._flow_order())
        add_rows(model, "work", self._load())
        add_rows(model, "last", self._ends())
        return Milp(model, self.decode)

    def decode(self, value_of: Callable[[pyo.Var], float]) -> Schedule | None:
        """Return the earliest schedule of the modes and the order that a solution chose."""
        modes = taken(self.frame, lambda m: value_of(self.model.mode[m]) if m in self.free else 1)
        if self.any_order:
            order = self._by_index(modes)
        else:
            order = [pair for pair in self.pairs if value_of(self.model.before[pair]) > 0.5]
        return earliest_schedule(self.frame.problem, modes, order)

    def _by_index(self, modes: Sequence[int]) -> list[tuple[int, int]]:
        """Order the tasks on each scarce node by index."""
        order: list[tuple[int, int]] = []
        for pool in self.frame.pools:
            order.extend(itertools.pairwise(i for i, m in enumerate(modes) if m in pool.held))
        return order

    def _variables(self) -> None:
        import pyomo.environ as pyo

        window = self.frame
        self.free = {m for modes in window.modes if len(modes) > 1 for m in modes}
        self.pairs = [] if self.any_order else list(self._pairs())
        arcs = self._all_arcs(set(self.pairs))
        self.model.makespan = pyo.Var(bounds=(window.lower, window.horizon))
        self.model.start = pyo.Var(
            window.tasks, bounds=lambda _, i: (window.first[i], window.latest(i))
        )
        self.model.mode = pyo.Var(sorted(self.free), domain=pyo.Binary)
        self.model.before = pyo.Var(self.pairs, domain=pyo.Binary)
        self.decided = dict(self.model.before.items())
        self.model.flow = pyo.Var(arcs, domain=pyo.NonNegativeReals)
        self.model.objective = pyo.Objective(expr=self.model.makespan)

    def chosen(self, mode: int) -> Term:
        """Return the variable that is 1 if a mode is taken, or 1 if it has to be."""
        return self.model.mode[mode] if mode in self.free else 1

    def length(self, task: int) -> Term:
        """Return the duration of a task, linear in its modes."""
        durations = {m: self.frame.duration[m] for m in self.frame.modes[task]}
        least = min(durations.values())
        return least + sum((d - least) * self.chosen(m) for m, d in durations.items() if d > least)

    def _one_mode(self) -> Rows:
        """Take one mode for each task."""
        for modes in self.frame.modes:
            if len(modes) > 1:
                yield sum(self.chosen(m) for m in modes) == 1

    def _windows(self) -> Rows:
        """Keep a mode that must start earlier than another one of its task within its window."""
        for task, modes in enumerate(self.frame.modes):
            latest = self.frame.latest(task)
            early = [(latest - self.frame.last[m], m) for m in modes]
            if any(slack for slack, _ in early):
                taken_off = sum(slack * self.chosen(m) for slack, m in early if slack)
                yield self.model.start[task] <= latest - taken_off

    def _origin(self, row: EdgeRow) -> Term:
        """Return the moment from which the lags of an edge count."""
        start = self.model.start[row.source]
        return start if row.from_start else start + self.length(row.source)

    def _precedence(self) -> Rows:
        """Keep minimum and maximum lags."""
        for row in edge_rows(self.frame.arrays):
            self.pulse()
            if row.source == row.target:
                # The start cancels out: a task that waits for itself.
                least = (0 if row.from_start else self.length(row.source)) + row.min_lag
                yield least <= 0
                if row.max_lag is not None:
                    yield least - row.min_lag + row.max_lag >= 0
                continue
            target, origin = self.model.start[row.target], self._origin(row)
            yield target >= origin + row.min_lag
            if row.max_lag is not None:
                yield target <= origin + row.max_lag

    def _communication(self) -> Rows:
        """Let data from another node arrive later.

        For each node b of the target: if it is taken, the sum over the nodes of the source is
        the delay; if not, the constraint is weakened by the largest delay to b, the least M.
        """
        if not self.frame.arrays.communicates:
            return
        for row in edge_rows(self.frame.arrays):
            self.pulse()
            for mode in self.frame.modes[row.target]:
                yield from self._arrival(row, mode)

    def _arrival(self, row: EdgeRow, target: int) -> Rows:
        window = self.frame
        to, wait = window.node[target], {}
        for mode in window.modes[row.source]:
            delay = window.arrays.delay(row.edge, window.node[mode], to)
            if delay is None:
                yield self.chosen(mode) + self.chosen(target) <= 1
            elif delay:
                wait[mode] = delay
        if wait:
            longest = max(wait.values())
            paid = sum(delay * self.chosen(mode) for mode, delay in wait.items())
            absent = longest * (1 - self.chosen(target))
            ready = self._origin(row) + row.min_lag
            yield self.model.start[row.target] >= ready + paid - absent

    def _pairs(self) -> Iterator[tuple[int, int]]:
        """Yield the ordered pairs (i, j) of which "i before j" may be decided."""
        pairs: set[tuple[int, int]] = set()
        for pool in self.frame.pools:
            self.pulse()
            pairs.update(itertools.permutations(self.frame.users(pool), 2))
        precedes = self.frame.precedes
        for i, j in sorted(pairs):
            if not precedes[i, j] and not precedes[j, i] and self._can_precede(i, j):
                yield i, j

    def _can_precede(self, i: int, j: int) -> bool:
        shortest = min(self.frame.duration[m] for m in self.frame.modes[i])
        return self.frame.first[i] + shortest <= self.frame.latest(j)

    def _order(self, i: int, j: int) -> Term:
        """Return the decision that i ends before j starts, or the constant that it is."""
        if self.frame.precedes[i, j]:
            return 1
        return self.decided.get((i, j), 0)

    def _sequence(self) -> Rows:
        """Start j after the end of i if i is before j (Manne 1960)."""
        for i, j in self.pairs:
            self.pulse()
            slack = self.frame.latest_end(i) - self.frame.first[j]
            if slack > 0:
                decided = self.model.before[i, j]
                ready = self.model.start[i] + self.length(i)
                yield self.model.start[j] >= ready - slack * (1 - decided)
            if i < j and (j, i) in self.decided:
                yield self.model.before[i, j] + self.model.before[j, i] <= 1

    def _compete(self) -> Rows:
        """Order two tasks that need too much together."""
        if self.any_order:
            return
        for pool in self.frame.pools:
            self.pulse()
            need = {i: self.frame.least(pool, i) for i in self.frame.users(pool)}
            for i, j in itertools.combinations(need, 2):
                apart = self._order(i, j) + self._order(j, i)
                if need[i] + need[j] > pool.capacity and not self._is_ordered(i, j):
                    yield apart >= self._holds(pool, i) + self._holds(pool, j) - 1

    def _is_ordered(self, i: int, j: int) -> bool:
        return bool(self.frame.precedes[i, j] or self.frame.precedes[j, i])

    def _holds(self, pool: Pool, task: int) -> Term:
        """Return 1 if the task runs in a mode that holds some of the pool."""
        modes = self.frame.modes[task]
        if all(m in pool.held for m in modes):
            return 1
        return sum(self.chosen(m) for m in modes if m in pool.held)

    def _demand(self, pool: Pool, task: int) -> Term:
        modes = self.frame.modes[task]
        return sum(pool.held[m] * self.chosen(m) for m in modes if m in pool.held)

    def _all_arcs(self, pairs: set[tuple[int, int]]) -> list[tuple[int, int, int]]:
        pools = enumerate(self.flow_pools)
        return [(p, i, j) for p, pool in pools for i, j in self._arcs(pool, pairs)]

    def _arcs(self, pool: Pool, pairs: set[tuple[int, int]]) -> Iterator[tuple[int, int]]:
        users = self.frame.users(pool)
        for i in users:
            yield _OUTSIDE, i
            yield i, _OUTSIDE
        for i, j in itertools.permutations(users, 2):
            if (i, j) in pairs or self.frame.precedes[i, j]:
                yield i, j

    def _flow_balance(self) -> Rows:
        """Balance what a task takes over from earlier tasks and hands over to later ones."""
        flow = self.model.flow
        for p, pool in enumerate(self.flow_pools):
            self.pulse()
            users = self.frame.users(pool)
            for i in users:
                others = [_OUTSIDE, *(j for j in users if j != i)]
                held = self._demand(pool, i)
                yield sum(flow[p, j, i] for j in others if (p, j, i) in flow) == held
                yield sum(flow[p, i, j] for j in others if (p, i, j) in flow) == held
            yield sum(flow[p, _OUTSIDE, i] for i in users) <= pool.capacity

    def _flow_order(self) -> Rows:
        """Let a task hand over only to tasks that start after its end."""
        for p, i, j in self.model.flow:
            if _OUTSIDE not in (i, j) and not self.frame.precedes[i, j]:
                pool = self.flow_pools[p]
                most = min(self.frame.most(pool, i), self.frame.most(pool, j))
                yield self.model.flow[p, i, j] <= most * self.model.before[i, j]

    def _load(self) -> Rows:
        """Make room for all work on a pool between least head and least tail (redundant)."""
        window = self.frame
        for pool in window.pools:
            users = self.frame.users(pool)
            outside = min(window.first[i] for i in users) + min(window.tail[i] for i in users)
            work = sum(
                held * window.duration[mode] * self.chosen(mode) for mode, held in pool.held.items()
            )
            yield pool.capacity * (self.model.makespan - outside) >= work

    def _symmetry(self) -> Rows:
        """Use the next one of nodes that are alike only after the one before it.

        A task takes a node only if an earlier task (by index) takes the node before it.
        """
        window = self.frame
        on = [{window.node[m]: m for m in modes} for modes in window.modes]
        for nodes in alike_nodes(window):
            if len(on) ** 2 * len(nodes) > _TERMS:
                continue
            for k, following in itertools.pairwise(nodes):
                self.pulse()
                for i, modes in enumerate(on):
                    if following in modes:
                        earlier = [self.chosen(on[j][k]) for j in range(i) if k in on[j]]
                        yield self.chosen(modes[following]) <= sum(earlier)

    def _ends(self) -> Rows:
        """Let the makespan cover every task and what must follow it."""
        for task in self.frame.tasks:
            end = self.model.start[task] + self.length(task)
            yield self.model.makespan >= end + self.frame.tail[task]


def _any_order(window: Frame) -> bool:
    """Whether tasks can be exchanged freely on their nodes, so that only the nodes matter.

    So it is if nothing but nodes with one slot limits tasks that are alike in time.
    """
    arrays = window.arrays
    alike = not len(arrays.edge_source) and len(set(arrays.release.tolist())) <= 1
    endless = all(
        window.last[m] + window.duration[m] == window.horizon for ms in window.modes for m in ms
    )
    return alike and endless and all(pool.is_node and pool.capacity == 1 for pool in window.pools)
