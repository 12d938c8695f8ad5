"""Method ``placement``: partitions of a gradient under every limit at once, by CP-SAT.

The worst time comes first, by bisection; among placements of least time the one that moves the
fewest partitions from where a warm start has them, then the cheapest one, then the one whose nodes
are busy for the least time together. Every step is a program of its own in which the values of
the steps before are kept.
"""

from __future__ import annotations

import math
from collections.abc import Callable
from typing import TYPE_CHECKING

from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.baselines_gradient import GRADIENT_RULES, GradientJob, Parts
from allocsolve.models.coded.costs import exact_cost
from allocsolve.models.coded.cpsat_placing import PlacingModel, build, held_by
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.result import RealBound, Scalar, SolverInfo, Termination
from allocsolve.solvers.coded.ground import read_numbers
from allocsolve.solvers.control import Control, Limits, Outcome, RealControl
from allocsolve.solvers.ending import finished, infeasible
from allocsolve.solvers.engines import cpsat as engine
from allocsolve.solvers.engines.cpsat import EngineRun, EngineStatus

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

__all__ = ["solve"]


def solve(problem: CodedProblem, control: RealControl[CodedAnswer]) -> Outcome:
    """Place the partitions of a gradient for the least worst time."""
    read_numbers("placement", control.limits.options, {})
    run = _Run(problem, control)
    control.phase("loading CP-SAT")
    if engine.load(run.over) and not run.over():
        run.place()
    values = run.compare()
    limits = control.limits
    info = SolverInfo("ortools", engine.version(), limits.seed, limits.threads, run.reached)
    if run.impossible and control.answer is None:
        return infeasible(info, None)
    ended = control.stopped() or Termination.FINISHED
    return finished(
        control,
        info,
        Termination.FINISHED if run.complete else ended,
        deterministic=limits.threads == 1 and run.complete,
        abandoned=run.abandoned,
        baselines=values,
    )


class _Run:
    """Programs one after another, each among the best of the one before.

    Attributes
    ----------
    reached
        Partitions that move, where there is a start.
    impossible
        Whether no placement keeps all limits.
    complete
        Whether the last program came to its end.
    """

    def __init__(self, problem: CodedProblem, control: RealControl[CodedAnswer]) -> None:
        self.job = GradientJob(problem)
        self.control = control
        self.reached: dict[str, Scalar] = {}
        self.impossible = False
        self.complete = False
        self.abandoned = False
        start = control.warm_start
        parts = None if start is None else start.partitions
        count = self.job.task.partitions
        self._already = None if parts is None else held_by(parts, count)

    def over(self) -> bool:
        """Whether the clock or the caller ends the run; a proof of the time does not."""
        return self.control.token.cancelled or self.control.remaining() <= 0

    def place(self) -> None:
        """Find the least time, then run the programs of the ties; offer what the last one found."""
        times = self.job.times().tolist()
        low, high = 0, len(times)
        found: Parts | None = None
        while low < high:
            middle = (low + high) // 2
            parts, ended = self._least(self._model(times[middle]), 0)
            if ended.status not in (EngineStatus.OPTIMAL, EngineStatus.INFEASIBLE):
                break
            low, high = (low, middle) if parts is not None else (middle + 1, high)
            found = found if parts is None else parts
        if low < len(times) and math.isfinite(times[low]):
            self.control.raise_bound(RealBound(times[low], "cpsat", "proven by CP-SAT"))
        self.impossible = low == len(times)
        if low == high and found is not None:
            found = self._untie(self._model(times[low])) or found
        if found is not None:
            self._offer(found)

    def _model(self, time: float) -> PlacingModel:
        return build(self.job, self.job.most(time), self._already)

    def _untie(self, model: PlacingModel) -> Parts | None:
        """Minimise what is left open, one quantity after another."""
        found: Parts | None = None
        for value in model.values.values():
            better, ended = self._least(model, value)
            found = found if better is None else better
            self.complete = ended.status is EngineStatus.OPTIMAL
            if not self.complete or ended.bound is None:
                break
            model.model.add(value <= ended.bound)
        return found

    def _least(
        self, model: PlacingModel, value: cp_model.LinearExprT
    ) -> tuple[Parts | None, EngineRun]:
        """Return the best placement for one quantity, and how the engine ended."""
        limits, found = self.control.limits, list[Parts]()
        model.model.minimize(value)

        def accept(value_of: Callable[[cp_model.IntVar], int]) -> None:
            found[:] = [model.decode(value_of)]

        inner = Control[Parts](
            Limits(limits.deadline, 0.0, limits.threads, limits.seed), self.control.token
        )
        ended = engine.run(model.model, inner, accept, {})
        self.abandoned = self.abandoned or ended.abandoned
        return (found[0] if found else None), ended

    def _offer(self, parts: Parts) -> None:
        answer = self.job.answer(parts, "heterogeneity_aware")
        if self._already is not None:
            mine = held_by(parts, self.job.task.partitions)
            self.reached["moves"] = int((mine & ~self._already).sum())
        self.control.offer(answer, exact_cost(self.job.problem, answer), "placement")

    def compare(self) -> dict[str, float | None]:
        """Return the value of every rule; take its answer where it is better than the placement."""
        values: dict[str, float | None] = {}
        for name, rule in GRADIENT_RULES.items():
            costs = []
            for answer in filter(self.job.allows, rule(self.job)):
                costs.append(exact_cost(self.job.problem, answer))
                self.control.offer(answer, costs[-1], name)
            values[name] = min(costs, default=None)
        return values
