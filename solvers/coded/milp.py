"""Method ``milp``: whole loads by a mixed-integer program over draws, in HiGHS.

Made for correlated times that are given as draws; then it is exact. With runtime laws it takes
a sample of them, and what the program promises on its sample is not what its loads keep: the
value that is reported is the one of the true laws, the promise stands beside it.
"""

from __future__ import annotations

import math

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.coded import milp_scenarios
from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.baselines import Loads
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.result import Bound, RealBound, Scalar, SolverInfo
from allocsolve.solvers.coded.compare import compare
from allocsolve.solvers.coded.ground import Ground, read_numbers, ready_loops
from allocsolve.solvers.control import Control, Limits, Outcome, RealControl
from allocsolve.solvers.ending import finished
from allocsolve.solvers.engines import milp as engine

__all__ = ["solve"]

_SETTINGS = {"draws": (500, 10, 100_000)}
_RATIO = 1e-9


def solve(problem: CodedProblem, control: RealControl[CodedAnswer]) -> Outcome:
    """Assign loads for a deadline probability or a quantile.

    Settings: ``draws`` (500), the size of the sample where the instance has runtime laws.
    """
    settings = read_numbers("milp", control.limits.options, _SETTINGS)
    ground = Ground(problem, control)
    with ready_loops(ground):
        compare(ground, offer=True)
        control.phase("loading HiGHS")
        engine.load()
        draws = _draws(ground, settings["draws"])
        search = _Programs(ground, draws)
        if problem.objective_name == "quantile":
            search.shorten()
        else:
            assert problem.objective.deadline is not None
            search.fill(float(problem.objective.deadline))
    options: dict[str, Scalar] = {"draws": len(draws)}
    if problem.arrays.scenarios is None and search.promise is not None:
        options["in_sample"] = search.promise
    info = SolverInfo("highs", engine.version(), control.limits.seed, 1, options)
    return finished(
        control, info, ground.ended(), baselines=ground.named_values(), abandoned=search.abandoned
    )


def _draws(ground: Ground, count: int) -> FloatArray:
    """Return the draws of the instance, or a sample of its laws."""
    arrays = ground.problem.arrays
    if arrays.scenarios is not None:
        return arrays.scenarios
    draw = np.random.Generator(np.random.PCG64(ground.control.limits.seed))
    uniform = draw.random((count, len(arrays.laws)))
    for number in np.unique(arrays.group[arrays.group >= 0]).tolist():
        members = arrays.group == number
        uniform[:, members] = uniform[:, members][:, :1]
    columns = [law.sample(uniform[:, i]) for i, law in enumerate(arrays.laws)]
    return np.ascontiguousarray(np.array(columns).T)


class _Programs:
    """Programs over some draws, one for each deadline that is tried.

    Attributes
    ----------
    promise
        The value on the draws themselves of the last loads, None if there are none.
    """

    def __init__(self, ground: Ground, draws: FloatArray) -> None:
        self.ground = ground
        self.draws = draws
        self.promise: float | None = None
        self.abandoned = False
        self._own = ground.problem.arrays.scenarios is not None

    def fill(self, deadline: float) -> None:
        """Let as few draws as possible be late."""
        loads, least = self._least_late(deadline, 0)
        if loads is not None:
            self._offer(loads)
            done = milp_scenarios.completed_loads(
                self.ground.problem, self.ground.domain, self.draws, deadline
            )
            arrived = np.where(np.array(loads) <= done, np.array(loads), 0).sum(axis=1)
            self.promise = float(np.mean(arrived >= self.ground.domain.need))
        if self._own and least is not None:
            value = least / len(self.draws) - 1.0
            self.ground.control.raise_bound(RealBound(value - 1e-12, "highs", "proven by HiGHS"))

    def shorten(self) -> None:
        """Ask for loads with a shorter quantile until there are none."""
        goal, control = self.ground.problem.objective, self.ground.control
        assert goal.q is not None
        rank = max(math.ceil(float(goal.q) * len(self.draws) * (1 - 1e-14)), 1)
        allowed = len(self.draws) - rank
        time = self._quantile(control.answer, rank)
        while math.isfinite(time) and not self.ground.over():
            loads, least = self._least_late(time * (1 - _RATIO), allowed)
            if loads is None:
                if self._own and least is not None and least > allowed:
                    bound = RealBound(time * (1 - 2 * _RATIO), "highs", "proven by HiGHS")
                    control.raise_bound(bound)
                break
            self._offer(loads)
            shorter = self._quantile(self.ground.answer(loads, 1), rank)
            if not shorter < time:
                break
            time = self.promise = shorter

    def _quantile(self, answer: CodedAnswer | None, rank: int) -> float:
        """Return the quantile of an answer on the draws."""
        if answer is None or answer.code.family == "replication":
            loads: Loads | None = self.ground.domain.repaired([0] * len(self.ground.domain.caps))
        else:
            loads = tuple(int(load) for load in answer.loads)
        if loads is None:
            return math.inf
        problem, weights = self.ground.problem, np.array(loads)
        unit = self.draws / np.where(problem.arrays.speed > 0, problem.arrays.speed, 1.0)
        start = problem.arrays.startup + problem.arrays.message
        if problem.scaling == "additive":
            times = start + weights * problem.arrays.row_time + self.draws
        else:
            times = start + weights * unit
        order = np.argsort(times, axis=1, kind="stable")
        reached = np.cumsum(weights[order], axis=1) >= self.ground.domain.need
        last = np.take_along_axis(order, reached.argmax(axis=1)[:, None], axis=1)
        found = np.sort(np.take_along_axis(times, last, axis=1)[:, 0])
        return float(found[rank - 1])

    def _least_late(self, deadline: float, enough: int) -> tuple[Loads | None, int | None]:
        """Return loads with few late draws, and a proven least number of late draws.

        Parameters
        ----------
        enough
            Number of late draws that is good enough; loads with more are not returned unless
            it is 0.
        """
        ground, limits = self.ground, self.ground.control.limits
        model, decode = milp_scenarios.build(ground.problem, ground.domain, self.draws, deadline)
        control = Control[Loads](Limits(limits.deadline, 0.0, 1, limits.seed), ground.control.token)
        control.raise_bound(Bound(enough, "enough"))

        def accept(value_of: engine.ValueOf) -> None:
            count = len(self.draws) - sum(round(value_of(model.done[w])) for w in model.done)
            control.offer(decode(value_of), count, "highs")

        outcome = engine.run(model, control, accept, engine.Numerics())
        self.abandoned = self.abandoned or outcome.abandoned
        least = None if outcome.bound is None else max(0, outcome.bound)
        if control.value is None or (enough > 0 and control.value > enough):
            return None, least
        return control.answer, least

    def _offer(self, loads: Loads) -> None:
        domain = self.ground.domain
        found = loads if domain.allows(loads) else domain.repaired(loads)
        if found is not None:
            self.ground.offer(self.ground.answer(found, 1), "highs")
