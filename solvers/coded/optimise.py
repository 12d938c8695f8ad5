"""Method ``optimise``: the best rule, made better by local search, with a bound.

The rules of the literature come first, so that no answer is worse than any of them; then
loads move in steps that are halved, scored by compiled loops and decided on exact values.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import replace

from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.baselines import Loads, batch_numbers, candidates
from allocsolve.models.coded.data import Scenarios
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.value import objective_value
from allocsolve.models.result import SolverInfo
from allocsolve.solvers.coded.batching import refine_batches
from allocsolve.solvers.coded.bounding import bound_cost
from allocsolve.solvers.coded.compare import best_of, compare
from allocsolve.solvers.coded.enumeration import enumerate_all, enumerate_small, is_small
from allocsolve.solvers.coded.ground import Ground, read_numbers, ready_loops
from allocsolve.solvers.coded.lateness import out_of_reach, told_proof
from allocsolve.solvers.coded.search import Search
from allocsolve.solvers.control import Outcome, RealControl
from allocsolve.solvers.ending import finished, infeasible, own_solver

__all__ = ["solve"]

_FEWEST_DRAWS = 20

_EFFORT = {"effort": (10, 1, 10_000)}
_WORK = 1e8
"""Steps of compiled loops for each unit of effort."""

_MEDIUM = 2000
"""Nodes times rows of a job of medium size."""

_PLAIN = 100
"""How many times as long plain Python takes, roughly."""

_ROUNDS = 3
"""Turns of trying other numbers of batches and searching loads for the one that is better."""

_STARTS = 4
"""Rules from whose loads descents start."""

_DESCENTS = 0.5
"""Share of the time left that the first descents may take."""

_COARSE = 16
"""Batches that scores count at most; an answer may have more."""


def solve(problem: CodedProblem, control: RealControl[CodedAnswer]) -> Outcome:
    """Assign whole loads of a matrix product.

    Settings: ``effort`` (10), the length of the search where no limit ends it.
    """
    settings = read_numbers("optimise", control.limits.options, _EFFORT)
    ground, solver = Ground(problem, control), own_solver(control, dict(settings))
    with ready_loops(ground):
        budget = settings["effort"] * _WORK * _growth(ground) / (1 if ground.compiled else _PLAIN)
        compare(ground, offer=True)
        late = out_of_reach(ground)
        if late is not None:
            return infeasible(solver, late)
        if ground.hurried:
            return _outcome(ground, solver, ())
        _improve_loads(ground, budget, lambda: _prove(ground, budget))
        if ground.nothing_is_good:
            return infeasible(solver, told_proof(ground, solver.name, enumerate_small))
        notes = _fresh_value(ground, budget)
    return _outcome(ground, solver, notes)


def _prove(ground: Ground, budget: float) -> None:
    """Raise the bound; prove small jobs, which then need no more search."""
    bound_cost(ground)
    if is_small(ground) and not ground.over() and enumerate_all(ground, budget):
        ground.nothing_is_good = ground.control.answer is None


def _growth(ground: Ground) -> float:
    """Return how much longer a large job is searched."""
    return max(1.0, math.sqrt(len(ground.domain.caps) * ground.domain.need / _MEDIUM))


def _outcome(ground: Ground, solver: SolverInfo, notes: tuple[str, ...]) -> Outcome:
    """Return the outcome of a run with the values of the rules."""
    return finished(
        ground.control,
        solver,
        ground.ended(),
        deterministic=ground.compiled,
        warnings=(*notes, *ground.warnings),
        baselines=ground.named_values(),
    )


def _fresh_value(ground: Ground, budget: float) -> tuple[str, ...]:
    """Say what loads that were found on half of the draws are worth on the other half."""
    problem = ground.problem
    scenarios = problem.scenarios
    if scenarios is None or scenarios.samples is None or ground.over():
        return ()
    half = len(scenarios.samples) // 2
    if half < _FEWEST_DRAWS:
        return ()
    seen, unseen = (
        problem.replace(scenarios=Scenarios(samples=part))
        for part in (scenarios.samples[:half], scenarios.samples[half:])
    )
    limits = replace(ground.control.limits, gap=0.0)
    trial = Ground(seen, RealControl[CodedAnswer](limits, ground.control.token))
    compare(trial, offer=True)
    _improve_loads(trial, budget / 4, lambda: None)
    answer = trial.control.answer
    if answer is None:
        return ()
    before, after = objective_value(seen, answer), objective_value(unseen, answer)
    return (
        f"loads found on the first {half} draws have {problem.objective_name} {before:.6g} on "
        f"them and {after:.6g} on the other {len(scenarios.samples) - half}",
    )


def _improve_loads(ground: Ground, budget: float, between: Callable[[], None]) -> None:
    """Search around the best loads.

    Parameters
    ----------
    between
        Called once the first descents have ended.
    """
    if ground.is_whole:
        _improve_whole(ground, budget, between)
    else:
        between()
        _improve_batches(ground, budget)


def _improve_whole(ground: Ground, budget: float, between: Callable[[], None]) -> None:
    """Search around the loads of several rules, of which each node sends one result."""
    search = Search(ground, ground.scores(1), budget)
    ends: list[tuple[Loads, float, int]] = []
    with ground.part_of_time(_DESCENTS):
        for loads, cost in _whole_starts(ground):
            if ground.over() or (ends and search.is_long()):
                break
            if search.scores.covers(loads):
                ends.append((*search.improve(loads, cost, 1), 1))
    between()
    if ends and not ground.nothing_is_good:
        search.wander(*min(ends, key=lambda end: end[1]))


def _whole_starts(ground: Ground) -> list[tuple[Loads, float]]:
    """Return the best loads of rules, and others if there are none; the best come first."""
    found = {
        tuple(int(load) for load in answer.loads): cost
        for answer, cost in ground.starts
        if answer.code.family != "replication"
    }
    if not found:
        domain = ground.domain
        others = (domain.repaired([int(cap) for cap in domain.caps]), domain.cheapest())
        given = {loads for loads in others if loads is not None}
        found = {loads: ground.offer(ground.answer(loads, 1), "rule") for loads in given}
    return sorted(found.items(), key=lambda pair: pair[1])[:_STARTS]


def _improve_batches(ground: Ground, budget: float) -> None:
    """Search for every number of batches that may be worth it."""
    numbers = batch_numbers(ground.problem, ground.domain.need)
    starts = [found for b in numbers if (found := _start(ground, b)) is not None]
    starts.sort(key=lambda start: start[1])
    kept = starts[:3]
    for number, (loads, cost, batches) in enumerate(kept):
        share = budget / 2 if number == 0 else budget / (2 * len(kept))
        _search(ground, loads, cost, batches, share)
        if ground.over():
            return
    for _ in range(_ROUNDS):
        if not refine_batches(ground):
            return
        _search_again(ground, budget / 8)


def _search_again(ground: Ground, budget: float) -> None:
    """Search around the best loads in the number of batches that they have now."""
    answer, cost = ground.control.answer, ground.control.value
    if answer is None or cost is None or answer.batches is None or ground.over():
        return
    loads = tuple(int(load) for load in answer.loads)
    _search(ground, loads, cost, answer.batches, budget)


def _search(ground: Ground, loads: Loads, cost: float, batches: int, budget: float) -> None:
    search = Search(ground, ground.scores(min(batches, _COARSE)), budget)
    if not search.scores.covers(loads):
        return
    best, cost = search.improve(loads, cost, batches)
    search.wander(best, cost, batches)


def _start(ground: Ground, batches: int) -> tuple[Loads, float, int] | None:
    """Return the best known loads for a number of batches."""
    if ground.over():
        return None
    found = best_of(ground, list(_given(ground, batches)), min(batches, _COARSE))
    if found is None:
        return None
    loads = tuple(int(load) for load in found[0].loads)
    answer = ground.answer(loads, batches)
    return loads, ground.offer(answer, "rule"), batches


def _given(ground: Ground, batches: int) -> Iterator[Loads]:
    problem, domain = ground.problem, ground.domain
    answer = ground.control.answer
    if answer is not None and answer.code.family != "replication":
        yield tuple(int(load) for load in answer.loads)
    for rule in ("uniform", "hcmm_scaled", "load_balanced_scaled", "bpcc"):
        yield from candidates(rule, problem, domain, batches)
    for loads in (domain.repaired([int(cap) for cap in domain.caps]), domain.cheapest()):
        if loads is not None:
            yield loads
