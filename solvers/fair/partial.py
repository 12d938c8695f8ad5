"""Method ``partial_allocation``: Nash welfare without money, made truthful.

Each job keeps the part of its Nash shares by which its presence shrinks what the others have
(Cole, Gkatzelis, Goel, "Mechanism Design for Fair Division", EC 2013). It takes a Nash
allocation without each job; jobs that are alike need only one.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.fair.answer import FairAnswer
from allocsolve.models.fair.certificates import certified_bound
from allocsolve.models.fair.claims import PROVED
from allocsolve.models.fair.objectives import evaluate, gap
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.result import Termination
from allocsolve.solvers.control import Outcome, Proof, RealControl
from allocsolve.solvers.ending import finished, own_solver
from allocsolve.solvers.fair.compiling import UNCOMPILED, plain_seconds
from allocsolve.solvers.fair.forms import Form, form_of
from allocsolve.solvers.fair.kernel_sets import BOX, INTERIOR
from allocsolve.solvers.fair.price_box import solve_in_box
from allocsolve.solvers.fair.program import Division
from allocsolve.solvers.fair.settings import objective_options, read_words
from allocsolve.solvers.fair.structured import nothing_to_divide, offer_nothing
from allocsolve.solvers.loading import loops

__all__ = ["SETTINGS", "solve"]

SETTINGS: Mapping[str, Sequence[str]] = {}


def solve(problem: FairProblem, control: RealControl[FairAnswer]) -> Outcome:
    """Find the Nash shares and cut them.

    Raises
    ------
    UsageError
        If a setting is unknown.
    """
    read_words("partial_allocation", control.limits.options, SETTINGS)
    info = own_solver(control, objective_options(control.limits.options))
    if nothing_to_divide(problem):
        offer_nothing(problem, control)
        return finished(control, info, Termination.FINISHED)
    control.phase("Nash welfare with all jobs and without each")
    form = form_of(problem.aiming_at("nash", problem.settings))
    plain = plain_seconds(problem, 1 + form.division.size[0], form.division)
    with loops(control, INTERIOR, BOX, plain=plain) as able:
        if not able:
            ended_by = control.stopped() or Termination.TIME_LIMIT
            return finished(control, info, ended_by, warnings=(UNCOMPILED,))
        nash = form.answer(solve_in_box(form.division, stop=control.stopped))
        found = _parts(form, nash, control)
    if found is None:
        return finished(control, info, control.stopped() or Termination.FINISHED)
    parts, merit = found
    answer = FairAnswer(problem, nash.shares * parts[:, None])
    control.offer(answer, -evaluate(answer, "partial_allocation"), "partial_allocation")
    left = max(_gap_of(nash), merit)
    if not left <= PROVED:
        warning = f"the Nash allocations behind the answer are known up to {left:.1e} only"
        return finished(control, info, Termination.FINISHED, warnings=(warning,))
    return Outcome(Proof.OPTIMAL, Termination.FINISHED, info)


def _gap_of(nash: FairAnswer) -> float:
    """Return the certified gap of a Nash allocation."""
    assert nash.prices is not None
    value = evaluate(nash, "nash")
    bound = certified_bound(nash.problem, "nash", nash.prices, nash.time_prices)
    return abs(gap(nash.problem, "nash", value, bound))


def _parts(
    form: Form, nash: FairAnswer, control: RealControl[FairAnswer]
) -> tuple[FloatArray, float] | None:
    """Return the part that each job keeps, float64 (n,), and the worst residual on the way.

    None if the run should end.
    """
    division = form.division
    assert division.gain is not None
    k = division.size[0]
    count = np.ones(k) if form.classes is None else form.classes.count.astype(float)
    first = np.arange(k) if form.classes is None else form.classes.first
    utility, weight = nash.utilities[form.rows[first]], division.gain / count
    together = float(division.gain @ np.log(utility))
    parts, merit = np.ones(k), 0.0
    for i in range(k):
        if control.stopped() is not None:
            return None
        others = together - weight[i] * float(np.log(utility[i]))
        without, residual = _welfare_without(division, i, float(count[i]))
        lost, merit = others - without, max(merit, residual)
        parts[i] = np.exp(min(lost / weight[i], 0.0))
    kept = np.ones(len(nash.shares))
    kept[form.rows] = parts if form.classes is None else parts[form.classes.member]
    return kept, merit


def _welfare_without(division: Division, i: int, count: float) -> tuple[float, float]:
    """Return the Nash welfare with one job of row i less, and the residual that is left."""
    assert division.gain is not None
    left = np.ones(len(division.gang))
    left[i] = (count - 1) / count
    kept = np.flatnonzero(left > 0)
    if not len(kept):
        return 0.0, 0.0
    rest = division.replace(
        pace=division.pace[kept],
        gang=division.gang[kept] * left[kept],
        gain=division.gain[kept] * left[kept],
    )
    found = solve_in_box(rest)
    utility = np.einsum("ij,ij->i", rest.pace, found.share)
    assert rest.gain is not None
    return float(rest.gain @ np.log(utility)), found.merit
