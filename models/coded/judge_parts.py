"""Rules about partitions of gradients, and about blocks that are replicated."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterator, Sequence

from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.approximate import approximate_caveat, judge_approximate
from allocsolve.models.coded.data import Gradient, MatMul, MatVec
from allocsolve.models.coded.decoding import MOST_SETS, Decoder
from allocsolve.models.coded.judge_rounds import judge_rounds
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.rounds import Rounds
from allocsolve.models.coded.thresholds import APPROXIMATE, needed_units
from allocsolve.models.exact import plain
from allocsolve.models.result import Violation

__all__ = ["decoding_caveat", "decoding_statement", "judge_blocks", "judge_partitions"]

_SHOWN = 12


def judge_partitions(
    problem: CodedProblem, answer: CodedAnswer, task: Gradient
) -> Iterator[Violation]:
    """Judge which partitions the nodes take and whether any n - s of them decode."""
    parts = answer.partitions
    if parts is None or len(parts) != len(problem.nodes):
        given = "no" if parts is None else str(len(parts))
        message = f"{given} lists of partitions are given for {len(problem.nodes)} nodes"
        yield Violation("partitions", message)
        return
    wrong = list(_judge_lists(problem, answer, parts, task))
    yield from wrong
    if wrong:
        return
    rounds = Rounds.of(task, len(problem.nodes))
    if rounds is not None:
        yield from judge_rounds(problem, answer, task.partitions, rounds)
        return
    if task.error is not None and answer.code.family == APPROXIMATE:
        yield from judge_approximate(answer, task)
        return
    needed = task.stragglers + task.messages
    copies = Counter(part for mine in parts for part in mine)
    scarce = [part for part in range(task.partitions) if copies[part] < needed]
    if scarce:
        yield Violation(
            "coverage",
            f"partitions {_listed(scarce)} are on fewer than {needed} nodes "
            f"(partition {scarce[0]} on {copies[scarce[0]]})",
        )
    else:
        yield from _judge_decoding(problem, answer, parts, task)


def _judge_lists(
    problem: CodedProblem, answer: CodedAnswer, parts: Sequence[Sequence[int]], task: Gradient
) -> Iterator[Violation]:
    order = answer.order
    if order is not None and len(order) != len(parts):
        yield Violation("order", f"{len(order)} orders are given for {len(parts)} nodes")
        order = None
    for i, (node, mine) in enumerate(zip(problem.nodes, parts, strict=True)):
        name, load = f"node '{node.id}'", answer.loads[i]
        unknown = [part for part in mine if not 0 <= part < task.partitions]
        if unknown:
            message = f"{name} has {_listed(unknown)}, partitions are 0..{task.partitions - 1}"
            yield Violation("partitions", message)
        if len(set(mine)) != len(mine):
            yield Violation("partitions", f"{name} has a partition twice: {_listed(mine)}")
        if len(mine) != load:
            message = f"{name} has {len(mine)} partitions and the load {plain(load)}"
            yield Violation("partitions", message)
        foreign = [] if node.holds is None else sorted(set(mine) - set(node.holds) - set(unknown))
        if foreign:
            yield Violation("holds", f"{name} takes {_listed(foreign)}, which it does not hold")
        if order is not None and sorted(order[i]) != sorted(mine):
            message = f"{name} works through {_listed(order[i])}, it has {_listed(mine)}"
            yield Violation("order", message)


def _listed(parts: Sequence[int]) -> str:
    shown = ", ".join(str(part) for part in parts[:_SHOWN])
    return shown if len(parts) <= _SHOWN else f"{shown}, .. ({len(parts)} in all)"


def _judge_decoding(
    problem: CodedProblem, answer: CodedAnswer, parts: Sequence[Sequence[int]], task: Gradient
) -> Iterator[Violation]:
    """Judge a matrix by ranks, groups by their disjointness; otherwise coverage suffices."""
    if answer.code.matrix is not None:
        yield from _judge_matrix(problem, answer, parts, task)
    if answer.code.family != "fractional_repetition":
        return
    groups = {frozenset(mine) for mine in parts if mine}
    if sum(len(group) for group in groups) != task.partitions:
        message = "nodes share some partitions but not all of them, so groups are no repetition"
        yield Violation("decodability", message)


def _judge_matrix(
    problem: CodedProblem, answer: CodedAnswer, parts: Sequence[Sequence[int]], task: Gradient
) -> Iterator[Violation]:
    rows = answer.code.matrix or ()
    nodes = len(problem.nodes)
    if len(rows) != nodes or any(len(row) != task.partitions for row in rows):
        message = f"the encoding matrix is not {nodes} x {task.partitions}"
        yield Violation("decodability", message)
        return
    for node, row, mine in zip(problem.nodes, rows, parts, strict=True):
        outside = [part for part, entry in enumerate(row) if entry and part not in set(mine)]
        if outside:
            message = f"the row of node '{node.id}' uses {_listed(outside)}, which it does not have"
            yield Violation("decodability", message)
            return
    if task.messages > 1:
        message = f"a matrix for parts of 1/{task.messages} of a gradient cannot be judged"
        yield Violation("decodability", message)
        return
    missing = Decoder.of(rows, nodes, task.stragglers).failing_set()
    if missing is not None:
        names = ", ".join(f"'{problem.nodes[i].id}'" for i in missing)
        yield Violation("decodability", f"without {names} the other nodes do not decode")


def decoding_statement(problem: CodedProblem, answer: CodedAnswer) -> str:
    """Say how far it was checked that a gradient decodes, for a reader of the check."""
    task = problem.task
    assert isinstance(task, Gradient)
    if task.sequential is not None:
        return (
            "the copies of all partitions suffice for every pattern of stragglers that burst, "
            "window and lambda allow, by the theorems on sequential gradient codes"
        )
    told = approximate_caveat(task, answer)
    if told is not None:
        return told
    if answer.code.matrix is None:
        return (
            f"every partition is on at least {task.stragglers + task.messages} nodes, so a code "
            "from which the others decode exists for every set of stragglers"
        )
    sets = math.comb(len(problem.nodes), task.stragglers)
    if sets <= MOST_SETS:
        return f"the ranks of all {sets} sets of stragglers were computed"
    return (
        f"of {sets} sets of stragglers the {len(problem.nodes)} of consecutive nodes and "
        f"{MOST_SETS // 100} random ones decode; the others were not tried"
    )


def decoding_caveat(problem: CodedProblem, answer: CodedAnswer) -> str | None:
    """Say that a gradient is approximate, or not all sets of stragglers were tried, else None.

    Parameters
    ----------
    answer
        Has passed the checker.
    """
    task = problem.task
    if not isinstance(task, Gradient):
        return None
    if answer.code.matrix is None:
        return approximate_caveat(task, answer)
    if math.comb(len(problem.nodes), task.stragglers) <= MOST_SETS:
        return None
    caveat = f"decodability is not proved: {decoding_statement(problem, answer)}"
    if problem.objective_name == "worst_case":
        caveat += "; the worst case is given as the time of the slowest node, which it cannot pass"
    return caveat


def judge_blocks(
    problem: CodedProblem, answer: CodedAnswer, task: MatVec | MatMul
) -> Iterator[Violation]:
    """Judge replicated blocks: one block for each node, each block on some node."""
    parts = answer.partitions
    if parts is None or len(parts) != len(problem.nodes):
        message = "replication names the block of each node in partitions, a list for each"
        yield Violation("partitions", message)
        return
    given = answer.code.k
    named = 1 + max((b for mine in parts for b in mine), default=0)
    blocks = max(named, 1) if given is None else given
    if blocks < 1:
        yield Violation("code", f"k of the code is {blocks}, the number of blocks is at least 1")
        return
    rows = -(-needed_units(task) // blocks)
    seen: set[int] = set()
    for node, mine, load in zip(problem.nodes, parts, answer.loads, strict=True):
        if len(mine) != (1 if load > 0 else 0) or any(not 0 <= b < blocks for b in mine):
            message = f"node '{node.id}' has blocks {_listed(mine)} and the load {plain(load)}; "
            yield Violation("partitions", f"{message}it works on one of 0..{blocks - 1}, or none")
        elif load > 0 and load < rows:
            message = f"node '{node.id}' has the load {plain(load)}, a block has {rows} units"
            yield Violation("recovery", message)
        seen.update(mine)
    if blocks > len(parts):
        yield Violation(
            "coverage", f"{blocks} blocks do not fit on {len(parts)} nodes, one on each"
        )
        return
    missing = sorted(set(range(blocks)) - seen)
    if missing:
        yield Violation("coverage", f"blocks {_listed(missing)} are on no node")
