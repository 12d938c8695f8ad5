"""What the methods of kind ``dag`` take into account, and the list schedulers."""

from __future__ import annotations

from allocsolve.models.dag.problem import Feature

__all__ = ["BASIC", "LISTS", "PROJECTS"]

BASIC = frozenset(
    {
        Feature.MODES,
        Feature.NODES,
        Feature.RENEWABLE,
        Feature.NONRENEWABLE,
        Feature.RELEASES,
        Feature.DEADLINES,
        Feature.LAGS,
        Feature.MAX_LAGS,
        Feature.COMMUNICATION,
        Feature.PROJECT,
        Feature.START_LAGS,
        Feature.MEMORY,
        Feature.COLOCATION,
    }
)
"""Features that exact search, lists and mixed-integer programs take into account."""

PROJECTS = BASIC - {
    Feature.MAX_LAGS,
    Feature.START_LAGS,
    Feature.COMMUNICATION,
    Feature.MEMORY,
    Feature.COLOCATION,
}
"""Features that the genetic search of projects takes into account."""

LISTS = (
    ("heft", "list_methods:heft", "heterogeneous earliest finish time; compiled"),
    ("cpop", "list_methods:cpop", "the critical path on one node, the rest by priority; compiled"),
    ("peft", "list_methods:peft", "earliest finish time with an optimistic cost table; compiled"),
    ("etf", "list_methods:etf", "the ready task that can start first; compiled"),
    ("dls", "list_methods:dls", "the pair of task and node of highest dynamic level; compiled"),
    ("getf", "getf:solve", "earliest task first in groups of speeds chosen by a linear program"),
    ("min_min", "list_methods:min_min", "the ready task that ends first; compiled"),
    ("max_min", "list_methods:max_min", "the ready task whose first end is last; compiled"),
    ("sufferage", "list_methods:sufferage", "the ready task that loses most if it waits; compiled"),
    ("one_node", "list_methods:one_node", "all tasks on the node that works least for them"),
    ("clusters", "list_methods:clusters", "dominant sequence clustering, then a node for each"),
    ("portfolio", "list_methods:portfolio", "every compiled list scheduler; keeps the best"),
)
"""The list schedulers for communicating tasks: name, target, description."""
