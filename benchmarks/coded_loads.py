"""Loads of coded jobs beside plain numpy versions of the published rules.

The rules (uniform with the best k, load-balanced, HCMM rounded up, the last two times the best
factor of 0.50, 0.51, .., 4.00 and rounded both ways) are written here once more with numpy; their
values come from a dynamic program over a fixed grid, not from the project. Gain is
``1 - value / rule``. Exit code 1 if an answer is worse than a rule, or a gain is below what the
project claims.

    python benchmarks/coded_loads.py            # the table
    python benchmarks/coded_loads.py --random 200   # and so many random instances
"""

from __future__ import annotations

import argparse
import sys
import time
from collections.abc import Iterator

import numpy as np
from common import machine
from scipy.special import lambertw

import allocsolve
from allocsolve.models.coded.data import MatVec, Node, ObjectiveSpec
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.nodes import Law

M20_RATES = [4, 8, 0.5, 8, 2, 2, 4, 1, 8, 0.5, 1, 1, 2, 2, 0.5, 0.5, 0.5, 0.5, 0.5, 8]
M20_SHIFTS = [
    *(0.687, 0.311, 0.491, 0.977, 0.908, 0.86, 0.453, 0.544, 0.709, 0.155),
    *(0.6, 0.344, 0.892, 0.158, 0.711, 0.883, 0.305, 0.906, 0.885, 0.117),
]
M10_SHIFTS = [0.445, 0.468, 0.141, 0.144, 0.999, 0.687, 0.311, 0.491, 0.977, 0.908]


