"""Coded jobs where nothing is compiled: the same values of rules, and nobody waits for numba."""

from __future__ import annotations

import time

import pytest

import allocsolve
from allocsolve.models import kernels
from allocsolve.models.coded.answer import CodedAnswer, CodedResult
from allocsolve.models.coded.data import MatVec, Node
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.kernels import KernelSet
from allocsolve.models.nodes import Law
from allocsolve.models.result import Status
from allocsolve.solvers.coded import compare
from allocsolve.solvers.coded.ground import Ground
from allocsolve.solvers.control import Limits, RealControl

_LAWS = [Law(law="shifted_exponential", shift=1 / rate, rate=rate) for rate in (1, 3)]
EIGHT = CodedProblem(
    task=MatVec(rows=40),
    nodes=[Node(id=f"w{i}", runtime=_LAWS[i // 4]) for i in range(8)],
)
"""Four slow nodes and four that are three times as fast."""

SCALED = 7.961904761904763
"""Mean of the loads of HCMM times the best factor, by compiled loops."""


@pytest.fixture
def cold(monkeypatch: pytest.MonkeyPatch) -> None:
    """Let no kernel be in the cache or in the process, and let compiling one fail the test."""

    def refuse(self: KernelSet) -> float:
        raise AssertionError(f"{self.name} was compiled")

    monkeypatch.setattr(kernels._Kernel, "is_loaded", lambda _: False)
    monkeypatch.setattr(kernels._Kernel, "is_cached", lambda _: False)
    monkeypatch.setattr(kernels._Kernel, "compiled", lambda _: refuse)
    monkeypatch.setattr(KernelSet, "build", refuse)


@pytest.mark.usefixtures("cold")
@pytest.mark.parametrize("limit", [20.0, 60.0, None])
def test_rules_of_small_jobs_need_no_compiler(limit: float | None) -> None:
    """Arrays take a second for what a compiler takes most of a minute to begin."""
    result = allocsolve.solve(EIGHT, method="hcmm_scaled", time_limit=limit, threads=1)
    assert isinstance(result, CodedResult)
    assert result.status is Status.FEASIBLE
    assert result.objective.value == pytest.approx(SCALED, rel=1e-12)
    assert result.baselines["hcmm_scaled"] == pytest.approx(SCALED, rel=1e-12)
    assert result.warnings == ()


@pytest.mark.usefixtures("cold")
def test_a_search_without_time_to_compile_does_without() -> None:
    """A run that says that it has no time for the compiler must not start it anyway."""
    result = allocsolve.solve(EIGHT, time_limit=20, threads=1)
    assert isinstance(result, CodedResult)
    assert any("not compiled" in warning for warning in result.warnings)
    assert result.objective.value < SCALED
    assert result.baselines["hcmm_scaled"] == pytest.approx(SCALED, rel=1e-12)


@pytest.mark.usefixtures("cold")
@pytest.mark.parametrize("rule", ["hcmm_scaled", "uniform"])
def test_a_rule_that_was_cut_short_has_no_value(rule: str, monkeypatch: pytest.MonkeyPatch) -> None:
    """The best of a few of its loads would make an answer look better than the rule is."""
    ground = Ground(EIGHT, RealControl[CodedAnswer](Limits(time.monotonic() + 60)))
    exact = compare.best_of_rule

    def cut(ground: Ground, name: str) -> tuple[CodedAnswer, float] | None:
        with monkeypatch.context() as patch:
            if name == rule:
                patch.setattr(ground, "over", lambda: True)
            return exact(ground, name)

    monkeypatch.setattr(compare, "best_of_rule", cut)
    with kernels.uncompiled():
        compare.compare(ground, offer=True)
    assert ground.values[rule] is None
    assert ground.values["load_balanced"] is not None
    assert ground.unfinished == [rule]
    (warning,) = ground.warnings
    assert warning.endswith(f": {rule}")


@pytest.mark.usefixtures("cold")
def test_a_rule_that_was_looked_at_to_its_end_keeps_its_value() -> None:
    """A limit that passes after the last of its loads takes nothing from a value."""
    ground = Ground(EIGHT, RealControl[CodedAnswer](Limits(time.monotonic() - 1)))
    with kernels.uncompiled():
        compare.compare(ground, offer=True)
    assert list(ground.values) == ["load_balanced"]
    assert ground.values["load_balanced"] is not None
    assert ground.warnings == ()
