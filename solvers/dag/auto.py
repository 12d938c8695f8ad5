"""Method ``auto``: a list schedule at once, bounds, then what suits the instance.

Tasks that send data between identical nodes go to the method ``communication``, those between
other nodes to ``heterogeneous``. Where many tasks choose a node and send nothing, CP-SAT has a
few seconds for a proof before ``heterogeneous`` goes on. Projects and shops are searched with
CP-SAT beside it (:mod:`allocsolve.solvers.dag.tandem`). Everything else goes to CP-SAT if there is
time for it.
"""

from __future__ import annotations

import math
import sys
from collections.abc import Mapping
from dataclasses import replace

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.cpsat import overflow
from allocsolve.models.dag.graph import has_choice
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.search_kernels import PROJECTS
from allocsolve.solvers.control import Control, Outcome, Proof
from allocsolve.solvers.dag import cpsat, tandem
from allocsolve.solvers.dag.improve import Improver
from allocsolve.solvers.dag.opening import Opening, open_run
from allocsolve.solvers.dag.settings import read_settings, shown
from allocsolve.solvers.ending import finished, infeasible, own_solver

__all__ = ["SETTINGS", "solve"]

SETTINGS = cpsat.SETTINGS

_IMPORT_SECONDS = 0.9
"""Time that importing the engine takes, with some room."""

_SHORTEST_RUN = 0.15
"""Seconds below which it makes no sense to start the engine."""

_PLACEMENTS = 2000
"""Tasks placed by sampling before the engine starts: a small share of a second.

Where starts are bounded from above one schedule costs many passes, and the engine is better
at finding one, so nothing is sampled there.
"""

_TRIED, _TRY_SHARE, _LONGEST_TRY = 150, 0.25, 3.0
"""Tasks up to which CP-SAT is tried before annealing where nodes are chosen and nothing is sent,
and for which share of the time left, and how many seconds, at most."""

_SAMPLES = 1000
"""Schedules drawn where neither the engine nor a time limit is there."""


def solve(problem: DagProblem, control: Control[Schedule]) -> Outcome:
    """Find a schedule as good as the limits allow, and prove it if they allow that too."""
    settings = read_settings("auto", control.limits.options, SETTINGS)
    opening = open_run(problem, control)
    own = own_solver(control, shown(settings, SETTINGS))
    if opening.reason is not None:
        return infeasible(own, opening.reason)
    improver = Improver(problem, opening.network, control, opening.plan)
    if not opening.network.bounded:
        improver.run(_PLACEMENTS // max(1, len(problem.tasks)))
    ended_by = control.stopped()
    if ended_by is not None:
        return finished(control, own, ended_by)
    kernels = tandem.kernels_for(problem)
    if kernels is not None and not (kernels is PROJECTS and has_choice(problem)):
        outcome = tandem.search(problem, control, opening, settings, kernels)
        if outcome is not None:
            return outcome
    outcome = _choose_nodes(problem, control, opening, settings)
    if outcome is not None:
        return outcome
    excuse = overflow(problem, cpsat.horizon(problem, control))
    if excuse is None and _is_worth_the_engine(control):
        return cpsat.run_engine(problem, control, settings)
    control.phase("sampling schedules")
    ended_by = improver.run(_SAMPLES if control.limits.deadline is None else None)
    # Another time, with the engine loaded, there may be time for it.
    deterministic = excuse is not None
    warnings = () if excuse is None else (f"CP-SAT was not used: {excuse}",)
    return finished(control, own, ended_by, deterministic=deterministic, warnings=warnings)


def _choose_nodes(
    problem: DagProblem, control: Control[Schedule], opening: Opening, settings: Mapping[str, int]
) -> Outcome | None:
    """Go on as a method that chooses nodes, None if there is no choice or none suits."""
    if not problem.arrays.communicates and not has_choice(problem):
        return None
    # Loaded only here: a project with a short limit has no time for modules it does not need.
    from allocsolve.solvers.dag import communication, heterogeneous

    instance = communication.suited(problem)
    if instance is not None:
        return communication.search(instance, control, opening, settings)
    if not heterogeneous.suited(problem):
        return None
    if problem.arrays.communicates or not _is_worth_a_try(problem, control):
        return heterogeneous.search(problem, control, settings)
    outcome = cpsat.run_engine(problem, control, settings, _try_seconds(control))
    if outcome.proof is not Proof.NOTHING or outcome.abandoned or control.stopped() is not None:
        return outcome
    return replace(heterogeneous.search(problem, control, settings), deterministic=False)


def _try_seconds(control: Control[Schedule]) -> float:
    """Return the seconds in which CP-SAT may prove that nothing else is needed."""
    if control.limits.deadline is None:
        return math.inf
    return min(_LONGEST_TRY, _TRY_SHARE * control.remaining())


def _is_worth_a_try(problem: DagProblem, control: Control[Schedule]) -> bool:
    """Whether CP-SAT alone may prove an answer within the seconds that it gets first."""
    if len(problem.tasks) > _TRIED or overflow(problem, cpsat.horizon(problem, control)):
        return False
    return _try_seconds(control) >= _needed_by_the_engine()


def _is_worth_the_engine(control: Control[Schedule]) -> bool:
    return control.remaining() >= _needed_by_the_engine()


def _needed_by_the_engine() -> float:
    """Return the seconds below which it makes no sense to load and start the engine."""
    is_loaded = "ortools.sat.python.cp_model" in sys.modules
    return _SHORTEST_RUN + (0.0 if is_loaded else _IMPORT_SECONDS)
