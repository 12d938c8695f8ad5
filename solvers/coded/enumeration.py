"""Method ``enumeration``: all loads, depth first, under a bound from the true laws.

With the loads of some nodes fixed, P(T <= t) is at most what the other nodes could add if their
loads depended on what has arrived. What cannot be better than the best loads is left out; what
may be better is judged by its exact value. At the end the best loads are optimal.
"""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.bounds import Adaptive
from allocsolve.models.coded.bounds_kernels import COMPLETE, FOUND, enumerate_loads
from allocsolve.models.coded.law import completion_law
from allocsolve.models.coded.node_classes import node_classes
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.kernels import paced
from allocsolve.models.result import RealBound
from allocsolve.solvers.coded.bounding import bound_cost
from allocsolve.solvers.coded.compare import compare
from allocsolve.solvers.coded.ground import Ground, read_numbers, ready_loops
from allocsolve.solvers.coded.lateness import told_proof
from allocsolve.solvers.control import Outcome, RealControl
from allocsolve.solvers.ending import finished, infeasible, own_solver

__all__ = ["enumerate_all", "enumerate_small", "is_small", "solve"]

_POINTS = 400
"""Times of the lower sum of a mean, at most."""

_CLOSE = 5e-9
"""Relative improvement that is not looked for."""

_SMALL = 1e8
"""Loads, nodes alike counted once, up to which all of them are looked at without being asked to."""

_MOST_BYTES = 2e8
"""Memory of the dynamic program; of a larger job fewer times are looked at."""


def solve(problem: CodedProblem, control: RealControl[CodedAnswer]) -> Outcome:
    """Enumerate the loads of independent nodes that send one result each."""
    read_numbers("enumeration", control.limits.options, {})
    ground, solver = Ground(problem, control), own_solver(control, {})
    with ready_loops(ground):
        compare(ground, offer=True)
        if not ground.hurried:
            bound_cost(ground)
        if not ground.hurried and enumerate_all(ground, math.inf) and control.answer is None:
            return infeasible(solver, told_proof(ground, solver.name, enumerate_small))
    return finished(
        control,
        solver,
        ground.ended(),
        deterministic=ground.compiled,
        warnings=ground.warnings,
        baselines=ground.named_values(),
    )


def is_small(ground: Ground) -> bool:
    """Whether all loads, counted once for nodes that are alike, can be enumerated."""
    problem, domain = ground.problem, ground.domain
    if not problem.arrays.independent or problem.limits.batches != 1:
        return False
    _, leaders, members = np.unique(node_classes(problem), return_index=True, return_counts=True)
    count = 1
    for cap, size in zip(domain.caps[leaders].tolist(), members.tolist(), strict=True):
        count *= math.comb(cap + size, size)  # a whole number: it may be beyond all floats
        if count > _SMALL:
            return False
    return True


def enumerate_small(ground: Ground) -> None:
    """Look at all loads if they are few."""
    if is_small(ground):
        enumerate_all(ground, math.inf)


def enumerate_all(ground: Ground, budget: float) -> bool:
    """Enumerate until the end, a limit, or until ``budget`` steps are used up; tell which."""
    ceiling = Adaptive(ground.problem, ground.domain, 0)
    size = (len(ceiling.caps) + 1) * (ceiling.need + 1) * 16.0
    points = int(min(_POINTS, _MOST_BYTES / size))
    if points < 2:
        return False
    while not ground.over():
        tree = _Tree(ground, ceiling, points)
        ended = tree.run(budget)
        budget -= tree.used
        if ended and not tree.better:
            _prove(ground)
            return True
        if not ended:
            return False
    return False


def _prove(ground: Ground) -> None:
    value = ground.control.value
    if value is not None:
        ground.control.raise_bound(RealBound(value, "enumeration", "all loads were looked at"))


@dataclass(frozen=True)
class _Target:
    """What loads have to be better than, as the loops want it."""

    times: FloatArray
    measure: FloatArray
    limits: FloatArray


