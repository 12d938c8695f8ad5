"""What the data of an instance implies for every answer, in exact numbers.

Read from the data in input units, not from the arrays that solvers read.
"""

from __future__ import annotations

import math
from fractions import Fraction

from allocsolve.models.coded.data import CodedData, Elastic, Gradient, MatMul, Node
from allocsolve.models.coded.thresholds import PRODUCT_CODES, fits_split, needed_units
from allocsolve.models.exact import exact

__all__ = ["Facts"]


class Facts:
    """Needs and capacities.

    Attributes
    ----------
    copies
        Nodes on which each partition or piece is needed; None for matrix products. An
        approximate gradient needs each partition once.
    need
        Total load below which no job can be completed, whatever the code.
    """

    def __init__(self, data: CodedData) -> None:
        self.data = data
        task = data.task
        self.copies = needed_units(task) if isinstance(task, Gradient | Elastic) else None
        if isinstance(task, Gradient) and task.error is not None:
            self.copies = 1
        self.need = self._need()

    def _need(self) -> int:
        task = self.data.task
        if isinstance(task, Gradient):
            return task.partitions * (self.copies or 0)
        if isinstance(task, MatMul):
            fitting = [name for name in PRODUCT_CODES if fits_split(name, task.split)]
            return min(needed_units(task, name) for name in fitting)
        return needed_units(task)

    def capacity(self, node: Node) -> Fraction | None:
        """Return the largest load of a node, None without a limit."""
        task = self.data.task
        limits = [] if node.storage is None else [exact(node.storage)]
        if not exact(node.speed):
            return Fraction(0)
        if isinstance(task, Elastic):
            held = Fraction(1)
            if node.holds is not None and task.partitions:
                held = Fraction(len(node.holds), task.partitions)
            return min([*limits, held])
        if isinstance(task, Gradient):
            limits.append(Fraction(task.partitions if node.holds is None else len(node.holds)))
        return Fraction(math.floor(min(limits))) if limits else None

    def workers(self) -> int:
        """Return the number of nodes that can take a load."""
        return sum(self.capacity(node) != 0 for node in self.data.nodes)

    def storage(self) -> Fraction | None:
        """Return the largest total load, None without a limit."""
        held = [self.capacity(node) for node in self.data.nodes]
        known = [amount for amount in held if amount is not None]
        return sum(known, Fraction(0)) if len(known) == len(held) else None

    def holders(self, partition: int) -> int:
        """Return the number of nodes that may take a partition."""
        return sum(
            (node.holds is None or partition in node.holds) and self.capacity(node) != 0
            for node in self.data.nodes
        )

    def least_cost(self) -> Fraction | None:
        """Return the price of the need on the cheapest nodes, None if they cannot hold it."""
        rest, cost = Fraction(self.need), Fraction(0)
        for node in sorted(self.data.nodes, key=lambda node: exact(node.cost)):
            held = self.capacity(node)
            share = rest if held is None else min(rest, held)
            cost += share * exact(node.cost)
            rest -= share
        return None if rest else cost
