"""Elastic work on stored blocks as a linear program in HiGHS.

The matrix is cut into blocks, and a node computes only on blocks that it holds: uncoded
replicated storage, or coded storage block by block. With ``x[g, n]`` for the part of block g
that node n computes,

    min t  s.t.  sum_n x[g, n] = L + S,  0 <= x[g, n] <= 1,
                 begin_n + unit_n sum_g x[g, n] / G <= t,  sum_g x[g, n] / G <= storage_n,
                 sum_n cost_n sum_g x[g, n] / G <= budget

(Woolsey, Chen and Ji, uncoded storage elastic computing on heterogeneous machines, 2021). Blocks
on the same nodes share their variables. A node that begins later than t has no part: the
nodes come in one after another, in the order of their beginnings.

The lower bound is that of weak duality, recomputed from the multipliers: for shares ``p_n`` of
1 over nodes, ``w_n >= 0`` and ``v >= 0`` no time is less than

    sum_g (sum of the L + S smallest a_n of its holders) + p . begin - w . storage - v budget,
    a_n = (p_n unit_n + w_n + v cost_n) / G.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.coded.baselines_elastic import ElasticJob
from allocsolve.solvers.engines.apart import run_apart
from allocsolve.solvers.engines.highs import highs, interruptible, require

if TYPE_CHECKING:
    import highspy

__all__ = ["ProgramAnswer", "Stopped", "solve_program"]

_GRID = 10**6
"""Largest denominator of a part that is taken for exact; others become decimals."""

_SAME = 1e-11
"""Difference up to which a fraction and what the engine says are the same."""

_DECIMALS = 10**13


class Stopped(Exception):
    """The run had to end before the program was solved."""


@dataclass(frozen=True, eq=False)
class ProgramAnswer:
    """What the program found.

    Attributes
    ----------
    parts
        Part of each block on each node, exact: ``parts[g][n]`` in [0, 1], and L + S for each g.
        None if there are none that keep all limits.
    bound
        No time is less, from the multipliers.
    """

    parts: list[list[Fraction]] | None
    bound: float


def solve_program(job: ElasticJob, stop: Callable[[], bool]) -> ProgramAnswer:
    """Return parts of blocks of least worst time.

    Raises
    ------
    Stopped
        If ``stop`` ended it.
    SolverMissing
        If HiGHS is not installed.
    """
    found = run_apart(lambda: _solve(job, stop), stop, "highs")
    if found is None:
        raise Stopped
    return found


def _solve(job: ElasticJob, stop: Callable[[], bool]) -> ProgramAnswer:
    """Let nodes come in one after another until the next one would begin too late."""
    begins = sorted({float(b) for b, cap in zip(job.begin, job.caps, strict=True) if cap > 0})
    for place, begin in enumerate(begins):
        usable = [cap > 0 and float(b) <= begin for b, cap in zip(job.begin, job.caps, strict=True)]
        if any(sum(usable[n] for n in held) < job.copies for held in job.holders):
            continue
        following = begins[place + 1] if place + 1 < len(begins) else math.inf
        answer = _Program(job, usable).run(stop)
        if answer is not None and (answer.bound <= following or following == math.inf):
            # What was left out needed the next node, so no time before its beginning does.
            return ProgramAnswer(answer.parts, max(answer.bound, begin if place else 0.0))
    return ProgramAnswer(None, math.inf)


class _Program:
    """The program over some nodes."""

    def __init__(self, job: ElasticJob, usable: Sequence[bool]) -> None:
        self._job = job
        kinds: dict[tuple[int, ...], list[int]] = {}
        for block, held in enumerate(job.holders):
            kinds.setdefault(tuple(n for n in held if usable[n]), []).append(block)
        self._kinds = list(kinds.items())
        self._pairs = [(k, n) for k, (held, _) in enumerate(self._kinds) for n in held]
        self._nodes = sorted({n for _, n in self._pairs})
        self._row_of = {n: k for k, n in enumerate(self._nodes)}
        self._count = np.array([len(blocks) for _, blocks in self._kinds], dtype=np.float64)
        self._unit = np.array([float(job.unit[n]) for n in self._nodes])
        self._begin = np.array([float(job.begin[n]) for n in self._nodes])
        self._storage = np.array([float(job.caps[n]) for n in self._nodes])
        self._cost = np.array([float(job.cost[n]) for n in self._nodes])
        self._scale = max(float(self._unit.max(initial=0.0)), float(self._begin.max(initial=0.0)))

    def run(self, stop: Callable[[], bool]) -> ProgramAnswer | None:
        """Solve it; None if no parts keep all limits."""
        import highspy

        solver = highs()
        interruptible(solver, stop)
        require(solver.passModel(self._model()), "passing parts of blocks")
        require(solver.run(), "solving parts of blocks")
        status, kind = solver.getModelStatus(), highspy.HighsModelStatus
        if status in (kind.kInfeasible, kind.kUnboundedOrInfeasible):
            return None
        if status != kind.kOptimal:
            raise Stopped
        solution = solver.getSolution()
        return ProgramAnswer(
            self._parts(np.array(solution.col_value)[:-1]),
            self._bound(np.abs(np.array(solution.row_dual))),
        )

    def _model(self) -> highspy.HighsLp:
        """Columns: parts, then t. Rows: kinds of blocks, times, storage, the budget."""
        import highspy
        from scipy.sparse import csc_matrix

        job, kinds, nodes = self._job, len(self._kinds), len(self._nodes)
        kind = np.array([k for k, _ in self._pairs])
        row = np.array([self._row_of[n] for _, n in self._pairs])
        column, share = np.arange(len(kind)), self._count[kind] / job.blocks
        scale = self._scale or 1.0
        rows = [kind, kinds + row, kinds + nodes + row]
        values = [np.ones(len(kind)), share * self._unit[row] / scale, share]
        if job.budget is not None:
            rows.append(np.full(len(kind), kinds + 2 * nodes))
            values.append(share * self._cost[row])
        height = kinds + 2 * nodes + (job.budget is not None)
        rows.append(kinds + np.arange(nodes))
        values.append(-np.ones(nodes))
        columns = [*[column] * (len(rows) - 1), np.full(nodes, len(kind))]
        table = csc_matrix(
            (np.concatenate(values), (np.concatenate(rows), np.concatenate(columns))),
            shape=(height, len(kind) + 1),
        )
        infinite, copies = highspy.kHighsInf, np.full(kinds, float(job.copies))
        limits = [] if job.budget is None else [float(job.budget)]
        upper = np.concatenate([copies, -self._begin / scale, self._storage, limits])
        program = highspy.HighsLp()
        program.num_col_, program.num_row_ = len(kind) + 1, height
        program.col_cost_ = np.append(np.zeros(len(kind)), 1.0)
        program.col_lower_ = np.zeros(len(kind) + 1)
        program.col_upper_ = np.append(np.ones(len(kind)), infinite)
        program.row_lower_ = np.concatenate([copies, np.full(height - kinds, -infinite)])
        program.row_upper_ = upper
        program.a_matrix_.format_ = highspy.MatrixFormat.kColwise
        program.a_matrix_.start_, program.a_matrix_.index_ = table.indptr, table.indices
        program.a_matrix_.value_ = table.data
        return program

    def _parts(self, values: FloatArray) -> list[list[Fraction]]:
        """Return the parts of all blocks as fractions that add up exactly."""
        job = self._job
        parts = [[Fraction(0)] * len(job.caps) for _ in range(job.blocks)]
        per_kind: list[dict[int, Fraction]] = [{} for _ in self._kinds]
        for (k, n), value in zip(self._pairs, values.tolist(), strict=True):
            per_kind[k][n] = _exact(min(max(value, 0.0), 1.0))
        for mine, (_, blocks) in zip(per_kind, self._kinds, strict=True):
            _repair(mine, job.copies)
            for block in blocks:
                for n, part in mine.items():
                    parts[block][n] = part
        return parts

    def _bound(self, duals: FloatArray) -> float:
        """Return the bound of weak duality; any multipliers give a valid one."""
        job, kinds, nodes = self._job, len(self._kinds), len(self._nodes)
        scale = self._scale or 1.0
        shares = duals[kinds : kinds + nodes]
        if not shares.sum() > 0:
            return 0.0
        shares = shares / shares.sum()
        stored = duals[kinds + nodes : kinds + 2 * nodes] * scale
        money = float(duals[-1]) * scale if job.budget is not None else 0.0
        worth = (shares * self._unit + stored + money * self._cost) / job.blocks
        terms = [float(shares @ self._begin), -float(stored @ self._storage)]
        terms.append(-money * float(job.budget or 0))
        for count, (held, _) in zip(self._count.tolist(), self._kinds, strict=True):
            least = sorted(float(worth[self._row_of[n]]) for n in held)[: job.copies]
            terms.append(count * math.fsum(least))
        size = math.fsum(abs(term) for term in terms)
        return max(0.0, math.fsum(terms) - 1e-12 * size)


def _exact(value: float) -> Fraction:
    """Return a simple fraction that is as good as equal, or else a decimal."""
    simple = Fraction(value).limit_denominator(_GRID)
    return (
        simple
        if abs(float(simple) - value) <= _SAME
        else Fraction(round(value * _DECIMALS), _DECIMALS)
    )


def _repair(parts: dict[int, Fraction], copies: int) -> None:
    """Let parts add up to the copies exactly; what is missing goes where there is room."""
    lack = copies - sum(parts.values(), Fraction(0))
    for n in sorted(parts, key=lambda n: (parts[n] == 0, parts[n] == 1, n)):
        change = min(lack, 1 - parts[n]) if lack > 0 else max(lack, -parts[n])
        parts[n] += change
        lack -= change
