"""Problems as job shops: chains of operations on machines, for the writers of shop formats."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import TypeAlias

from allocsolve.instances.losses import common_losses, refuse_inexpressible
from allocsolve.instances.numerals import Numerals
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import UsageError

__all__ = ["Shop", "machine_numbers", "shop_of"]

Alternatives: TypeAlias = list[tuple[int, str]]
"""Node index and time in decimal text, for every node that can do an operation."""


@dataclass(frozen=True)
class Shop:
    """The jobs of a problem, in the order of their first operations."""

    jobs: list[list[Alternatives]]
    losses: list[str]
    numerals: Numerals = field(default_factory=Numerals)

    def all_losses(self) -> list[str]:
        """Return the losses, with the rounded numbers if there are any."""
        return self.losses + self.numerals.losses()


def shop_of(problem: DagProblem, format_name: str, honours: frozenset[str]) -> Shop:
    """Take a problem apart into jobs.

    Raises
    ------
    UsageError
        If precedence is not made of chains, or the problem has features outside ``honours``.
    """
    refuse_inexpressible(problem, format_name, honours, _obstacles(problem))
    chains = _chains(problem)
    numerals = Numerals()
    losses = common_losses(problem)
    expected = {i: f"{j}.{o}" for j, chain in enumerate(chains, 1) for o, i in enumerate(chain, 1)}
    renamed = [task.id for i, task in enumerate(problem.tasks) if task.id != expected[i]]
    if renamed:
        losses.append(f"task ids replaced by job.operation, e.g. '{renamed[0]}'")
    jobs = [[_alternatives(problem, i, numerals) for i in chain] for chain in chains]
    return Shop(jobs, losses, numerals)


def _obstacles(problem: DagProblem) -> tuple[str, ...]:
    arrays = problem.arrays
    degrees = [*arrays.edge_source.tolist()], [*arrays.edge_target.tolist()]
    found = [
        ("precedence other than chains", any(len(set(ends)) < len(ends) for ends in degrees)),
        ("nodes with several slots", bool((arrays.node_slots > 1).any())),
        ("tasks without nodes", bool((arrays.mode_node < 0).any())),
        (
            "tasks that no node can do",
            bool((arrays.mode_offset[1:] == arrays.mode_offset[:-1]).any()),
        ),
        ("an instance without nodes", not problem.nodes),
    ]
    return tuple(name for name, present in found if present)


def _chains(problem: DagProblem) -> list[list[int]]:
    arrays = problem.arrays
    follower = dict(zip(arrays.edge_source.tolist(), arrays.edge_target.tolist(), strict=True))
    later = set(follower.values())
    chains = []
    for first in range(len(problem.tasks)):
        if first in later:
            continue
        chain = [first]
        while chain[-1] in follower:
            chain.append(follower[chain[-1]])
        chains.append(chain)
    return chains


def _alternatives(problem: DagProblem, task: int, numerals: Numerals) -> Alternatives:
    arrays = problem.arrays
    return [
        (int(arrays.mode_node[mode]), numerals(problem.units(int(arrays.mode_duration[mode]))))
        for mode in arrays.modes_of(task)
    ]


def machine_numbers(problem: DagProblem, base: int, losses: list[str]) -> list[int]:
    """Return a number for each node, from ``base`` on; report ids that are other numbers.

    Raises
    ------
    UsageError
        If the problem has no nodes.
    """
    if not problem.nodes:
        raise UsageError("a shop needs at least one node")
    numbers = [base + k for k in range(len(problem.nodes))]
    renamed = [
        n.id for n, number in zip(problem.nodes, numbers, strict=True) if n.id != str(number)
    ]
    if renamed:
        losses.append(f"machine ids replaced by {numbers[0]}..{numbers[-1]}, e.g. '{renamed[0]}'")
    return numbers
