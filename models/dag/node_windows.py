"""Windows of nodes: work that a node can only do after some time and before some other."""

from __future__ import annotations

from typing import NamedTuple

from allocsolve.models.arrays import BoolArray
from allocsolve.models.dag.comm_tables import NodeTable

__all__ = ["NodeWindow"]


class NodeWindow(NamedTuple):
    """The tasks that cannot start on a node before ``head`` and leave ``tail`` behind them.

    In a schedule of length T >= head + tail, those that run on the node take at most
    ``slots * (T - head - tail)`` there.
    """

    node: int
    head: int
    tail: int

    def inside(self, table: NodeTable) -> BoolArray:
        """Return which tasks belong to the window if they run on the node, bool (n,)."""
        late: BoolArray = table.head[:, self.node] >= self.head
        late &= table.tail[:, self.node] >= self.tail
        late &= table.possible[:, self.node]
        return late
