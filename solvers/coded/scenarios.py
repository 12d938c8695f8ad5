"""Loads by programs over joint draws: what ``milp`` and ``cpsat`` have in common.

The rules come first, so that no answer is worse than any of them. Then, by objective:

* deadline probability: one program,
* cost: one program; on a sample, more and more draws have to be done until the true law is
  satisfied (the loads that just suffice on a sample seldom do),
* quantile: bisection; is there a way to have enough draws done by a time?
* mean: a program over some times of each draw, whose optimum is a lower bound; the completion times
  of what it finds become times of the next program, until bound and value meet.
"""

from __future__ import annotations

import math
import time
from collections.abc import Callable
from dataclasses import replace

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.data import Scenarios
from allocsolve.models.coded.law import completion_law
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.scenario_programs import at_time, breakpoints, over_times
from allocsolve.models.coded.value import objective_value
from allocsolve.models.nodes import Empirical
from allocsolve.models.result import Scalar, Termination
from allocsolve.solvers.coded.bounding import bound_cost
from allocsolve.solvers.coded.compare import compare
from allocsolve.solvers.coded.enumeration import enumerate_small
from allocsolve.solvers.coded.ground import Ground, read_numbers, ready_loops
from allocsolve.solvers.coded.lateness import told_proof
from allocsolve.solvers.coded.scene import Engine, Scene, sampled
from allocsolve.solvers.control import Outcome, RealControl
from allocsolve.solvers.ending import finished, infeasible

__all__ = ["SETTINGS", "solve_by"]

SETTINGS = {"draws": (2000, 10, 100_000), "effort": (10, 1, 10_000)}
"""Size of the sample where the instance has runtime laws; length of each search on it."""

_ENOUGH_DRAWS = 2000
_SHARE = 0.2
"""Share of the time that is left for loads on half of the draws."""

_FEWEST = 40
"""Listed draws from which half of them are held out."""

_ROUNDS = 4
"""Programs over a sample that a mean takes; on listed draws they go on to the proof."""

_TRIALS = 8
"""Numbers of draws that have to be done, tried for a cost on a sample."""

_SAMPLE_STEP = 1e-3
"""Relative precision of a quantile on a sample; it is far finer than what a sample can tell."""

_LARGE = 1000
"""Draws times nodes from which a local search comes before the engine."""

_DESCENT = 1e9

_MOST_TIMES = 300_000
_MOST_ROWS = 6_000
"""Rows up to which a program takes all times at which something can arrive."""

_TOO_MANY_ROWS = 60_000


def solve_by(engine: Engine, problem: CodedProblem, control: RealControl[CodedAnswer]) -> Outcome:
    """Assign loads with an engine, and say what its promise is worth."""
    settings = read_numbers(engine.name, control.limits.options, SETTINGS)
    ground = Ground(problem, control)
    report = _Report(ground, settings["draws"])
    with ready_loops(ground):
        compare(ground, offer=True)
        if not ground.hurried:
            bound_cost(ground)
        control.phase(f"loading {engine.name}")
        if not ground.over() and engine.load(ground.over):
            report.hold_out(engine)
            _search(ground, engine, settings, report)
    info = engine.info(control.limits, report.options)
    if report.proved_empty and control.answer is None:
        return infeasible(info, told_proof(ground, info.name, enumerate_small))
    ended = ground.ended()
    if report.cut and ended is Termination.FINISHED:
        ended = Termination.TIME_LIMIT  # an engine ends a little before its limit
    return finished(
        control,
        info,
        ended,
        deterministic=not ground.hurried and report.repeats and engine.repeats(control.limits),
        warnings=(*report.notes, *ground.warnings),
        abandoned=report.abandoned,
        baselines=ground.named_values(),
    )


