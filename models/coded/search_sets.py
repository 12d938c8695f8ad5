"""The sets of compiled loops of searches over loads; importing this imports no compiler."""

from __future__ import annotations

from allocsolve.models.kernels import KernelSet

__all__ = ["LOADS"]

LOADS = KernelSet(
    name="coded loads",
    module="allocsolve.models.coded.load_kernels",
    entry="scan_moves",
    warm="warm",
    compiling=20.0,
    loading=2.0,
)
"""Moves of loads, scored by the dynamic program of the completion law."""
