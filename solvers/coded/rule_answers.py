"""The answer of every rule of the literature, so that what rules do can be shown."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping
from typing import TypeAlias

from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.baselines_gradient import GRADIENT_RULES, GradientJob
from allocsolve.models.coded.check import check
from allocsolve.models.coded.costs import exact_cost
from allocsolve.models.coded.data import Elastic, Gradient
from allocsolve.models.coded.law import NoExactLaw
from allocsolve.models.coded.problem import CodedProblem, Feature
from allocsolve.models.coded.thresholds import APPROXIMATE
from allocsolve.solvers.coded.approximate import approximate_answers
from allocsolve.solvers.coded.compare import best_of_rule, names_of
from allocsolve.solvers.coded.elastic import elastic_rules
from allocsolve.solvers.coded.ground import Ground, ready_loops
from allocsolve.solvers.coded.rounds import round_answers
from allocsolve.solvers.control import RealControl

__all__ = ["rule_answers"]

_MAY_BE_INFINITE = ("mean", "quantile")
"""Objectives whose infinite values are true; of the others they say that a rule breaks."""

_Found: TypeAlias = tuple[CodedAnswer, float]


def rule_answers(
    problem: CodedProblem, control: RealControl[CodedAnswer]
) -> Mapping[str, CodedAnswer]:
    """Return the best answer of each rule for the objective of the problem, best rules first.

    Rules without an answer that keeps all limits are left out; so are those that were not
    reached when the run had to end. The mean of a rule may be infinite.
    """
    best: dict[str, _Found] = {}
    for name, answer, cost in _candidates(problem, control):
        is_answer = math.isfinite(cost) or problem.objective_name in _MAY_BE_INFINITE
        if is_answer and (name not in best or cost < best[name][1]):
            best[name] = answer, cost
    ranked = sorted(best, key=lambda name: best[name][1])  # a stable order among equals
    return {name: best[name][0] for name in ranked}


def _candidates(
    problem: CodedProblem, control: RealControl[CodedAnswer]
) -> Iterator[tuple[str, CodedAnswer, float]]:
    """Yield name, answer and exact cost of what the rules for the task of the problem give."""
    if isinstance(problem.task, Gradient):
        return _of_gradients(problem)
    return _of_pieces(problem) if isinstance(problem.task, Elastic) else _of_rows(problem, control)


def _of_rows(
    problem: CodedProblem, control: RealControl[CodedAnswer]
) -> Iterator[tuple[str, CodedAnswer, float]]:
    ground = Ground(problem, control)
    with ready_loops(ground, searches=False):
        for name in names_of(ground):
            found = None if ground.over() else best_of_rule(ground, name)
            if found is not None:
                yield name, *found


def _of_gradients(problem: CodedProblem) -> Iterator[tuple[str, CodedAnswer, float]]:
    if Feature.SEQUENTIAL in problem.features:
        for name, answer in round_answers(problem):
            yield name, answer, exact_cost(problem, answer)
        return
    job = GradientJob(problem)
    for name, rule in GRADIENT_RULES.items():
        for answer in rule(job):
            if job.allows(answer):
                yield name, answer, exact_cost(problem, answer)
    for answer in approximate_answers(job):
        yield APPROXIMATE, answer, exact_cost(problem, answer)


def _of_pieces(problem: CodedProblem) -> Iterator[tuple[str, CodedAnswer, float]]:
    for name, answer in elastic_rules(problem):
        if answer is None:
            continue
        try:
            if check(problem, answer).valid:
                yield name, answer, exact_cost(problem, answer)
        except NoExactLaw:
            continue
