"""What is compiled ahead is what real runs call: not one of them may meet the compiler again."""

from __future__ import annotations

import importlib
from collections.abc import Callable
from dataclasses import dataclass, field

import numpy as np
import pytest

import allocsolve
from allocsolve.instances.generators.dag import generate
from allocsolve.models import kernels
from allocsolve.models.coded.data import Limits, MatVec, Node, ObjectiveSpec
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.dag.answer import DagResult
from allocsolve.models.fair import responses
from allocsolve.models.fair.data import Job, ResourceType
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.nodes import Law
from allocsolve.solvers.coded import optimise
from allocsolve.solvers.fair import price_box
from allocsolve.solvers.routes import kernel_sets

_LAW = Law(law="shifted_exponential", shift=0.5, rate=2)
_NODES = [Node(id=f"w{i}", runtime=_LAW, speed=1 + i, cost=1) for i in range(3)]


@dataclass
class _Calls:
    """Calls of kernels from outside of kernels, by what numba makes of their arguments."""

    types: set[tuple[object, ...]] = field(default_factory=set)

    @property
    def names(self) -> set[object]:
        """Names of the kernels that were called."""
        return {call[0] for call in self.types}


@pytest.fixture
def calls(monkeypatch: pytest.MonkeyPatch) -> _Calls:
    """Note the types of every call; kernels run as plain Python but pass for compiled ones."""
    numba = pytest.importorskip("numba")
    found = _Calls()

    def call(self: kernels._Kernel[..., object], *arguments: object, **named: object) -> object:
        name = f"{self.function.__module__}.{self.function.__name__}"
        found.types.add((name, *map(numba.typeof, arguments), *sorted(named)))
        return self.plain()(*arguments, **named)

    monkeypatch.setattr(kernels._Kernel, "__call__", call)
    monkeypatch.setattr(kernels._Kernel, "runs_plain", lambda _: False)
    monkeypatch.setattr(kernels._Kernel, "is_loaded", lambda _: True)
    return found


def _coded() -> None:
    def job(method: str, **fields: object) -> None:
        problem = CodedProblem(task=MatVec(rows=5), nodes=_NODES).replace(**fields)
        options = {"effort": "1"} if method == "auto" else None
        allocsolve.solve(problem, method=method, time_limit=None, threads=1, options=options)

    grouped = [Node(id=n.id, runtime=n.runtime, group="g") for n in _NODES]
    mean, deadline = (
        ObjectiveSpec(name="mean"),
        ObjectiveSpec(name="deadline_probability", deadline=9),
    )
    for method in ("auto", "enumeration"):
        job(method, task=MatVec(rows=3), objective=mean, limits=Limits(total_load=9, budget=12))
        job(method, objective=ObjectiveSpec(name="quantile", q=0.9))
        job(method, objective=ObjectiveSpec(name="cost", deadline=5, confidence=0.5))
    job("auto", objective=deadline, limits=Limits(batches=2), task=MatVec(rows=16))
    job("auto", objective=mean, nodes=grouped)


def _fair() -> None:
    draw = np.random.default_rng(3)
    jobs = [
        Job(id=f"j{i}", throughput={"a": a, "b": b}, remaining=1)
        for i, (a, b) in enumerate((1 + draw.random((90, 2))).tolist())
    ]
    types = [ResourceType(id="a", count=8), ResourceType(id="b", count=9)]
    problem = FairProblem(types=types, jobs=jobs)
    for objective in ("nash", "max_min", "leximin"):
        for method in ("auto", "interior_point", "price_box"):
            if objective != "leximin" or method == "auto":
                allocsolve.solve(
                    problem, method=method, objective=objective, time_limit=20, threads=1
                )


def _dag() -> None:
    for kind in ("unrelated", "identical"):
        problem = generate("layered", tasks=6, seed=2, nodes=3, node_kind=kind)
        for method in ("heft", "peft", "annealing", "communication", "heterogeneous"):
            allocsolve.solve(problem, method=method, time_limit=2, threads=1)


def _replay() -> None:
    problem = generate("layered", tasks=6, seed=2, nodes=3, node_kind="unrelated")
    result = allocsolve.solve(problem, method="heft", threads=1)
    assert isinstance(result, DagResult)
    law = "bimodal:base=0.9,slowdown=3,probability=0.1"
    for dtype in ("float64", "float32"):
        allocsolve.simulate(problem, result, law=law, replications=8, threads=1, dtype=dtype)


_ahead: set[tuple[object, ...]] = set()


def _warm(calls: _Calls) -> set[tuple[object, ...]]:
    """Return the calls that compile everything, which are the same for all tests."""
    if not _ahead:
        for kernel_set in kernel_sets():
            getattr(importlib.import_module(kernel_set.module), kernel_set.warm)()
        _ahead.update(calls.types)
        calls.types.clear()
    return _ahead


RUNS = [
    pytest.param(
        _coded,
        (
            *("threshold_survival", "survival_of", "scan_moves", "scan_pairs"),
            *("adaptive_values", "block_ceiling", "enumerate_loads"),
        ),
        id="coded",
    ),
    pytest.param(_fair, ("run_steps", "sort_jobs", "choose", "walk"), id="fair"),
    pytest.param(_dag, ("place_by_rule", "anneal", "fill_heads", "fill_gaps"), id="dag"),
    pytest.param(_replay, ("replay32", "replay64", "mark_critical"), id="replay"),
]


@pytest.mark.parametrize(("run", "reached"), RUNS)
def test_real_runs_call_kernels_with_the_types_of_warm_ones(
    run: Callable[[], None],
    reached: tuple[str, ...],
    calls: _Calls,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An array that must not be written is another type: numba compiles anew, within a limit."""
    warm = _warm(calls)
    # What is for many jobs only is used for few, and searches are short without a time limit.
    monkeypatch.setattr(responses, "_MANY", 1)
    monkeypatch.setattr(optimise, "_WORK", 1e5)
    monkeypatch.setitem(price_box.solve_in_box.__kwdefaults__ or {}, "small", 30)
    run()
    assert {str(name).rpartition(".")[2] for name in calls.names} >= set(reached)
    assert calls.types <= warm, calls.types - warm
