"""Ceilings of P(T <= t): above every load, tighter in blocks, exact on stairs."""

from __future__ import annotations

import itertools
from functools import partial

import numpy as np
import pytest

from allocsolve.models.coded import bounds
from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.bounds import Adaptive, Ceiling, Rateless, lower_mean, lower_quantile
from allocsolve.models.coded.data import MatVec, Node
from allocsolve.models.coded.domain import Domain
from allocsolve.models.coded.law import completion_law
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.nodes import Law

NEED = 4
CONSTANT = [Law(law="bimodal", base=x, slowdown=y, probability=0.2) for x, y in ((1, 3), (0.5, 5))]
SMOOTH = [
    Law(law="shifted_exponential", shift=0.5, rate=1.5),
    Law(law="weibull", shape=0.7, scale=0.6),
    Law(law="lognormal", log_mean=-0.5, log_std=0.8),
]


def _problem(laws: list[Law], rows: int = NEED) -> CodedProblem:
    nodes = [Node(id=str(i), runtime=law) for i, law in enumerate(laws)]
    return CodedProblem(task=MatVec(rows=rows), nodes=nodes)


def _all_loads(nodes: int) -> list[tuple[int, ...]]:
    grid = itertools.product(range(NEED + 1), repeat=nodes)
    return [loads for loads in grid if sum(loads) >= NEED]


@pytest.mark.parametrize("laws", [CONSTANT, SMOOTH], ids=["stairs", "smooth"])
def test_no_loads_are_above_a_ceiling(laws: list[Law]) -> None:
    """A ceiling below the best loads would prove what is false; one block of all is exact."""
    problem = _problem(laws)
    domain, times = Domain.of(problem), np.array([0.9, 1.7, 2.6, 4.1, 7.0])
    known = [completion_law(problem, CodedAnswer.of(loads)) for loads in _all_loads(len(laws))]
    reached = np.array([1 - law.survival(times) for law in known])
    exact, loose = Adaptive(problem, domain), Adaptive(problem, domain)
    loose.effort = 0.0
    exact.effort = 1e9
    assert exact.reach(times) == pytest.approx(reached.max(axis=0), abs=1e-12)
    assert (loose.reach(times) >= exact.reach(times) - 1e-12).all()
    rateless = Rateless(problem, domain)
    assert (rateless.reach(times) >= reached.max(axis=0) - 1e-12).all()
    mean = min(law.mean for law in known)
    quantile = min(law.quantile(0.9) for law in known)
    marks = known[-1].quantiles(np.linspace(0.01, 0.99, 50).tolist())
    for ceiling in (exact, loose, rateless):
        assert 0 < lower_mean(ceiling, marks) <= mean
        assert 0 < lower_quantile(ceiling, 0.9, quantile) <= quantile


def test_a_ceiling_in_larger_units_is_higher(monkeypatch: pytest.MonkeyPatch) -> None:
    """Where work is counted coarsely to save time, the bound may only get weaker."""
    problem = _problem(SMOOTH, 30)
    times = np.linspace(3, 20, 9)
    fine = [kind(problem, Domain.of(problem)).reach(times) for kind in (Adaptive, Rateless)]
    monkeypatch.setattr(bounds, "_STEPS", 5e3)
    coarse = [kind(problem, Domain.of(problem)).reach(times) for kind in (Adaptive, Rateless)]
    for exactly, roughly in zip(fine, coarse, strict=True):
        assert (roughly >= exactly - 1e-12).all()
        assert (roughly > exactly + 1e-3).any()


@pytest.mark.parametrize("kind", [Adaptive, Rateless])
def test_sums_over_stairs_are_the_whole_area(kind: type[Adaptive] | type[Rateless]) -> None:
    """Between two times at which something can arrive nothing changes, so nothing is lost."""
    problem = _problem(CONSTANT)
    ceiling: Ceiling = kind(problem, Domain.of(problem))
    fine = np.linspace(0, 12, 120_001)
    area = float((1 - ceiling.reach(fine[:-1] + 5e-5)).sum() * 1e-4)
    assert lower_mean(ceiling, []) == pytest.approx(area, abs=1e-3)
    best = min(
        completion_law(problem, CodedAnswer.of(loads)).mean for loads in _all_loads(len(CONSTANT))
    )
    assert lower_mean(ceiling, []) <= best


def test_a_sum_that_is_cut_short_is_a_bound_too() -> None:
    """A time limit may make a bound weaker, never wrong."""
    problem = _problem(SMOOTH)
    ceiling = Adaptive(problem, Domain.of(problem))
    ceiling.together = 4
    marks = completion_law(problem, CodedAnswer.of((2, 2, 2))).quantiles(
        np.linspace(0.01, 0.99, 40).tolist()
    )
    whole, values = lower_mean(ceiling, marks), []
    for looks in (0, 1, 3, 8, 1000):
        left = iter([False] * looks)
        values.append(lower_mean(ceiling, marks, partial(next, left, True)))
    assert values == sorted(values)
    assert values[0] == 0.0
    assert values[-1] == whole
