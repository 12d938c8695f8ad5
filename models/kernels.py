"""The one decorator of compiled loops, and when there is time to compile them.

A kernel is a plain function over arrays. It is compiled at its first call and kept in
numba's cache: the folder NUMBA_CACHE_DIR, else ``__pycache__`` beside the sources, else (in a
read-only install) the user's cache folder. Where none can be written it is compiled anew in each
process. With ``NUMBA_DISABLE_JIT=1``, and within :func:`uncompiled`, it runs as plain
Python and gives the same bytes: no fast mathematics, no random numbers but from a generator
state in an array. So where a kernel runs is a question of time only.

Importing a module of kernels does not import numba; the first compiled call does.
The cache sees changes of a kernel's own file only: kernels that call each other across
files go stale together when one of the files is edited (delete ``__pycache__`` then).
"""

from __future__ import annotations

import importlib
import os
import sys
import threading
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import update_wrapper
from types import FunctionType
from typing import Generic, ParamSpec, Protocol, TypeVar, cast

__all__ = [
    "PLAIN_AT_ONCE",
    "KernelSet",
    "cache_folder",
    "inlined",
    "kernel",
    "merged",
    "numeric",
    "paced",
    "runs_plain",
    "uncompiled",
]

PLAIN_AT_ONCE = 0.3
"""Seconds up to which plain Python is done before numba is imported."""

_SLOWDOWN = 200
"""How many times as long as a compiled loop plain Python takes, roughly."""

_WITHOUT_IMPORT = 0.4
"""Share of the seconds of loading that is left where numba has been imported."""

P = ParamSpec("P")
R = TypeVar("R")

_wants_plain: ContextVar[bool | None] = ContextVar("wants_plain", default=None)
"""Whether kernels that are not loaded run as plain Python; None if nobody said anything."""

_creating = threading.RLock()
"""Held while a kernel makes its compiled or plain function."""


@contextmanager
def uncompiled(*, when: bool = True) -> Iterator[None]:
    """Let kernels that are not loaded run as plain Python, in this context and thread only.

    Nothing is compiled: code that is loaded runs for the types that it was compiled for only.

    Parameters
    ----------
    when
        False changes nothing, neither this way nor the other.
    """
    known = _wants_plain.get()
    before = _wants_plain.set(True if when and known is None else known)
    try:
        yield
    finally:
        _wants_plain.reset(before)


