"""Threads that know what the caller's context says, such as whether kernels run compiled."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor
from contextvars import copy_context
from typing import ParamSpec, TypeVar

__all__ = ["ContextPool"]

P = ParamSpec("P")
R = TypeVar("R")


class ContextPool(ThreadPoolExecutor):
    """A pool whose jobs run in a copy of the context in which they are handed in.

    Threads begin with an empty context, so a plain pool would forget
    :func:`allocsolve.models.kernels.uncompiled` and compile for a minute.
    """

    def submit(self, fn: Callable[P, R], /, *args: P.args, **kwargs: P.kwargs) -> Future[R]:
        """Start a job as soon as a thread is free; `map` hands in its jobs here as well."""
        context = copy_context()
        return super().submit(lambda: context.run(fn, *args, **kwargs))
