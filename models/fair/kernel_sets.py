"""The set of compiled loops of fair division; importing this imports no compiler."""

from __future__ import annotations

from allocsolve.models.kernels import KernelSet

__all__ = ["CERTIFICATES"]

CERTIFICATES = KernelSet(
    name="fair certificates",
    module="allocsolve.models.fair.response_kernels",
    entry="walk",
    warm="warm",
    compiling=4.0,
    loading=1.0,
)
"""What each of many jobs would do at given prices."""
