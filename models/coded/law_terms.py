"""How late each arrival is: the survival functions of all arrivals at once.

Laws that differ only by location and scale share one call: a fleet of a thousand different
shifted exponential nodes is one standard exponential law.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction
from functools import partial
from typing import NamedTuple, Protocol, TypeAlias

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray, integers
from allocsolve.models.coded.arrivals import Arrivals
from allocsolve.models.coded.law_moments import Atoms
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.errors import UsageError
from allocsolve.models.exact import exact
from allocsolve.models.nodes import (
    Bimodal,
    Deterministic,
    Empirical,
    Exponential,
    Gamma,
    Lognormal,
    Mixture,
    Pareto,
    RuntimeLaw,
    ShiftedExponential,
    Weibull,
)

__all__ = ["NoExactLaw", "Terms", "tail_index", "terms_of", "without_sums"]

NUDGE = 4e-15
"""Times are taken this much later, relatively, so that rounding misses no jump of a law."""


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


_Survival: TypeAlias = Callable[[FloatArray], FloatArray]

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
    families
        Survival functions of standard laws, the positions of the arrivals that have each, and
        whether the function jumps.
    location, scale
        float64 (m,), an arrival comes at ``location + scale * (draw of its standard law)``.
    corners
        Where a law jumps or has a kink, float64, rising from 0.
    spread
        A time scale: the longest median of an arrival, counted from its location.
    atoms
        Whether the laws jump at no corner, at some, or do nothing but jump.
    """

    families: tuple[tuple[_Survival, IntArray, bool], ...]
    location: FloatArray
    scale: FloatArray
    corners: FloatArray
    spread: float
    atoms: Atoms

    def late(self, times: FloatArray) -> FloatArray:
        """Return P(arrival > t), float64 (times, m)."""
        found = np.empty((len(times), len(self.location)))
        for survival, mine, jumps in self.families:
            taken = times[:, None] * (1 + NUDGE if jumps else 1)
            standard = (taken - self.location[mine]) / self.scale[mine]
            found[:, mine] = survival(standard)
        return found


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
    location = arrivals.offset + arrivals.scale * np.array([forms[key].location for key in keys])
    scale = arrivals.scale * np.array([forms[key].scale for key in keys])
    grouped = [(law, integers(mine)) for law, mine in members.items()]
    return Terms(
        families=tuple(_families(grouped)),
        location=location,
        scale=scale,
        corners=_corners(grouped, location, scale),
        spread=max((_median(law) * float(scale[mine].max()) for law, mine in grouped), default=0.0),
        atoms=_atoms([law for law, _ in grouped]),
    )


def _atoms(laws: Sequence[_Standard]) -> Atoms:
    if all(isinstance(law, Exponential | Weibull | Pareto | Gamma | Lognormal) for law in laws):
        return "none"
    if all(isinstance(law, Deterministic | Empirical | _Binomial) for law in laws):
        return "all"
    return "some"


def _corners(
    grouped: Sequence[tuple[_Standard, IntArray]], location: FloatArray, scale: FloatArray
) -> FloatArray:
    points = [np.zeros(1)]
    for law, mine in grouped:
        corners = np.array([x for x in law.breakpoints() if math.isfinite(x)])
        points.append((location[mine, None] + scale[mine, None] * corners).ravel())
    found: FloatArray = np.unique(np.concatenate(points))
    return found[found >= 0]


def _median(law: _Standard) -> float:
    return float(law.quantile(np.array([0.5]))[0])


def _families(
    grouped: Sequence[tuple[_Standard, IntArray]],
) -> Iterator[tuple[_Survival, IntArray, bool]]:
    """Join laws of one class that differ in their shape; other laws stay by themselves."""
    shaped: dict[type, list[tuple[float, IntArray]]] = {}
    for law, mine in grouped:
        if isinstance(law, Weibull | Pareto | Gamma):
            shaped.setdefault(type(law), []).append((law.shape, mine))
        elif isinstance(law, _Binomial) and law.trials == 1:
            shaped.setdefault(_Binomial, []).append((law.probability, mine))
        elif isinstance(law, Lognormal):
            shaped.setdefault(Lognormal, []).append((law.log_std, mine))
        else:
            yield law.survival, mine, not isinstance(law, Exponential)
    for kind, members in shaped.items():
        mine = integers(k for _, positions in members for k in positions.tolist())
        shape = np.repeat([value for value, _ in members], [len(p) for _, p in members])
        yield partial(_SHAPED[kind], shape), mine, kind is _Binomial


def _weibull(shape: FloatArray, t: FloatArray) -> FloatArray:
    return np.asarray(np.exp(-(np.maximum(t, 0.0) ** shape)))


def _pareto(shape: FloatArray, t: FloatArray) -> FloatArray:
    return np.asarray(np.maximum(t, 1.0) ** -shape)


def _gamma(shape: FloatArray, t: FloatArray) -> FloatArray:
    from scipy.special import gammaincc

    return np.asarray(gammaincc(shape, np.maximum(t, 0.0)))


def _lognormal(shape: FloatArray, t: FloatArray) -> FloatArray:
    from scipy.special import ndtr

    with np.errstate(divide="ignore"):
        return np.asarray(ndtr(-np.log(np.maximum(t, 0.0)) / shape))


def _two_point(shape: FloatArray, t: FloatArray) -> FloatArray:
    return np.where(t < 0, 1.0, np.where(t < 1, shape, 0.0))


_SHAPED: Mapping[type, Callable[[FloatArray, FloatArray], FloatArray]] = {
    Weibull: _weibull,
    Pareto: _pareto,
    Gamma: _gamma,
    Lognormal: _lognormal,
    _Binomial: _two_point,
}
"""Survival functions of standard laws with an array of shapes; the laws give the same numbers."""


def _standard(law: RuntimeLaw) -> _Form:
    """Split a law into location, scale and what remains."""
    match law:
        case Exponential() | ShiftedExponential():
            return _Form(_EXPONENTIAL, getattr(law, "shift", 0.0), 1.0 / law.rate)
        case Weibull():
            return _Form(Weibull(law.shape, 1.0), law.shift, law.scale)
        case Pareto():
            return _Form(Pareto(law.shape, 1.0), 0.0, law.scale)
        case Lognormal():
            return _Form(Lognormal(0.0, law.log_std), 0.0, math.exp(law.log_mean))
        case Gamma():
            return _Form(Gamma(law.shape, 1.0), 0.0, law.scale)
        case Deterministic():
            return _Form(_CONSTANT, law.value, 1.0)
        case Bimodal():
            return _binomial_sum(law, 1)
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


def without_sums(problem: CodedProblem) -> str | None:
    """Return why sums of draws of some node have no closed form, None if all have one."""
    if problem.scaling != "per_row" or problem.arrays.scenarios is not None:
        return None
    for node, law, alive in zip(
        problem.nodes, problem.arrays.laws, problem.arrays.capacity > 0, strict=True
    ):
        try:
            if alive:
                _sum_of(law, 2, node.id)
        except NoExactLaw:
            return f"sums of draws of law '{law.name}' of node '{node.id}' have no closed form"
    return None


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