class _Report:
    """What is said of a run beside its answer."""

    def __init__(self, ground: Ground, draws: int) -> None:
        problem = ground.problem
        self._ground = ground
        self.options: dict[str, Scalar] = {"draws": draws}
        self.notes: list[str] = []
        self.repeats = True
        self.abandoned = False
        self.proved_empty = False
        self.cut = False
        arrays = problem.arrays
        if arrays.scenarios is not None:
            self.options["draws"] = len(arrays.scenarios)
        elif draws < _ENOUGH_DRAWS and _needs_draws(problem):
            self.notes.append(
                f"{draws} draws say little about correlated or empirical times; take "
                f"{_ENOUGH_DRAWS} or more"
            )

    def compare(self, before: float, after: float, text: str) -> None:
        """Say what loads are worth on the draws that they were chosen on, and elsewhere."""
        for name, value in (("in_sample", before), ("out_of_sample", after)):
            if math.isfinite(value):
                self.options[name] = value
        self.notes.append(text.format(before=f"{before:.6g}", after=f"{after:.6g}"))

    def hold_out(self, engine: Engine) -> None:
        """Solve the first half of the listed draws, and judge the answer by the other half."""
        problem, control = self._ground.problem, self._ground.control
        samples = None if problem.scenarios is None else problem.scenarios.samples
        if samples is None or len(samples) < _FEWEST:
            return
        half = len(samples) // 2
        seen, unseen = (
            problem.replace(scenarios=Scenarios(samples=part))
            for part in (samples[:half], samples[half:])
        )
        until = control.limits.deadline
        if until is not None:
            until = time.monotonic() + _SHARE * max(0.0, control.remaining())
        limits = replace(control.limits, deadline=until)
        trial = Ground(seen, RealControl[CodedAnswer](limits, control.token))
        compare(trial, offer=True)
        scene = Scene(trial, seen, engine, None)
        _goal(scene)
        self.abandoned = self.abandoned or scene.abandoned
        own_end = trial.ended() in (Termination.FINISHED, Termination.GAP_LIMIT)
        self.repeats = scene.repeats and own_end
        answer = trial.control.answer
        if answer is not None:
            text = (
                f"loads found on the first {half} draws have {_measured(problem)} {{before}} on "
                f"them and {{after}} on the other {len(samples) - half}"
            )
            self.compare(_measure(seen, answer), _measure(unseen, answer), text)
            self._ground.offer(answer, engine.name)


def _needs_draws(problem: CodedProblem) -> bool:
    """Whether the times are correlated or empirical."""
    empirical = any(isinstance(law, Empirical) for law in problem.arrays.laws)
    return empirical or not problem.arrays.independent


def _measure(problem: CodedProblem, answer: CodedAnswer) -> float:
    """Return the value of an answer; of a cost, the probability of the deadline."""
    if problem.objective_name == "cost":
        assert problem.objective.deadline is not None
        law = completion_law(problem, answer)
        return law.deadline_probability(float(problem.objective.deadline))
    return objective_value(problem, answer)


def _measured(problem: CodedProblem) -> str:
    name = problem.objective_name
    return "deadline_probability" if name == "cost" else name


def _search(ground: Ground, engine: Engine, settings: dict[str, int], report: _Report) -> None:
    """Run the programs of the objective, and report what they promise."""
    problem, seed = ground.problem, ground.control.limits.seed
    if ground.over() or (ground.hurried and problem.arrays.scenarios is None):
        return
    if problem.arrays.scenarios is not None:
        scene = Scene(ground, problem, engine, None)
        report.proved_empty = _goal(scene)
    else:
        sample = sampled(problem, settings["draws"], seed)
        scene = Scene(ground, sample, engine, settings["effort"])
        _goal(scene)
        if scene.best is not None:
            scene.offer(scene.best)
            answer = ground.answer(scene.best, 1)
            text = (
                f"loads found on {scene.draws} draws have {_measured(problem)} {{before}} on them "
                "and {after} by the runtime laws"
            )
            report.compare(_measure(sample, answer), _measure(problem, answer), text)
    report.abandoned = report.abandoned or scene.abandoned
    report.repeats = report.repeats and scene.repeats
    report.cut = scene.own and not scene.complete


def _goal(scene: Scene) -> bool:
    """Run the programs of the objective; return whether there are no loads, for listed draws."""
    goals: dict[str, Callable[[Scene], bool]] = {
        "mean": _mean,
        "quantile": _quantile,
        "deadline_probability": _probability,
        "cost": _cost,
    }
    if scene.times.draws.size >= _LARGE:
        scene.descend(_DESCENT)
    return not scene.over() and goals[scene.sample.objective_name](scene)


