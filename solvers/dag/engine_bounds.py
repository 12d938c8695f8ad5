"""Lower bounds that need an engine or compiled loops; they search for no answer."""

from __future__ import annotations

from collections.abc import Callable

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.graph import CommGraph, has_graph
from allocsolve.models.dag.problem import DagProblem, Feature
from allocsolve.models.result import Bound
from allocsolve.solvers.control import Control

__all__ = ["chain_and_load", "node_tables", "windows"]

_SHARE = 0.5
"""Share of the time left in which lengths are refuted."""


def windows(problem: DagProblem, control: Control[Schedule]) -> list[Bound]:
    """Bound projects and shops by lengths that windows refute.

    Sources of the bounds: ``windows`` (edge finding, energetic reasoning) and ``shaving``
    (first and last starts tried as well); see :mod:`allocsolve.models.dag.refutation`.
    """
    from allocsolve.models.dag.bounds import lower_bounds
    from allocsolve.models.dag.refutation import is_affordable
    from allocsolve.solvers.dag.refuting import refute

    if not is_affordable(problem):
        return []
    found: list[Bound] = []
    inner = Control[Schedule](control.limits, control.token)
    for bound in lower_bounds(problem)[:1]:
        inner.raise_bound(bound)
    for shaves in (False, True):
        before = inner.bound
        refute(problem, inner, _SHARE * control.remaining(), shaves=shaves, compiles=True)
        if inner.bound is not before:
            found += _best(inner)
    return found


def node_tables(problem: DagProblem, control: Control[Schedule]) -> list[Bound]:
    """Bound communicating tasks by the best node for each, by cuts, and by shared work.

    Sources of the bounds: ``node_table`` (least times before and after each task on each
    node), ``cut_path`` (what lies between tasks is cut or shares a node) and ``area_lp`` (a
    linear program that shares the work of windows of nodes).
    """
    if not (problem.arrays.communicates and has_graph(problem)):
        return []
    from allocsolve.solvers.dag import node_start

    first, second, third = (Control[Schedule](control.limits, control.token) for _ in range(3))
    table = node_start.raise_table_bound(CommGraph.of(problem), first)
    table = node_start.raise_cut_bound(table, second)
    node_start.raise_area_bound(table, third)
    return [*_best(first), *_best(second), *_best(third)]


def chain_and_load(problem: DagProblem, control: Control[Schedule]) -> list[Bound]:
    """Bound by the linear program of Chudak and Shmoys (1999): chains and loads of nodes.

    Communication is left out; the source of the bound is ``getf_lp``.
    """
    if Feature.MODES not in problem.features or not has_graph(problem):
        return []
    from allocsolve.solvers.dag.getf import raise_lp_bound
    from allocsolve.solvers.dag.getf_lp import solve_lp

    graph = CommGraph.of(problem)
    if not graph.n or not graph.eligible.any(axis=1).all():
        return []
    answer = solve_lp(graph, control.remaining(), _is_over(control))
    if answer is not None:
        raise_lp_bound(graph, control, answer)
    return _best(control)


def _best(control: Control[Schedule]) -> list[Bound]:
    best = control.bound
    return [] if best is None else [Bound(best.value, best.source, best.detail)]


def _is_over(control: Control[Schedule]) -> Callable[[], bool]:
    return lambda: control.stopped() is not None