def kernel(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function over arrays at its first call; other threads run meanwhile."""
    if _is_plain():
        return function
    return _Kernel(function)


def inlined(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a small function into every kernel that calls it.

    Divisions by zero give infinity or NaN in it, as numbers of numpy do in plain Python.
    """
    if _is_plain():
        return function
    return _Kernel(function, into_callers=True)


def numeric(function: Callable[P, R]) -> Callable[P, R]:
    """Compile a function as :func:`kernel` does, with the divisions of numpy.

    Divisions by zero give infinity or NaN in it and in what is merged into it, as numbers of
    numpy do in plain Python; without a test for each of them, loops run on several at once.
    """
    if _is_plain():
        return function
    return _Kernel(function, numeric=True)


def merged(function: Callable[P, R]) -> Callable[P, R]:
    """Copy a function into every kernel that calls it, before the compiler sees either.

    There is no code of its own to be compiled, which is most of the work where many functions
    are called once or twice. Divisions are those of the kernel.
    """
    if _is_plain():
        return function
    return _Kernel(function, merged=True)


def paced(function: Callable[..., object], budget: int) -> int:
    """Return the budget of a call that is to take about as long as a compiled one."""
    quick = isinstance(function, _Kernel) and not function.runs_plain()
    return budget if quick else max(1, budget // _SLOWDOWN)


def cache_folder(function: Callable[..., object]) -> str | None:
    """Return where numba keeps the code of a kernel, None if nowhere; imports numba."""
    if not isinstance(function, _Kernel):
        return None
    stats = getattr(function.compiled(), "stats", None)
    path: str | None = getattr(stats, "cache_path", None)
    return path


def runs_plain(function: Callable[..., object]) -> bool:
    """Whether a call of a kernel now runs as plain Python."""
    return function.runs_plain() if isinstance(function, _Kernel) else True


def _is_plain() -> bool:
    return os.environ.get("NUMBA_DISABLE_JIT", "0") not in ("", "0")


class _Dispatcher(Protocol):
    """What is asked of a function that numba compiles."""

    signatures: Sequence[tuple[object, ...]]
    _numba_type_: object

    def __call__(self, *arguments: object) -> object:
        """Compile or load the code for these types, and run it."""


class _Kernel(Generic[P, R]):
    """A function that is compiled at its first call, or runs as plain Python.

    Kernels that call each other meet as compiled code, or as plain functions: neither goes
    through here on its way.
    """

    def __init__(
        self,
        function: Callable[P, R],
        *,
        into_callers: bool = False,
        numeric: bool = False,
        merged: bool = False,
    ) -> None:
        update_wrapper(self, function)
        self._into_callers, self._numeric = into_callers, numeric
        # Numba asks these two of whatever another kernel calls.
        self.targetoptions = {"inline": "always"} if merged else {}
        self.py_func = function
        self.function = cast("FunctionType", function)
        self._compiled: _Dispatcher | None = None
        self._twin: Callable[P, R] | None = None

    def __call__(self, *arguments: P.args, **named: P.kwargs) -> R:
        """Run the kernel."""
        if self.runs_plain() or (_wants_plain.get() and not self._has_code(arguments)):
            return self.plain()(*arguments, **named)
        return cast("R", self.compiled()(*arguments, **named))

    @property
    def _numba_type_(self) -> object:
        """What numba sees where another kernel calls this one."""
        return self.compiled()._numba_type_

    def runs_plain(self) -> bool:
        """Whether a call now would run as plain Python."""
        return bool(_wants_plain.get()) and not self.is_loaded()

    def is_loaded(self) -> bool:
        """Whether there is code to run in this process."""
        return self._compiled is not None and bool(self._compiled.signatures)

    def _has_code(self, arguments: Sequence[object]) -> bool:
        """Whether a call of loaded code compiles nothing: numba compiles for each set of types."""
        if self._compiled is None or not self._compiled.signatures:
            return False
        import numba

        type_of = cast("Callable[[object], object]", numba.typeof)
        types = tuple(type_of(value) for value in arguments)
        return any(known[: len(types)] == types for known in self._compiled.signatures)

    def is_cached(self) -> bool:
        """Whether numba's cache holds code of this kernel; imports numba."""
        return _is_cached(self.compiled())

    def compiled(self) -> _Dispatcher:
        """Return the function as numba has it; nothing is compiled yet."""
        with _creating:
            if self._compiled is None:
                self._compiled = _dispatcher(
                    self.function, into_callers=self._into_callers, numeric=self._numeric
                )
        return self._compiled

    def plain(self) -> Callable[P, R]:
        """Return the function with plain functions in place of the kernels that it calls."""
        with _creating:
            if self._twin is None:
                names: dict[str, object] = {}
                own = self.function
                twin = FunctionType(own.__code__, names, own.__name__, own.__defaults__)
                self._twin = cast("Callable[P, R]", twin)
                for name, value in own.__globals__.items():
                    names[name] = value.plain() if isinstance(value, _Kernel) else value
            return self._twin


def _dispatcher(
    function: FunctionType, *, into_callers: bool = False, numeric: bool = False
) -> _Dispatcher:
    import numba

    def compiled(*, cache: bool) -> object:
        if into_callers:
            inline = numba.njit(nogil=True, forceinline=True, error_model="numpy", cache=cache)
            return inline(function)
        if numeric:
            return numba.njit(nogil=True, cache=cache, error_model="numpy")(function)
        return numba.njit(nogil=True, cache=cache)(function)

    try:
        dispatcher = compiled(cache=True)
    except RuntimeError:  # no place for the cache
        dispatcher = compiled(cache=False)
    return cast("_Dispatcher", dispatcher)


class _Entry(Protocol):
    """What a set asks of the kernel that calls all others of it."""

    def is_loaded(self) -> bool:
        """Whether there is code to run in this process."""

    def is_cached(self) -> bool:
        """Whether there is code in the cache."""


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
        the types of real use: whether arrays can be written and how they lie in memory too, or
        the first real call compiles again (a test compares the types).
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
        """Compile or load every kernel; return the seconds that it took.

        Nothing interrupts numba: who may have to stop calls this in a thread of its own.
        """
        began = time.perf_counter()
        before = _wants_plain.set(False)
        try:
            getattr(importlib.import_module(self.module), self.warm)()
        finally:
            _wants_plain.reset(before)
        return time.perf_counter() - began

    def is_loaded(self) -> bool:
        """Whether the kernels were called in this process, or run as plain Python anyway."""
        if self.module not in sys.modules:
            return False
        return _is_plain() or self._entry().is_loaded()

    def is_ready(self) -> bool:
        """Whether the kernels need no compiler: called before, cached, or plain Python."""
        return _is_plain() or self.is_loaded() or self._entry().is_cached()

    def seconds(self) -> float:
        """Return how long making the kernels ready takes now, roughly."""
        if self.is_loaded():
            return 0.0
        return self.load_seconds() if self.is_ready() else self.compiling

    def load_seconds(self) -> float:
        """Return how long loading from the cache takes now; most of it is importing numba."""
        return self.loading * (_WITHOUT_IMPORT if "numba" in sys.modules else 1.0)

    def is_known_as_cached(self) -> bool | None:
        """Whether only loading is missing; None if nobody has imported numba, which would tell."""
        return self.is_ready() if "numba" in sys.modules else None

    def fits(self, seconds: float) -> bool:
        """Whether the kernels can be made ready to run within so many seconds."""
        return seconds >= self.compiling or self.loads_within(seconds)

    def loads_within(self, seconds: float) -> bool:
        """Whether the kernels can be made ready within so many seconds without a compiler."""
        return self.is_loaded() or (seconds >= self.load_seconds() and self.is_ready())

    def _entry(self) -> _Entry:
        return cast("_Entry", getattr(importlib.import_module(self.module), self.entry))


def _is_cached(compiled: object) -> bool:
    """Whether the index of numba's cache lists code of a function as it is now.

    The index knows what numba takes for a change of the source, which differs between its
    versions; there is no public way to ask it. Where it cannot be asked, nothing is cached.
    """
    file = getattr(getattr(compiled, "_cache", None), "_cache_file", None)
    load = getattr(file, "_load_index", None)
    return load is not None and bool(load())
