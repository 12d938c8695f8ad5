"""Laws made of samples or of other laws: empirical and mixture."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cached_property
from typing import ClassVar

import numpy as np

from allocsolve.models.arrays import BoolArray, FloatArray, IntArray
from allocsolve.models.errors import InputError
from allocsolve.models.exact import exact
from allocsolve.models.laws_base import (
    LAW_CODES,
    Law,
    RuntimeLaw,
    non_negative,
    product,
    total,
    vector,
)

__all__ = ["Empirical", "Mixture"]


@dataclass(frozen=True)
class Empirical(RuntimeLaw):
    """Each of the ``samples`` with the same probability: a trace drawn with replacement."""

    samples: tuple[float, ...]
    name: ClassVar[str] = "empirical"
    fields: ClassVar[tuple[str, ...]] = ("samples",)

    def __post_init__(self) -> None:
        if not self.samples:
            raise InputError(
                "law 'empirical': samples is empty",
                allowed="at least one measured time",
                remedy="add the measured times, or name a file of them",
                path="$.samples",
            )
        array = np.asarray(self.samples, dtype=np.float64)
        for i in np.flatnonzero(~(np.isfinite(array) & (array >= 0)))[:1]:
            non_negative(self.name, f"samples[{i}]", float(array[i]))

    @classmethod
    def of(cls, samples: Sequence[float] | FloatArray) -> Empirical:
        """Return the law of measured times, in any order."""
        return cls(tuple(np.asarray(samples, dtype=np.float64).ravel().tolist()))

    @cached_property
    def _sorted(self) -> FloatArray:
        return vector(np.sort(np.asarray(self.samples, dtype=np.float64)))

    def cdf(self, t: FloatArray) -> FloatArray:
        """Return the share of samples that are at most ``t``."""
        ranks = np.searchsorted(self._sorted, np.asarray(t, dtype=np.float64), side="right")
        return np.asarray(ranks / len(self.samples))

    def survival(self, t: FloatArray) -> FloatArray:
        """Return the share of samples above ``t``."""
        ranks = np.searchsorted(self._sorted, np.asarray(t, dtype=np.float64), side="right")
        return np.asarray((len(self.samples) - ranks) / len(self.samples))

    def quantile(self, p: FloatArray) -> FloatArray:
        """Return the sample of rank ``ceil(n p)``, at least the first."""
        wanted = np.asarray(p, dtype=np.float64)
        inside = (wanted >= 0) & (wanted <= 1)
        ranks = _ranks(np.where(inside, wanted, 0.0), len(self.samples))
        return np.where(inside, self._sorted[ranks], np.nan)

    def mean(self) -> float:
        """Return the mean of the samples."""
        count = len(self.samples)
        mean = total(self.samples) / count
        return mean if math.isfinite(mean) else math.fsum(x / count for x in self.samples)

    def variance(self) -> float:
        """Return the mean squared distance from the mean."""
        middle = self.mean()
        distances = [abs(x - middle) for x in self.samples]
        most = max(distances)
        if most < 1e150:  # the squares are in the range of floats
            return math.fsum(x * x for x in distances) / len(distances)
        return product(math.fsum((x / most) ** 2 for x in distances) / len(distances), most, most)

    def breakpoints(self) -> tuple[float, ...]:
        """Return the different samples, where the cdf jumps."""
        return tuple(np.unique(self._sorted).tolist())

    def kernel_form(self) -> tuple[int, FloatArray]:
        """Return code and ``[n, samples in rising order]``."""
        count = float(len(self.samples))
        return LAW_CODES[self.name], vector(np.concatenate([[count], self._sorted]))

    def to_record(self) -> Law:
        """Return the record of documents."""
        return Law(law=self.name, samples=[exact(x) for x in self.samples])


def _ranks(p: FloatArray, count: int) -> IntArray:
    """Return the least ``k`` from 0 with ``(k + 1) / count >= p`` in floating point."""
    k = np.clip(np.ceil(p * count).astype(np.int64) - 1, 0, count - 1)
    k = np.where((k > 0) & (k / count >= p), k - 1, k)
    return np.where((k + 1) / count < p, np.minimum(k + 1, count - 1), k)


@dataclass(frozen=True)
class Mixture(RuntimeLaw):
    """One of the ``parts``, chosen with probability in proportion to its weight."""

    parts: tuple[RuntimeLaw, ...]
    weights: tuple[float, ...]
    name: ClassVar[str] = "mixture"
    fields: ClassVar[tuple[str, ...]] = ("parts", "weights")

    def __post_init__(self) -> None:
        if not self.parts or len(self.parts) != len(self.weights):
            raise _refused(
                f"{len(self.parts)} parts and {len(self.weights)} weights",
                "at least one part, and one weight for each",
                "parts" if not self.parts else "weights",
            )
        for i, weight in enumerate(self.weights):
            non_negative(self.name, f"weights[{i}]", weight)
        weight = total(self.weights)
        if not 0 < weight < math.inf:
            raise _refused(f"weights sum to {weight:g}", "weights of a positive sum", "weights")

    @cached_property
    def _flat(self) -> tuple[tuple[float, RuntimeLaw], ...]:
        """The parts of positive weight, mixtures among them taken apart; shares sum to 1."""
        whole = total(self.weights)
        found: list[tuple[float, RuntimeLaw]] = []
        for weight, part in zip(self.weights, self.parts, strict=True):
            inner = part._flat if isinstance(part, Mixture) else ((1.0, part),)
            found += [(weight / whole * share, law) for share, law in inner]
        return tuple((share, law) for share, law in found if share > 0)

    @cached_property
    def _cumulated(self) -> FloatArray:
        edges = np.cumsum([share for share, _ in self._flat])
        edges[-1] = 1.0
        return vector(np.minimum(edges, 1.0))

    def cdf(self, t: FloatArray) -> FloatArray:
        """Return the weighted mean of the parts."""
        parts = np.sum([share * law.cdf(t) for share, law in self._flat], axis=0)
        return np.asarray(np.minimum(parts, 1.0))

    def survival(self, t: FloatArray) -> FloatArray:
        """Return the weighted mean of the parts."""
        parts = np.sum([share * law.survival(t) for share, law in self._flat], axis=0)
        return np.asarray(np.minimum(parts, 1.0))

    def quantile(self, p: FloatArray) -> FloatArray:
        """Return the least float at which the cdf reaches ``p``, found by bisection."""
        wanted = np.asarray(p, dtype=np.float64)
        corners = np.array([law.quantile(wanted) for _, law in self._flat])
        return _between(corners, wanted >= 1, lambda t: self.cdf(t) >= wanted)

    def upper_quantile(self, p: FloatArray) -> FloatArray:
        """Return the least float at which the survival falls to ``p``, found by bisection."""
        rest = np.asarray(p, dtype=np.float64)
        corners = np.array([law.upper_quantile(rest) for _, law in self._flat])
        return _between(corners, rest <= 0, lambda t: self.survival(t) <= rest)

    def sample(self, uniform: FloatArray) -> FloatArray:
        """Return draws: the uniform number chooses the part, and what is left of it draws.

        The draws have the law of the mixture, but rise with the uniform number only within
        each part.
        """
        u = np.asarray(uniform, dtype=np.float64)
        edges = np.concatenate([[0.0], self._cumulated])
        chosen = np.minimum(np.searchsorted(self._cumulated, u, side="left"), len(self._flat) - 1)
        rest = (u - edges[chosen]) / (edges[chosen + 1] - edges[chosen])
        draws = np.full(u.shape, np.nan)
        for j, (_, law) in enumerate(self._flat):
            mine = chosen == j
            draws[mine] = law.sample(rest[mine])
        return draws

    def mean(self) -> float:
        """Return the weighted mean of the means, infinite if one of them is."""
        return total(share * law.mean() for share, law in self._flat)

    def variance(self) -> float:
        """Return the weighted mean of the variances, and the variance of the means."""
        middle = self.mean()
        if math.isinf(middle):
            return math.inf
        inner = total(product(share, law.variance()) for share, law in self._flat)
        distances = [(share, abs(law.mean() - middle)) for share, law in self._flat]
        return inner + total(product(share, apart, apart) for share, apart in distances)

    def tail_index(self) -> float:
        """Return the least index of the parts."""
        return min(law.tail_index() for _, law in self._flat)

    def breakpoints(self) -> tuple[float, ...]:
        """Return the breakpoints of all parts."""
        return tuple(sorted({point for _, law in self._flat for point in law.breakpoints()}))

    def kernel_form(self) -> tuple[int, FloatArray]:
        """Return code and the flat table that :data:`LAW_CODES` describes."""
        forms = [law.kernel_form() for _, law in self._flat]
        count = len(forms)
        sizes = [len(numbers) for _, numbers in forms]
        offsets = np.cumsum([1 + 3 * count + 1, *sizes])
        head = [[float(count)], self._cumulated, [float(code) for code, _ in forms], offsets]
        return LAW_CODES[self.name], vector(np.concatenate([*head, *(a for _, a in forms)]))

    def to_record(self) -> Law:
        """Return the record of documents."""
        return Law(
            law=self.name,
            parts=[part.to_record() for part in self.parts],
            weights=[exact(weight) for weight in self.weights],
        )


def _refused(what: str, allowed: str, field: str) -> InputError:
    return InputError(
        f"law 'mixture': {what}", allowed=allowed, remedy=f"correct {field}", path=f"$.{field}"
    )


def _between(
    corners: FloatArray, is_end: BoolArray, reached: Callable[[FloatArray], BoolArray]
) -> FloatArray:
    """Return the least float between the quantiles of the parts that has reached the goal.

    Floats of one sign are ordered as the integers of their bits, so halving the distance
    in bits ends after at most 64 steps, whatever the scale. At the end of the range of times
    rounding would reach the goal too early; there it is the greatest of the quantiles.
    """
    high = np.asarray(corners.max(axis=0))
    unknown = np.isnan(high)
    below = _bits(np.where(unknown, 0.0, corners.min(axis=0)))
    above = _bits(np.where(unknown, 0.0, high))
    above = np.where(reached(below.view(np.float64)), below, above)
    while np.any(above - below > 1):
        middle = below + (above - below) // 2
        is_reached = reached(middle.view(np.float64))
        above = np.where(is_reached, middle, above)
        below = np.where(is_reached, below, middle)
    return np.where(is_end | unknown, high, above.view(np.float64))


def _bits(values: FloatArray) -> IntArray:
    """Return the bits of non-negative floats (and +0 for -0) as integers."""
    return np.asarray(values + 0.0, dtype=np.float64).copy().view(np.int64)