class Fleet:
    """Shifted exponential nodes with the rules in plain numpy."""

    def __init__(self, rows: int, shifts: list[float], rates: list[float], q: float | None) -> None:
        self.rows, self.q = rows, q
        self.shift, self.rate = np.array(shifts), np.array(rates, float)

    def problem(self) -> CodedProblem:
        """Return the instance."""
        goal = ObjectiveSpec() if self.q is None else ObjectiveSpec(name="quantile", q=self.q)
        laws = [
            Law(law="shifted_exponential", shift=a, rate=m)
            for a, m in zip(self.shift.tolist(), self.rate.tolist(), strict=True)
        ]
        nodes = [Node(id=str(i), runtime=law) for i, law in enumerate(laws)]
        return CodedProblem(task=MatVec(rows=self.rows), nodes=nodes, objective=goal)

    def reached(self, loads: np.ndarray, times: np.ndarray) -> np.ndarray:
        """Return P(T <= t) by the weighted Poisson-binomial recursion."""
        state = np.zeros((len(times), self.rows + 1))
        state[:, 0] = 1
        for load, shift, rate in zip(loads.tolist(), self.shift, self.rate, strict=True):
            if load == 0:
                continue
            late = np.exp(-(rate / load) * np.maximum(times - shift * load, 0))[:, None]
            step = min(load, self.rows)
            fresh = state * late
            fresh[:, step:] += state[:, : self.rows + 1 - step] * (1 - late)
            fresh[:, -1] += (state[:, self.rows + 1 - step :] * (1 - late)).sum(axis=1)
            state = fresh
        return state[:, -1]

    def value(self, loads: np.ndarray) -> float:
        """Return the mean by trapezoids, or the quantile by bisection."""
        high = float((loads * (self.shift + 40 / self.rate)).max())
        if self.q is None:
            times = np.concatenate([[0], np.geomspace(high * 1e-3, high, 4000)])
            return float(np.trapezoid(1 - self.reached(loads, times), times))
        low = 0.0
        for _ in range(50):
            middle = (low + high) / 2
            enough = self.reached(loads, np.array([middle]))[0] >= self.q
            low, high = (low, middle) if enough else (middle, high)
        return high

    def rules(self) -> Iterator[tuple[str, float]]:
        """Yield each rule with its best value."""
        mean = self.shift + 1 / self.rate
        balanced = self.rows / mean / (1 / mean).sum()
        pace = -(lambertw(-np.exp(-self.shift * self.rate - 1), -1).real + 1) / self.rate
        hcmm = self.rows / pace / (self.rate / (1 + self.rate * pace)).sum()
        count = len(mean)
        equal = [np.full(count, -(-self.rows // k)) for k in range(1, count + 1)]
        yield "uniform", self._best(equal)
        yield "load_balanced", self._best([np.ceil(balanced - 1e-9)])
        yield "hcmm_ceil", self._best([np.ceil(hcmm - 1e-9)])
        for name, loads in (("hcmm_scaled", hcmm), ("load_balanced_scaled", balanced)):
            scaled = [k / 100 * loads for k in range(50, 401)]
            yield name, self._best([f(x) for x in scaled for f in (_up, _near)])

    def _best(self, candidates: list[np.ndarray]) -> float:
        enough = {
            tuple(np.minimum(loads, self.rows).astype(int).tolist())
            for loads in candidates
            if np.minimum(loads, self.rows).sum() >= self.rows
        }
        return min((self.value(np.array(loads)) for loads in enough), default=float("inf"))


def _up(loads: np.ndarray) -> np.ndarray:
    return np.ceil(loads - 1e-9)


def _near(loads: np.ndarray) -> np.ndarray:
    return np.floor(loads + 0.5)


def _two(rows: int) -> Fleet:
    return Fleet(rows, [1.0] * 5 + [1 / 3] * 5, [1.0] * 5 + [3.0] * 5, None)


CASES = [
    ("two types, r=50, mean", _two(50), 0.03, 0.0),
    ("two types, r=100, mean", _two(100), 0.045, 0.0),
    ("M10, r=100, q=0.99", Fleet(100, M10_SHIFTS, M20_RATES[:10], 0.99), 0.24, 0.12),
    ("M20, r=200, q=0.99", Fleet(200, M20_SHIFTS, M20_RATES, 0.99), 0.16, 0.08),
]
"""Name, fleet, and the gains that are claimed against HCMM rounded up and the best rule."""


def compare() -> bool:
    """Print the gains; return whether all claims hold."""
    fine = True
    print(f"{'case':24} {'value':>9} {'bound':>9} {'gain HCMM':>10} {'gain best':>10} {'ratio':>7}")
    for name, fleet, over_hcmm, over_best in CASES:
        began = time.process_time()
        found = dict(fleet.rules())
        plain = time.process_time() - began
        began = time.process_time()
        result = allocsolve.solve(fleet.problem(), time_limit=None, threads=1)
        ours = time.process_time() - began
        value, best = float(result.objective.value), min(found.values())
        gains = 1 - value / found["hcmm_ceil"], 1 - value / best
        print(
            f"{name:24} {value:9.4f} {result.objective.bound:9.4f} {gains[0]:10.2%} "
            f"{gains[1]:10.2%} {plain / ours:7.1f}"
        )
        fine &= gains[0] >= over_hcmm and gains[1] >= over_best - 1e-6
        for rule, known in found.items():
            own = result.baselines[rule]
            fine &= own is not None and abs(own / known - 1) < 1e-4
    print("ratio: CPU time of all rules in plain numpy over that of the whole answer")
    return fine


def random_instances(count: int) -> bool:
    """Solve random instances; return whether no answer is worse than a rule."""
    draw, worse, gains = np.random.default_rng(7), 0, []
    for number in range(count):
        nodes = int(draw.integers(2, 21))
        rows = int(draw.integers(nodes, 10 * nodes))
        rates = draw.choice([0.5, 1, 2, 4, 8], nodes).tolist()
        q = None if number % 2 else 0.99
        fleet = Fleet(rows, draw.uniform(0.1, 1, nodes).round(3).tolist(), rates, q)
        result = allocsolve.solve(
            fleet.problem(), time_limit=None, threads=1, options={"effort": "3"}
        )
        best = min(value for value in result.baselines.values() if value is not None)
        gains.append(1 - float(result.objective.value) / best)
        worse += gains[-1] < -1e-12
    print(
        f"{count} random instances: {worse} worse than the best rule, "
        f"mean gain over it {np.mean(gains):.2%}, largest {max(gains):.2%}"
    )
    return worse == 0


def main() -> int:
    """Run what is asked for."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--random", type=int, default=0, metavar="N")
    arguments = parser.parse_args()
    print(machine())
    fine = compare()
    if arguments.random:
        fine &= random_instances(arguments.random)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
