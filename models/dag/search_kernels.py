"""Sets of compiled loops of search on schedules; importing this imports no compiler."""

from __future__ import annotations

from allocsolve.models.kernels import KernelSet

__all__ = ["ANNEALING", "CUT_PATHS", "NODE_TABLE", "PROJECTS", "SHOPS", "WINDOWS"]

ANNEALING = KernelSet(
    name="annealing",
    module="allocsolve.models.dag.anneal_chain",
    entry="anneal",
    warm="warm",
    compiling=20.0,
    loading=1.5,
)
"""Annealing over a node for every task and an order."""

NODE_TABLE = KernelSet(
    name="node table",
    module="allocsolve.models.dag.comm_tables",
    entry="fill_heads",
    warm="warm",
    compiling=12.0,
    loading=1.5,
)
"""Least times before and after a task on each node."""

CUT_PATHS = KernelSet(
    name="cut paths",
    module="allocsolve.models.dag.cut_paths",
    entry="fill_gaps",
    warm="warm",
    compiling=12.0,
    loading=1.5,
)
"""Least times between tasks that are cut somewhere or share a node."""

PROJECTS = KernelSet(
    name="project lists",
    module="allocsolve.models.dag.project_island",
    entry="evolve",
    warm="warm",
    compiling=15.0,
    loading=1.5,
)
"""Genetic search over activity lists."""

SHOPS = KernelSet(
    name="shop orders",
    module="allocsolve.models.dag.shop_climber",
    entry="tabu",
    warm="warm",
    compiling=15.0,
    loading=1.5,
)
"""Tabu search over the orders on machines."""

WINDOWS = KernelSet(
    name="windows",
    module="allocsolve.models.dag.refutation",
    entry="shave",
    warm="warm",
    compiling=15.0,
    loading=1.5,
)
"""Lengths that are refuted by windows of tasks."""
