"""The links of a ``dag`` instance as tables over all pairs of nodes."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from fractions import Fraction
from typing import TypeVar

import numpy as np
from numpy.typing import NDArray

from allocsolve.models.arrays import BoolArray, IntArray, uniform_table
from allocsolve.models.dag.data import DagData, DefaultLink, Link
from allocsolve.models.exact import exact

__all__ = ["LinkTable"]

ScalarT = TypeVar("ScalarT", bound=np.generic)


class LinkTable:
    """The links of all pairs of nodes in exact numbers, before the grid is known.

    Parameters
    ----------
    data_unit
        Grid of the data of all edges.
    active
        Whether any data pass; if none do, every pair has a link that costs nothing.
    """

    def __init__(self, data: DagData, data_unit: Fraction, *, active: bool) -> None:
        self._nodes = len(data.nodes)
        self._index = {node.id: k for k, node in enumerate(data.nodes)}
        self._active = active and self._nodes > 1
        self._data_unit = data_unit
        self._links = data.links
        self._used: Sequence[Link | DefaultLink] = [
            data.default_link or DefaultLink(),
            *data.links,
        ]

    @property
    def warnings(self) -> list[str]:
        """What was left out."""
        dead = [link for link in self._links if link.bandwidth == 0]
        if not dead:
            return []
        pairs = ", ".join("-".join(link.between) for link in dead)
        return [f"links with bandwidth 0 carry no data and are left out: {pairs}"]

    @property
    def times(self) -> list[Fraction]:
        """Every latency and time per unit of data, for the grid."""
        if not self._active:
            return []
        return [exact(link.latency) for link in self._used] + list(map(self._unit_time, self._used))

    def _unit_time(self, link: Link | DefaultLink) -> Fraction:
        if link.bandwidth is None or link.bandwidth == 0:
            return Fraction(0)
        return self._data_unit / exact(link.bandwidth)

    def arrays(self, ticks: Callable[[Fraction, str], int]) -> tuple[IntArray, IntArray, BoolArray]:
        """Return latency, time per unit of data and connectivity, each (N, N).

        Parameters
        ----------
        ticks
            Scales a time, given the words for it in an error.
        """
        used = self._used if self._active else [DefaultLink(latency=0, bandwidth=None)]
        latency = [ticks(exact(link.latency), "latency") for link in used]
        unit_time = [ticks(self._unit_time(link), "data / bandwidth") for link in used]
        return (
            self._table(np.array(latency, np.int64), 0),
            self._table(np.array(unit_time, np.int64), 0),
            self._table(np.array([link.bandwidth != 0 for link in used], np.bool_), 1),
        )

    def _table(self, values: NDArray[ScalarT], own: int) -> NDArray[ScalarT]:
        """Spread the value of the default link, and that of each link, over the pairs of nodes."""
        if (values == values[0]).all():
            return uniform_table(self._nodes, values[:1], own)
        table = np.full((self._nodes, self._nodes), values[0])
        ends = [[self._index[end] for end in link.between] for link in self._links]
        one, other = np.array(ends, np.int64).T
        table[one, other] = table[other, one] = values[1:]
        np.fill_diagonal(table, own)
        table.setflags(write=False)
        return table
