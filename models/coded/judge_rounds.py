"""Rules about gradients over rounds: whether every allowed pattern of stragglers is survived.

By the theorems of the source (:mod:`allocsolve.models.coded.rounds`) copies suffice: on
lambda + 1 nodes for a code that is used anew in every round, on s + 1 for selective repetition;
multiplexed nodes have slots of equal size, own ones without copies and coded ones with lambda + 1.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Sequence

from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.arrivals import batches_of
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.rounds import MULTIPLEXED, Rounds
from allocsolve.models.result import Violation

__all__ = ["judge_rounds"]


def judge_rounds(
    problem: CodedProblem, answer: CodedAnswer, partitions: int, rounds: Rounds
) -> Iterator[Violation]:
    """Judge the copies of all partitions; the lists of the nodes are right by themselves."""
    family, parts = answer.code.family, answer.partitions or ()
    copies = rounds.copies(family)
    if batches_of(problem, answer) > 1:
        yield Violation("batches", "over rounds every node sends one result in each of them")
    if answer.code.matrix is not None:
        yield Violation("decodability", "an encoding matrix cannot be judged over rounds")
    if copies is None:
        yield Violation("code", f"{_impossible(family, rounds)}")
    elif family == MULTIPLEXED:
        yield from _judge_slots(parts, partitions, rounds)
    else:
        yield from _judge_copies(Counter(p for mine in parts for p in mine), partitions, copies)


def _impossible(family: str, rounds: Rounds) -> str:
    if (rounds.stragglers(family) or 0) >= rounds.nodes:
        return f"family '{family}' cannot do without all {rounds.nodes} nodes"
    return (
        f"family '{family}' is not defined for the burst {rounds.burst} and the window "
        f"{rounds.window}: the burst must divide the window less 1"
    )


def _judge_copies(counts: Counter[int], partitions: int, copies: int) -> Iterator[Violation]:
    scarce = [part for part in range(partitions) if counts[part] < copies]
    if scarce:
        yield Violation(
            "coverage",
            f"{len(scarce)} partitions are on fewer than {copies} nodes (partition {scarce[0]} on "
            f"{counts[scarce[0]]})",
        )


def _judge_slots(
    parts: Sequence[Sequence[int]], partitions: int, rounds: Rounds
) -> Iterator[Violation]:
    """Judge own and coded slots, as the order of the partitions of each node gives them."""
    sizes = {len(mine) for mine in parts}
    size, rest = divmod(max(sizes, default=0), rounds.slots)
    if len(sizes) != 1 or rest:
        yield Violation(
            "coverage",
            f"every node of a multiplexed code has as many partitions as the others, a multiple of "
            f"its {rounds.slots} slots",
        )
        return
    own = size * (rounds.window - 1)
    held = Counter(p for mine in parts for p in mine[:own])
    groups = [
        Counter(p for mine in parts for p in mine[own + g * size : own + (g + 1) * size])
        for g in range(rounds.burst)
    ]
    for part in range(partitions):
        coded = max((group[part] for group in groups), default=0)
        if not held[part] and coded <= rounds.lam:
            yield Violation(
                "coverage",
                f"partition {part} is in no slot of a node's own and in one coded slot of only "
                f"{coded} nodes, {rounds.lam + 1} are needed",
            )
            return
