"""Scores of loads: quick ones to search by, exact ones to decide by."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray, integers
from allocsolve.models.arrays import offsets as offsets_of
from allocsolve.models.coded.costs import answer_of, exact_cost
from allocsolve.models.coded.domain import Domain
from allocsolve.models.coded.law import completion_law
from allocsolve.models.coded.law_arrays import array_survival
from allocsolve.models.coded.load_columns import LoadColumns
from allocsolve.models.coded.load_kernels import Table, scan_moves, survival_of
from allocsolve.models.coded.pair_kernels import Goal, scan_pairs
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.kernels import runs_plain
from allocsolve.models.nodes import Bimodal, Deterministic, Empirical, Mixture

__all__ = ["DirectScores", "QuickScores", "Scores"]

_RANKS = (0.001, 0.02, 0.1, 0.25, 0.4, 0.55, 0.7, 0.82, 0.91, 0.97, 0.995, 0.9999)
"""Quantiles between which the grid of a mean has its rules of integration."""

_POINTS = 6
"""Points of each rule."""

_DOUBLINGS = 12
"""Rules beyond the last quantile, each twice as long, where high quantiles are infinite."""

_SLICES = 300
"""Slices of equal width for survival functions that are stairs."""

_ATOMIC = (Deterministic, Bimodal, Empirical, Mixture)

_BEFORE = 1e-9
"""A quantile is to be beaten by at least this much, relatively."""

_LARGEST_TABLE = 6_000_000
"""Numbers in a table of results, at most."""


def _table_top(problem: CodedProblem, batches: int, domain: Domain) -> int:
    """Return the largest load that a table of results holds."""
    most = int(domain.caps.max(initial=1))
    kinds = len(problem.nodes)
    points = 96 if problem.objective_name == "mean" else 1
    while most > 8 and kinds * points * most * min(batches, most) > _LARGEST_TABLE:
        most = most * 3 // 4
    return max(most, 1)


class Scores(ABC):
    """Scores of loads in a number of batches; the lower the better.

    Attributes
    ----------
    caps
        int64 (n,), the largest loads that can be scored.
    batches
        Number of batches.
    """

    caps: IntArray
    batches: int
    domain: Domain

    @property
    def by_pairs(self) -> bool:
        """Whether :meth:`scan_pairs` may be called."""
        return False

    @abstractmethod
    def focus(self, loads: Sequence[int], *, coarse: bool = False) -> None:
        """Prepare for a search around some loads.

        Parameters
        ----------
        coarse
            Whether scores may be rougher, and quicker.
        """

    @abstractmethod
    def score(self, loads: Sequence[int]) -> float:
        """Return the score of allowed loads within the caps."""

    @abstractmethod
    def scan(self, moves: IntArray, step: int, loads: IntArray, value: FloatArray) -> int:
        """Try moves one by one, keep each that lowers the score; return how many did.

        Parameters
        ----------
        moves
            int64 (m, 2), see :func:`allocsolve.models.coded.load_kernels.scan_moves`.
        loads, value
            int64 (n,) and float64 (1,), the loads and their score; changed.
        """

    def scan_pairs(
        self, pairs: IntArray, offsets: IntArray, loads: IntArray, value: FloatArray
    ) -> int:
        """Give pairs of nodes their best loads one by one; return how many got better.

        Parameters
        ----------
        pairs, offsets
            As :func:`allocsolve.models.coded.pair_kernels.scan_pairs` takes them.
        loads, value
            int64 (n,) and float64 (1,), the loads and their score; changed.
        """
        raise NotImplementedError

    def pair_work(self, loads: IntArray) -> float:
        """Return the steps of a pair in :meth:`scan_pairs`."""
        raise NotImplementedError

    @abstractmethod
    def work(self) -> float:
        """Return the steps of a score, some nanoseconds each."""

    def covers(self, loads: Sequence[int]) -> bool:
        """Whether the loads can be scored."""
        return bool((np.asarray(loads) <= self.caps).all())


def _scan_by(scores: Scores, moves: IntArray, step: int, loads: IntArray, value: FloatArray) -> int:
    """Do what :meth:`Scores.scan` asks for with :meth:`Scores.score`."""
    found = 0
    for i, j in moves.tolist():
        trial = loads.copy()
        trial[i] += -step if j == -2 else step
        if j >= 0:
            trial[j] -= step
        if not scores.domain.allows(trial.tolist()) or not scores.covers(trial.tolist()):
            continue
        score = scores.score(trial.tolist())
        least = 1e-13 * abs(value[0]) if np.isfinite(value[0]) else 0.0
        if score < value[0] - least:
            loads[:], value[0] = trial, score
            found += 1
    return found


class DirectScores(Scores):
    """The objective itself, for everything that has no table: scenarios, groups of nodes."""

    def __init__(self, problem: CodedProblem, batches: int, domain: Domain) -> None:
        self.problem = problem
        self.batches = batches
        self.domain = domain
        self.caps = domain.caps

    def focus(self, loads: Sequence[int], *, coarse: bool = False) -> None:
        """Nothing has to be prepared."""

    def score(self, loads: Sequence[int]) -> float:
        """Return the cost of allowed loads."""
        return exact_cost(self.problem, answer_of(self.problem, loads, self.batches))

    def scan(self, moves: IntArray, step: int, loads: IntArray, value: FloatArray) -> int:
        """Try moves one by one."""
        return _scan_by(self, moves, step, loads, value)

    def work(self) -> float:
        """Return the steps of a score."""
        scenarios = self.problem.arrays.scenarios
        return 2e6 if scenarios is None else 2e5 + 20.0 * scenarios.size


class QuickScores(Scores):
    """The objective of loads of independent nodes from a table, by compiled loops.

    The mean is integrated on a fixed grid, so that differences of some 1e-5 of it may be
    wrong; a quantile q is replaced by P(T > t) just before the best known quantile, which is
    at most 1 - q if and only if the quantile is smaller; everything else is exact.

    Attributes
    ----------
    domain
        The loads that are allowed.
    measure, table
        The score is ``measure . survival``; the results at the times of the grid.
    """

    def __init__(self, problem: CodedProblem, batches: int, domain: Domain) -> None:
        self.problem = problem
        self.batches = batches
        self.domain = domain
        self.columns = LoadColumns.of(problem, batches, _table_top(problem, batches, domain))
        self.caps = integers(np.minimum(domain.caps, self.columns.top).tolist())
        self.prices = np.array([float(price) for price in domain.prices])
        self.limits = self._limits()
        self.measure: FloatArray = np.ones(1)
        self.focus_on(np.ones(1))

    def _limits(self) -> FloatArray:
        """Return the limits as :func:`scan_moves` wants them; the budget is a little smaller."""
        budget = math.inf if self.domain.budget is None else float(self.domain.budget)
        goal, level = self.problem.objective, -1.0
        if self.problem.objective_name == "cost":
            assert goal.confidence is not None
            level = 1.0 - float(goal.confidence)
        shift = 1.0 + float((self.prices * self.domain.caps).sum())
        return np.array([self.domain.total, budget * (1 - 1e-12), level, shift])

    def focus(self, loads: Sequence[int], *, coarse: bool = False) -> None:
        """Choose the times for a search around some loads."""
        goal, name = self.problem.objective, self.problem.objective_name
        if name in ("deadline_probability", "cost"):
            assert goal.deadline is not None
            times = np.array([float(goal.deadline)])
        else:
            law = completion_law(self.problem, answer_of(self.problem, loads, self.batches))
            if name == "quantile":
                assert goal.q is not None
                times = np.array([law.quantile(float(goal.q)) * (1 - _BEFORE)])
            else:
                quantiles = law.quantiles(_RANKS)
                if _jumps(self.problem):
                    times, self.measure = _steps(quantiles, _SLICES // (4 if coarse else 1))
                else:
                    times, self.measure = _grid(quantiles, 2 if coarse else _POINTS)
        self.focus_on(times)

    def focus_on(self, times: FloatArray) -> None:
        """Look at these times."""
        columns = self.columns
        self.table = Table.of(columns.late(times), columns.weight, columns.first, columns.class_of)

    def score(self, loads: Sequence[int]) -> float:
        """Return the score of allowed loads that the table covers; the lower the better."""
        array = np.array(loads, dtype=np.int64)
        out = np.empty(len(self.table.late))
        survive = _array_survival_of if runs_plain(survival_of) else survival_of
        survive(self.table, array, self.domain.need, out)
        score = float(self.measure @ out)
        if score <= self.limits[2]:
            score = float(self.prices @ array) - float(self.limits[3])
        return score

    def scan(self, moves: IntArray, step: int, loads: IntArray, value: FloatArray) -> int:
        """Try moves one by one, compiled if the loops are."""
        if runs_plain(scan_moves):
            return _scan_by(self, moves, step, loads, value)
        return scan_moves(
            self.table,
            self.measure,
            self.prices,
            self.caps,
            self.limits,
            self.domain.need,
            moves,
            step,
            loads,
            value,
        )

    @property
    def by_pairs(self) -> bool:
        """Whether every node sends one result, and loops are compiled."""
        return self.batches == 1 and not runs_plain(scan_pairs)

    def scan_pairs(
        self, pairs: IntArray, offsets: IntArray, loads: IntArray, value: FloatArray
    ) -> int:
        """Give pairs of nodes their best loads, compiled."""
        width = 1 + min(self.domain.total, 3 * int(loads.sum()))
        goal = Goal(self.measure, self.prices, self.caps, self.limits, self.domain.need)
        law = np.empty((len(self.table.late), width))
        return scan_pairs(self.table, goal, pairs, offsets, loads, value, law)

    def pair_work(self, loads: IntArray) -> float:
        """Return the steps of a pair: two nodes are taken out, and all their loads tried."""
        return len(self.table.late) * (2.0 * float(loads.sum()) + self.domain.need + 1500.0)

    def work(self) -> float:
        """Return the steps of a score."""
        points, nodes = len(self.table.late), len(self.caps)
        return 2e3 + points * nodes * (self.domain.need * self.batches + 20) / 2


def _array_survival_of(table: Table, loads: IntArray, need: int, out: FloatArray) -> None:
    """Do what :func:`allocsolve.models.coded.load_kernels.survival_of` does, with arrays."""
    spans = [
        (int(table.first[c, load]), int(table.first[c, load + 1]))
        for c, load in zip(table.class_of.tolist(), loads.tolist(), strict=True)
    ]
    columns = np.concatenate([np.arange(a, b) for a, b in spans])
    sizes = [b - a for a, b in spans if b > a]
    array_survival(table.late[:, columns], offsets_of(sizes), table.weight[columns], need, out)


def _jumps(problem: CodedProblem) -> bool:
    """Whether a law has atoms, so that survival functions are stairs."""
    return any(isinstance(law, _ATOMIC) for law in problem.arrays.laws)


def _steps(quantiles: Sequence[float], slices: int) -> tuple[FloatArray, FloatArray]:
    """Return the midpoints of short slices, for stairs, and rules beyond them for the tail."""
    times, weights = _grid(quantiles, _POINTS)
    finite = [x for x in quantiles if math.isfinite(x)]
    width = 1.3 * (finite[-1] if finite else 1.0) / slices
    if width == 0:
        return times, weights
    beyond = times > width * slices
    middles = width * (np.arange(slices) + 0.5)
    return np.concatenate([middles, times[beyond]]), np.concatenate(
        [np.full(slices, width), weights[beyond]]
    )


def _grid(quantiles: Sequence[float], points: int) -> tuple[FloatArray, FloatArray]:
    """Return points and weights of Gauss-Legendre rules between quantiles and beyond."""
    finite = [x for x in quantiles if math.isfinite(x)]
    last = max(finite, default=0.0) or 1.0  # work that takes no time has a grid, too
    beyond = [last * 2.0**k for k in range(1, 1 + (_DOUBLINGS if len(finite) < 12 else 4))]
    edges = np.unique([0.0, *finite, *beyond])
    nodes, weights = np.polynomial.legendre.leggauss(points)
    half = np.diff(edges) / 2
    times = (edges[:-1] + half)[:, None] + half[:, None] * nodes
    return times.ravel(), (half[:, None] * weights).ravel()
