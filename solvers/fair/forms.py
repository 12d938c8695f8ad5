"""Divisions for the structured methods, made from problems, and the way back.

Jobs that count for nothing and types without stock are left out, and jobs that are alike in
everything become one: by symmetry and concavity they can have equal shares.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.fair.answer import FairAnswer
from allocsolve.models.fair.classes import JobClasses, classes_of
from allocsolve.models.fair.objectives import counted, scale
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.split import equal_split
from allocsolve.solvers.fair.presenting import firm, goal_name, repair, time_prices_of
from allocsolve.solvers.fair.program import Division, Found

__all__ = ["Form", "form_of", "level_form"]

_SAMPLE = 2000
_ALIKE = 0.9
"""Part of different rows in a sample up to which looking for classes is worth it."""


@dataclass(frozen=True, eq=False)
class Form:
    """A division that stands for a problem.

    Attributes
    ----------
    rows, types
        The jobs that count and the types in stock.
    classes
        Which of the rows are alike, None if each stands for itself.
    stretch
        float64 (rows, types), how much time a unit of share in the division is; None for 1.
    """

    problem: FairProblem
    division: Division
    rows: IntArray
    types: IntArray
    classes: JobClasses | None
    stretch: FloatArray | None

    def answer(self, found: Found, worth: float = 1.0) -> FairAnswer:
        """Return what was found as an allocation of the problem.

        Parameters
        ----------
        worth
            What a unit of the division's objective is worth in that of the problem.
        """
        arrays = self.problem.arrays
        n, m = arrays.throughput.shape
        share, each = found.share, found.worth * worth
        if self.classes is not None:
            each = (each / self.classes.count)[self.classes.member]
            share = share[self.classes.member]
        if self.stretch is not None:  # jobs of one class may have gangs of their own
            share = share * self.stretch
        if len(self.rows) == n and len(self.types) == m:
            shares, jobs = share, each
        else:
            shares, jobs = np.zeros((n, m)), np.zeros(n)
            shares[np.ix_(self.rows, self.types)] = share
            jobs[self.rows] = each
        prices = np.zeros(m)
        prices[self.types] = np.maximum(found.prices, 0.0) * worth
        if not arrays.time_cap:
            prices[self.types] /= arrays.capacity[self.types]
        prices = firm(self.problem, prices)
        fixed, _ = repair(arrays, shares)
        times = time_prices_of(arrays, prices, np.maximum(jobs, 0.0))
        return FairAnswer(self.problem, fixed, prices=prices, time_prices=times)


def form_of(problem: FairProblem) -> Form:
    """Return the division of the objective of a problem.

    It must be one of those with gains (Nash welfare with or without floors, alpha-fair), or
    one of :func:`allocsolve.models.fair.objectives.scale`.
    """
    arrays, settings, name = problem.arrays, problem.settings, goal_name(problem)
    if name in ("nash", "nash_sharing_incentive", "alpha_fair"):
        alpha = settings.alpha if name == "alpha_fair" else 1.0
        floor = equal_split(arrays, settings) if name == "nash_sharing_incentive" else None
        return _form(problem, {"gain": arrays.weight, "floor": floor}, alpha)
    return level_form(problem, scale(problem, name, settings))


def level_form(problem: FairProblem, slope: FloatArray) -> Form:
    """Return the division that raises ``min U_i / slope_i``."""
    return _form(problem, {"slope": slope}, 1.0)


def _form(problem: FairProblem, columns: dict[str, FloatArray | None], alpha: float) -> Form:
    arrays = problem.arrays
    rows, types = counted(arrays, goal_name(problem)), np.flatnonzero(arrays.capacity > 0)
    pace = arrays.throughput
    if len(types) < pace.shape[1]:
        pace = pace[:, types]
    if len(rows) < len(pace):
        pace = pace[rows]
    gang, stock = arrays.gang[rows], arrays.capacity[types]
    given = {name: values[rows] for name, values in columns.items() if values is not None}
    stretch = None
    if not problem.time_cap:
        # Parts of the stock take the place of time; so short that their sum never reaches 1.
        parts = 2.0 * len(types)
        stretch = parts * stock / gang[:, None]
        pace, gang, stock = pace * stretch, np.full(len(rows), parts), np.ones(len(types))
    classes = _classes(pace, gang, given)
    if classes is not None:
        pace, gang = pace[classes.first], gang[classes.first] * classes.count
        given = {name: values[classes.first] for name, values in given.items()}
        if "gain" in given:
            given["gain"] = given["gain"] * classes.count
    division = Division(
        np.ascontiguousarray(pace),
        gang,
        stock,
        gain=given.get("gain"),
        alpha=alpha,
        floor=given.get("floor"),
        slope=given.get("slope"),
    )
    return Form(problem, division, rows, types, classes, stretch)


def _classes(pace: FloatArray, gang: FloatArray, given: dict[str, FloatArray]) -> JobClasses | None:
    """Return the classes of equal jobs if there are clearly fewer of them than jobs."""
    n = len(pace)
    if n > _SAMPLE:
        part = np.random.default_rng(0).choice(n, _SAMPLE, replace=False)
        sample = classes_of(pace[part], gang[part], *(each[part] for each in given.values()))
        if len(sample.first) > _ALIKE * _SAMPLE:
            return None
    found = classes_of(pace, gang, *given.values())
    return found if len(found.first) < n else None
