"""The set of compiled loops of coded jobs; importing this imports no compiler."""

from __future__ import annotations

from allocsolve.models.kernels import KernelSet

__all__ = ["COMPLETION"]

COMPLETION = KernelSet(
    name="completion law",
    module="allocsolve.models.coded.law_kernels",
    entry="threshold_survival",
    warm="warm",
    compiling=12.0,
    loading=1.5,
)
"""The dynamic program of the exact completion law."""
