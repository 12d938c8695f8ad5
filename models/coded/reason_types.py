"""Why a ``coded`` instance has no answer: typed objects that the checker can verify."""

from __future__ import annotations

from allocsolve.models.result import Reason

__all__ = [
    "BudgetBelowNeed",
    "DeadlineOutOfReach",
    "LoadLimitBelowNeed",
    "PartitionOutOfReach",
    "StorageBelowNeed",
    "TooManyStragglers",
]


class TooManyStragglers(Reason, frozen=True, tag="too_many_stragglers", kw_only=True):
    """More nodes are needed for every partition or piece than there are.

    Attributes
    ----------
    needed
        Nodes on which each partition or piece must be, so that ``stragglers`` may be silent.
    nodes
        Nodes that are alive and may hold anything.
    """

    stragglers: int
    needed: int
    nodes: int

    def sentence(self) -> str:
        """Say the reason in English."""
        return (
            f"every part of the work is needed on {self.needed} nodes, so that any "
            f"{self.stragglers} may never answer, but only {self.nodes} nodes can work"
        )


class StorageBelowNeed(Reason, frozen=True, tag="storage_below_need", kw_only=True):
    """All nodes together hold less than the job needs.

    Attributes
    ----------
    storage
        Largest total load that the nodes can hold.
    need
        Total load below which no job can be completed.
    """

    storage: int | float
    need: int | float

    def sentence(self) -> str:
        """Say the reason in English."""
        return (
            f"the nodes together hold a load of at most {self.storage}, and the job needs at least "
            f"{self.need}"
        )


class LoadLimitBelowNeed(Reason, frozen=True, tag="load_limit_below_need", kw_only=True):
    """The limit of the total load is below what the job needs."""

    total_load: int | float
    need: int | float

    def sentence(self) -> str:
        """Say the reason in English."""
        return (
            f"the total load is limited to {self.total_load}, and the job needs at least "
            f"{self.need}"
        )


class BudgetBelowNeed(Reason, frozen=True, tag="budget_below_need", kw_only=True):
    """Even the cheapest load costs more than the budget.

    Attributes
    ----------
    cost
        Price of the load that the job needs on the cheapest nodes, as far as they hold it.
    """

    budget: int | float
    need: int | float
    cost: int | float

    def sentence(self) -> str:
        """Say the reason in English."""
        return (
            f"the load of {self.need} that the job needs costs at least {self.cost}, and the "
            f"budget is {self.budget}"
        )


class DeadlineOutOfReach(Reason, frozen=True, tag="deadline_out_of_reach", kw_only=True):
    """The job cannot be complete by the deadline as likely as is asked for.

    Attributes
    ----------
    probability
        Most that P(T <= deadline) can be if every row counted as soon as it is done, whatever
        the loads.
    """

    deadline: int | float
    confidence: int | float
    probability: float

    def sentence(self) -> str:
        """Say the reason in English."""
        return (
            f"no loads reach P(T <= {self.deadline:.9g}) >= {self.confidence:.9g}; it is at most "
            f"{self.probability:.6g} even if every row counted as soon as it is done"
        )


class PartitionOutOfReach(Reason, frozen=True, tag="partition_out_of_reach", kw_only=True):
    """A partition that too few nodes may hold."""

    partition: int
    holders: int
    needed: int

    def sentence(self) -> str:
        """Say the reason in English."""
        return (
            f"partition {self.partition} is needed on {self.needed} nodes, but only {self.holders} "
            "nodes may hold it"
        )
