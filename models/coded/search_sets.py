"""The sets of compiled loops of searches over loads; importing this imports no compiler."""

from __future__ import annotations

from allocsolve.models.kernels import KernelSet

__all__ = ["BOUNDS", "LOADS", "PAIRS"]

LOADS = KernelSet(
    name="coded loads",
    module="allocsolve.models.coded.load_kernels",
    entry="scan_moves",
    warm="warm",
    compiling=9.0,
    loading=0.15,
)
"""Moves of loads, scored by the dynamic program of the completion law."""

BOUNDS = KernelSet(
    name="coded bounds",
    module="allocsolve.models.coded.bounds_kernels",
    entry="enumerate_loads",
    warm="warm",
    compiling=7.0,
    loading=0.1,
)
"""Bounds over all loads, and the enumeration of loads under them."""

PAIRS = KernelSet(
    name="coded pairs of loads",
    module="allocsolve.models.coded.pair_kernels",
    entry="scan_pairs",
    warm="warm",
    compiling=12.0,
    loading=0.15,
)
"""The best loads of two nodes at once, for nodes that send one result each."""
