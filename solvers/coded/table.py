"""The methods for coded jobs as plain rows; :mod:`allocsolve.solvers.routes` makes them methods."""

from __future__ import annotations

from typing import NamedTuple

from allocsolve.models.coded.data import OBJECTIVES
from allocsolve.models.coded.problem import Feature

__all__ = ["OBJECTIVES", "ROWS", "Row"]

_LAWS = OBJECTIVES[:4]
_PRODUCTS = frozenset(
    {
        Feature.MATVEC,
        Feature.MATMUL,
        Feature.SCENARIOS,
        Feature.GROUPS,
        Feature.BATCHES,
        Feature.MESSAGES,
        Feature.ADDITIVE,
        Feature.PER_ROW,
        Feature.STORAGE,
        Feature.TOTAL_LOAD,
        Feature.BUDGET,
    }
)
_PARTS = _PRODUCTS - {Feature.MATVEC, Feature.MATMUL} | {Feature.GRADIENT, Feature.HOLDS}
_PIECES = _PRODUCTS - {Feature.MATVEC, Feature.MATMUL} | {Feature.ELASTIC}
_ROUNDS = frozenset(
    {
        Feature.GRADIENT,
        Feature.SEQUENTIAL,
        Feature.ADDITIVE,
        Feature.PER_ROW,
        Feature.MESSAGES,
        Feature.SCENARIOS,
        Feature.GROUPS,
        Feature.STORAGE,
        Feature.TOTAL_LOAD,
        Feature.BUDGET,
        Feature.HOLDS,
    }
)
_SCHEMES = (
    ("rounds", "rounds:solve", "gradients over rounds: the best of the three schemes below"),
    ("gc", "rounds:gc", "rounds: a gradient code for lambda stragglers, anew in every round"),
    ("sr_sgc", "rounds:sr_sgc", "rounds: selective repetition of what too few nodes have sent"),
    ("m_sgc", "rounds:m_sgc", "rounds: a multiplexed gradient code, own and coded slots"),
)
_RULES = (
    ("uniform", "equal loads, the best recovery threshold k"),
    ("load_balanced", "loads in proportion to the speeds"),
    ("hcmm_ceil", "loads of HCMM, rounded up"),
    ("hcmm_scaled", "loads of HCMM times the best of 351 factors"),
    ("load_balanced_scaled", "loads in proportion to the speeds times the best of 351 factors"),
    ("bpcc", "loads of HCMM for results in batches"),
)


class Row(NamedTuple):
    """A method; ``target`` is ``module:function`` within :mod:`allocsolve.solvers.coded`."""

    name: str
    honours: frozenset[str]
    objectives: tuple[str, ...]
    exact: bool
    target: str
    description: str


ROWS: tuple[Row, ...] = (
    Row(
        "auto",
        _PRODUCTS | _PARTS | _PIECES | _ROUNDS | {Feature.ERROR},
        OBJECTIVES,
        exact=True,
        target="auto:solve",
        description="the method that suits the task: loads, partitions or pieces",
    ),
    Row(
        "optimise",
        _PRODUCTS,
        _LAWS,
        exact=True,
        target="optimise:solve",
        description="every rule, then local search on exact laws, bounds, enumeration if small",
    ),
    Row(
        "enumeration",
        _PRODUCTS - {Feature.SCENARIOS, Feature.GROUPS, Feature.BATCHES},
        _LAWS,
        exact=True,
        target="enumeration:solve",
        description="all loads, depth first, under a bound from the true laws; proves optimality",
    ),
    Row(
        "milp",
        _PRODUCTS - {Feature.BATCHES, Feature.PER_ROW},
        _LAWS,
        exact=True,
        target="milp:solve",
        description="mixed-integer programs over joint draws with HiGHS; exact for scenarios",
    ),
    Row(
        "cpsat",
        _PRODUCTS - {Feature.BATCHES, Feature.PER_ROW},
        _LAWS,
        exact=True,
        target="cpsat:solve",
        description="constraint programs over joint draws with CP-SAT; exact for scenarios",
    ),
    *(
        Row(name, _PRODUCTS, _LAWS, False, f"rule_methods:{name}", description)
        for name, description in _RULES
    ),
    Row(
        "partial_work",
        _PRODUCTS,
        _LAWS,
        exact=False,
        target="rule_methods:partial_work",
        description="storage split for partial work, in the best number of batches",
    ),
    Row(
        "replication",
        _PRODUCTS - {Feature.MATMUL},
        _LAWS,
        exact=False,
        target="rule_methods:replication",
        description="rows: blocks of equal size on several nodes each, the best number of blocks",
    ),
    Row(
        "partitions",
        _PARTS,
        OBJECTIVES,
        exact=True,
        target="partitions:solve",
        description="gradients: every rule, then exchanges of partitions by exact value",
    ),
    Row(
        "placement",
        _PARTS,
        ("worst_case",),
        exact=True,
        target="placement:solve",
        description="gradients: the least worst time under all limits, then the fewest moves",
    ),
    Row(
        "heterogeneity_aware",
        _PARTS,
        OBJECTIVES,
        exact=True,
        target="partitions:heterogeneity_aware",
        description="gradients: partitions by speed, the exact optimum of the worst case",
    ),
    Row(
        "cyclic",
        _PARTS - {Feature.HOLDS},
        OBJECTIVES,
        exact=False,
        target="partitions:cyclic",
        description="gradients: equal loads on arcs of a circle",
    ),
    Row(
        "fractional_repetition",
        _PARTS - {Feature.HOLDS},
        OBJECTIVES,
        exact=False,
        target="partitions:fractional_repetition",
        description="gradients: groups of nodes with the same partitions",
    ),
    Row(
        "approximate",
        _PARTS | {Feature.ERROR},
        OBJECTIVES,
        exact=False,
        target="approximate:solve",
        description="gradients: groups, and so few results that the error is accepted",
    ),
    *(
        Row(name, _ROUNDS, ("worst_case",), False, target, description)
        for name, target, description in _SCHEMES
    ),
    Row(
        "water_filling",
        _PIECES,
        OBJECTIVES,
        exact=True,
        target="elastic:water_filling",
        description="elastic: loads by speed up to a common time, exact fractions",
    ),
    Row(
        "elastic_program",
        _PIECES | {Feature.HOLDS},
        OBJECTIVES,
        exact=True,
        target="elastic:elastic_program",
        description="elastic: a linear program over stored blocks, with HiGHS; honours budgets",
    ),
    Row(
        "equal_shares",
        _PIECES | {Feature.HOLDS},
        OBJECTIVES,
        exact=False,
        target="elastic:equal_shares",
        description="elastic: the same load for every node",
    ),
)
