"""The tables of methods and of bounds: what each can do and where it is."""

from __future__ import annotations

import importlib
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import Protocol, cast

from allocsolve.models.coded.problem import Feature as CodedFeature
from allocsolve.models.dag.graph import HONOURED
from allocsolve.models.dag.problem import Feature
from allocsolve.models.errors import FeatureRefused, UsageError, suggest
from allocsolve.models.fair.settings import OBJECTIVE_NAMES
from allocsolve.models.kernels import KernelSet
from allocsolve.models.result import BoundOf
from allocsolve.solvers.coded import table as coded
from allocsolve.solvers.control import Outcome
from allocsolve.solvers.dag.rows import BASIC, LISTS, PROJECTS
from allocsolve.solvers.fair.rows import ROWS as FAIR_ROWS

__all__ = [
    "BOUNDS",
    "KERNELS",
    "METHODS",
    "OBJECTIVES",
    "BoundRoute",
    "HasFeatures",
    "Method",
    "kernel_sets",
    "method_named",
    "refuse_unsupported",
]

OBJECTIVES = {
    "dag": (
        "makespan",
        "weighted_completion",
        "total_tardiness",
        "weighted_tardiness",
        "max_lateness",
        "cost",
        "energy",
        "carbon",
    ),
    "coded": coded.OBJECTIVES,
    "fair": OBJECTIVE_NAMES,
}
"""Names of the objectives of each problem kind."""

Solve = Callable[..., Outcome]
"""Takes a problem of the method's kind and the :class:`Control` of the run."""


class HasFeatures(Protocol):
    """A problem of any kind."""

    @property
    def features(self) -> frozenset[str]:
        """What it asks of a method."""
        ...


@dataclass(frozen=True)
class Method:
    """One way to answer a problem.

    Attributes
    ----------
    honours
        Names of the features (:class:`Feature`) of an instance that it takes into account.
    objectives
        Names of the objectives that it optimises.
    exact
        Whether it ends with a proof if no limit ends it first.
    target
        ``module:function``, imported on first use.
    description
        One sentence.
    """

    name: str
    kind: str
    honours: frozenset[str]
    objectives: tuple[str, ...]
    exact: bool
    target: str
    description: str

    def load(self) -> Solve:
        """Import the method and return its function."""
        module, _, function = self.target.partition(":")
        return cast("Solve", getattr(importlib.import_module(module), function))


METHODS: tuple[Method, ...] = (
    Method(
        name="auto",
        kind="dag",
        honours=BASIC,
        objectives=("makespan",),
        exact=True,
        target="allocsolve.solvers.dag.auto:solve",
        description="a list schedule at once, bounds, then the method that suits the instance",
    ),
    Method(
        name="cpsat",
        kind="dag",
        honours=BASIC,
        objectives=("makespan",),
        exact=True,
        target="allocsolve.solvers.dag.cpsat:solve",
        description="constraint programming with OR-Tools CP-SAT; proves optimality",
    ),
    Method(
        name="communication",
        kind="dag",
        honours=HONOURED - {Feature.MEMORY, Feature.COLOCATION},
        objectives=("makespan",),
        exact=True,
        target="allocsolve.solvers.dag.communication:solve",
        description="identical nodes: clusters, forks by loads, annealing, CP-SAT decisions",
    ),
    Method(
        name="heterogeneous",
        kind="dag",
        honours=HONOURED,
        objectives=("makespan",),
        exact=True,
        target="allocsolve.solvers.dag.heterogeneous:solve",
        description="nodes that differ: node tables, shared work, annealing, CP-SAT",
    ),
    Method(
        name="annealing",
        kind="dag",
        honours=HONOURED,
        objectives=("makespan",),
        exact=False,
        target="allocsolve.solvers.dag.annealing:solve",
        description="simulated annealing over nodes and an order; one chain a thread; compiled",
    ),
    Method(
        name="lns",
        kind="dag",
        honours=HONOURED,
        objectives=("makespan",),
        exact=False,
        target="allocsolve.solvers.dag.lns:solve",
        description="annealing and neighbourhoods in turn; CP-SAT searches each neighbourhood",
    ),
    Method(
        name="genetic",
        kind="dag",
        honours=PROJECTS,
        objectives=("makespan",),
        exact=False,
        target="allocsolve.solvers.dag.genetic:solve",
        description="projects: genetic search over activity lists, justified; compiled",
    ),
    Method(
        name="tabu",
        kind="dag",
        honours=frozenset({Feature.NODES, Feature.MODES}),
        objectives=("makespan",),
        exact=False,
        target="allocsolve.solvers.dag.tabu:solve",
        description="job shops, also flexible: tabu search over the orders on machines; compiled",
    ),
    Method(
        name="milp",
        kind="dag",
        honours=BASIC,
        objectives=("makespan",),
        exact=True,
        target="allocsolve.solvers.dag.milp:solve",
        description="mixed-integer programs (disjunctive, time-indexed) with HiGHS; exact",
    ),
    Method(
        name="list",
        kind="dag",
        honours=BASIC,
        objectives=("makespan",),
        exact=False,
        target="allocsolve.solvers.dag.list_scheduling:solve",
        description="serial schedule generation with random sampling and justification; no engine",
    ),
    *(
        Method(
            name=name,
            kind="dag",
            honours=HONOURED,
            objectives=("makespan",),
            exact=False,
            target=f"allocsolve.solvers.dag.{target}",
            description=description,
        )
        for name, target, description in LISTS
    ),
    *(
        Method(
            name=row.name,
            kind="coded",
            honours=row.honours,
            objectives=row.objectives,
            exact=row.exact,
            target=f"allocsolve.solvers.coded.{row.target}",
            description=row.description,
        )
        for row in coded.ROWS
    ),
    *(
        Method(
            name=row.name,
            kind="fair",
            honours=row.honours,
            objectives=row.objectives,
            exact=True,
            target=f"allocsolve.solvers.fair.{row.target}",
            description=row.description,
        )
        for row in FAIR_ROWS
    ),
)


