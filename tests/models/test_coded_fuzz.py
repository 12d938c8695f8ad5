"""Whatever an answer says, the checker gives a report: no exception, no endless work."""

from __future__ import annotations

import math
import random
from fractions import Fraction

import pytest

from allocsolve.models.coded.answer import Code, CodedAnswer, Piece
from allocsolve.models.coded.check import RULES, check
from allocsolve.models.coded.data import (
    Elastic,
    Gradient,
    Limits,
    MatMul,
    MatVec,
    Node,
    ObjectiveSpec,
    Task,
)
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.nodes import Law

TASKS: list[Task] = [
    MatVec(rows=5),
    MatMul(rows=4, inner=4, columns=4, split=(2, 1, 2)),
    Gradient(partitions=3, stragglers=1),
    Gradient(partitions=4, stragglers=0, messages=2),
    Elastic(recovery_threshold=2, stragglers=1),
]
GOALS = [
    ObjectiveSpec(),
    ObjectiveSpec(name="quantile", q=0.9),
    ObjectiveSpec(name="deadline_probability", deadline=3),
    ObjectiveSpec(name="cost", deadline=3, confidence=0.01),
]
FAMILIES = ("mds", "replication", "fractional_repetition", "cyclic", "entangled", "nonsense")


def draw_table(source: random.Random, rows: int) -> tuple[tuple[int, ...], ...] | None:
    if source.random() < 0.3:
        return None
    pick = source.randint
    return tuple(
        tuple(pick(-1, 4) if source.random() < 0.1 else k for k in range(pick(0, 4)))
        for _ in range(rows)
    )


def draw_answer(source: random.Random, problem: CodedProblem) -> CodedAnswer:
    count = len(problem.nodes) + source.choice((0, 0, 0, 0, 1, -1))
    partitions = draw_table(source, count)
    loads = [Fraction(source.choice((0, 1, 2, 3, 3, -1)), source.choice((1, 1, 1, 3)))] * count
    if partitions is not None and source.random() < 0.7:
        loads = [Fraction(len(mine)) for mine in partitions]
    names = [node.id for node in problem.nodes] + ["?"]
    pieces = tuple(
        Piece(Fraction(source.randint(0, 3), 3), tuple(source.sample(names, source.randint(0, 4))))
        for _ in range(source.randint(0, 3))
    )
    maybe = source.choice
    return CodedAnswer(
        loads=tuple(loads),
        code=Code(
            family=maybe(FAMILIES),
            n=maybe((None, None, 4, 0)),
            k=maybe((None, None, 2, 0)),
            matrix=maybe((None, None, ((1.0, 0.0),), ((1.0,) * 3,) * 4)),
        ),
        batches=maybe((None, 1, 2, 9, 0)),
        partitions=partitions,
        order=partitions if source.random() < 0.5 else None,
        pieces=pieces or None,
    )


@pytest.mark.parametrize("seed", range(300))
def test_the_checker_always_reports(seed: int) -> None:
    """Valid answers have a value (or no exact law), all others at least one named rule."""
    source = random.Random(seed)
    laws = [Law(law="exponential", rate=1), Law(law="deterministic", value=0)]
    problem = CodedProblem(
        task=source.choice(TASKS),
        nodes=[
            Node(
                id=f"w{i}",
                runtime=source.choice(laws),
                speed=source.choice((1, 1, 1, 0)),
                storage=source.choice((None, None, 3)),
                group=source.choice((None, "g")),
            )
            for i in range(4)
        ],
        objective=source.choice(GOALS),
        limits=Limits(batches="free"),
    )
    report = check(problem, draw_answer(source, problem))
    assert {violation.rule for violation in report.violations} <= set(RULES)
    if not report.valid:
        assert report.value is None
    elif report.value is not None:
        assert report.value >= 0
        assert not math.isnan(report.value)
