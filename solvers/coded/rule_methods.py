"""Methods that give the answer of one rule of the literature, compared with the others."""

from __future__ import annotations

import math
from functools import partial

from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.solvers.coded.compare import best_of_rule, compare, note_value
from allocsolve.solvers.coded.ground import Ground, read_numbers, ready_loops
from allocsolve.solvers.control import Outcome, RealControl
from allocsolve.solvers.ending import finished, own_solver

__all__ = [
    "bpcc",
    "hcmm_ceil",
    "hcmm_scaled",
    "load_balanced",
    "load_balanced_scaled",
    "partial_work",
    "replication",
    "uniform",
]


def _by_rule(rule: str, problem: CodedProblem, control: RealControl[CodedAnswer]) -> Outcome:
    """Give the best answer of a rule."""
    read_numbers(rule, control.limits.options, {})
    ground = Ground(problem, control)
    with ready_loops(ground, searches=False):
        found = best_of_rule(ground, rule)
        if found is not None and (math.isfinite(found[1]) or problem.objective_name != "cost"):
            control.offer(*found, rule)
        note_value(ground, rule, found)
        compare(ground, offer=False)
    warnings = ground.warnings
    if found is None:
        warnings += (f"rule '{rule}' gives no loads that suffice and keep all limits",)
    return finished(
        control,
        own_solver(control, {}),
        ground.ended(),
        warnings=warnings,
        baselines=ground.named_values(),
    )


uniform = partial(_by_rule, "uniform")
load_balanced = partial(_by_rule, "load_balanced")
hcmm_ceil = partial(_by_rule, "hcmm_ceil")
hcmm_scaled = partial(_by_rule, "hcmm_scaled")
load_balanced_scaled = partial(_by_rule, "load_balanced_scaled")
bpcc = partial(_by_rule, "bpcc")
partial_work = partial(_by_rule, "partial_work")
replication = partial(_by_rule, "replication")
