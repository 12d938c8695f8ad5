"""Runtime laws from measured durations."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import BinaryIO, TypeAlias, cast

import numpy as np

from allocsolve.instances.traces import read_trace
from allocsolve.models.arguments import refused
from allocsolve.models.arrays import FloatArray
from allocsolve.models.errors import InputError, UsageError
from allocsolve.models.fitting import fit as fit_laws
from allocsolve.models.laws_base import vector
from allocsolve.report.fit import FitReport

__all__ = ["Durations", "fit"]

Source: TypeAlias = str | os.PathLike[str] | BinaryIO
Durations: TypeAlias = Source | Sequence[float] | FloatArray
"""A trace file (``"-"`` is standard input), or the durations themselves."""


def fit(  # one keyword for each option of the command line
    durations: Durations,
    families: Sequence[str] | None = None,
    *,
    column: str | None = None,
    where: Mapping[str, str] | None = None,
    censored: Sequence[bool] | None = None,
    seed: int = 0,
    resamples: int = 199,
) -> FitReport:
    """Fit runtime laws to measured durations, the best first.

    Parameters
    ----------
    durations
        A CSV or Parquet file, or the durations.
    families
        Names of laws; None for all that can be fitted.
    column
        Column of the durations of a file; ``"end - start"`` takes the difference of two.
    where
        Only rows of a file with these texts in these columns count.
    censored
        For each duration whether it was cut off, so that the true one is longer.
    seed, resamples
        Of the bootstrap that gives the p-values; no resamples give none.

    Returns
    -------
    FitReport
        Iterating over it gives the fits; ``report.law`` is the best law.

    Raises
    ------
    InputError
        If a cell is empty, negative or no number, or a family cannot be fitted; it names the
        place.
    UsageError
        If a family or a column is unknown, or an argument is out of range.
    SolverMissing
        If the file is Parquet and pyarrow is not installed.
    """
    source: str | None = None
    name = column
    if isinstance(durations, str | os.PathLike) or hasattr(durations, "read"):
        trace = read_trace(cast("Source", durations), column=column, where=where)
        samples, source, name = trace.samples, trace.label, trace.column
    elif column is not None or where:
        raise UsageError("column and where choose from a file, not from durations")
    else:
        samples = _numbers(durations)
    try:
        fits = fit_laws(samples, families, seed, censored=censored, resamples=resamples)
    except InputError as error:
        raise (error if source is None else error.located(source)) from None
    return FitReport.of(fits, samples, source, name)


def _numbers(durations: Durations) -> FloatArray:
    try:
        return vector(np.asarray(durations, dtype=np.float64).ravel())
    except (TypeError, ValueError):
        raise refused("durations", durations, "a file, or finite numbers of at least 0") from None
