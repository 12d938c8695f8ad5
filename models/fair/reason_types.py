"""Why a fair division has no answer, as objects that the checker can verify."""

from __future__ import annotations

import msgspec

from allocsolve.models.result import Reason

__all__ = ["SloConflict"]


class SloConflict(Reason, frozen=True, tag="slo_conflict", kw_only=True):
    """The deadlines of some jobs cannot be met together.

    Attributes
    ----------
    jobs
        Ids of the jobs in conflict; the fewer the better.
    prices
        Price of each type at which the utilities that these jobs need cost more than the
        whole stock (Farkas' lemma); empty if a job cannot meet its deadline even alone.
    relaxation
        The least factor that makes all deadlines of the instance possible when each is
        multiplied by it; None if it is not known. It is a hint and proves nothing.
    """

    jobs: list[str]
    prices: dict[str, float] = msgspec.field(default_factory=dict)
    relaxation: float | None = None

    def sentence(self) -> str:
        """Say the reason in English."""
        named = ", ".join(f"'{job}'" for job in self.jobs[:5])
        more = f" and {len(self.jobs) - 5} more" if len(self.jobs) > 5 else ""
        if len(self.jobs) == 1 and not self.prices:
            said = f"the deadline of {named} needs more than that job could get alone"
        else:
            said = f"the deadlines of {named}{more} need more than the whole stock can give"
        if self.relaxation is None:
            return said
        return f"{said}; all can be met once each is {self.relaxation:.6g} times as far away"
