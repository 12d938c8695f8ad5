"""Elastic work on blocks that not every node holds, against closed values and brute force."""

from __future__ import annotations

from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest
from scipy.optimize import linprog

import allocsolve
from allocsolve.models.coded.answer import CodedAnswer, CodedResult
from allocsolve.models.coded.baselines_elastic import ElasticJob, blocks_answer, equal_parts
from allocsolve.models.coded.data import Elastic, Limits, Node
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.errors import InputError
from allocsolve.models.result import Status

SPEEDS = [1, 2, 4, 8, 16, 32]
CYCLIC = [[(i + k) % 6 for k in range(3)] for i in range(6)]
REPEATED = [[0, 1, 2]] * 3 + [[3, 4, 5]] * 3


def _blocks(
    holds: Sequence[Sequence[int]], stragglers: int = 0, blocks: int = 6, **fields: object
) -> CodedProblem:
    nodes = [
        Node(id=f"w{i}", speed=speed, holds=list(held))
        for i, (speed, held) in enumerate(zip(SPEEDS, holds, strict=False))
    ]
    task = Elastic(recovery_threshold=1, stragglers=stragglers, partitions=blocks)
    return CodedProblem(task=task, nodes=nodes).replace(**fields)


def _solve(problem: CodedProblem, method: str = "auto") -> CodedResult:
    result = allocsolve.solve(problem, method=method, time_limit=None, threads=1)
    assert isinstance(result, CodedResult)
    assert allocsolve.check(problem, result).violations == ()
    return result


@pytest.mark.parametrize(
    ("holds", "time"),
    [
        # Three blocks lie on nodes of speed 7 together, the other three on the fast ones.
        (REPEATED, Fraction(3, 42)),
        # One block lies on the nodes of speeds 1, 2 and 4 only, and nothing takes longer.
        (CYCLIC, Fraction(1, 42)),
        # Everybody holds everything: water filling.
        ([range(6)] * 6, Fraction(1, 63)),
    ],
    ids=["repeated", "cyclic", "everywhere"],
)
def test_uncoded_storage_takes_the_time_of_its_scarcest_blocks(
    holds: Sequence[Sequence[int]], time: Fraction
) -> None:
    """Six nodes of speeds 1 to 32, as in the literature on uncoded storage elastic computing."""
    result = _solve(_blocks(holds))
    assert result.status is Status.OPTIMAL
    assert float(result.objective.value) == pytest.approx(float(time), rel=1e-9)
    equal = result.baselines["equal_shares"]
    assert equal is not None
    assert equal > float(time)


@pytest.mark.parametrize("seed", range(6))
def test_values_are_those_of_another_solver(seed: int) -> None:
    """The same program, written down once more and solved by scipy block by block."""
    draw = np.random.default_rng(seed)
    count, blocks, copies = 5, 4, int(draw.integers(1, 3))
    held = draw.random((count, blocks)) < 0.7
    held[: copies + 1] = True
    speeds, costs = draw.integers(1, 9, count), draw.integers(0, 4, count)
    nodes = [
        Node(
            id=str(i),
            speed=int(speeds[i]),
            cost=int(costs[i]),
            storage=Fraction(int(draw.integers(5, 11)), 10),
            holds=np.flatnonzero(held[i]).tolist(),
        )
        for i in range(count)
    ]
    budget = 2.5 * copies
    problem = CodedProblem(
        task=Elastic(recovery_threshold=1, stragglers=copies - 1, partitions=blocks),
        nodes=nodes,
        limits=Limits(budget=budget),
    )
    share = np.zeros((2 * count + 1, count * blocks + 1))
    limit = np.zeros(2 * count + 1)
    cover = np.zeros((blocks, count * blocks + 1))
    for i in range(count):
        mine = slice(i * blocks, (i + 1) * blocks)
        share[i, mine], share[i, -1] = 1 / blocks / speeds[i], -1
        share[count + i, mine], limit[count + i] = 1 / blocks, float(nodes[i].storage or 1)
        share[-1, mine] = costs[i] / blocks
        cover[:, mine] = np.eye(blocks)
    limit[-1] = budget
    limits = [(0, float(x)) for x in held.ravel()]
    other = linprog(
        [0] * count * blocks + [1], share, limit, cover, [copies] * blocks, [*limits, (0, None)]
    )
    result = _solve(problem)
    assert (result.status is Status.OPTIMAL) == (other.status == 0)
    if other.status == 0:
        assert float(result.objective.value) == pytest.approx(other.fun, rel=1e-8)


