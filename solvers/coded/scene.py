"""A run of a program over joint draws: what it knows, and what an engine tells it.

Draws that the instance lists are its law: programs over all of them bound and prove. Runtime laws
are sampled; then a program sees its sample only, what it promises there is systematically too
good, and its bounds say nothing about the true law. The loads are judged by the true law, the
bound is that of the true laws, and both the promise and what it is worth are reported.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from typing import Protocol

import msgspec
import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.baselines import Loads
from allocsolve.models.coded.bounds_scenarios import rateless_times
from allocsolve.models.coded.completion import completion_of
from allocsolve.models.coded.costs import exact_cost
from allocsolve.models.coded.data import Scenarios
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.scenario_programs import ScenarioProgram, Times
from allocsolve.models.result import RealBound, Scalar, SolverInfo
from allocsolve.solvers.coded.ground import Ground
from allocsolve.solvers.coded.search import Search
from allocsolve.solvers.control import Control, Limits, RealControl

__all__ = ["Ended", "Engine", "Scene", "sampled"]

_SHARE = 0.3
"""Share of the time that is left for a local search before the engine."""

_SCORES = 150
"""Loads for each node that it scores, at most."""


@dataclass(frozen=True)
class Ended:
    """How an engine ended on one program.

    Attributes
    ----------
    complete
        Whether it came to its end: what it found is optimal, or there is nothing.
    bound
        Proven lower bound on the value of the program, None if there is none.
    """

    complete: bool
    bound: float | None
    abandoned: bool = False


class Engine(Protocol):
    """Something that solves programs over draws."""

    name: str

    def load(self, stop: Callable[[], bool]) -> bool:
        """Import the engine, unless the run should stop; tell whether it is there."""

    def info(self, limits: Limits, options: Mapping[str, Scalar]) -> SolverInfo:
        """Return the provenance of its answers."""

    def repeats(self, limits: Limits) -> bool:
        """Whether the same run gives the same answer."""

    def run(
        self,
        program: ScenarioProgram,
        start: Loads | None,
        accept: Callable[[Loads], None],
        control: Control[Loads],
        effort: int | None,
    ) -> Ended:
        """Minimise a program.

        Parameters
        ----------
        start
            Loads to begin at.
        accept
            Called with every better solution, in any thread.
        effort
            Length of the search, the same on every machine; None for no limit but the control's.
        """


def sampled(problem: CodedProblem, count: int, seed: int) -> CodedProblem:
    """Return a problem with drawn scenarios instead of runtime laws."""
    arrays = problem.arrays
    draw = np.random.Generator(np.random.PCG64(seed))
    uniform = draw.random((count, len(arrays.laws)))
    for number in np.unique(arrays.group[arrays.group >= 0]).tolist():
        members = arrays.group == number
        uniform[:, members] = uniform[:, members][:, :1]
    columns = [law.sample(uniform[:, i]) for i, law in enumerate(arrays.laws)]
    nodes = [msgspec.structs.replace(node, runtime=None, group=None) for node in problem.nodes]
    scenarios = Scenarios(samples=np.array(columns).T.tolist())
    return problem.replace(nodes=nodes, scenarios=scenarios)


class Scene:
    """A run over draws.

    Parameters
    ----------
    sample
        The problem with the draws as its scenarios; that of the ground if they are its law.
    effort
        Length of each search, None where searches should come to their end.

    Attributes
    ----------
    low
        float64 (draws,), before which no loads are complete.
    seen
        The loads that an engine found last.
    best, promise
        The best known loads and their cost, both on the draws.
    complete
        Whether no search of an engine was cut short.
    repeats
        Whether the clock ended no part of the run.
    """

    def __init__(
        self, ground: Ground, sample: CodedProblem, engine: Engine, effort: int | None
    ) -> None:
        scenarios = sample.arrays.scenarios
        assert scenarios is not None
        self.ground = ground
        self.sample = sample
        self.own = sample is ground.problem
        self.times = Times(sample, ground.domain, scenarios)
        self.low: FloatArray = rateless_times(sample, ground.domain)
        self.best: Loads | None = None
        self.promise = math.inf
        self.seen: Loads | None = None
        self.complete = True
        self.repeats = True
        self.abandoned = False
        self._engine = engine
        self._effort = effort
        self._begin()

    @property
    def draws(self) -> int:
        """Number of draws."""
        return len(self.times.draws)

    def over(self) -> bool:
        """Whether the run has to end."""
        return self.ground.over()

    def _begin(self) -> None:
        answer, domain = self.ground.control.answer, self.ground.domain
        if answer is None or answer.code.family == "replication" or (answer.batches or 1) > 1:
            loads = domain.repaired([0] * len(domain.caps))
        else:
            loads = tuple(int(load) for load in answer.loads)
        if loads is not None:
            self.best, self.promise = loads, self.cost(loads)

    def cost(self, loads: Loads) -> float:
        """Return the cost of allowed loads on the draws."""
        return exact_cost(self.sample, self.ground.answer(loads, 1))

    def descend(self, budget: float) -> None:
        """Search around the best loads, on the draws, before an engine begins."""
        if self.best is None or not math.isfinite(self.promise):
            return
        control = self.ground.control
        until = control.limits.deadline
        if until is not None:
            until = time.monotonic() + _SHARE * max(0.0, control.remaining())
        limits = replace(control.limits, deadline=until)
        trial = Ground(self.sample, RealControl[CodedAnswer](limits, control.token))
        scores = trial.scores(1)
        most = _SCORES * len(self.times.domain.caps) * scores.work()
        search = Search(trial, scores, min(budget, most))
        best, cost = search.improve(self.best, self.promise, 1)
        while not search.over() and not self.over():
            other = search.kicked(best)
            search.budget -= search.scores.work()
            if other is None or not math.isfinite(self.cost(other)):
                continue
            found, value = search.improve(other, math.inf, 1)
            if value < cost:
                best, cost = found, value
        self.repeats = self.repeats and trial.control.remaining() > 0
        self._accept(best)

    def completion(self, loads: Loads) -> FloatArray:
        """Return when each draw is complete, float64 (draws,)."""
        completion = completion_of(self.sample, self.ground.answer(loads, 1))
        return completion.times(completion.arrivals.times(self.times.draws))

    def run(self, program: ScenarioProgram, gap: float = 0.0) -> Ended:
        """Run the engine on a program; take what it finds, and tell how it ended.

        Parameters
        ----------
        gap
            Relative gap at which it may end.
        """
        self.seen = None
        if not len(program.most):
            return self._nothing_to_decide(program)
        control, limits = self.ground.control, self.ground.control.limits
        inner = Control[Loads](
            Limits(limits.deadline, gap, limits.threads, limits.seed), control.token
        )
        ended = self._engine.run(program, self.best, self._accept, inner, self._effort)
        self.abandoned = self.abandoned or ended.abandoned
        self.complete = self.complete and ended.complete
        return ended

    def _nothing_to_decide(self, program: ScenarioProgram) -> Ended:
        if not program.enough:
            self._accept((0,) * len(self.ground.domain.caps))
        return Ended(complete=True, bound=None if program.enough else program.base)

    def _accept(self, loads: Loads) -> None:
        """Take loads of the engine; they may lack units that count nowhere."""
        domain = self.ground.domain
        found = loads if domain.allows(loads) else domain.repaired(loads)
        if found is None:
            return
        self.seen, cost = found, self.cost(found)
        if cost < self.promise:
            self.best, self.promise = found, cost
        if self.own:
            self.offer(found)

    def offer(self, loads: Loads) -> float:
        """Offer loads at their cost under the true law; return that."""
        return self.ground.offer(self.ground.answer(loads, 1), self._engine.name)

    def raise_bound(self, value: float | None) -> None:
        """Raise the bound if the draws are the law."""
        if self.own and value is not None and math.isfinite(value):
            detail = f"proven by {self._engine.name} over all draws"
            self.ground.control.raise_bound(RealBound(value, self._engine.name, detail))
