"""Sets of compiled loops of the structured methods; importing this imports no compiler."""

from __future__ import annotations

from allocsolve.models.kernels import KernelSet

__all__ = ["BOX", "INTERIOR"]

INTERIOR = KernelSet(
    name="fair interior point",
    module="allocsolve.solvers.fair.interior",
    entry="run_steps",
    warm="warm",
    compiling=30.0,
    loading=1.5,
)
"""The passes of the interior point method."""

BOX = KernelSet(
    name="fair price box",
    module="allocsolve.solvers.fair.price_box",
    entry="sort_jobs",
    warm="warm",
    compiling=10.0,
    loading=1.0,
)
"""Choices of jobs at prices, and in boxes of prices."""