def test_stragglers_may_be_silent_on_every_block() -> None:
    """With S = 1 every point of every block is on two nodes that hold it."""
    problem = _blocks(CYCLIC, stragglers=1)
    result = _solve(problem)
    assert result.status is Status.OPTIMAL
    assert all(len(set(piece.nodes)) == 2 for piece in result.assignment.pieces or ())
    alone = _solve(_blocks(CYCLIC))
    assert float(result.objective.value) > float(alone.objective.value)


def test_nodes_that_begin_late_come_in_when_they_help() -> None:
    """A fast node that starts after the others are done gets nothing, one that starts soon much."""
    times = []
    for startup in (0, Fraction(1, 10), 10):
        problem = _blocks([[0, 1], [0, 1], [0, 1]], blocks=2)
        late = [*problem.nodes[:2], Node(id="late", speed=9, startup=startup, holds=[0, 1])]
        result = _solve(problem.replace(nodes=late))
        assert result.status is Status.OPTIMAL
        times.append(float(result.objective.value))
    assert times[0] == pytest.approx(1 / 12)
    assert times[1] == pytest.approx((1 + 0.9) / 12)
    assert times[2] == pytest.approx(1 / 3)


def test_money_moves_work_to_cheap_nodes() -> None:
    """Where all nodes hold everything and money is short, the program still finds the optimum."""
    nodes = [Node(id="dear", speed=3, cost=4), Node(id="cheap", speed=1, cost=1)]
    problem = CodedProblem(task=Elastic(recovery_threshold=1), nodes=nodes, limits=Limits(budget=2))
    result = _solve(problem)
    assert result.status is Status.OPTIMAL
    assert float(result.objective.value) == pytest.approx(2 / 3)
    poor = _solve(problem.replace(limits=Limits(budget=Fraction(1, 2))))
    assert poor.status is Status.INFEASIBLE


def test_a_block_that_too_few_nodes_hold_is_the_reason() -> None:
    """The reason names the block, and the checker verifies it."""
    result = _solve(_blocks([[0, 1], [0], [0, 1]], stragglers=2, blocks=2))
    assert result.status is Status.INFEASIBLE
    assert result.certificate.reason is not None
    assert "partition 1 is needed on 3 nodes" in result.certificate.reason.sentence()


def test_storage_and_blocks_together_can_be_too_little() -> None:
    """Each limit alone could be kept; the program proves that both cannot."""
    problem = _blocks([[0], [0, 1]], blocks=2)
    nodes = [problem.nodes[0], Node(id="both", speed=1, storage=Fraction(1, 4), holds=[0, 1])]
    wide = [*nodes, Node(id="more", speed=1, holds=[0])]
    assert _solve(problem.replace(nodes=wide)).status is Status.INFEASIBLE


def test_the_checker_knows_where_a_piece_lies() -> None:
    """A piece lies where those before it end; its nodes have to hold that block."""
    problem = _blocks([[0], [1]], blocks=2)
    half = Fraction(1, 2)
    right = CodedAnswer.of([half, half], pieces=[(half, ["w0"]), (half, ["w1"])])
    wrong = CodedAnswer.of([half, half], pieces=[(half, ["w1"]), (half, ["w0"])])
    across = CodedAnswer.of(
        [half, half],
        pieces=[(Fraction(1, 4), ["w0"]), (half, ["w1"]), (Fraction(1, 4), ["w0"])],
    )
    assert allocsolve.check(problem, right).violations == ()
    rules = [v.rule for v in allocsolve.check(problem, wrong).violations]
    assert rules == ["holds", "holds"]
    messages = [v.message for v in allocsolve.check(problem, across).violations]
    assert [m.split(",")[0] for m in messages] == [
        "piece 1 lies in block 0",
        "piece 2 lies in block 1",
    ]


def test_equal_parts_are_cut_into_pieces_of_holders() -> None:
    """Thirds of each block, exact, and never more pieces in a block than nodes."""
    problem = _blocks(CYCLIC, stragglers=1)
    parts = equal_parts(ElasticJob.of(problem))
    assert parts is not None
    answer = blocks_answer(problem, parts)
    assert allocsolve.check(problem, answer).violations == ()
    assert set(answer.loads) == {Fraction(1, 3)}
    assert len(answer.pieces or ()) <= 6 * 3


def test_partitions_without_a_cut_are_refused() -> None:
    """`holds` means nothing where the matrix is not cut into blocks."""
    with pytest.raises(InputError, match="which this task has not"):
        CodedProblem(task=Elastic(recovery_threshold=1), nodes=[Node(id="a", holds=[0])])
