"""Fair shares beside the policies published with Gavel, on its own table of throughputs.

The yardstick is our own writing of its formulations (Narayanan et al., OSDI 2020, sections 3
and 4) in cvxpy, solved by Clarabel at its defaults: max-min of throughput over that of a
proportional share, finish-time fairness and makespan by bisection over linear programs (to
5 %, as published, and to 1e-6), throughput per cost by the transformation of Charnes and
Cooper, and the same with deadlines, which are dropped one by one, the soonest last, until the
rest can be met. Nothing of its code is used. Ours gets the same instance, with
``equal_split=proportional``. Objectives are computed from the shares of each, once they are
scaled into the stocks. Times are CPU seconds of the process, imports and compilation apart.

    ALLOCSOLVE_BENCHMARKS=... python benchmarks/fair_policies.py [--jobs 100 500 2000]
"""

from __future__ import annotations

import argparse
import ast
import json
import sys
from collections.abc import Callable
from pathlib import Path

import cvxpy as cp
import numpy as np
from common import data_folder, machine
from fair_common import cpu, plain_program

import allocsolve
from allocsolve.models.fair.answer import FairAnswer
from allocsolve.models.fair.objectives import evaluate
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.settings import Settings
from allocsolve.models.fair.split import equal_split
from allocsolve.solvers.fair.kernel_sets import BOX, INTERIOR
from allocsolve.solvers.fair.presenting import repair

TYPES, COST = ("v100", "p100", "k80"), (2.48, 1.46, 0.45)
PROPORTIONAL = Settings(equal_split="proportional")
WORSE = 1e-7

Yardstick = Callable[[FairProblem], np.ndarray | None]


def draw(jobs: int, folder: Path, *, deadlines: bool = False) -> FairProblem:
    """Draw jobs from the table, each of its kinds alone, on a cluster bound by its stock."""
    table = json.loads((folder / "fair/gavel/simulation_throughputs.json").read_text())
    kinds = [ast.literal_eval(key) for key in table["v100"]]
    pace = np.array([[float(table[t][str(kind)]["null"]) for t in TYPES] for kind in kinds])
    useful = np.flatnonzero((pace > 0).any(axis=1))
    random = np.random.default_rng(jobs)
    pick = random.choice(useful, jobs)
    gang = np.array([float(kinds[k][1]) for k in pick])
    columns = {
        "gang": gang,
        "weight": random.integers(1, 4, jobs).astype(float),
        "remaining": pace[pick].max(axis=1) * 3600 * random.uniform(1, 20, jobs),
        "elapsed": 3600 * random.uniform(0, 5, jobs),
    }
    stock = np.full(3, np.ceil(gang.sum() / 12))
    problem = FairProblem.from_arrays(pace[pick], stock, types=TYPES, cost=COST, columns=columns)
    if deadlines:
        alone = columns["remaining"] / np.maximum(equal_split(problem.arrays, PROPORTIONAL), 1e-9)
        columns["deadline"] = alone * random.uniform(0.9, 3, jobs)
        problem = FairProblem.from_arrays(
            pace[pick], stock, types=TYPES, cost=COST, columns=columns
        )
    return problem


def _solved(program: cp.Problem, share: cp.Variable) -> np.ndarray | None:
    try:
        program.solve(solver="CLARABEL", max_threads=1)
    except cp.error.SolverError:
        return None
    fine = program.status in ("optimal", "optimal_inaccurate")
    return np.array(share.value) if fine else None


def max_min(problem: FairProblem) -> np.ndarray | None:
    """Maximise the least weighted throughput relative to a proportional share."""
    share, pace, limits = plain_program(problem)
    unit = problem.arrays.weight * equal_split(problem.arrays, PROPORTIONAL)
    goal = cp.Maximize(cp.min(cp.multiply(1 / unit, pace)))
    return _solved(cp.Problem(goal, limits), share)


def _bisect(
    problem: FairProblem, needed: Callable[[float], np.ndarray], most: float, close: float
) -> np.ndarray | None:
    """Halve between 0 and ``most`` until the least feasible value is known up to ``close``."""
    share, pace, limits = plain_program(problem)
    need = cp.Parameter(len(problem.arrays.gang), nonneg=True)
    program = cp.Problem(cp.Minimize(0), [*limits, pace >= need])
    low, high, best = 0.0, most, None
    while high - low > close * high:
        middle = (low + high) / 2
        need.value = needed(middle)
        found = _solved(program, share) if np.isfinite(need.value).all() else None
        low, high, best = (low, middle, found) if found is not None else (middle, high, best)
    return best


def makespan(close: float) -> Yardstick:
    """Halve over the makespan."""

    def solve(problem: FairProblem) -> np.ndarray | None:
        left = problem.arrays.jobs.remaining
        slowest = float((left / equal_split(problem.arrays, PROPORTIONAL)).max())
        return _bisect(problem, lambda span: left / span, 2 * slowest, close)

    return solve


