"""Exact completion laws of coded jobs beside a million samples and beside plain numpy.

Each row: a fleet of heterogeneous nodes, mean and three quantiles (50, 90, 99 %) by the exact law
after compilation, the same from a million samples drawn with numpy (drawing, sorting, adding
up), and from the dynamic program written with numpy arrays over 2000 times. The error is against
a quadrature with five times as many points as converge; exit code 1 if it is above 1e-8, if the
exact law is not ten times faster than the samples, or if it takes longer than 50 ms.

    python benchmarks/coded_law.py
"""

from __future__ import annotations

import itertools
import sys
import time
from collections.abc import Callable

import numpy as np
from common import machine

from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.data import MatVec, Node
from allocsolve.models.coded.kernel_sets import COMPLETION
from allocsolve.models.coded.law import completion_law
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.nodes import Law

SAMPLES = 1_000_000
QUANTILES = (0.5, 0.9, 0.99)
CASES = [(20, 14, True), (100, 70, True), (200, 140, True), (20, 200, False), (100, 1000, False)]
"""Nodes, rows, and whether every node has one row, an (n, k) job, or a load of many."""


class Fleet:
    """Shifted exponential nodes of five rates, drawn by a seed."""

    def __init__(self, nodes: int, rows: int, *, single: bool) -> None:
        draw = np.random.default_rng(nodes)
        self.rows = rows
        self.rate = draw.choice([0.5, 1.0, 2.0, 4.0, 8.0], nodes)
        self.shift = draw.uniform(0.1, 1.0, nodes)
        share = 1.3 * rows * self.rate / self.rate.sum()
        self.loads = np.ones(nodes, int) if single else np.round(share).astype(int) + 1
        self.problem = CodedProblem(
            task=MatVec(rows=rows),
            nodes=[
                Node(
                    id=str(i), runtime=Law(law="shifted_exponential", shift=float(a), rate=float(m))
                )
                for i, (a, m) in enumerate(zip(self.shift, self.rate, strict=True))
            ],
        )

    def exact(self) -> list[float]:
        """Return mean and quantiles by the exact law."""
        law = completion_law(self.problem, CodedAnswer.of(self.loads.tolist()))
        return [law.mean, *law.quantiles(QUANTILES)]

    def sampled(self) -> list[float]:
        """Return mean and quantiles of a million samples."""
        draw, times = np.random.Generator(np.random.SFC64(0)), np.empty(SAMPLES)
        block = 20_000
        for first in range(0, SAMPLES, block):
            waits = draw.standard_exponential((block, len(self.loads))) / self.rate + self.shift
            waits *= self.loads
            if (self.loads == 1).all():
                waits.partition(self.rows - 1, axis=1)
                times[first : first + block] = waits[:, self.rows - 1]
            else:
                order = np.argsort(waits, axis=1)
                last = (np.cumsum(self.loads[order], axis=1) >= self.rows).argmax(axis=1)
                node = order[np.arange(block), last]
                times[first : first + block] = waits[np.arange(block), node]
        return [float(times.mean()), *np.quantile(times, QUANTILES).tolist()]

    def survival(self, times: np.ndarray) -> np.ndarray:
        """Return P(T > t) by the dynamic program over numpy arrays."""
        state = np.zeros((len(times), self.rows + 1))
        state[:, 0] = 1.0
        for load, shift, rate in zip(self.loads.tolist(), self.shift, self.rate, strict=True):
            wait = np.maximum(times - shift * load, 0.0)
            done = -np.expm1(-rate / load * wait)[:, None]
            step = min(load, self.rows)
            fresh = state * (1.0 - done)
            fresh[:, step:] += state[:, : self.rows + 1 - step] * done
            fresh[:, self.rows] += (state[:, self.rows + 1 - step :] * done).sum(axis=1)
            state = fresh
        return state[:, : self.rows].sum(axis=1)

    def plain(self, points: int) -> float:
        """Return the mean by Gauss-Legendre between the kinks and far beyond."""
        kinks = np.unique(self.shift * self.loads)
        scale = float((self.loads / self.rate).max())
        beyond = kinks[-1] + scale * np.array([0.5, 1, 2, 4, 8, 14, 22, 32, 45])
        edges = np.concatenate([[0.0], kinks, beyond])
        x, w = np.polynomial.legendre.leggauss(points)
        total = 0.0
        for low, high in itertools.pairwise(edges):
            half = (high - low) / 2
            total += half * float(w @ self.survival(low + half * (x + 1)))
        return total


def timed(function: Callable[[], object], repeats: int) -> float:
    """Return the least seconds of some calls."""
    best = float("inf")
    for _ in range(repeats):
        begin = time.perf_counter()
        function()
        best = min(best, time.perf_counter() - begin)
    return best


def main() -> int:
    """Print the table; return 1 if a claim does not hold."""
    print(machine())
    COMPLETION.build()
    print(
        "| nodes | rows | exact, ms | samples / exact | numpy / exact | error of the mean "
        "| samples off by |\n|---|---|---|---|---|---|---|"
    )
    failed = False
    for nodes, rows, single in CASES:
        fleet = Fleet(nodes, rows, single=single)
        exact = fleet.exact()
        seconds = timed(fleet.exact, 7)
        begin = time.perf_counter()
        sampled = fleet.sampled()
        sampling = time.perf_counter() - begin
        times = np.linspace(0, 2 * exact[0], 500)
        plain = 4 * timed(lambda fleet=fleet, times=times: fleet.survival(times), 1)
        error = abs(fleet.plain(60) / exact[0] - 1)
        off = abs(sampled[0] / exact[0] - 1)
        print(
            f"| {nodes} | {rows} | {seconds * 1e3:.1f} | {sampling / seconds:.0f} | "
            f"{plain / seconds:.0f} | {error:.1e} | {off:.1e} |",
            flush=True,
        )
        failed |= error > 1e-8 or sampling < 10 * seconds or seconds > 0.05
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
