"""Stages of leximin: whole and reduced by boxes they end at the same levels, in few programs."""

from __future__ import annotations

import math

import numpy as np
import pytest

import allocsolve
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.settings import Settings
from allocsolve.solvers.fair.forms import form_of
from allocsolve.solvers.fair.leximin import Stages

SETS = ("plain", "zeros", "ties", "weights", "large gangs", "empty type", "one type", "uneven")


def _draw(kind: str, n: int, m: int, seed: int, load: float) -> FairProblem:
    """Draw a division with many levels: uneven stocks, some of them ample."""
    random = np.random.default_rng(seed)
    pace = random.random((n, m)) * np.arange(1, m + 1)
    gang, weight = 2.0 ** random.integers(0, 3, n), random.integers(1, 6, n).astype(float)
    if kind == "zeros":
        pace = pace * (random.random((n, m)) < 0.45)
    elif kind == "ties":
        pace, weight = random.integers(0, 3, (n, m)).astype(float), np.ones(n)
    elif kind == "weights":
        weight = 10.0 ** random.uniform(-3, 3, n)
    elif kind == "large gangs":
        gang = 2.0 ** random.integers(0, 12, n)
    elif kind == "one type":
        pace[:, 1:] = 0
    stock = gang.sum() * random.dirichlet(np.ones(m)) / load
    if kind == "empty type":
        stock[-1] = 0
    elif kind == "uneven":
        stock = stock * 10.0 ** random.uniform(-4, 0, m)
    return FairProblem.from_arrays(pace, stock, columns={"weight": weight, "gang": gang})


class _Unlimited:
    """Nothing stops a run."""

    def stopped(self) -> None:
        """Go on."""


def _run(problem: FairProblem, small: int) -> tuple[Stages, np.ndarray]:
    form = form_of(problem.aiming_at("leximin", Settings()))
    stages = Stages(form.division, lambda: False, small=small)
    stages.run(_Unlimited())  # type: ignore[arg-type]  # asked for nothing else
    assert stages.complete
    assert stages.last is not None
    return stages, np.sort((stages.pace * stages.last.share).sum(axis=1))


@pytest.mark.parametrize("load", [1.2, 4.0])
@pytest.mark.parametrize("kind", SETS)
def test_boxes_lose_no_level(kind: str, load: float) -> None:
    """Whole programs and reduced ones give every job the same level, and hold no more."""
    for seed, n in enumerate((12, 60, 150)):
        problem = _draw(kind, n, 3, seed, load)
        (whole, known), (boxed, levels) = (_run(problem, small) for small in (n, 0))
        assert levels == pytest.approx(known, rel=1e-7)
        assert boxed.last is not None
        held = boxed.division.gang @ boxed.last.share
        assert (held <= boxed.division.stock * (1 + 1e-9)).all()
        m, rows = len(boxed.division.stock), boxed.n
        for stages in (whole, boxed):
            assert stages.levels.programs <= m * (2 + math.ceil(math.log2(max(rows, 2))))


@pytest.mark.parametrize("kind", ["plain", "zeros", "weights"])
def test_many_jobs_keep_the_bound_and_the_proof(kind: str) -> None:
    """Above the size of whole programs: few programs, and a first level that prices prove."""
    n, m = 1500, 4
    result = allocsolve.solve(_draw(kind, n, m, 5, 1.5), objective="leximin", threads=1)
    assert result.status == "OPTIMAL", result.warnings
    assert int(result.solver.options["programs"]) <= m * (2 + math.ceil(math.log2(n)))
    levels = result.allocation.levels
    assert levels is not None
    assert (np.diff(levels) >= 0).all()


@pytest.mark.parametrize("kind", ["large gangs", "one type", "uneven"])
def test_level_by_level_agrees(kind: str) -> None:
    """The plain way, a program of cvxpy for each level, ends at the same levels."""
    problem = _draw(kind, 14, 3, 7, 2.0)
    staged, plain = (
        allocsolve.solve(problem, objective="leximin", method=method, threads=1)
        for method in ("leximin", "cvxpy")
    )
    assert staged.status == plain.status == "OPTIMAL"
    assert staged.allocation.levels == pytest.approx(plain.allocation.levels, rel=1e-6)
