"""Method ``milp``: whole loads by mixed-integer programs over draws, in HiGHS."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import replace
from fractions import Fraction

import numpy as np

from allocsolve.models.coded import milp_scenarios
from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.baselines import Loads
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.scenario_programs import ScenarioProgram, whole_terms
from allocsolve.models.result import Scalar, SolverInfo
from allocsolve.solvers.coded.scenarios import solve_by
from allocsolve.solvers.coded.scene import Ended
from allocsolve.solvers.control import Control, Limits, Outcome, RealControl
from allocsolve.solvers.engines import milp as engine

__all__ = ["solve"]

_TOLERANCE = 1e-9
_LARGEST = 1e7
"""Whole prices up to which the engine counts in them."""

_NODES = 20
"""Nodes of the search tree for each unit of effort."""


def solve(problem: CodedProblem, control: RealControl[CodedAnswer]) -> Outcome:
    """Assign loads by mixed-integer programs.

    Settings: ``draws`` (2000), the size of the sample where the instance has runtime laws;
    ``effort`` (10), the length of each search on a sample.
    """
    return solve_by(_Highs(), problem, control)


class _Highs:
    """HiGHS, always with one thread."""

    name = "milp"

    def load(self, stop: Callable[[], bool]) -> bool:
        """Import Pyomo and HiGHS."""
        engine.load()
        return not stop()

    def info(self, limits: Limits, options: Mapping[str, Scalar]) -> SolverInfo:
        """Return the provenance of answers."""
        return SolverInfo("highs", engine.version(), limits.seed, 1, options)

    def repeats(self, limits: Limits) -> bool:
        """Whether the same run gives the same answer."""
        del limits
        return True

    def run(
        self,
        program: ScenarioProgram,
        start: Loads | None,
        accept: Callable[[Loads], None],
        control: Control[Loads],
        effort: int | None,
    ) -> Ended:
        """Minimise a program."""
        given, scale = _in_units(program)
        found: list[float] = []

        def take(loads: Loads) -> None:
            found.append(given.value(loads))
            accept(loads)

        ended = _once(given, start, take, control, effort)
        met = ended.bound is None or min(found, default=math.inf) <= ended.bound + _close(
            ended.bound
        )
        if start is not None and ended.complete and not met:
            # Where presolving alone solves a program, HiGHS 1.16 gives back the start as solution.
            ended = _once(given, None, take, control, effort)
        if ended.bound is None:
            return ended
        return replace(ended, bound=float(Fraction(ended.bound) / scale))


def _close(value: float) -> float:
    return 1e-6 * max(1.0, abs(value))


def _once(
    program: ScenarioProgram,
    start: Loads | None,
    accept: Callable[[Loads], None],
    control: Control[Loads],
    effort: int | None,
) -> Ended:
    """Run HiGHS once."""
    model, decode = milp_scenarios.build(program)
    if start is not None and _satisfies(program, start):
        milp_scenarios.start_from(model, program, start)
    whole, nodes = _is_whole(program), None if effort is None else _NODES * effort
    numerics = engine.Numerics(_TOLERANCE, whole, nodes)
    outcome = engine.run(model, control, lambda value_of: accept(decode(value_of)), numerics)
    bound = outcome.bound if whole else outcome.real_bound
    if bound is not None and not whole:
        bound -= _TOLERANCE * abs(bound)
    complete = outcome.status is not engine.EngineStatus.STOPPED
    return Ended(complete, bound, outcome.abandoned)


def _is_whole(program: ScenarioProgram) -> bool:
    """Whether the value of a program is always an integer."""
    if program.goal == "any":
        return True
    if program.goal == "price":
        return all(price.denominator == 1 for price in program.domain.prices)
    weights = [*program.weight.tolist(), program.base]
    return all(weight == math.floor(weight) for weight in weights)


def _in_units(program: ScenarioProgram) -> tuple[ScenarioProgram, Fraction]:
    """Return a program whose values suit the tolerances of an engine, and what one is there.

    Prices become whole if their common fraction is not too fine; other values are about one.
    """
    domain, most = program.domain, program.base + float(program.weight.sum())
    if program.goal == "price":
        _, unit = whole_terms(domain.prices, 1)
        most = float(max(domain.prices)) * domain.need
        if most * unit > _LARGEST:
            unit = _about_one(most)
    elif _is_whole(program):
        return program, Fraction(1)
    else:
        unit = _about_one(most)
    prices = tuple(price * unit for price in domain.prices)
    budget = None if domain.budget is None else domain.budget * unit
    return replace(
        program,
        domain=replace(domain, prices=prices, budget=budget),
        weight=np.asarray(program.weight * float(unit)),
        base=program.base * float(unit),
    ), unit


def _about_one(value: float) -> Fraction:
    """Return a power of two by which a value becomes about one."""
    return Fraction(2) ** -round(math.log2(value)) if 0 < value < math.inf else Fraction(1)


def _satisfies(program: ScenarioProgram, loads: Loads) -> bool:
    """Whether enough rows are done by some loads."""
    done = int(program.count[program.done(loads)].sum())
    return program.enough is None or done >= program.enough
