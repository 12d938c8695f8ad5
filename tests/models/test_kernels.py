"""Compiled loops and plain Python give the same bytes, each where it is asked for."""

from __future__ import annotations

import os
import subprocess
import sys
import threading
from collections.abc import Callable
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import cast

import numpy as np
import pytest

from allocsolve.models import kernels
from allocsolve.models.arrays import FloatArray
from allocsolve.models.dag.anneal import anneal
from allocsolve.models.dag.list_build import Builder
from allocsolve.models.kernels import KernelSet, _Kernel, kernel, merged, numeric, paced, uncompiled

MakeSet = Callable[[Callable[[], None]], KernelSet]


@pytest.fixture
def kernels_of(monkeypatch: pytest.MonkeyPatch) -> MakeSet:
    """Return a set that is not compiled yet, whose compilation is the function given."""
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)

    def make(warm: Callable[[], None]) -> KernelSet:
        module = ModuleType("slow_kernels")
        entry = SimpleNamespace(is_loaded=lambda: False, is_cached=lambda: False)
        vars(module).update(entry=entry, warm=warm)
        monkeypatch.setitem(sys.modules, "slow_kernels", module)
        return KernelSet("slow loops", "slow_kernels", "entry", "warm", 9.0, 1.0)

    return make


def test_a_set_says_what_it_costs_to_make_ready(kernels_of: MakeSet) -> None:
    """Whoever weighs a compiler against plain Python compares these seconds."""
    cold = kernels_of(lambda: None)
    assert cold.seconds() == 9.0
    assert not cold.loads_within(100.0)
    assert [cold.fits(8.9), cold.fits(9.0)] == [False, True]


def test_building_compiles_even_where_plain_python_was_asked_for(kernels_of: MakeSet) -> None:
    """The instances that warm kernels are so small that they would never be compiled."""
    asked: list[bool | None] = []

    def warm() -> None:
        with uncompiled():
            asked.append(kernels._wants_plain.get())

    with uncompiled():
        kernels_of(warm).build()
        assert kernels._wants_plain.get() is True
    assert asked == [False]


@kernel
def _half(value: int) -> int:
    return value // 2


@kernel
def _collatz(value: int) -> int:
    """Count steps; calls another kernel, and itself."""
    if value == 1:
        return 0
    if value % 2:
        return 1 + _collatz(3 * value + 1)
    return 1 + _collatz(_half(value))


def test_plain_loops_call_plain_loops() -> None:
    """One that went through numba on its way would compile what it calls."""
    with uncompiled():
        assert _collatz(27) == 111
    assert all(not getattr(kernel, "signatures", ()) for kernel in (_collatz, _half))


@merged
def _share(part: float, whole: float) -> float:
    return part / whole


@numeric
def _shares(parts: FloatArray, whole: float) -> FloatArray:
    """Divide in a function that is merged into this one."""
    out = np.empty(parts.size)
    for i in range(parts.size):
        out[i] = _share(parts[i], whole)
    return out


def test_merged_functions_divide_as_numpy_does() -> None:
    """A division by zero must give what plain Python gives on arrays, and no exception."""
    parts = np.array([1.0, -3.0, 0.1])
    compiled = [_shares(parts, whole) for whole in (7.0, 0.0)]
    assert compiled[1].tolist() == [np.inf, -np.inf, np.inf]
    with np.errstate(divide="ignore"):
        plain = [
            cast("_Kernel[..., FloatArray]", _shares).plain()(parts, np.float64(x))
            for x in (7.0, 0.0)
        ]
    assert [row.tobytes() for row in compiled] == [row.tobytes() for row in plain]
    assert not cast("_Kernel[..., float]", _share).is_loaded(), "it has no code of its own"


def test_plain_python_is_asked_for_in_one_thread_only() -> None:
    """Another run of the same process may need its loops compiled."""
    seen: list[bool | None] = []
    with uncompiled():
        thread = threading.Thread(target=lambda: seen.append(kernels._wants_plain.get()))
        thread.start()
        thread.join()
    assert seen == [None]
    assert kernels._wants_plain.get() is None


