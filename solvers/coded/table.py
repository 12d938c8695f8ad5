"""The methods for coded jobs as plain rows; :mod:`allocsolve.solvers.routes` makes them methods."""

from __future__ import annotations

from typing import NamedTuple

from allocsolve.models.coded.problem import Feature

__all__ = ["OBJECTIVES", "ROWS", "Row"]

OBJECTIVES = ("mean", "quantile", "deadline_probability", "cost", "worst_case")

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
_RULES = (
    ("uniform", "equal loads, the best recovery threshold k"),
    ("load_balanced", "loads in proportion to the speeds"),
    ("hcmm_ceil", "loads of HCMM, rounded up"),
    ("hcmm_scaled", "loads of HCMM times the best of 351 factors"),
    ("load_balanced_scaled", "loads in proportion to the speeds times the best of 351 factors"),
    ("bpcc", "loads of HCMM for results in batches"),
    ("replication", "blocks of equal size on several nodes each, the best number of blocks"),
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
        _PRODUCTS,
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
    *(
        Row(name, _PRODUCTS, _LAWS, False, f"rule_methods:{name}", description)
        for name, description in _RULES
    ),
)
