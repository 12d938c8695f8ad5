"""The completion law of an answer: exact mean, quantiles and probabilities without sampling.

``P(T <= t)`` is a weighted Poisson-binomial probability where nodes are independent, or where
nodes of a group draw their times from one uniform number; it comes from a dynamic program. With
scenarios the law is that of the listed joint draws, each as likely as the others.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from functools import cached_property

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.completion import Completion, completion_of
from allocsolve.models.coded.law_exact import Part, parts_of
from allocsolve.models.coded.law_moments import Grid, Moments, moments
from allocsolve.models.coded.law_quantiles import quantiles
from allocsolve.models.coded.law_tails import completion_index
from allocsolve.models.coded.law_terms import NoExactLaw, Terms, terms_of
from allocsolve.models.coded.problem import CodedProblem, Feature
from allocsolve.models.errors import UsageError

__all__ = ["CompletionLaw", "NoExactLaw", "completion_law"]

_MOST_CORNERS = 200_000
"""Points at which laws jump or have a kink; more of them are refused."""


class CompletionLaw(ABC):
    """The law of the time at which a job is complete."""

    @abstractmethod
    def survival(self, times: FloatArray) -> FloatArray:
        """Return ``P(T > t)``, float64 of the shape of ``times``."""

    @abstractmethod
    def quantiles(self, q: Sequence[float]) -> tuple[float, ...]:
        """Return the least t with ``P(T <= t) >= q`` for each q in (0, 1).

        Raises
        ------
        UsageError
            If a q is not within (0, 1).
        """

    @property
    @abstractmethod
    def moments(self) -> Moments:
        """Mean and variance, with a bound of the numerical error of the mean."""

    def quantile(self, q: float) -> float:
        """Return one quantile, see :meth:`quantiles`."""
        return self.quantiles([q])[0]

    @property
    def mean(self) -> float:
        """The mean; ``math.inf`` if and only if it is infinite."""
        return self.moments.mean

    @property
    def mean_error(self) -> float:
        """Bound of the numerical error of the mean."""
        return self.moments.mean_error

    @property
    def std(self) -> float:
        """The standard deviation; ``math.inf`` if it is infinite."""
        return self.moments.std

    def deadline_probability(self, deadline: float) -> float:
        """Return ``P(T <= deadline)``."""
        return float(1.0 - self.survival(np.array([deadline], dtype=np.float64))[0])


class _Exact(CompletionLaw):
    """The law of a job on nodes with runtime laws."""

    def __init__(self, completion: Completion) -> None:
        self._completion = completion
        self._parts: tuple[Part, ...] = parts_of(completion)
        self._terms: Terms = terms_of(completion.problem, completion.arrivals)

    def survival(self, times: FloatArray) -> FloatArray:
        flat = np.ascontiguousarray(times, dtype=np.float64).ravel()
        late = self._terms.late(flat)
        failing = [part.survival(late[:, part.arrivals]) for part in self._parts]
        if len(failing) == 1:
            return failing[0].reshape(np.shape(times))
        with np.errstate(divide="ignore"):
            logs = np.sum([np.log1p(-np.minimum(s, 1.0)) for s in failing], axis=0)
        return np.asarray(-np.expm1(logs)).reshape(np.shape(times))

    @cached_property
    def index(self) -> float:
        """The b of a tail ``t^-b``, infinite if the law falls faster than every power."""
        return completion_index(self._completion)

    @cached_property
    def _grid(self) -> Grid:
        corners = self._terms.corners
        if len(corners) > _MOST_CORNERS:
            raise NoExactLaw(
                f"the laws jump at {len(corners)} times, more than {_MOST_CORNERS}; simulate "
                "the job (Monte Carlo)"
            )
        return Grid.of(self.survival, corners, self._terms.atoms)

    @cached_property
    def moments(self) -> Moments:
        if self.index <= 1:
            return Moments(math.inf, 0.0, math.inf)
        centre = self.quantile(0.5)
        return moments(self.survival, self._grid, self._terms.spread, self.index, centre)

    def quantiles(self, q: Sequence[float]) -> tuple[float, ...]:
        wanted = _probabilities(q)
        if self.index == 0:
            return (math.inf,) * len(wanted)
        found = quantiles(self.survival, self._grid, self._terms.spread, wanted)
        return tuple(found.tolist())


class _Listed(CompletionLaw):
    """The law of a job over listed draws, each as likely as the others."""

    def __init__(self, times: FloatArray) -> None:
        self._sorted = np.sort(times)

    def survival(self, times: FloatArray) -> FloatArray:
        rank = np.searchsorted(self._sorted, np.asarray(times) * (1 + 4e-15), side="right")
        return np.asarray(1.0 - rank / len(self._sorted))

    @cached_property
    def moments(self) -> Moments:
        count, times = len(self._sorted), self._sorted.tolist()
        if math.isinf(times[-1]):
            return Moments(math.inf, 0.0, math.inf)
        mean = math.fsum(times) / count
        variance = math.fsum((t - mean) ** 2 for t in times) / count
        return Moments(mean, 4e-16 * mean, variance)

    def quantiles(self, q: Sequence[float]) -> tuple[float, ...]:
        rank = np.ceil(_probabilities(q) * len(self._sorted) * (1 - 1e-14)).astype(np.int64)
        return tuple(self._sorted[np.maximum(rank, 1) - 1].tolist())


def _probabilities(q: Sequence[float]) -> FloatArray:
    wanted = np.array(q, dtype=np.float64)
    if not ((wanted > 0) & (wanted < 1)).all():
        raise UsageError(f"quantiles lie between 0 and 1, not {list(q)}")
    return wanted


def completion_law(problem: CodedProblem, answer: CodedAnswer) -> CompletionLaw:
    """Return the completion law of an answer that passes the checker.

    Raises
    ------
    NoExactLaw
        If the law has no exact form here; the message says why.
    """
    if Feature.SEQUENTIAL in problem.features:
        raise NoExactLaw(
            "jobs over rounds overlap, and whom a round waits for depends on the others"
        )
    completion = completion_of(problem, answer)
    scenarios = problem.arrays.scenarios
    if scenarios is not None:
        return _Listed(completion.times(completion.arrivals.times(scenarios)))
    return _Exact(completion)
