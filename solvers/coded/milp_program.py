"""One mixed-integer program for a whole instance, to be written for another solver."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.models.coded import milp_quantile, milp_scenarios
from allocsolve.models.coded.baselines import Loads, candidates
from allocsolve.models.coded.bounds_scenarios import rateless_times
from allocsolve.models.coded.completion import completion_of
from allocsolve.models.coded.costs import answer_of
from allocsolve.models.coded.domain import Domain
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.scenario_programs import (
    ScenarioProgram,
    Times,
    at_time,
    breakpoints,
    over_times,
)
from allocsolve.models.errors import UsageError
from allocsolve.solvers.coded.scene import sampled

if TYPE_CHECKING:
    import pyomo.environ as pyo

__all__ = ["whole_program"]

_MOST_TIMES = 3_000_000
_MOST_ROWS = 60_000


def whole_program(problem: CodedProblem, draws: int = 2000, seed: int = 0) -> pyo.ConcreteModel:
    """Build the mixed-integer program of an instance over its draws, or over a sample of its laws.

    Its objective, always minimised, is the mean, the quantile, the cost, or for a deadline
    probability the number of draws that are late. Loads are the Booleans ``takes[node, load]``.

    Parameters
    ----------
    draws, seed
        Size and seed of the sample where the instance has runtime laws.

    Raises
    ------
    UsageError
        If the program would be too large, or there are no loads that keep the limits.
    """
    sample = problem if problem.arrays.scenarios is not None else sampled(problem, draws, seed)
    assert sample.arrays.scenarios is not None
    domain, goal = Domain.of(sample), sample.objective
    times = Times(sample, domain, sample.arrays.scenarios)
    count = len(times.draws)
    if sample.objective_name in ("deadline_probability", "cost"):
        assert goal.deadline is not None
        price = sample.objective_name == "cost"
        enough = math.ceil((float(goal.confidence or 0) - 1e-12) * count - 1e-9) if price else None
        program = at_time(
            times, float(goal.deadline), "price" if price else "late", enough, touching=True
        )
        return _modest(program)
    known, low = _known(times), rateless_times(sample, domain)
    if sample.objective_name == "quantile":
        assert goal.q is not None
        rank = max(math.ceil(float(goal.q) * count * (1 - 1e-14)), 1)
        _refuse(count * len(domain.caps))
        least = float(np.sort(low)[rank - 1]) * (1 - 1e-9)
        return milp_quantile.build(times, rank, least, float(np.sort(known)[rank - 1]))
    latest = low + (float((known - low).sum()) * (1 + 1e-9) + 1e-300)
    grid = breakpoints(times, low, latest, _MOST_TIMES)
    if grid is None:
        raise _too_large(count * int(domain.caps.sum()))
    return _modest(over_times(times, grid))


def _known(times: Times) -> np.typing.NDArray[np.float64]:
    """Return the completion times of good loads, float64 (draws,)."""
    problem, domain = times.problem, times.domain
    given: list[Loads] = candidates("load_balanced_scaled", problem, domain, 1)
    other = domain.repaired([0] * len(domain.caps))
    found = []
    for loads in (*given, *([] if other is None else [other])):
        completion = completion_of(problem, answer_of(problem, loads, 1))
        found.append(completion.times(completion.arrivals.times(times.draws)))
    if not found:
        raise UsageError("no loads that keep the limits of the instance are known")
    q = problem.objective.q
    if problem.objective_name == "quantile" and q is not None:
        return min(found, key=lambda done: float(np.quantile(done, float(q), method="higher")))
    return min(found, key=lambda done: float(done.sum()))


def _modest(program: ScenarioProgram) -> pyo.ConcreteModel:
    _refuse(len(program.most))
    model, _ = milp_scenarios.build(program)
    return model


def _refuse(rows: int) -> None:
    if rows > _MOST_ROWS:
        raise _too_large(rows)


def _too_large(rows: int) -> UsageError:
    return UsageError(
        f"the program would have {rows} rows, more than {_MOST_ROWS}"
        "\n  allowed: smaller instances, or fewer draws; method 'milp' takes large ones"
    )
