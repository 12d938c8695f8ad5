"""Instances, the plain cvxpy programs and the table of the benchmarks of fair division."""

from __future__ import annotations

import resource
import time
from collections.abc import Callable
from dataclasses import dataclass

import cvxpy as cp
import numpy as np

from allocsolve.models.fair.certificates import certified_bound
from allocsolve.models.fair.objectives import evaluate, gap, scale
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.settings import Settings
from allocsolve.solvers.fair.forms import form_of
from allocsolve.solvers.fair.price_box import solve_in_box

__all__ = ["Measured", "cpu", "draw", "ours", "peer", "plain_program", "show"]

LOAD = 16
"""Units asked for, as a multiple of those in stock: with less, types would have no price."""


@dataclass(frozen=True)
class Measured:
    """CPU seconds, objective value, and certified gap."""

    seconds: float
    value: float
    gap: float


def draw(jobs: int, types: int, *, ties: str = "") -> FairProblem:
    """Draw an instance bound by its stock: gangs of 1, 2, 4, weights 1 to 5.

    ``ties`` is "" for none, "ties" for throughputs 1 to 4, "near" for the same with a
    difference of a millionth, "classes" for 2000 different rows.
    """
    random = np.random.default_rng(jobs + types)
    rows = 2000 if ties == "classes" else jobs
    pace = random.random((rows, types)) * np.arange(1, types + 1)
    gang = 2.0 ** random.integers(0, 3, rows)
    weight = random.integers(1, 6, rows).astype(float)
    if ties in ("ties", "near"):
        pace = random.integers(1, 5, (rows, types)).astype(float)
        weight = random.integers(1, 6, rows) * (1 + 1e-3 * random.random(rows))
    if ties == "near":
        pace = pace * (1 + 1e-6 * random.random((rows, types)))
    if rows < jobs:
        pick = random.integers(0, rows, jobs)
        pace, gang, weight = pace[pick], gang[pick], weight[pick]
    stock = np.full(types, gang.sum() / LOAD / types)
    return FairProblem.from_arrays(pace, stock, columns={"weight": weight, "gang": gang})


def cpu(function: Callable[[], object], repeats: int = 1) -> tuple[float, object]:
    """Return the least CPU seconds of some calls, and what the last one returned."""
    least, result = float("inf"), None
    for _ in range(repeats):
        begin = time.process_time()
        result = function()
        least = min(least, time.process_time() - begin)
    return least, result


def ours(problem: FairProblem, name: str, repeats: int = 1) -> Measured:
    """Solve with the structured methods; the gap comes from the closed forms of the checker."""
    aimed = problem.aiming_at(name, Settings())

    def solve() -> object:
        form = form_of(aimed)
        return form.answer(solve_in_box(form.division))

    seconds, answer = cpu(solve, repeats)
    value = evaluate(answer, name, aimed.settings)
    bound = certified_bound(aimed, name, answer.prices, answer.time_prices)
    return Measured(seconds, value, abs(gap(aimed, name, value, bound)))


def plain_program(
    problem: FairProblem,
) -> tuple[cp.Variable, cp.Expression, list[cp.Constraint]]:
    """Return shares, utilities and constraints as one writes them first."""
    arrays = problem.arrays
    share = cp.Variable(arrays.throughput.shape, nonneg=True)
    limits = [cp.sum(share, axis=1) <= 1, arrays.gang @ share <= arrays.capacity]
    return share, cp.sum(cp.multiply(arrays.throughput, share), axis=1), limits


def peer(problem: FairProblem, name: str) -> Measured:
    """Solve the program that one writes first, with cvxpy and Clarabel at their defaults."""
    _, utility, limits = plain_program(problem)
    if name == "nash":
        goal = cp.Maximize(problem.arrays.weight @ cp.log(utility))
    else:
        unit = scale(problem, name, Settings())
        goal = cp.Maximize(cp.min(cp.multiply(1 / unit, utility)))
    program = cp.Problem(goal, limits)
    seconds, value = cpu(lambda: _solved(program))
    return Measured(seconds, float(value), float("nan"))


def _solved(program: cp.Problem) -> float:
    """Solve; NaN where the solver gives up."""
    try:
        return float(program.solve(solver="CLARABEL", max_threads=1))
    except cp.error.SolverError:
        return float("nan")


def show(label: str, jobs: int, types: int, own: Measured, other: Measured | None) -> None:
    """Print a row of the table."""
    memory = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 2**20
    ratio = differs = theirs = "-"
    if other is not None:
        theirs, ratio = f"{other.seconds:.3f}", f"{other.seconds / own.seconds:.1f}"
        differs = f"{abs(own.value - other.value) / max(abs(other.value), 1e-300):.1e}"
    print(
        f"| {label} | {jobs} x {types} | {own.seconds:.4f} | {theirs} | {ratio} | {own.gap:.1e} "
        f"| {differs} | {memory:.2f} |",
        flush=True,
    )
