"""The families of every problem kind under one name each."""

from __future__ import annotations

from typing import TYPE_CHECKING

from allocsolve.instances.generators.settings import Value
from allocsolve.models.errors import UsageError, suggest

if TYPE_CHECKING:
    from allocsolve.instances.kinds import Problem

__all__ = ["draw_family"]


def draw_family(family: str, size: int, seed: int, **settings: Value) -> Problem:
    """Draw a random instance of any kind.

    Parameters
    ----------
    size
        Number of tasks, of nodes for the kind ``coded``, of jobs for ``fair``.

    Raises
    ------
    UsageError
        If the family or a setting is unknown, or a value is refused.
    """
    from allocsolve.instances.generators import coded, dag, fair

    if family in dag.FAMILIES:
        return dag.generate(family, tasks=size, seed=seed, **settings)
    if family in coded.CODED_FAMILIES:
        return coded.generate_coded(family, nodes=size, seed=seed, **settings)
    if family in fair.FAIR_FAMILIES:
        return fair.generate_fair(family, jobs=size, seed=seed, **settings)
    names = [*dag.FAMILIES, *coded.CODED_FAMILIES, *fair.FAIR_FAMILIES]
    raise UsageError(
        f"unknown family '{family}'{suggest(family, names)} (families: {', '.join(names)})"
    )
