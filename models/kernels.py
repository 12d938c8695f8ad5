"""The one decorator of compiled loops, and when there is time to compile them.

A kernel is a plain function over arrays. It is compiled at its first call and kept in
numba's cache; where the cache cannot be written (read-only installs) it is compiled anew
in each process. With ``NUMBA_DISABLE_JIT=1`` it runs as plain Python and gives the same
bytes: no fast mathematics, no random numbers but from a generator state in an array.

Importing a module of kernels imports numba, so such modules are themselves imported late.
The cache sees changes of a kernel's own file only: kernels that call each other across
files go stale together when one of the files is edited (delete ``__pycache__`` then).
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from types import FunctionType
from typing import ParamSpec, Protocol, TypeVar, cast

__all__ = ["KernelSet", "kernel"]

_STEP = 0.05
"""Seconds between two looks at whether the run should go on."""

P = ParamSpec("P")
R = TypeVar("R")


def _is_plain() -> bool:
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function over arrays at its first call; other threads run meanwhile."""
    if _is_plain():
        return function
    import numba

    try:
        compiled = numba.njit(cache=True, nogil=True)(function)
    except RuntimeError:  # no place for the cache
        compiled = numba.njit(nogil=True)(function)
    return cast("Callable[P, R]", compiled)


class _Stats(Protocol):
    """What numba tells of the cache of a kernel."""

    cache_path: str | None


class _Dispatcher(Protocol):
    """What is asked of a kernel that numba compiles."""

    signatures: Sequence[object]
    stats: _Stats
    py_func: FunctionType


@dataclass(frozen=True)
class KernelSet:
    """Kernels that are compiled together.

    Attributes
    ----------
    name
        What they do, for a person.
    module, entry
        The module that holds them and the name of the kernel that calls all others.
    warm
        Name of a function of ``module`` without arguments that calls every kernel once, with
        the types of real use.
    compiling, loading
        Seconds that compiling, and importing numba and loading from the cache, took when
        they were measured on a slow core.
    """

    name: str
    module: str
    entry: str
    warm: str
    compiling: float
    loading: float

    def build(self) -> float:
        """Compile or load every kernel; return the seconds that it took."""
        began = time.perf_counter()
        getattr(importlib.import_module(self.module), self.warm)()
        return time.perf_counter() - began

    def is_loaded(self) -> bool:
        """Whether the kernels were called in this process, or run as plain Python."""
        if self.module not in sys.modules:
            return False
        return _is_plain() or bool(self._entry().signatures)

    def is_ready(self) -> bool:
        """Whether the kernels need no compiler: called before, cached, or plain Python."""
        if _is_plain() or self.is_loaded():
            return True
        entry = self._entry()
        return _is_cached(entry.py_func, entry.stats.cache_path)

    def prepare(self, stop: Callable[[], bool]) -> bool:
        """Make the kernels ready to run; tell whether they are.

        What needs the compiler is built in a thread of its own, since numba cannot be
        interrupted: if the run stops meanwhile, that thread goes on without it.

        Parameters
        ----------
        stop
            Asked every twentieth of a second.
        """
        if self.is_ready():
            return True
        job = _Compilation(self)
        thread = threading.Thread(target=job.work, name=f"compile {self.name}", daemon=True)
        thread.start()
        return job.wait(stop)

    def fits(self, seconds: float) -> bool:
        """Whether the kernels can be made ready to run within so many seconds."""
        if seconds >= self.compiling or self.is_loaded():
            return True
        return seconds >= self.loading and self.is_ready()

    def _entry(self) -> _Dispatcher:
        return cast("_Dispatcher", getattr(importlib.import_module(self.module), self.entry))


class _Compilation:
    """Building a set of kernels in a thread."""

    def __init__(self, kernels: KernelSet) -> None:
        self._kernels = kernels
        self._done = threading.Event()
        self._error: BaseException | None = None

    def work(self) -> None:
        """Build the kernels and keep what goes wrong for the thread that waits."""
        try:
            self._kernels.build()
        except BaseException as error:  # raised again where the kernels are wanted
            self._error = error
        finally:
            self._done.set()

    def wait(self, stop: Callable[[], bool]) -> bool:
        """Wait for the end; False if the run stopped before it."""
        while not self._done.wait(_STEP):
            if stop():
                return False
        if self._error is not None:
            raise self._error
        return True


def _is_cached(function: FunctionType, folder: str | None) -> bool:
    """Whether the cache holds an index of the function that is younger than its source.

    Another version of numba may still refuse the cached code; then it is compiled again.
    """
    if folder is None:
        return False
    source = Path(function.__code__.co_filename)
    stem = f"{source.stem}.{function.__qualname__}-{function.__code__.co_firstlineno}."
    written = source.stat().st_mtime
    found = Path(folder).glob(f"{stem}*.nbi") if Path(folder).is_dir() else ()
    return any(index.stat().st_mtime >= written for index in found)