def finish_time(close: float) -> Yardstick:
    """Halve over the ratio of finish times, with the proportional share as the time alone."""

    def solve(problem: FairProblem) -> np.ndarray | None:
        jobs = problem.arrays.jobs
        alone = jobs.elapsed + jobs.remaining / equal_split(problem.arrays, PROPORTIONAL)

        def needed(ratio: float) -> np.ndarray:
            time = ratio * alone - jobs.elapsed
            return np.where(time > 0, jobs.remaining / np.maximum(time, 1e-300), np.inf)

        return _bisect(problem, needed, 4.0, close)

    return solve


def value_for_money(problem: FairProblem) -> np.ndarray | None:
    """Maximise weighted throughput over cost: shares over the cost, and its inverse."""
    arrays = problem.arrays
    scaled, inverse = cp.Variable(arrays.throughput.shape, nonneg=True), cp.Variable(nonneg=True)
    worth = arrays.weight[:, None] * arrays.throughput
    limits = [
        cp.sum(scaled, axis=1) <= inverse,
        arrays.gang @ scaled <= arrays.capacity * inverse,
        cp.sum(cp.multiply(arrays.gang[:, None] * arrays.cost, scaled)) == 1,
    ]
    goal = cp.Maximize(cp.sum(cp.multiply(worth, scaled)))
    found = _solved(cp.Problem(goal, limits), scaled)
    return None if found is None or not inverse.value else found / float(inverse.value)


def deadlines(problem: FairProblem) -> np.ndarray | None:
    """Minimise cost; while the deadlines contradict each other, drop the soonest one."""
    arrays = problem.arrays
    share, pace, limits = plain_program(problem)
    need = cp.Parameter(len(arrays.gang), nonneg=True)
    spent = cp.sum(cp.multiply(arrays.gang[:, None] * arrays.cost, share))
    program = cp.Problem(cp.Minimize(spent), [*limits, pace >= need])
    need.value = arrays.jobs.remaining / arrays.jobs.deadline
    for soonest in [-1, *np.argsort(arrays.jobs.deadline).tolist()]:
        if soonest >= 0:
            need.value = np.where(np.arange(len(need.value)) == soonest, 0.0, need.value)
        found = _solved(program, share)
        if found is not None:
            return found
    return None


POLICIES: tuple[tuple[str, str, Yardstick, bool], ...] = (
    ("max-min", "max_min", max_min, False),
    ("finish time, 5 %", "finish_time_fairness", finish_time(0.05), False),
    ("finish time, 1e-6", "finish_time_fairness", finish_time(1e-6), False),
    ("makespan, 5 %", "makespan", makespan(0.05), False),
    ("makespan, 1e-6", "makespan", makespan(1e-6), False),
    ("value for money", "cost", value_for_money, False),
    ("cost, deadlines", "cost", deadlines, True),
)


def compare(label: str, name: str, yardstick: Yardstick, problem: FairProblem) -> bool:
    """Print a row; tell whether ours is no worse."""
    aimed = problem.aiming_at(name, PROPORTIONAL)
    their_seconds, shares = cpu(lambda: yardstick(aimed))
    theirs = float("nan")
    if shares is not None:
        fixed, _ = repair(aimed.arrays, np.asarray(shares))
        theirs = evaluate(FairAnswer(aimed, fixed), name)
    our_seconds, result = cpu(lambda: allocsolve.solve(aimed, threads=1), 2)
    ours = result.objective.known
    known = float("nan") if ours is None else float(ours)
    sign = 1 if result.objective.sense.value == "max" else -1
    better = sign * (known - theirs) / abs(theirs)
    reason = result.certificate.reason
    note = "" if reason is None else f"relaxation {getattr(reason, 'relaxation', None):.4f}"
    print(
        f"| {label} | {len(aimed.jobs)} | {known:.9g} | {theirs:.9g} | {better:+.1e} "
        f"| {our_seconds:.4f} | {their_seconds:.3f} | {their_seconds / our_seconds:.1f} "
        f"| {result.status} {note} |",
        flush=True,
    )
    return not better < -WORSE


def main() -> int:
    """Print the table; return 1 if ours is worse anywhere."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--jobs", type=int, nargs="+", default=[100, 500, 2000])
    wanted = parser.parse_args()
    folder = data_folder()
    print(machine())
    INTERIOR.build()
    BOX.build()
    print(
        "| policy | jobs | ours | yardstick | better by | ours, s | yardstick, s | ratio | status |"
        "\n|---|---|---|---|---|---|---|---|---|"
    )
    fine = True
    for jobs in wanted.jobs:
        for label, name, yardstick, late in POLICIES:
            fine &= compare(label, name, yardstick, draw(jobs, folder, deadlines=late))
    return int(not fine)


if __name__ == "__main__":
    sys.exit(main())
