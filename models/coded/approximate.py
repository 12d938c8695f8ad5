"""Approximate gradients: groups of nodes repeat partitions, and fewer are waited for than decode.

The job waits for any ``r`` results of the ``n`` nodes with a load and adds up one result of every
group that has answered. Each group that is silent is lost with all its partitions. That is the best
that any combination of these results can do: the rows of a group are equal, those of two groups
share no partition, so the least ``|1 - A x|^2`` is the number of partitions of silent groups.

If each set of r survivors is equally likely, the c nodes of a partition are all silent with
probability ``C(n - c, r) / C(n, r)``; the expected squared error is the sum of that over all
partitions, and for n partitions on d nodes each ``n C(n - d, r) / C(n, r)`` (fractional repetition
with optimal decoding in Charles, Papailiopoulos and Ellenberg, Approximate gradient coding via
sparse random graphs, 2017). It is the error in the weights of the partitions, ``|1 - A x|^2``, not
in the gradient itself. Where nodes have several speeds or laws, not every set of survivors is
equally likely: then the number is a convention, not the error that will be seen.
"""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence
from fractions import Fraction

from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.data import Gradient
from allocsolve.models.coded.thresholds import APPROXIMATE
from allocsolve.models.exact import exact, plain
from allocsolve.models.result import Violation

__all__ = ["approximate_caveat", "error_share", "judge_approximate", "least_answers"]


def error_share(copies: Sequence[int], nodes: int, answers: int) -> Fraction:
    """Return the expected squared error by the number of partitions, within 0..1, exactly.

    Parameters
    ----------
    copies
        Nodes on which each partition is, 0..nodes.
    nodes, answers
        Nodes with a load, and how many of them answer, 0..nodes; every set of that many is
        equally likely.
    """
    lost = sum(
        count * math.comb(nodes - held, answers) for held, count in sorted(Counter(copies).items())
    )
    return Fraction(lost, len(copies) * math.comb(nodes, answers))


def least_answers(copies: Sequence[int], nodes: int, limit: Fraction, most: int) -> int | None:
    """Return the least number of answers, 1..most, whose error share is within a limit.

    None if that of ``most`` answers is not; the error falls with every further answer.
    """
    if most < 1 or error_share(copies, nodes, most) > limit:
        return None
    low, high = 0, most
    while high - low > 1:
        middle = (low + high) // 2
        within = error_share(copies, nodes, middle) <= limit
        low, high = (low, middle) if within else (middle, high)
    return high


def _copies(parts: Sequence[Sequence[int]], count: int) -> list[int]:
    """Return on how many nodes each of the partitions is."""
    held = Counter(part for mine in parts for part in mine)
    return [held[part] for part in range(count)]


def judge_approximate(answer: CodedAnswer, task: Gradient) -> Iterator[Violation]:
    """Judge groups, the results that are waited for, and the error of an approximate gradient.

    Parameters
    ----------
    answer
        Its partitions are known ones, each once on a node.
    task
        With an accepted error.
    """
    assert task.error is not None
    parts = [mine for mine in answer.partitions or () if mine]
    copies = _copies(parts, task.partitions)
    if not min(copies):
        yield Violation("coverage", f"partition {copies.index(0)} is on no node")
        return
    if answer.code.matrix is not None:
        message = "an approximate gradient adds up results of groups; it takes no matrix"
        yield Violation("decodability", message)
    if sum(len(group) for group in {frozenset(mine) for mine in parts}) != task.partitions:
        message = "nodes share some partitions but not all of them, so groups are no repetition"
        yield Violation("decodability", message)
        return
    yield from _judge_answers(answer, task, copies, len(parts))


def _judge_answers(
    answer: CodedAnswer, task: Gradient, copies: Sequence[int], nodes: int
) -> Iterator[Violation]:
    held, awaited, most = answer.code.copies, answer.code.k, nodes - task.stragglers
    if held is not None and held != min(copies):
        message = f"copies of the code is {held}, some partition is on {min(copies)} nodes"
        yield Violation("code", message)
    if awaited is None or not 1 <= awaited <= nodes:
        message = f"k of the code is {awaited}, it must be the number of results to wait for"
        yield Violation("code", f"{message}, 1..{nodes}")
        return
    if awaited > most:
        message = f"{awaited} results of {nodes} nodes are waited for, and {task.stragglers} of "
        yield Violation("decodability", f"{message}them may never answer")
    found, limit = error_share(copies, nodes, awaited), exact(task.error or 0)
    if found > limit:
        message = f"the expected squared error of {awaited} of {nodes} results is "
        message += f"{float(found):.9g} of the partitions, {plain(limit)} is accepted"
        yield Violation("error", message)


def approximate_caveat(task: Gradient, answer: CodedAnswer) -> str | None:
    """Say what an approximate answer that passed the checker gives, None for exact ones."""
    code = answer.code
    if code.family != APPROXIMATE or code.k is None or task.error is None:
        return None
    parts = [mine for mine in answer.partitions or () if mine]
    share = error_share(_copies(parts, task.partitions), len(parts), code.k)
    return (
        f"the gradient is approximate: {code.k} of {len(parts)} results are waited for, and the "
        f"expected squared error is {float(share):.6g} of the partitions if every set of so many "
        "nodes is equally likely to answer first"
    )
