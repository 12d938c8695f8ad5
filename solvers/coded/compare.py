"""The best answer of every rule of the literature, by exact value."""

from __future__ import annotations

import math
from collections.abc import Sequence

from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.baselines import RULES, Loads, candidates, replicated
from allocsolve.models.coded.law import NoExactLaw
from allocsolve.models.coded.scores import QuickScores, Scores
from allocsolve.solvers.coded.batching import partial_work
from allocsolve.solvers.coded.ground import Ground

__all__ = ["best_of", "best_of_rule", "compare", "names_of", "note_value"]

_CUT = "the time limit cut the search of these rules short, so no value is given: {}"

_FINALISTS = 24
"""Candidates of nearly equal quick scores that are scored exactly."""

_EXACT_WORK = 3e8
"""Steps that exact values of finalists may take together."""

_SINGLE = ("hcmm_ceil", "load_balanced")
"""Rules with one candidate."""

_NEAR = 2e-3
"""Relative difference of quick scores up to which exact values decide."""

_ROUGH = 2e-2
"""The same for rougher scores."""

_LONG = 3e8
"""Steps of quick scores from which on rougher ones come first."""


def names_of(ground: Ground) -> list[str]:
    """Return the rules that an answer is compared with."""
    batches = ground.problem.limits.batches
    if batches == 1:
        return [*(name for name in RULES if name != "bpcc"), "replication"]
    return [*RULES, "partial_work", "replication"]


def compare(ground: Ground, *, offer: bool) -> None:
    """Find the value of every rule, until the run has to end.

    Parameters
    ----------
    offer
        Whether the answers of the rules may become that of the run.
    """
    for name in sorted(names_of(ground), key=lambda name: name not in _SINGLE):
        if ground.values and ground.over():
            break
        if name in ground.values:
            continue
        found = best_of_rule(ground, name)
        note_value(ground, name, found)
        if found is not None and offer and math.isfinite(found[1]):
            ground.control.offer(*found, name)
            ground.starts.append(found)
    if ground.unfinished:
        ground.warnings += (_CUT.format(", ".join(ground.unfinished)),)
    if offer and ground.control.answer is None:
        _offer_anything(ground)


def note_value(ground: Ground, name: str, found: tuple[CodedAnswer, float] | None) -> None:
    """Keep what a rule is worth; of one whose search was cut short that is not known."""
    if ground.cut:
        ground.unfinished.append(name)
    ground.values[name] = None if found is None or ground.cut else found[1]


def best_of_rule(ground: Ground, name: str) -> tuple[CodedAnswer, float] | None:
    """Return the best answer of a rule with its cost, None if it gives none.

    ``ground.cut`` tells whether the run had to end before all of it was looked at.
    """
    ground.cut = False
    if name == "partial_work":
        return partial_work(ground)
    if name == "replication":
        return _best_exactly(ground, list(replicated(ground.problem, ground.domain)))
    batches = ground.problem.limits.batches
    used = 1 if name != "bpcc" else (ground.domain.need if batches == "free" else batches)
    return best_of(ground, candidates(name, ground.problem, ground.domain, used), used)


def best_of(
    ground: Ground, given: Sequence[Loads], batches: int
) -> tuple[CodedAnswer, float] | None:
    """Return the best of some allowed loads with its exact cost."""
    if len(given) <= _FINALISTS:
        return _best_exactly(ground, [ground.answer(loads, batches) for loads in given])
    scores = ground.scores(batches)
    scored = [loads for loads in given if scores.covers(loads)]
    if isinstance(scores, QuickScores) and ground.problem.objective_name == "quantile":
        finalists = _least_quantile(ground, scores, scored)
    else:
        finalists = _nearly_best(ground, scores, scored)
    rest = [loads for loads in given if not scores.covers(loads)][-_FINALISTS:]
    return _best_exactly(ground, [ground.answer(loads, batches) for loads in (*finalists, *rest)])


def _nearly_best(ground: Ground, scores: Scores, given: Sequence[Loads]) -> list[Loads]:
    """Return the loads whose quick scores are about as good as the best one."""
    if not given:
        return []
    middle, places = given[len(given) // 3], list(range(len(given)))
    if scores.work() * len(given) > _LONG:
        scores.focus(middle, coarse=True)
        ranked = _ranked(ground, scores, given, places)
        slack = _ROUGH * abs(ranked[0][0])
        middle = given[ranked[0][1]]
        places = [place for score, place in ranked if score <= ranked[0][0] + slack]
    scores.focus(middle)
    ranked = _ranked(ground, scores, given, places)
    slack = _NEAR * abs(ranked[0][0])
    near = [given[place] for score, place in ranked if score <= ranked[0][0] + slack]
    affordable = int(_EXACT_WORK / ground.exact_work(near[0], scores.batches))
    return near[: min(_FINALISTS, max(1, affordable))]


def _ranked(
    ground: Ground, scores: Scores, given: Sequence[Loads], places: Sequence[int]
) -> list[tuple[float, int]]:
    """Return quick scores with the places of their loads, until the run has to end.

    Far places come soon after each other, so that what was looked at until then says most.
    """
    ranked: list[tuple[float, int]] = []
    stride = max(1, round(len(places) ** 0.5))
    for place in (place for first in range(stride) for place in places[first::stride]):
        if ranked and ground.cuts():
            break
        ranked.append((scores.score(given[place]), place))
    return sorted(ranked)


def _least_quantile(ground: Ground, scores: Scores, given: Sequence[Loads]) -> list[Loads]:
    """Return the loads of least quantile: those that are complete before it replace one."""
    goal = ground.problem.objective
    assert goal.q is not None
    late = 1.0 - float(goal.q)
    best, rest = given[len(given) // 3 : len(given) // 3 + 1], list(given)
    while rest and best and not ground.cuts():
        scores.focus(best[0])
        rest = [loads for loads in rest if scores.score(loads) <= late]
        if rest:
            best = [min(rest, key=scores.score)]
    return list(best)


def _best_exactly(
    ground: Ground, answers: Sequence[CodedAnswer]
) -> tuple[CodedAnswer, float] | None:
    best: tuple[CodedAnswer, float] | None = None
    for k, answer in enumerate(answers):
        if k and ground.cuts():
            break
        try:
            cost = ground.cost(answer)
        except NoExactLaw:
            if answer.code.family != "replication":
                raise
            continue  # nodes that straggle together, on several blocks
        if math.isinf(cost) and ground.problem.objective_name == "cost":
            continue
        if best is None or cost < best[1]:
            best = answer, cost
    return best


def _offer_anything(ground: Ground) -> None:
    """Offer loads that keep the limits, whatever their cost, where no rule gave an answer."""
    domain = ground.domain
    for start in (domain.repaired([0] * len(domain.caps)), domain.cheapest()):
        if start is not None:
            ground.offer(ground.answer(start, 1), "cheapest")
