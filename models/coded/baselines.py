"""Answers of the rules of the literature, made whole, each the best of its family.

=========================  ====================================================================
``uniform``                ``ceil(need / k)`` units on every node, with the best k
``load_balanced``          in proportion to the speeds, rounded up
``replication``            blocks of equal size, each on as many nodes as another, the best number
``hcmm_ceil``              HCMM rounded up
``hcmm_scaled``            c times HCMM, rounded up or to the nearest, best c of 0.50, 0.51 .. 4
``load_balanced_scaled``   likewise
``bpcc``                   HCMM for batches, rounded up (where batches are allowed)
=========================  ====================================================================

All loads are clipped at the capacities; what then does not suffice or breaks a limit drops out.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import TypeAlias

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.coded.answer import Code, CodedAnswer
from allocsolve.models.coded.data import MatVec
from allocsolve.models.coded.domain import Domain
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.rules import hcmm_loads, load_balanced

__all__ = [
    "FACTORS",
    "RULES",
    "Loads",
    "batch_numbers",
    "candidates",
    "most_batches",
    "replicated",
]

Loads: TypeAlias = tuple[int, ...]

FACTORS = tuple(k / 100 for k in range(50, 401))
"""Factors c by which rules are scaled."""

Rule = Callable[[CodedProblem, Domain, int], Iterator[Loads]]


def _uniform(problem: CodedProblem, domain: Domain, batches: int) -> Iterator[Loads]:
    del problem, batches
    for k in range(1, len(domain.caps) + 1):
        yield domain.whole(np.full(len(domain.caps), domain.need / k), up=True)


def _load_balanced(problem: CodedProblem, domain: Domain, batches: int) -> Iterator[Loads]:
    del batches
    yield domain.whole(load_balanced(problem, domain.need), up=True)


def _hcmm(problem: CodedProblem, domain: Domain, batches: int) -> Iterator[Loads]:
    del batches
    if _has_pace(problem):
        yield domain.whole(hcmm_loads(problem, domain.need), up=True)


def _hcmm_scaled(problem: CodedProblem, domain: Domain, batches: int) -> Iterator[Loads]:
    del batches
    if _has_pace(problem):
        yield from _scaled(domain, hcmm_loads(problem, domain.need))


def _load_balanced_scaled(problem: CodedProblem, domain: Domain, batches: int) -> Iterator[Loads]:
    del batches
    yield from _scaled(domain, load_balanced(problem, domain.need))


def _bpcc(problem: CodedProblem, domain: Domain, batches: int) -> Iterator[Loads]:
    if batches > 1 and _has_pace(problem):
        yield domain.whole(hcmm_loads(problem, domain.need, batches), up=True)


def _scaled(domain: Domain, loads: FloatArray) -> Iterator[Loads]:
    for factor in FACTORS:
        for up in (True, False):
            yield domain.whole(factor * loads, up=up)


def _has_pace(problem: CodedProblem) -> bool:
    """Whether times are in proportion to loads, as these rules assume."""
    return problem.scaling != "additive" and problem.arrays.scenarios is None


RULES: Mapping[str, Rule] = MappingProxyType(
    {
        "uniform": _uniform,
        "load_balanced": _load_balanced,
        "hcmm_ceil": _hcmm,
        "hcmm_scaled": _hcmm_scaled,
        "load_balanced_scaled": _load_balanced_scaled,
        "bpcc": _bpcc,
    }
)
"""The rules that give loads for an MDS code; ``replication`` is another code."""


def candidates(rule: str, problem: CodedProblem, domain: Domain, batches: int) -> list[Loads]:
    """Return the different allowed loads of a rule, in its order."""
    found = dict.fromkeys(RULES[rule](problem, domain, batches))
    return [loads for loads in found if domain.allows(loads)]


def replicated(problem: CodedProblem, domain: Domain) -> Iterator[CodedAnswer]:
    """Yield replication in every number of blocks, fast nodes dealt out in turns.

    Nodes that cannot store a block stay without one. Products of matrices have no such code.
    """
    if not isinstance(problem.task, MatVec):
        return
    ranked = sorted(range(len(domain.caps)), key=lambda i: (domain.times[i], i))
    for blocks in range(1, len(ranked) + 1):
        rows = -(-domain.need // blocks)
        able = [i for i in ranked if domain.caps[i] >= rows]
        if len(able) < blocks:
            continue
        block = {i: _snake(place, blocks) for place, i in enumerate(able)}
        loads = [rows if i in block else 0 for i in range(len(ranked))]
        cost = domain.cost(loads)
        if sum(loads) > domain.total or (domain.budget is not None and cost > domain.budget):
            continue
        yield CodedAnswer(
            loads=tuple(Fraction(load) for load in loads),
            code=Code("replication", k=blocks),
            batches=None if problem.limits.batches == 1 else 1,
            partitions=tuple((block[i],) if i in block else () for i in range(len(ranked))),
        )


def _snake(place: int, blocks: int) -> int:
    """Deal to and fro, so that every block gets fast and slow nodes."""
    turn, within = divmod(place, blocks)
    return within if turn % 2 == 0 else blocks - 1 - within


def most_batches(problem: CodedProblem, units: int) -> int:
    """Return the largest number of batches that an answer may have: none of them is empty.

    Parameters
    ----------
    units
        Largest load of a node.
    """
    limit = problem.limits.batches
    return units if limit == "free" else min(limit, units)


def batch_numbers(problem: CodedProblem, largest: int) -> Sequence[int]:
    """Return the numbers of batches that are worth a try, rising."""
    most = most_batches(problem, largest)
    if not problem.arrays.message.any():
        return sorted({1, most})
    found = {1, most}
    found |= {round(2 ** (k / 2)) for k in range(2 * math.ceil(math.log2(max(most, 2))))}
    return sorted(number for number in found if number <= most)
