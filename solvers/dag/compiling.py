"""Compiled loops made ready within the limits of a run."""

from __future__ import annotations

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.kernels import KernelSet
from allocsolve.solvers.control import Control

__all__ = ["make_ready"]


def make_ready(control: Control[Schedule], *sets: KernelSet) -> bool:
    """Compile or load kernels; tell whether they can be called now.

    They cannot if the time left is too short for them, or if it was over, or the run was
    cancelled, before they were compiled.
    """

    def is_over() -> bool:
        return control.token.cancelled or control.remaining() <= 0

    return all(kernels.fits(control.remaining()) and kernels.prepare(is_over) for kernels in sets)