def test_slices_are_shorter_in_plain_python(monkeypatch: pytest.MonkeyPatch) -> None:
    """A slice of compiled work would keep a plain loop from its clock for many seconds."""
    assert paced(Builder.build, 1000) < 1000
    if "NUMBA_DISABLE_JIT" in os.environ:
        return
    assert paced(anneal, 1000) == 1000
    monkeypatch.setattr(anneal, "is_loaded", lambda: False)
    with uncompiled():
        assert paced(anneal, 1000) < 1000


LOOK_FOR_CODE = """
import os, sys
from allocsolve.models.kernels import kernel

@kernel
def half(value):
    return value // 2

print(half.is_cached(), half(8), half.is_cached())
"""


def test_code_in_the_cache_is_found_whatever_the_time_of_its_source(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A fresh checkout or install has new times; loops that are cached must not seem cold."""
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    script = tmp_path / "half.py"
    script.write_text(LOOK_FOR_CODE, encoding="utf-8")
    printed = []
    for text in (LOOK_FOR_CODE, LOOK_FOR_CODE, LOOK_FOR_CODE.replace("// 2", "// 4")):
        script.write_text(text, encoding="utf-8")
        done = subprocess.run(
            [sys.executable, str(script)],
            cwd=tmp_path,
            env=os.environ | {"NUMBA_CACHE_DIR": str(tmp_path / "cache")},
            capture_output=True,
            text=True,
            check=True,
            timeout=120,
        )
        printed.append(done.stdout.split())
        os.utime(script, (2e9, 2e9))
    assert printed[0] == ["False", "4", "True"]
    assert printed[1] == ["True", "4", "True"]
    assert printed[2] == ["False", "2", "True"]


PRINT_ANSWERS = """
import sys
from allocsolve.instances.generators.dag import generate
from allocsolve.models.dag.anneal_chain import Chain, Cooling, sites_of
from allocsolve.models.dag.comm_tables import node_table
from allocsolve.models.dag.graph import CommGraph
from allocsolve.models.dag.list_build import Builder
from allocsolve.models.dag.list_rules import RULES
from allocsolve.models.kernels import uncompiled

graph = CommGraph.of(generate("layered", tasks=14, seed=3, nodes=3))
with uncompiled(when=sys.argv[1] == "plain"):
    builder = Builder(graph)
    for rule in RULES:
        placement = builder.build(rule, inserts=len(rule) % 2 == 0)
        print(rule, placement.start.tolist(), placement.node.tolist())
    table = node_table(graph)
    print(table.head.tolist(), table.tail.tolist())
    chain = Chain(sites_of(graph), builder.build("heft"), 5)
    chain.cool(Cooling(9.0, 0.1, 3000), 0, lambda: False)
    print(chain.value, chain.state.order.tolist(), chain.state.random.tolist())
print("numba" in sys.modules, file=sys.stderr)
"""


def test_compiled_and_plain_loops_give_the_same_bytes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The choice between them depends on time and on the cache, so it must not show."""
    monkeypatch.delenv("NUMBA_DISABLE_JIT", raising=False)
    compiled = "import allocsolve.models.kernels as kernels\nkernels._wants_plain.set(False)\n"
    runs = [
        subprocess.run(
            [sys.executable, "-c", how + PRINT_ANSWERS, word],
            cwd=tmp_path,
            capture_output=True,
            text=True,
            check=True,
            timeout=300,
        )
        for how, word in (("", "plain"), (compiled, "compiled"))
    ]
    assert [run.stderr.strip() for run in runs] == ["False", "True"]
    assert runs[0].stdout == runs[1].stdout


def test_what_is_loaded_for_other_types_is_not_compiled_where_nobody_wants_to_wait() -> None:
    """Arrays that must not be written are another type: a run without time would compile."""
    loaded = _Kernel(_first)
    fixed = np.ones(2)
    fixed.setflags(write=False)
    assert loaded(np.ones(2)) == 1.0
    with uncompiled():
        assert not loaded.runs_plain()
        assert loaded(fixed) == 1.0
        assert len(loaded.compiled().signatures) == 1
    assert loaded(fixed) == 1.0
    assert len(loaded.compiled().signatures) == 2


def _first(values: FloatArray) -> float:
    return float(values[0])
