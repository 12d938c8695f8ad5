"""Compiled loops are waited for only as long as the run goes on."""

from __future__ import annotations

import sys
import threading
from collections.abc import Callable
from types import ModuleType, SimpleNamespace

import pytest

from allocsolve.models.kernels import KernelSet


@pytest.fixture
def kernels_of(monkeypatch: pytest.MonkeyPatch) -> Callable[[Callable[[], None]], KernelSet]:
    """Return a set that is not compiled yet, whose compilation is the function given."""
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)

    def make(warm: Callable[[], None]) -> KernelSet:
        module = ModuleType("slow_kernels")
        entry = SimpleNamespace(signatures=[], stats=SimpleNamespace(cache_path=None), py_func=warm)
        vars(module).update(entry=entry, warm=warm)
        monkeypatch.setitem(sys.modules, "slow_kernels", module)
        return KernelSet("slow loops", "slow_kernels", "entry", "warm", 9.0, 1.0)

    return make


def test_a_run_that_stops_does_not_wait_for_the_compiler(
    kernels_of: Callable[[Callable[[], None]], KernelSet],
) -> None:
    """Numba takes half a minute and cannot be interrupted; an interrupt may take a second."""
    compiled = threading.Event()

    def warm() -> None:
        compiled.wait(20)

    ready = kernels_of(warm).prepare(lambda: True)
    was_compiled = compiled.is_set()
    compiled.set()
    assert not ready
    assert not was_compiled


def test_kernels_are_ready_once_they_are_compiled(
    kernels_of: Callable[[Callable[[], None]], KernelSet],
) -> None:
    """A run that goes on gets its compiled loops."""
    calls: list[str] = []
    assert kernels_of(lambda: calls.append("compiled")).prepare(lambda: False)
    assert calls == ["compiled"]


def test_what_goes_wrong_in_the_compiler_is_raised(
    kernels_of: Callable[[Callable[[], None]], KernelSet],
) -> None:
    """An error in another thread must not look like kernels that are ready."""

    def warm() -> None:
        raise ValueError("no such type")

    with pytest.raises(ValueError, match="no such type"):
        kernels_of(warm).prepare(lambda: False)
