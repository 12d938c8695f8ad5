"""Scores of loads: quick ones to search by, exact ones to decide by."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from fractions import Fraction

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray, integers
from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.domain import Domain
from allocsolve.models.coded.law import completion_law
from allocsolve.models.coded.load_columns import LoadColumns
from allocsolve.models.coded.load_kernels import Table, scan_moves, survival_of
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.value import objective_value
from allocsolve.models.nodes import Bimodal, Deterministic, Empirical, Mixture
from allocsolve.models.result import Sense

__all__ = ["DirectScores", "QuickScores", "Scores", "answer_of", "exact_cost", "table_top"]

_RANKS = (0.001, 0.02, 0.1, 0.25, 0.4, 0.55, 0.7, 0.82, 0.91, 0.97, 0.995, 0.9999)
_POINTS = 6
_DOUBLINGS = 12
_SLICES = 300
_ATOMIC = (Deterministic, Bimodal, Empirical, Mixture)

_BEFORE = 1e-9
"""A quantile is to be beaten by at least this much, relatively."""

_LARGEST_TABLE = 6_000_000
"""Numbers in a table of results, at most."""


def answer_of(problem: CodedProblem, loads: Sequence[int], batches: int) -> CodedAnswer:
    """Return loads as an answer under any MDS code; the number of batches is always said."""
    used = max(1, min(batches, max(loads, default=1)))
    return CodedAnswer(
        loads=tuple(Fraction(load) for load in loads),
        batches=used if problem.limits.batches != 1 else None,
    )


def exact_cost(problem: CodedProblem, answer: CodedAnswer) -> float:
    """Return the cost of an answer that keeps all limits; infinite below the confidence."""
    goal = problem.objective
    if problem.objective_name == "cost":
        assert goal.deadline is not None
        assert goal.confidence is not None
        law = completion_law(problem, answer)
        if law.deadline_probability(float(goal.deadline)) < float(goal.confidence) - 1e-12:
            return math.inf
    value = objective_value(problem, answer)
    return -value if problem.sense is Sense.MAX else value


def table_top(problem: CodedProblem, batches: int, domain: Domain) -> int:
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

    @abstractmethod
    def focus(self, loads: Sequence[int]) -> None:
        """Prepare for a search around some loads."""

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

    @abstractmethod
    def work(self) -> float:
        """Return the steps of a score, some nanoseconds each."""

    def covers(self, loads: Sequence[int]) -> bool:
        """Whether the loads can be scored."""
        return bool((np.asarray(loads) <= self.caps).all())


class DirectScores(Scores):
    """The objective itself, for everything that has no table: scenarios, groups of nodes."""

    def __init__(self, problem: CodedProblem, batches: int, domain: Domain) -> None:
        self.problem = problem
        self.batches = batches
        self.domain = domain
        self.caps = domain.caps

    def focus(self, loads: Sequence[int]) -> None:
        """Nothing has to be prepared."""

    def score(self, loads: Sequence[int]) -> float:
        """Return the cost of allowed loads."""
        return exact_cost(self.problem, answer_of(self.problem, loads, self.batches))

    def scan(self, moves: IntArray, step: int, loads: IntArray, value: FloatArray) -> int:
        """Try moves one by one."""
        found = 0
        for i, j in moves.tolist():
            trial = loads.copy()
            trial[i] += -step if j == -2 else step
            if j >= 0:
                trial[j] -= step
            if not self.domain.allows(trial.tolist()):
                continue
            score = self.score(trial.tolist())
            if score < value[0] - 1e-13 * abs(value[0]):
                loads[:], value[0] = trial, score
                found += 1
        return found

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
        self.columns = LoadColumns.of(problem, batches, table_top(problem, batches, domain))
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

    def focus(self, loads: Sequence[int]) -> None:
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
                grid = _steps if _jumps(self.problem) else _grid
                times, self.measure = grid(law.quantiles(_RANKS))
        self.focus_on(times)

    def focus_on(self, times: FloatArray) -> None:
        """Look at these times."""
        columns = self.columns
        self.table = Table(columns.late(times), columns.weight, columns.first, columns.class_of)

    def score(self, loads: Sequence[int]) -> float:
        """Return the score of allowed loads that the table covers; the lower the better."""
        array = integers(loads)
        out = np.empty(len(self.table.late))
        survival_of(self.table, array, self.domain.need, out)
        score = float(self.measure @ out)
        if score <= self.limits[2]:
            score = float(self.prices @ array) - float(self.limits[3])
        return score

    def scan(self, moves: IntArray, step: int, loads: IntArray, value: FloatArray) -> int:
        """Try moves one by one, compiled."""
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

    def work(self) -> float:
        """Return the steps of a score."""
        points, nodes = len(self.table.late), len(self.caps)
        return 2e3 + points * nodes * (self.domain.need * self.batches + 20) / 2


def _jumps(problem: CodedProblem) -> bool:
    """Whether a law has atoms, so that survival functions are stairs."""
    return any(isinstance(law, _ATOMIC) for law in problem.arrays.laws)


def _steps(quantiles: Sequence[float]) -> tuple[FloatArray, FloatArray]:
    """Return the midpoints of short slices, for stairs, and rules beyond them for the tail."""
    times, weights = _grid(quantiles)
    finite = [x for x in quantiles if math.isfinite(x)]
    width = 1.3 * (finite[-1] if finite else 1.0) / _SLICES
    if width == 0:
        return times, weights
    beyond = times > width * _SLICES
    slices = width * (np.arange(_SLICES) + 0.5)
    return np.concatenate([slices, times[beyond]]), np.concatenate(
        [np.full(_SLICES, width), weights[beyond]]
    )


def _grid(quantiles: Sequence[float]) -> tuple[FloatArray, FloatArray]:
    """Return points and weights of Gauss-Legendre rules between quantiles and beyond."""
    finite = [x for x in quantiles if math.isfinite(x)]
    last = finite[-1] if finite else 1.0
    beyond = [last * 2.0**k for k in range(1, 1 + (_DOUBLINGS if len(finite) < 12 else 4))]
    edges = np.unique([0.0, *finite, *beyond])
    nodes, weights = np.polynomial.legendre.leggauss(_POINTS)
    half = np.diff(edges) / 2
    times = (edges[:-1] + half)[:, None] + half[:, None] * nodes
    return times.ravel(), (half[:, None] * weights).ravel()
