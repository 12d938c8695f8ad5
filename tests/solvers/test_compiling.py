"""Compiled loops are waited for only where they are worth it, and while the run goes on."""

from __future__ import annotations

import sys
import threading
import time
from collections.abc import Callable
from types import ModuleType, SimpleNamespace

import pytest

from allocsolve.instances.generators.dag import generate
from allocsolve.models import kernels
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.kernels import KernelSet
from allocsolve.models.result import Termination
from allocsolve.solvers.control import Control, Limits, Token
from allocsolve.solvers.dag.compiling import is_worth_compiling, loads_in_time
from allocsolve.solvers.loading import loops, make_ready
from allocsolve.solvers.routes import method_named

MakeSet = Callable[[Callable[[], None]], KernelSet]


@pytest.fixture
def kernels_of(monkeypatch: pytest.MonkeyPatch) -> MakeSet:
    """Return a set that is in no cache, whose compilation is the function given.

    Loading takes a second, whether or not an earlier test has loaded numba.
    """
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    monkeypatch.setattr(KernelSet, "load_seconds", lambda self: self.loading)

    def make(warm: Callable[[], None]) -> KernelSet:
        module = ModuleType("slow_kernels")
        entry = SimpleNamespace(is_loaded=lambda: False, is_cached=lambda: False)
        vars(module).update(entry=entry, warm=warm)
        monkeypatch.setitem(sys.modules, "slow_kernels", module)
        return KernelSet("slow loops", "slow_kernels", "entry", "warm", 9.0, 1.0)

    return make


def control_of(seconds: float | None = None) -> Control[Schedule]:
    """Return a control with so many seconds left."""
    deadline = None if seconds is None else time.monotonic() + seconds
    return Control(Limits(deadline))


def test_a_run_that_stops_does_not_wait_for_the_compiler(kernels_of: MakeSet) -> None:
    """Numba takes half a minute and cannot be interrupted; an interrupt may take a second."""
    end = threading.Event()
    token = Token()
    token.cancel()

    def warm() -> None:
        end.wait(20)

    ready = make_ready(Control(Limits(), token), kernels_of(warm))
    was_compiled = end.is_set()
    end.set()
    assert not ready
    assert not was_compiled


def test_kernels_are_ready_once_they_are_compiled(kernels_of: MakeSet) -> None:
    """A run that goes on gets its compiled loops."""
    calls: list[str] = []
    assert make_ready(control_of(), kernels_of(lambda: calls.append("compiled")))
    assert calls == ["compiled"]


def test_what_goes_wrong_in_the_compiler_is_raised(kernels_of: MakeSet) -> None:
    """An error in another thread must not look like kernels that are ready."""

    def warm() -> None:
        raise ValueError("no such type")

    with pytest.raises(ValueError, match="no such type"):
        make_ready(control_of(), kernels_of(warm))


@pytest.mark.parametrize(
    ("seconds", "plain", "way"),
    [
        pytest.param(60.0, 0.2, "plain", id="small"),
        pytest.param(60.0, 8.0, "plain", id="sooner done than compiled"),
        pytest.param(60.0, 20.0, "compiled", id="large"),
        pytest.param(None, 20.0, "compiled", id="large without a limit"),
        pytest.param(5.0, 4.0, "plain", id="no time to compile"),
        pytest.param(5.0, 8.0, "none", id="no time for anything"),
        pytest.param(0.5, 0.9, "plain", id="no time to load"),
    ],
)
def test_loops_run_in_the_way_that_is_done_sooner(
    kernels_of: MakeSet, seconds: float | None, plain: float, way: str
) -> None:
    """Compiling for half a minute what takes a tenth of a second would hold back every proof."""
    calls: list[str] = []
    cold = kernels_of(lambda: calls.append("compiled"))
    with loops(control_of(seconds), cold, plain=plain) as can_run:
        assert can_run == (way != "none")
        assert bool(kernels._wants_plain.get()) == (way == "plain")
    assert bool(calls) == (way == "compiled")


def test_a_compiler_must_leave_time_to_search(kernels_of: MakeSet) -> None:
    """A search that ends soon after its compiler finds less than one that began at once."""
    cold = kernels_of(lambda: None)
    assert [is_worth_compiling(control_of(s), cold) for s in (12.0, 30.0, None)] == [
        False,
        True,
        True,
    ]
    assert not loads_in_time(control_of(60.0), cold)


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
@pytest.mark.parametrize("kind", ["identical", "unrelated"])
@pytest.mark.parametrize("tasks", [8, 14])
@pytest.mark.parametrize("limit", [1.5, 60.0], ids=lambda limit: f"{limit} s")
def test_small_graphs_are_proven_without_a_compiler(kind: str, tasks: int, limit: float) -> None:
    """The first run on a new machine must not compile for a minute what CP-SAT proves at once."""
    problem = generate("layered", tasks=tasks, seed=2, nodes=3, node_kind=kind)
    control = control_of(limit)
    outcome = method_named("dag", "auto").load()(problem, control)
    assert control.answer is not None
    if limit > 10:
        assert outcome.termination is Termination.FINISHED
        assert control.is_proven()


@pytest.mark.usefixtures("cold")
@pytest.mark.parametrize("method", ["annealing", "heterogeneous", "communication"])
def test_a_search_that_is_not_compiled_says_so(method: str) -> None:
    """What it finds depends on the cache then, so it cannot be promised again."""
    problem = generate("layered", tasks=60, seed=1, nodes=3, ccr=2.0)
    control = control_of(3.0)
    outcome = method_named("dag", method).load()(problem, control)
    assert control.answer is not None
    assert not outcome.deterministic
    if not control.is_proven():
        assert ["doctor --compile" in warning for warning in outcome.warnings].count(True) == 1