FindBounds = Callable[..., Sequence[BoundOf[float]]]
"""Takes a problem of the way's kind and the :class:`Control` of the run; raises a UsageError that
says why if a kind without other bounds gets none."""


@dataclass(frozen=True)
class BoundRoute:
    """One way to bound a problem that takes time; ``target`` is ``module:function``."""

    name: str
    kind: str
    target: str
    description: str

    def load(self) -> FindBounds:
        """Import the way and return its function."""
        module, _, function = self.target.partition(":")
        return cast("FindBounds", getattr(importlib.import_module(module), function))


BOUNDS: tuple[BoundRoute, ...] = (
    BoundRoute(
        name="windows",
        kind="dag",
        target="allocsolve.solvers.dag.engine_bounds:windows",
        description="projects and shops: lengths that leave some task without a place to be",
    ),
    BoundRoute(
        name="node tables",
        kind="dag",
        target="allocsolve.solvers.dag.engine_bounds:node_tables",
        description="communicating tasks: the best node for each, and shared work",
    ),
    BoundRoute(
        name="chains and loads",
        kind="dag",
        target="allocsolve.solvers.dag.engine_bounds:chain_and_load",
        description="linear program over chains of tasks and loads of nodes",
    ),
    BoundRoute(
        name="true laws",
        kind="coded",
        target="allocsolve.solvers.coded.bound_routes:bounds_of",
        description="products: no loads do better than adaptive or rateless ones; worst cases",
    ),
)
"""Bounds beyond those that :func:`allocsolve.models.dag.bounds.lower_bounds` finds at once."""


def method_named(kind: str, name: str) -> Method:
    """Return the method of a problem kind.

    Raises
    ------
    UsageError
        If there is none of that name, or the kind has no method at all.
    """
    known = {method.name: method for method in METHODS if method.kind == kind}
    if not known:
        kinds = ", ".join(sorted({method.kind for method in METHODS}))
        raise UsageError(
            f"no method solves problems of kind '{kind}' (kinds with methods: {kinds})"
            "\n  allowed: check and simulate an answer of yours, bound, convert"
        )
    if name not in known:
        raise UsageError(
            f"unknown method '{name}' for kind '{kind}'{suggest(name, list(known))} "
            f"(known: {', '.join(known)})"
        )
    return known[name]


def refuse_unsupported(method: Method, problem: HasFeatures, objective: str) -> None:
    """Check that a method takes everything into account that is asked.

    Raises
    ------
    UsageError
        If the objective is unknown.
    FeatureRefused
        If the method does not honour the objective or a feature of the instance; it names
        the methods that honour everything.
    """
    _require_objective(method.kind, objective)
    wanted = _lacking(method, problem, objective)
    if wanted:
        beyond = _beyond_all(problem, objective)
        if beyond is not None:
            raise FeatureRefused(method.name, [*wanted, beyond], [])
        alternatives = [
            other.name
            for other in METHODS
            if other.kind == method.kind and not _lacking(other, problem, objective)
        ]
        raise FeatureRefused(method.name, wanted, alternatives)


def _beyond_all(problem: HasFeatures, objective: str) -> str | None:
    """Return what no method knows of an instance, whatever features it honours."""
    if objective == "worst_case" or CodedFeature.PER_ROW not in problem.features:
        return None
    from allocsolve.models.coded.law_terms import without_sums
    from allocsolve.models.coded.problem import CodedProblem

    why = without_sums(problem) if isinstance(problem, CodedProblem) else None
    return None if why is None else f"{why}, so that only simulate takes them, by sampling"


def _require_objective(kind: str, objective: str) -> None:
    known = OBJECTIVES[kind]
    for part in objective.split(","):
        if part.strip() not in known:
            raise UsageError(
                f"unknown objective '{part.strip()}'{suggest(part.strip(), known)} "
                f"(known: {', '.join(known)})"
            )


def _lacking(method: Method, problem: HasFeatures, objective: str) -> list[str]:
    lacking = sorted(problem.features - method.honours)
    if objective not in method.objectives:
        lacking.append(f"objective '{objective}'")
    return lacking


KERNELS: tuple[str, ...] = (
    "allocsolve.models.dag.list_board:KERNELS",
    "allocsolve.models.dag.search_kernels:ANNEALING",
    "allocsolve.models.dag.search_kernels:CUT_PATHS",
    "allocsolve.models.dag.search_kernels:NODE_TABLE",
    "allocsolve.models.dag.search_kernels:PROJECTS",
    "allocsolve.models.dag.search_kernels:SHOPS",
    "allocsolve.models.dag.search_kernels:WINDOWS",
    "allocsolve.models.coded.kernel_sets:COMPLETION",
    "allocsolve.models.coded.search_sets:LOADS",
    "allocsolve.models.coded.search_sets:BOUNDS",
    "allocsolve.models.coded.search_sets:PAIRS",
    "allocsolve.models.fair.kernel_sets:CERTIFICATES",
    "allocsolve.solvers.fair.kernel_sets:INTERIOR",
    "allocsolve.solvers.fair.kernel_sets:BOX",
    "allocsolve.models.execution.runs:KERNELS",
)
"""Every set of compiled kernels, as ``module:name``."""


def kernel_sets() -> Iterator[KernelSet]:
    """Yield every set of compiled kernels; numba is imported only when one is built."""
    for target in KERNELS:
        module, _, name = target.partition(":")
        yield cast("KernelSet", getattr(importlib.import_module(module), name))
