"""The resources of project files, which number them: renewable ones first."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from allocsolve.instances.text import amount
from allocsolve.models.dag.data import Resource

__all__ = ["read_resources", "resource_ids"]


def resource_ids(renewable: int, nonrenewable: int) -> list[str]:
    """Return R1, R2, ... and then N1, N2, ..."""
    return [f"R{k + 1}" for k in range(renewable)] + [f"N{k + 1}" for k in range(nonrenewable)]


def read_resources(
    ids: Sequence[str], values: Iterable[tuple[str, int]], what: str
) -> list[Resource]:
    """Return the resources with their capacities.

    Parameters
    ----------
    values
        Token and line of each capacity.
    what
        What errors call a capacity; the id follows.

    Raises
    ------
    InputError
        If a capacity is not a finite, non-negative number.
    """
    return [
        Resource(
            id=name,
            capacity=amount(token, line, f"{what} {name}"),
            renewable=name.startswith("R"),
        )
        for name, (token, line) in zip(ids, values, strict=True)
    ]
