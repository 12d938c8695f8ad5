"""Method ``cpsat``: whole loads by constraint programs over draws, in CP-SAT."""

from __future__ import annotations

from collections.abc import Callable, Mapping

from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.baselines import Loads
from allocsolve.models.coded.cpsat_scenarios import build
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.scenario_programs import ScenarioProgram
from allocsolve.models.result import Scalar, SolverInfo
from allocsolve.solvers.coded.scenarios import solve_by
from allocsolve.solvers.coded.scene import Ended
from allocsolve.solvers.control import Control, Limits, Outcome, RealControl
from allocsolve.solvers.engines import cpsat as engine

__all__ = ["solve"]

_WORK = 0.2
"""Deterministic time of the engine for each unit of effort, about as many seconds."""


def solve(problem: CodedProblem, control: RealControl[CodedAnswer]) -> Outcome:
    """Assign loads by constraint programs.

    Settings: ``draws`` (2000), the size of the sample where the instance has runtime laws;
    ``effort`` (10), the length of each search on a sample.
    """
    return solve_by(_CpSat(), problem, control)


class _CpSat:
    """CP-SAT with as many threads as the run may use."""

    name = "cpsat"

    def load(self, stop: Callable[[], bool]) -> bool:
        """Import OR-Tools."""
        return engine.load(stop)

    def info(self, limits: Limits, options: Mapping[str, Scalar]) -> SolverInfo:
        """Return the provenance of answers."""
        return SolverInfo("ortools", engine.version(), limits.seed, limits.threads, options)

    def repeats(self, limits: Limits) -> bool:
        """Whether the same run gives the same answer."""
        return limits.threads == 1

    def run(
        self,
        program: ScenarioProgram,
        start: Loads | None,
        accept: Callable[[Loads], None],
        control: Control[Loads],
        effort: int | None,
    ) -> Ended:
        """Minimise a program."""
        model = build(program)
        if start is not None:
            model.hint(start)
        parameters: dict[str, Scalar] = {}
        if effort is not None:
            parameters["max_deterministic_time"] = _WORK * effort
        outcome = engine.run(
            model.model, control, lambda value_of: accept(model.decode(value_of)), parameters
        )
        complete = outcome.status in (engine.EngineStatus.OPTIMAL, engine.EngineStatus.INFEASIBLE)
        bound = None if outcome.bound is None else float(model.bound(outcome.bound))
        return Ended(complete, bound, outcome.abandoned)
