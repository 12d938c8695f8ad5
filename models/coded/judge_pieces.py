"""Rules about the pieces of elastic answers."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from fractions import Fraction

from allocsolve.models.coded.answer import CodedAnswer, Piece
from allocsolve.models.coded.data import Elastic
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.errors import suggest
from allocsolve.models.exact import plain
from allocsolve.models.result import Violation

__all__ = ["judge_pieces"]


def judge_pieces(
    problem: CodedProblem, answer: CodedAnswer, task: Elastic, slack: Fraction
) -> Iterator[Violation]:
    """Judge how [0, 1] is cut: each piece on L + S nodes, sizes that give 1 and the loads.

    Parameters
    ----------
    slack
        Rounding of sums that a document may leave.
    """
    if answer.pieces is None:
        yield Violation("pieces", "an elastic answer needs pieces")
        return
    yield from _judge_holders(problem, answer.pieces, task, slack)
    needed = task.recovery_threshold + task.stragglers
    sums = dict.fromkeys(problem.node_index, Fraction(0))
    for number, piece in enumerate(answer.pieces):
        name = f"piece {number}"
        if piece.size < 0:
            yield Violation("pieces", f"{name} has the negative size {plain(piece.size)}")
        unknown = [node for node in piece.nodes if node not in sums]
        for stranger in unknown:
            hint = suggest(stranger, list(sums))
            yield Violation("pieces", f"{name} names the unknown node '{stranger}'{hint}")
        distinct = len(set(piece.nodes) - set(unknown))
        if distinct != len(piece.nodes) - len(unknown):
            yield Violation("pieces", f"{name} names a node twice")
        if distinct != needed:
            message = f"{name} is on {distinct} nodes, {needed} are needed"
            yield Violation("pieces", message)
        for member in set(piece.nodes) - set(unknown):
            sums[member] += piece.size
    total = sum((piece.size for piece in answer.pieces), Fraction(0))
    if abs(total - 1) > slack:
        yield Violation("piece_cover", f"the sizes of the pieces add up to {plain(total)}, not 1")
    for node, load in zip(problem.nodes, answer.loads, strict=True):
        if abs(sums[node.id] - load) > slack:
            message = f"the pieces of node '{node.id}' add up to {plain(sums[node.id])}, "
            yield Violation("piece_load", f"{message}its load is {plain(load)}")


def _judge_holders(
    problem: CodedProblem, pieces: Sequence[Piece], task: Elastic, slack: Fraction
) -> Iterator[Violation]:
    """Judge whether nodes hold what they compute: a piece lies where those before it end."""
    held = {node.id: None if node.holds is None else set(node.holds) for node in problem.nodes}
    blocks, place = task.partitions or 1, Fraction(0)
    for number, piece in enumerate(pieces):
        low, high = (place + slack) * blocks, (place + piece.size - slack) * blocks
        place += piece.size
        touched = range(max(0, math.floor(low)), min(blocks, math.ceil(high)))
        for name in dict.fromkeys(piece.nodes):
            mine = held.get(name)
            if mine is None:
                continue
            lost = [block for block in touched if block not in mine]
            if lost:
                message = f"piece {number} lies in block {lost[0]}, which node '{name}' does not "
                yield Violation("holds", f"{message}hold")
