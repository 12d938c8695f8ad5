"""How nodes straggle and fail over time: slowdowns, failures with repair, loss of a node.

``node.process`` of an instance is a :class:`Process`. Its parts multiply or lengthen the times
that the runtime law of the node gives::

    "process": {"slowdown": {"model": "markov", "to_slow": 0.05, "to_good": 0.25, "factor": 4},
                "failures": {"rate": 0.1, "repair": 0.5, "recovery": "resume"},
                "loss": {"law": "exponential", "rate": 0.001},
                "group": "rack-1"}
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, TypeAlias

import msgspec
import numpy as np

from allocsolve.models.arrays import BoolArray, FloatArray
from allocsolve.models.errors import InputError
from allocsolve.models.exact import Number, exact
from allocsolve.models.laws_base import Law, RuntimeLaw
from allocsolve.models.nodes import law_from

__all__ = [
    "Failures",
    "FailuresRecord",
    "Markov",
    "NodeProcess",
    "PerRound",
    "PerTask",
    "Persistent",
    "Process",
    "Slowdown",
    "SlowdownRecord",
    "UniformSource",
    "process_from",
]

UniformSource: TypeAlias = Callable[[int], FloatArray]
"""Gives the k-th vector of uniform numbers in (0, 1), k = 0, 1, ...; one per replication."""

_MOST_FAILURES = 10_000


class _Record(msgspec.Struct, frozen=True, kw_only=True, forbid_unknown_fields=True):
    """A strict, immutable record."""


class SlowdownRecord(_Record, frozen=True, kw_only=True, omit_defaults=True):
    """Factors of the times of a node.

    Attributes
    ----------
    model
        ``"task"``: a new factor for each task; ``"round"``: one for all tasks of a round;
        ``"persistent"``: one for a whole replication; ``"markov"``: a node that is good or
        slow (Gilbert's on-off model), one step of the chain for each task or round.
    law
        Law of the factor, for all models but ``"markov"``.
    to_slow, to_good
        Probabilities that a good node turns slow, and a slow one good, in one step.
    factor
        Factor of a slow node, at least 1; that of a good node is 1.
    """

    model: Literal["task", "round", "persistent", "markov"] = "task"
    law: Law | None = None
    to_slow: Number | None = None
    to_good: Number | None = None
    factor: Number | None = None


class FailuresRecord(_Record, frozen=True, kw_only=True, omit_defaults=True):
    """Failures of a node while it works.

    Attributes
    ----------
    rate
        Failures per unit of working time, at least 0; the time between is exponential.
    repair
        Repairs per unit of time, above 0; the time of a repair is exponential.
    recovery
        After a repair a task resumes where it stopped, or restarts from its beginning.
    """

    rate: Number
    repair: Number
    recovery: Literal["resume", "restart"] = "resume"


class Process(_Record, frozen=True, kw_only=True, omit_defaults=True):
    """What happens to a node over time; every part may be left out.

    Attributes
    ----------
    slowdown
        Factors of its times.
    failures
        Failures that are repaired.
    loss
        Law of the time after which the node is gone and answers no more.
    group
        Nodes with one label share the draws of slowdown and loss.
    """

    slowdown: SlowdownRecord | None = None
    failures: FailuresRecord | None = None
    loss: Law | None = None
    group: str | None = None


class Slowdown(ABC):
    """Random factors of the times of a node over steps (tasks or rounds)."""

    @abstractmethod
    def factors(self, steps: int, uniform: UniformSource) -> FloatArray:
        """Return the factors of each step, shape (steps, replications).

        Parameters
        ----------
        uniform
            Step ``s`` reads vector ``s``; one factor for all steps reads vector 0.
        """

    @abstractmethod
    def mean(self) -> float:
        """Return the mean factor in the long run."""


@dataclass(frozen=True)
class PerTask(Slowdown):
    """A new factor for each task."""

    law: RuntimeLaw

    def factors(self, steps: int, uniform: UniformSource) -> FloatArray:
        """Return independent factors."""
        return np.stack([self.law.sample(uniform(step)) for step in range(steps)])

    def mean(self) -> float:
        """Return the mean of the law."""
        return self.law.mean()


@dataclass(frozen=True)
class PerRound(PerTask):
    """One factor for all tasks of a round; here a step is a round."""


@dataclass(frozen=True)
class Persistent(Slowdown):
    """One factor for all tasks of a replication."""

    law: RuntimeLaw

    def factors(self, steps: int, uniform: UniformSource) -> FloatArray:
        """Return one row of factors, repeated."""
        drawn = self.law.sample(uniform(0))
        return np.broadcast_to(drawn, (steps, *drawn.shape))

    def mean(self) -> float:
        """Return the mean of the law."""
        return self.law.mean()


@dataclass(frozen=True)
class Markov(Slowdown):
    """A node that is good or slow, a Markov chain of two states (Gilbert, 1960).

    Attributes
    ----------
    to_slow, to_good
        Probabilities in [0, 1] of leaving the good and the slow state, not both 0.
    factor
        Factor of the slow state, at least 1.
    """

    to_slow: float
    to_good: float
    factor: float

    def stationary_slow(self) -> float:
        """Return the share of steps in which the node is slow in the long run."""
        return self.to_slow / (self.to_slow + self.to_good)

    def states(self, steps: int, uniform: UniformSource) -> BoolArray:
        """Return whether the node is slow, shape (steps, replications), begun in equilibrium.

        The node is slow where the uniform number is high, so states rise with the numbers
        where ``to_slow + to_good <= 1``.
        """
        slow = uniform(0) >= 1.0 - self.stationary_slow()
        rows = [slow]
        for step in range(1, steps):
            chance = np.where(slow, 1.0 - self.to_good, self.to_slow)
            slow = uniform(step) >= 1.0 - chance
            rows.append(slow)
        return np.stack(rows[:steps])

    def factors(self, steps: int, uniform: UniformSource) -> FloatArray:
        """Return 1 in good steps and ``factor`` in slow ones."""
        return np.where(self.states(steps, uniform), self.factor, 1.0)

    def mean(self) -> float:
        """Return the mean factor in equilibrium."""
        return 1.0 + self.stationary_slow() * (self.factor - 1.0)


@dataclass(frozen=True)
class Failures:
    """Failures while a node works, each followed by a repair; both times are exponential.

    Attributes
    ----------
    rate
        Failures per unit of working time.
    repair
        Repairs per unit of time.
    resume
        Whether a task goes on where it stopped; otherwise it begins anew.
    """

    rate: float
    repair: float
    resume: bool = True

    def mean(self, work: float) -> float:
        """Return the mean time until ``work`` is done.

        ``work (1 + rate / repair)`` with resumption, and
        ``(1 / rate + 1 / repair) (exp(rate work) - 1)`` with restarts (by the renewal argument;
        Ross, "Introduction to Probability Models", chapter 7).
        """
        if not self.rate:
            return work
        if self.resume:
            return work * (1.0 + self.rate / self.repair)
        try:
            return (1.0 / self.rate + 1.0 / self.repair) * math.expm1(self.rate * work)
        except OverflowError:
            return math.inf

    def times(self, work: FloatArray, uniform: UniformSource) -> FloatArray:
        """Return when each task is done if it starts at 0 on a node that works.

        Failure ``k`` of a task reads vector ``2 k`` for the time before it, and its repair
        vector ``2 k + 1``. A task that has failed 10 000 times never ends (infinity).
        """
        elapsed = np.zeros(np.shape(work))
        left = np.array(work, dtype=np.float64)
        active = np.full(left.shape, self.rate > 0)
        for k in range(_MOST_FAILURES):
            if not active.any():
                return elapsed + left
            alive = -np.log1p(-uniform(2 * k)) / self.rate if self.rate else np.inf
            active &= alive < left
            repaired = alive - np.log1p(-uniform(2 * k + 1)) / self.repair
            elapsed = np.where(active, elapsed + repaired, elapsed)
            if self.resume:
                left = np.where(active, left - alive, left)
        return np.where(active, np.inf, elapsed + left)


@dataclass(frozen=True)
class NodeProcess:
    """The processes of a node, ready to be drawn; None where there is none."""

    slowdown: Slowdown | None = None
    failures: Failures | None = None
    loss: RuntimeLaw | None = None
    group: str | None = None


def process_from(record: Process, *, path: str) -> NodeProcess:
    """Return the processes that a record describes.

    Parameters
    ----------
    path
        Place of the record in its document, for errors.

    Raises
    ------
    InputError
        If a parameter is missing, superfluous or impossible.
    """
    slowdown, failures, loss = record.slowdown, record.failures, record.loss
    return NodeProcess(
        slowdown=None if slowdown is None else _slowdown(slowdown, f"{path}.slowdown"),
        failures=None if failures is None else _failures(failures, f"{path}.failures"),
        loss=None if loss is None else law_from(loss, path=f"{path}.loss"),
        group=record.group,
    )


_MODELS: dict[str, Callable[[RuntimeLaw], Slowdown]] = {
    "task": PerTask,
    "round": PerRound,
    "persistent": Persistent,
}


def _slowdown(record: SlowdownRecord, path: str) -> Slowdown:
    takes = ("to_slow", "to_good", "factor") if record.model == "markov" else ("law",)
    for field in ("law", "to_slow", "to_good", "factor"):
        given = getattr(record, field) is not None
        if given != (field in takes):
            raise InputError(
                f"slowdown '{record.model}' takes {', '.join(takes)}, "
                + (f"not {field}" if given else f"but {field} is missing"),
                allowed=", ".join(takes),
                remedy=f"{'delete' if given else 'add'} {field}",
                path=f"{path}.{field}" if given else path,
            )
    if record.law is not None:
        return _MODELS[record.model](law_from(record.law, path=f"{path}.law"))
    return _markov(record, path)


def _markov(record: SlowdownRecord, path: str) -> Markov:
    to_slow = _number(record.to_slow, "to_slow", path, 0.0, 1.0)
    to_good = _number(record.to_good, "to_good", path, 0.0, 1.0)
    if to_slow + to_good == 0:
        raise InputError(
            "to_slow and to_good are both 0, so the chain never moves and has no equilibrium",
            allowed="at least one of them above 0",
            remedy="use model 'persistent' for a node that stays as it is",
            path=path,
        )
    return Markov(to_slow, to_good, _number(record.factor, "factor", path, 1.0, math.inf))


def _failures(record: FailuresRecord, path: str) -> Failures:
    rate = _number(record.rate, "rate", path, 0.0, math.inf)
    repair = _number(record.repair, "repair", path, 5e-324, math.inf)
    return Failures(rate, repair, record.recovery == "resume")


def _number(value: Number | None, field: str, path: str, low: float, high: float) -> float:
    try:
        number = math.nan if value is None else float(exact(value))
    except ValueError:
        number = math.nan
    if low <= number <= high and math.isfinite(number):
        return number
    least = "greater than 0" if 0 < low < 1 else f"of at least {low:g}"
    allowed = f"a number in 0..{high:g}" if high < math.inf else f"a finite number {least}"
    raise InputError(
        f"{field} is {value}, it must be {allowed}",
        allowed=allowed,
        remedy=f"correct {field}",
        path=f"{path}.{field}",
    )
