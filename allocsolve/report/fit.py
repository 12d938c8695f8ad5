"""The document ``allocsolve.fit/1``: runtime laws of measured durations, the best first."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.errors import NoSolution
from allocsolve.models.fitting import Fit, FitTest
from allocsolve.models.nodes import Law, RuntimeLaw, law_from
from allocsolve.report.codec import Record, builtins, decode, encode, finite

__all__ = [
    "FitDocument",
    "FitReport",
    "LawFitEntry",
    "TestEntry",
    "TraceEntry",
    "decode_fit",
    "encode_fit",
    "fit_document",
    "fit_report",
]


@dataclass(frozen=True, eq=False)
class FitReport:
    """Laws fitted to measured durations.

    Attributes
    ----------
    fits
        The best first, by the Bayesian information criterion.
    source, column
        Where the durations came from; None if not from a file, or without a name.
    samples
        The durations; None if the report was read from a document.
    count, censored
        How many durations there are, and how many of them were cut off.
    least, greatest, mean, std
        Statistics of the durations as they were measured; ``std`` with n - 1, 0 for one.
    """

    fits: tuple[Fit, ...]
    count: int
    censored: int
    least: float
    greatest: float
    mean: float
    std: float
    source: str | None = None
    column: str | None = None
    samples: FloatArray | None = None

    @classmethod
    def of(
        cls,
        fits: Sequence[Fit],
        samples: FloatArray,
        source: str | None = None,
        column: str | None = None,
    ) -> FitReport:
        """Return the report of fits to durations."""
        exponent = int(np.frexp(samples.max())[1])
        scaled = np.ldexp(samples, -exponent)  # sums and squares stay in the range of floats
        spread = np.std(scaled, ddof=1) if len(samples) > 1 else 0.0
        return cls(
            fits=tuple(fits),
            count=len(samples),
            censored=fits[0].censored if fits else 0,
            least=float(samples.min()),
            greatest=float(samples.max()),
            mean=float(np.ldexp(np.mean(scaled), exponent)),
            std=float(np.ldexp(spread, exponent)),
            source=source,
            column=column,
            samples=samples,
        )

    @property
    def best(self) -> Fit:
        """The first fit.

        Raises
        ------
        NoSolution
            If no law was fitted.
        """
        if not self.fits:
            raise NoSolution("no law was fitted")
        return self.fits[0]

    @property
    def law(self) -> RuntimeLaw:
        """The law of the first fit."""
        return self.best.law

    def __iter__(self) -> Iterator[Fit]:
        return iter(self.fits)

    def __len__(self) -> int:
        return len(self.fits)


class TestEntry(Record, frozen=True, kw_only=True):
    """A test of fit; ``p_value`` null: it was not computed."""

    __test__ = False

    statistic: float
    p_value: float | None


class LawFitEntry(Record, frozen=True, kw_only=True):
    """A fitted law.

    Laws made of atoms have no density: their likelihood is null and they are ranked last,
    with ``meets_every_duration`` true they are ranked first.
    """

    law: Law
    option: str | None
    parameters: int
    mean: float | None
    log_likelihood: float | None
    meets_every_duration: bool | None = None
    aic: float | None
    bic: float | None
    kolmogorov_smirnov: TestEntry | None
    anderson_darling: TestEntry | None


class TraceEntry(Record, frozen=True, kw_only=True):
    """The durations that the laws were fitted to."""

    source: str | None = None
    column: str | None = None
    count: int
    censored: int = 0
    least: float
    greatest: float
    mean: float
    std: float


class FitDocument(Record, frozen=True, kw_only=True):
    """Laws fitted to durations, the best first."""

    schema: Literal["allocsolve.fit/1"] = "allocsolve.fit/1"
    trace: TraceEntry
    fits: list[LawFitEntry]


def fit_document(report: FitReport) -> FitDocument:
    """Return the document of a report; the durations themselves are not part of it."""
    return FitDocument(
        trace=TraceEntry(
            source=report.source,
            column=report.column,
            count=report.count,
            censored=report.censored,
            least=report.least,
            greatest=report.greatest,
            mean=report.mean,
            std=report.std,
        ),
        fits=[_entry(fit) for fit in report.fits],
    )


def _entry(fit: Fit) -> LawFitEntry:
    has_density = math.isfinite(fit.log_likelihood)
    return LawFitEntry(
        law=fit.law.to_record(),
        option=_option(fit.law),
        parameters=fit.parameters,
        mean=finite(fit.law.mean()),
        log_likelihood=finite(fit.log_likelihood),
        meets_every_duration=None if has_density else fit.log_likelihood > 0,
        aic=finite(fit.aic),
        bic=finite(fit.bic),
        kolmogorov_smirnov=_test_entry(fit.kolmogorov_smirnov),
        anderson_darling=_test_entry(fit.anderson_darling),
    )


def _option(law: RuntimeLaw) -> str | None:
    """Return the law as ``--law`` takes it, None if it cannot be written so."""
    if not all(isinstance(getattr(law, field), float | int) for field in law.fields):
        return None
    pairs = (f"{field}={float(getattr(law, field))!r}" for field in law.fields)
    return f"{law.name}:{','.join(pairs)}"


def _test_entry(test: FitTest | None) -> TestEntry | None:
    return None if test is None else TestEntry(statistic=test.statistic, p_value=test.p_value)


def fit_report(document: FitDocument) -> FitReport:
    """Return the report that a document describes, without the durations.

    Raises
    ------
    InputError
        If a law is unknown or a parameter impossible.
    """
    trace = document.trace
    return FitReport(
        fits=tuple(_fit(entry, f"$.fits[{i}]", trace) for i, entry in enumerate(document.fits)),
        count=trace.count,
        censored=trace.censored,
        least=trace.least,
        greatest=trace.greatest,
        mean=trace.mean,
        std=trace.std,
        source=trace.source,
        column=trace.column,
    )


def _fit(entry: LawFitEntry, path: str, trace: TraceEntry) -> Fit:
    likelihood = entry.log_likelihood
    if likelihood is None:
        likelihood = math.inf if entry.meets_every_duration else -math.inf
    return Fit(
        law=law_from(entry.law, path=f"{path}.law"),
        parameters=entry.parameters,
        count=trace.count,
        censored=trace.censored,
        log_likelihood=likelihood,
        kolmogorov_smirnov=_test(entry.kolmogorov_smirnov),
        anderson_darling=_test(entry.anderson_darling),
    )


def _test(entry: TestEntry | None) -> FitTest | None:
    return None if entry is None else FitTest(entry.statistic, entry.p_value)


def encode_fit(document: FitDocument) -> bytes:
    """Return a fit document as strict JSON."""
    return encode(builtins(document))


def decode_fit(data: bytes) -> FitDocument:
    """Read a fit document.

    Raises
    ------
    InputError
        With the place in the text or the JSON path.
    """
    return decode(data, FitDocument)
