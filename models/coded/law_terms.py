"""How late each arrival is: the survival functions of all arrivals at once.

Laws that differ only by location and scale share one call: a fleet of a thousand different
shifted exponential nodes is one standard exponential law.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from fractions import Fraction
from typing import NamedTuple, Protocol

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray, integers
from allocsolve.models.coded.arrivals import Arrivals
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.errors import UsageError
from allocsolve.models.exact import exact
from allocsolve.models.nodes import (
    Bimodal,
    Deterministic,
    Exponential,
    Gamma,
    Mixture,
    Pareto,
    RuntimeLaw,
    ShiftedExponential,
    Weibull,
)

__all__ = ["NoExactLaw", "Terms", "tail_index", "terms_of"]

NUDGE = 4e-15
"""Times are taken this much later, relatively, so that rounding does not miss a jump."""


class NoExactLaw(UsageError):
    """The completion law of an answer has no exact form here: simulate it instead."""


class _Standard(Protocol):
    """What is asked of a law after location and scale."""

    def survival(self, t: FloatArray) -> FloatArray: ...
    def quantile(self, p: FloatArray) -> FloatArray: ...
    def breakpoints(self) -> tuple[float, ...]: ...
    def __hash__(self) -> int: ...


@dataclass(frozen=True)
class _Binomial:
    """The number of successes of independent trials."""

    trials: int
    probability: float

    def survival(self, t: FloatArray) -> FloatArray:
        """Return ``P(K > t)``."""
        from scipy.special import bdtrc

        whole = np.clip(np.floor(t), -1, self.trials)
        tail = bdtrc(np.clip(whole, 0, self.trials), self.trials, self.probability)
        return np.where(whole < 0, 1.0, np.where(whole >= self.trials, 0.0, tail))

    def quantile(self, p: FloatArray) -> FloatArray:
        """Return the least count that reaches a probability."""
        cumulated = 1.0 - self.survival(np.arange(self.trials + 1.0))
        return np.searchsorted(cumulated, p).astype(np.float64)

    def breakpoints(self) -> tuple[float, ...]:
        """Return every count."""
        return tuple(float(k) for k in range(self.trials + 1))


_EXPONENTIAL = Exponential(1.0)
_CONSTANT = Deterministic(0.0)


class _Form(NamedTuple):
    """A law as ``location + scale * standard``."""

    standard: _Standard
    location: float
    scale: float


@dataclass(frozen=True, eq=False)
class Terms:
    """The laws of all arrivals, m of them.

    Attributes
    ----------
    laws, members
        Different standard laws, and the positions of the arrivals that have each.
    location, scale
        float64 (m,), an arrival comes at ``location + scale * (draw of its standard law)``.
    """

    laws: tuple[_Standard, ...]
    members: tuple[IntArray, ...]
    location: FloatArray
    scale: FloatArray

    def late(self, times: FloatArray) -> FloatArray:
        """Return P(arrival > t), float64 (times, m)."""
        found = np.empty((len(times), len(self.location)))
        nudged = times[:, None] * (1 + NUDGE)
        for law, mine in zip(self.laws, self.members, strict=True):
            standard = (nudged - self.location[mine]) / self.scale[mine]
            found[:, mine] = law.survival(standard)
        return found

    def breakpoints(self) -> FloatArray:
        """Return, rising, where a law of an arrival jumps or has a kink."""
        points = [np.zeros(1)]
        for law, mine in zip(self.laws, self.members, strict=True):
            corners = np.array([x for x in law.breakpoints() if math.isfinite(x)])
            points.append((self.location[mine, None] + self.scale[mine, None] * corners).ravel())
        found = np.unique(np.concatenate(points))
        return found[found >= 0]

    def spread(self) -> float:
        """Return a time scale: the longest median of an arrival, counted from its location."""
        longest = 0.0
        for law, mine in zip(self.laws, self.members, strict=True):
            median = float(law.quantile(np.array([0.5]))[0])
            longest = max(longest, median * float(self.scale[mine].max()))
        return longest


def terms_of(problem: CodedProblem, arrivals: Arrivals) -> Terms:
    """Return the laws of the arrivals.

    Raises
    ------
    NoExactLaw
        If sums of independent draws of a law have no closed form.
    """
    forms: dict[tuple[int, int], _Form] = {}
    keys = list(zip(arrivals.node.tolist(), arrivals.draws.tolist(), strict=True))
    for node, draws in keys:
        if (node, draws) not in forms:
            law = problem.arrays.laws[node]
            forms[node, draws] = (
                _standard(law) if draws == 1 else _sum_of(law, draws, problem.nodes[node].id)
            )
    members: dict[_Standard, list[int]] = {}
    for position, key in enumerate(keys):
        members.setdefault(forms[key].standard, []).append(position)
    location = np.array([forms[key].location for key in keys])
    scale = np.array([forms[key].scale for key in keys])
    return Terms(
        tuple(members),
        tuple(integers(positions) for positions in members.values()),
        arrivals.offset + arrivals.scale * location,
        arrivals.scale * scale,
    )


def _standard(law: RuntimeLaw) -> _Form:
    """Split a law into location, scale and what remains."""
    match law:
        case Exponential():
            return _Form(_EXPONENTIAL, 0.0, 1.0 / law.rate)
        case ShiftedExponential():
            return _Form(_EXPONENTIAL, law.shift, 1.0 / law.rate)
        case Weibull():
            return _Form(Weibull(law.shape, 1.0), law.shift, law.scale)
        case Pareto():
            return _Form(Pareto(law.shape, 1.0), 0.0, law.scale)
        case Gamma():
            return _Form(Gamma(law.shape, 1.0), 0.0, law.scale)
        case Deterministic():
            return _Form(_CONSTANT, law.value, 1.0)
        case _:
            return _Form(law, 0.0, 1.0)


def _sum_of(law: RuntimeLaw, draws: int, node: str) -> _Form:
    """Return the law of a sum of independent draws.

    Raises
    ------
    NoExactLaw
        If it has no closed form.
    """
    match law:
        case Exponential():
            return _Form(Gamma(float(draws), 1.0), 0.0, 1.0 / law.rate)
        case ShiftedExponential():
            return _Form(Gamma(float(draws), 1.0), draws * law.shift, 1.0 / law.rate)
        case Gamma():
            return _Form(Gamma(draws * law.shape, 1.0), 0.0, law.scale)
        case Deterministic():
            return _Form(_CONSTANT, draws * law.value, 1.0)
        case Bimodal():
            return _binomial_sum(law, draws)
        case _:
            raise NoExactLaw(
                f"node '{node}': a sum of {draws} independent draws of law '{law.name}' has no "
                "closed form, so the completion time has no exact law in scaling 'per_row'; "
                "simulate it (Monte Carlo), or use exponential, gamma, bimodal or constant times"
            )


def _binomial_sum(law: Bimodal, draws: int) -> _Form:
    """Count how many of the draws are the higher of the two times."""
    other = law.base * law.slowdown
    low, high = min(law.base, other), max(law.base, other)
    share = law.probability if other >= law.base else 1.0 - law.probability
    if low == high:
        return _Form(_CONSTANT, draws * low, 1.0)
    return _Form(_Binomial(draws, share), draws * low, high - low)


def tail_index(law: RuntimeLaw) -> Fraction | None:
    """Return a with ``P(X > t) ~ t^-a`` up to a factor, None if all moments are finite."""
    if isinstance(law, Pareto):
        return exact(law.shape)
    if isinstance(law, Mixture):
        parts = zip(law.weights, law.parts, strict=True)
        found = [tail_index(part) for weight, part in parts if weight > 0]
        return min((index for index in found if index is not None), default=None)
    return None