class _Tree:
    """One depth-first search, restarted when the times that it looks at have changed."""

    def __init__(self, ground: Ground, ceiling: Adaptive, points: int) -> None:
        self.ground = ground
        self.ceiling = ceiling
        self.used = 0.0
        self.better = False
        """Whether it ended because the best loads, and with them the times, have changed."""
        target = self._target(points)
        self._measure, self._limits = target.measure, target.limits
        self._table = ceiling.table(target.times)
        self._values = ceiling.values(target.times)
        nodes, need = len(ceiling.caps), ceiling.need
        self._state = np.zeros((nodes + 1, len(target.times), need + 1))
        self._state[0, :, need] = 1.0
        self._loads = np.full(nodes, -1, dtype=np.int64)
        self._place = np.zeros(2, dtype=np.int64)
        self._price = ceiling.in_order(ground.problem.arrays.cost)
        self._work = 2.0 * len(target.times) * (need + 1) + 50

    def _target(self, points: int) -> _Target:
        ground = self.ground
        goal, name, domain = ground.problem.objective, ground.problem.objective_name, ground.domain
        budget = math.inf if domain.budget is None else float(domain.budget) * (1 + 1e-12) + 1e-300
        cost = ground.control.value
        if name == "mean":
            times, measure = self._sum(points)
            score = math.inf if cost is None else cost * (1 - _CLOSE)
            return _Target(times, measure, np.array([domain.total, budget, score]))
        if name == "quantile":
            assert goal.q is not None
            time = 1e300 if cost is None else cost * (1 - _CLOSE)
            score = 1.0 - float(goal.q)
        else:
            assert goal.deadline is not None
            time = float(goal.deadline)
            if name == "cost":
                assert goal.confidence is not None
                score = 1.0 - float(goal.confidence)
                limit = math.inf if cost is None else cost - _CLOSE * abs(cost)
                budget = min(budget, limit)
            else:
                score = math.inf if cost is None else (1.0 + cost) - _CLOSE * abs(cost)
        return _Target(np.array([time]), np.ones(1), np.array([domain.total, budget, score]))

    def _sum(self, points: int) -> tuple[FloatArray, FloatArray]:
        """Return times and widths of a sum that is the mean or, if it does not jump, below it.

        The times of a lower sum are close where the best law falls fast.
        """
        stairs = self.ceiling.stairs
        if stairs is not None and len(stairs) <= 2 * points:
            return stairs[:-1], np.diff(stairs)
        times = self._times(points)
        return times, np.diff(np.concatenate([[0.0], times]))

    def _times(self, points: int) -> FloatArray:
        answer = self.ground.control.answer
        assert answer is not None
        law = completion_law(self.ground.problem, answer)
        marks = law.quantiles(np.linspace(0.0005, 0.9998, points).tolist())
        finite = [x for x in marks if 0 < x < math.inf]
        beyond = finite[-1] * 1.2 ** np.arange(1, 10)
        return np.unique([*np.linspace(0, finite[0], 16)[1:], *finite, *beyond])

    def run(self, budget: float) -> bool:
        """Search; return whether it came to its end or to better loads."""
        ceiling, ground = self.ceiling, self.ground
        share = paced(enumerate_loads, max(1, int(5e7 / self._work)))
        while self.used < budget and not ground.over():
            code = enumerate_loads(
                self._table,
                ceiling.caps,
                self._price,
                self._measure,
                self._limits,
                self._values,
                self._state,
                self._loads,
                self._place,
                share,
            )
            spent = self._place[1] * self._work
            self.used += float(spent)
            self._place[1] = 0
            if code == COMPLETE:
                return True
            if code == FOUND and self._judge():
                return True
        return False

    def _judge(self) -> bool:
        """Score loads exactly; tell whether the search has to begin anew."""
        ground = self.ground
        loads = np.empty(len(self._loads), np.int64)
        loads[self.ceiling.order] = self._loads
        self.used += 4e6
        before = ground.control.value
        if not ground.domain.allows(loads.tolist()):
            return False
        cost = ground.offer(ground.answer(loads.tolist(), 1), "enumeration")
        if before is not None and not cost < before:
            return False
        name = ground.problem.objective_name
        if name == "quantile":
            self.better = True
            return True
        if name == "mean":
            self._limits[2] = cost * (1 - _CLOSE)
        elif name == "cost":
            self._limits[1] = min(float(self._limits[1]), cost - _CLOSE * abs(cost))
        else:
            self._limits[2] = (1.0 + cost) - _CLOSE * abs(cost)
        return False
