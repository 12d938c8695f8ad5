"""Partial work beside HCMM and rateless work.

Two types of shifted exponential nodes, half of them three times as fast, as in the literature on
heterogeneous coded computing; rows are sent one by one, messages cost no time, and the sum of
the loads is limited to 2 r or 1.25 r. Columns:

value
    mean completion time of the loads of method ``partial_work``: by the exact law, or from common
    draws where the law would take minutes (marked ~)
rateless
    the bound E[r / sum 1/X], from draws; no loads can do better
whole rows
    what whole rows cost with unlimited storage, from the same draws, in parts of the rateless time
formula
    the same by (n - 1) / 2r
HCMM
    how far the value is below the exact mean of HCMM rounded up, which waits for whole results

Exit code 1 if, at 2 r, a value is more than 0.5 % over the rateless bound although whole rows
leave room for it (r of 100 n or more), or more than 0.1 % over what whole rows cost; or if at
1.25 r a value is not 40 % below HCMM where r is 50 n or more.

    python benchmarks/partial_work.py           # a minute
    python benchmarks/partial_work.py --large   # and a hundred nodes with 5 000 and 10 000 rows
"""

from __future__ import annotations

import argparse
import sys
import time

import numpy as np
from coded_loads import Fleet
from common import machine
from scipy.special import lambertw

import allocsolve
from allocsolve.models.coded.data import Limits
from allocsolve.models.coded.domain import Domain
from allocsolve.models.coded.partial import draws_of, floor_loss, fluid_split, rounded
from allocsolve.models.coded.problem import CodedProblem

SMALL = [(10, 500), (10, 1000), (10, 2000), (20, 1000), (100, 500)]
LARGE = [(100, 5000), (100, 10_000)]
STORAGE = (2.0, 1.25)


def fleet(nodes: int, rows: int) -> Fleet:
    """Return half slow, half fast nodes."""
    half = nodes // 2
    return Fleet(rows, [1.0] * half + [1 / 3] * half, [1.0] * half + [3.0] * half, None)


class Draws:
    """Common draws of a fleet, in plain numpy."""

    def __init__(self, nodes: int, rows: int, count: int) -> None:
        rates, draw = np.repeat([1.0, 3.0], nodes // 2), np.random.default_rng(0)
        self.rows, self.times = rows, (1 + draw.exponential(1, (count, nodes))) / rates
        self.rateless = rows / (1 / self.times).sum(axis=1)

    def mean(self, loads: np.ndarray) -> float:
        """Return the mean time at which so many whole rows are there."""
        low, high = self.rateless * 0.999, self.rateless * 20
        for _ in range(45):
            middle = (low + high) / 2
            done = np.minimum(np.floor(middle[:, None] / self.times * (1 + 1e-13)), loads)
            enough = done.sum(axis=1) >= self.rows
            low, high = np.where(enough, low, middle), np.where(enough, middle, high)
        return float(high.mean())

    def waiting(self, loads: np.ndarray) -> float:
        """Return the mean time if each node sends its load at once."""
        times = loads * self.times
        order = np.argsort(times, axis=1)
        place = (np.cumsum(loads[order], axis=1) >= self.rows).argmax(axis=1)
        ranked = np.take_along_axis(times, order, axis=1)
        return float(np.take_along_axis(ranked, place[:, None], axis=1).mean())


def hcmm_loads(plain: Fleet) -> np.ndarray:
    """Return the loads of HCMM, rounded up."""
    pace = -(lambertw(-np.exp(-plain.shift * plain.rate - 1), -1).real + 1) / plain.rate
    loads = plain.rows / pace / (plain.rate / (1 + plain.rate * pace)).sum()
    return np.ceil(loads - 1e-9).astype(int)


def solve(problem: CodedProblem, exactly: bool, draws: Draws) -> float:
    """Return the mean time of the split of the storage."""
    if exactly:
        result = allocsolve.solve(problem, method="partial_work", time_limit=None, threads=1)
        return float(result.objective.value)
    domain = Domain.of(problem)
    sample, caps = draws_of(problem, 500), domain.caps.astype(float)
    split = fluid_split(sample, domain.need, caps, float(domain.total))
    own = draws.mean(np.array(rounded(split, domain.caps, domain.total)))
    # Fewer draws than the rateless bound has: only the ratio on common draws is taken over.
    return own / float(draws.rateless.mean())


def rateless_mean(nodes: int, rows: int) -> float:
    """Return the rateless bound from two million draws, or fewer for many nodes."""
    draw, rates = np.random.default_rng(5), np.repeat([1.0, 3.0], nodes // 2)
    rounds, total = 200 if nodes <= 20 else 40, 0.0
    for _ in range(rounds):
        times = (1 + draw.exponential(1, (10_000, nodes))) / rates
        total += float((rows / (1 / times).sum(axis=1)).mean())
    return total / rounds


def row(nodes: int, rows: int, exactly: bool) -> bool:
    """Print both storages; return whether what is claimed holds."""
    fine, draws = True, Draws(nodes, rows, 20_000 if nodes <= 20 else 3000)
    plain, bound = fleet(nodes, rows), rateless_mean(nodes, rows)
    lost = draws.mean(np.full(nodes, rows)) / float(draws.rateless.mean()) - 1
    loads = hcmm_loads(plain)
    hcmm = plain.value(loads) if exactly else draws.waiting(loads) / draws.rateless.mean() * bound
    for storage in STORAGE:
        limits = Limits(batches="free", total_load=rows * storage)
        began = time.process_time()
        value = solve(plain.problem().replace(limits=limits), exactly, draws)
        spent = time.process_time() - began
        value = value if exactly else value * bound
        over, below = value / bound - 1, 1 - value / hcmm
        print(
            f"{nodes:5} {rows:6} {storage:7.2f} {'' if exactly else '~':>1}{value:9.3f} "
            f"{bound:9.3f} {over:8.2%} {lost:10.2%} {floor_loss(nodes, rows):8.2%} "
            f"{below:8.1%} {spent:7.1f}"
        )
        if storage == STORAGE[0]:
            fine &= over <= 0.005 or rows < 100 * nodes
            fine &= over - lost <= 0.001
        else:
            fine &= below >= 0.4 or rows < 50 * nodes
    return fine


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--large", action="store_true")
    arguments = parser.parse_args()
    print(machine())
    print(
        f"{'nodes':>5} {'rows':>6} {'storage':>7} {'value':>10} {'rateless':>9} {'over it':>8} "
        f"{'whole rows':>10} {'formula':>8} {'HCMM':>8} {'CPU s':>7}"
    )
    fine = min([row(*case, exactly=True) for case in SMALL])  # all rows are printed
    if arguments.large:
        fine &= min([row(*case, exactly=False) for case in LARGE])
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