def _probability(scene: Scene) -> bool:
    deadline = scene.sample.objective.deadline
    assert deadline is not None
    ended = scene.run(at_time(scene.times, float(deadline), "late", touching=True))
    if ended.bound is not None:
        least = max(0, math.ceil(ended.bound - 1e-6))
        in_time = (scene.draws - least) / scene.draws
        scene.raise_bound(-(1.0 - (1.0 - in_time)))  # rounded as in the completion law
    return False


def _cost(scene: Scene) -> bool:
    goal, gap = scene.sample.objective, scene.ground.control.limits.gap
    assert goal.deadline is not None
    assert goal.confidence is not None
    deadline, confidence = float(goal.deadline), float(goal.confidence)
    enough = max(0, math.ceil((confidence - 1e-12) * scene.draws - 1e-9))
    for _ in range(1 if scene.own else _TRIALS):
        program = at_time(scene.times, deadline, "price", enough, touching=True)
        ended = scene.run(program, gap)
        scene.raise_bound(ended.bound)
        if scene.own:
            return ended.complete and math.isinf(scene.promise)
        if scene.seen is None or scene.over() or math.isfinite(scene.offer(scene.seen)):
            break
        law = completion_law(scene.ground.problem, scene.ground.answer(scene.seen, 1))
        lack = confidence - law.deadline_probability(deadline)
        enough += max(1, math.ceil(lack * scene.draws))
        if enough > scene.draws:
            break
    return False


def _quantile(scene: Scene) -> bool:
    """Shorten the quantile by bisection: below ``low`` there is none."""
    q = scene.sample.objective.q
    assert q is not None
    rank = max(math.ceil(float(q) * scene.draws * (1 - 1e-14)), 1)
    low, proven = float(np.sort(scene.low)[rank - 1]), True
    if not math.isfinite(scene.promise):
        return False
    low = scene.times.after(low * (1 - 1e-9))
    while low < scene.promise and not scene.over():
        middle = max(low, (low + scene.promise) / 2)
        if not scene.own and scene.promise - low < _SAMPLE_STEP * scene.promise:
            return False
        before = scene.promise
        ended = scene.run(at_time(scene.times, middle, "any", rank))
        if scene.promise < before:
            continue
        proven = proven and ended.complete
        low = scene.times.after(middle)
        if proven:
            scene.raise_bound(min(low, scene.promise))
    if proven and low >= scene.promise:
        scene.raise_bound(scene.promise)
    return False


def _mean(scene: Scene) -> bool:
    """Refine the times of each draw until the bound meets the value."""
    gap = scene.ground.control.limits.gap
    if scene.best is None or not math.isfinite(scene.promise):
        return False
    grid, whole = _first_times(scene, scene.completion(scene.best))
    number = 0
    while not scene.over():
        program = over_times(scene.times, grid)
        if len(program.most) > _TOO_MANY_ROWS:
            break
        ended = scene.run(program, gap)
        number += 1
        if ended.bound is not None:
            scene.raise_bound(min(ended.bound, scene.promise))
        if whole or scene.seen is None or not (ended.complete or not scene.own):
            break
        new = scene.completion(scene.seen)
        known = (grid == new[:, None]).any(axis=1) | (new <= grid[:, 0])
        if known.all() or (not scene.own and number >= _ROUNDS):
            break
        grid = np.sort(np.column_stack([grid, new]), axis=1)
    return False


def _first_times(scene: Scene, best: FloatArray) -> tuple[FloatArray, bool]:
    """Return times of each draw, and whether they are all that matter.

    In no draw can loads of a better mean be complete later than if all others were as early as
    any loads can be.
    """
    low = scene.low
    latest = low + (float((best - low).sum()) * (1 + 1e-9) + 1e-300)
    grid = breakpoints(scene.times, low, latest, _MOST_TIMES)
    if grid is not None and len(over_times(scene.times, grid).most) <= _MOST_ROWS:
        return grid, True
    columns = [low, (low + best) / 2, best, best * 1.25, best * 1.7]
    return np.sort(np.column_stack(columns), axis=1), False
