"""Which task hands a slot or units of a resource on to which: the order that a plan implies.

Each unit of a slot or renewable resource passes along a chain of tasks. As long as every task
waits for those that hand it units, no capacity is exceeded, however long the tasks take: a
partial-order schedule by chaining (Policella, Cesta, Oddi and Smith, "From precedence constraint
posting to partial order schedules", AI Communications 20, 2007).
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence, Set
from dataclasses import dataclass
from fractions import Fraction
from operator import attrgetter

from allocsolve.models.errors import CheckFailed

__all__ = ["Use", "link_units"]


@dataclass(frozen=True, slots=True)
class Use:
    """A task that holds ``amount`` units from ``start`` to ``end`` (ticks)."""

    task: int
    start: int
    end: int
    amount: int


@dataclass(slots=True)
class _Holder:
    """Units that a task gives back at its end; task -1 stands for the beginning."""

    task: int
    end: int
    amount: int


def link_units(
    capacity: int,
    uses: Iterable[Use],
    predecessors: Sequence[Set[int]],
    pause: Callable[[int, int], Fraction] | None = None,
) -> list[tuple[int, int]]:
    """Return pairs (source, target): the target takes units that the source gives back.

    Units come first from direct predecessors, which the task waits for anyway, then from the
    tasks that ended last.

    Parameters
    ----------
    capacity
        Units there are.
    uses
        Tasks of positive length and amount.
    predecessors
        Direct predecessors of each task.
    pause
        Ticks between the end of a task and the start of the next one on the same unit.

    Raises
    ------
    CheckFailed
        If the tasks need more units at once than there are.
    """
    holders = [_Holder(-1, -(2**62), capacity)]
    links: list[tuple[int, int]] = []
    for use in sorted(uses, key=attrgetter("start", "end", "task")):
        free = [h for h in holders if _is_free(h, use, pause)]
        known = predecessors[use.task]
        free.sort(key=lambda h: (h.task not in known, -h.end, h.task))
        links.extend((source, use.task) for source in _take(free, use) if source >= 0)
        holders = [h for h in holders if h.amount]
        holders.append(_Holder(use.task, use.end, use.amount))
    return links


def _is_free(holder: _Holder, use: Use, pause: Callable[[int, int], Fraction] | None) -> bool:
    if pause is None or holder.task < 0:
        return holder.end <= use.start
    return holder.end + pause(holder.task, use.task) <= use.start


def _take(free: Sequence[_Holder], use: Use) -> list[int]:
    """Take the units of a task from the first holders; return their tasks."""
    missing, sources = use.amount, []
    for holder in free:
        if not missing:
            break
        taken = min(missing, holder.amount)
        holder.amount -= taken
        missing -= taken
        sources.append(holder.task)
    if missing:
        raise CheckFailed(f"the schedule needs {missing} units more than there are at {use.start}")
    return sources
