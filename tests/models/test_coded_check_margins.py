"""How exactly the checker of coded answers judges: just inside a rule and just outside of it."""

from __future__ import annotations

import math
from dataclasses import replace
from fractions import Fraction
from typing import Literal

import pytest

from allocsolve.models.claims import Claims
from allocsolve.models.coded.answer import Code, CodedAnswer
from allocsolve.models.coded.check import check, check_claims
from allocsolve.models.coded.data import Elastic, Gradient, Limits, MatVec, Node, ObjectiveSpec
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.nodes import Law
from allocsolve.models.result import Status

EXPONENTIAL = Law(law="exponential", rate=1)
UNIT = Law(law="deterministic", value=1)


def rules(problem: CodedProblem, answer: CodedAnswer) -> set[str]:
    """Return the rules that an answer breaks."""
    return {violation.rule for violation in check(problem, answer).violations}


@pytest.mark.parametrize(("missing", "broken"), [(-1e-9, set()), (1e-9, {"confidence"})])
def test_a_confidence_is_missed_by_a_billionth(missing: float, broken: set[str]) -> None:
    """Two of two nodes by 2: what the law reaches is enough, hardly more is not."""
    reached = (1 - math.exp(-2)) ** 2
    problem = CodedProblem(
        task=MatVec(rows=2),
        nodes=[Node(id=c, runtime=EXPONENTIAL) for c in "ab"],
        objective=ObjectiveSpec(name="cost", deadline=2, confidence=reached + missing),
    )
    assert rules(problem, CodedAnswer.of([1, 1])) == broken


@pytest.mark.parametrize(("over", "broken"), [(0, set()), (Fraction(1, 10**9), {"budget"})])
def test_a_budget_of_whole_units_is_exact(over: Fraction, broken: set[str]) -> None:
    """Loads of rows are whole numbers and prices exact, so nothing excuses a higher cost."""
    problem = CodedProblem(
        task=MatVec(rows=2),
        nodes=[Node(id=c, runtime=EXPONENTIAL, cost=Fraction(1, 3)) for c in "ab"],
        limits=Limits(budget=Fraction(2, 3) - over),
    )
    assert rules(problem, CodedAnswer.of([1, 1])) == broken


@pytest.mark.parametrize(
    ("loads", "broken"),
    [
        pytest.param([1, 1, 1], set(), id="all that may be used"),
        pytest.param([2, 1, 1], {"total_load"}, id="one more in all"),
        pytest.param([3, 0, 0], {"storage"}, id="one more than fits on a node"),
        pytest.param([1, 0, 0], {"recovery"}, id="one fewer than is needed"),
    ],
)
def test_one_unit_more_or_less_breaks_a_limit(loads: list[int], broken: set[str]) -> None:
    """Limits of loads are whole numbers and hold to the last unit."""
    problem = CodedProblem(
        task=MatVec(rows=2),
        nodes=[Node(id=c, runtime=EXPONENTIAL, storage=2) for c in "abc"],
        limits=Limits(total_load=3),
    )
    assert rules(problem, CodedAnswer.of(loads)) == broken


@pytest.mark.parametrize(("copies", "broken"), [(3, set()), (2, {"coverage"})])
def test_parts_of_gradients_need_more_copies(copies: int, broken: set[str]) -> None:
    """One straggler and halves of gradients: every partition is needed on three nodes."""
    problem = CodedProblem(
        task=Gradient(partitions=4, stragglers=1, messages=2),
        nodes=[Node(id=str(i), runtime=UNIT) for i in range(4)],
    )
    parts = [[(i + k) % 4 for k in range(copies)] for i in range(4)]
    assert rules(problem, CodedAnswer.of([copies] * 4, partitions=parts)) == broken


RING = CodedProblem(
    task=Gradient(partitions=3, stragglers=1), nodes=[Node(id=c, runtime=UNIT) for c in "abc"]
)
RIGHT = CodedAnswer.of(
    [2] * 3,
    partitions=[[0, 1], [1, 2], [0, 2]],
    code=Code(matrix=((0.5, 1, 0), (0, 1, -1), (0.5, 0, 1))),
)


@pytest.mark.parametrize(("row", "part"), [(0, 2), (1, 0), (2, 1)])
def test_a_row_of_the_code_uses_only_what_its_node_has(row: int, part: int) -> None:
    """A node cannot add a gradient that it does not compute, whichever partition it is."""
    assert rules(RING, RIGHT) == set()
    matrix = [list(entries) for entries in RIGHT.code.matrix or ()]
    matrix[row][part] = 1e-6
    wrong = replace(RIGHT, code=Code(matrix=tuple(map(tuple, matrix))))
    (violation,) = check(RING, wrong).violations
    assert violation.rule == "decodability"
    assert f"'{'abc'[row]}' uses {part}," in violation.message


def test_an_order_names_each_partition_once() -> None:
    """A partition that is named twice would be computed twice, or another one not at all."""
    good = replace(RIGHT, order=((1, 0), (1, 2), (2, 0)))
    assert rules(RING, good) == set()
    assert rules(RING, replace(good, order=((1, 0, 0), (1, 2), (2, 0)))) == {"order"}


def test_a_piece_on_more_nodes_than_needed_is_no_answer() -> None:
    """Every part is computed by exactly L + S nodes; a third copy is work that nobody planned."""
    problem = CodedProblem(
        task=Elastic(recovery_threshold=2), nodes=[Node(id=c, speed=1) for c in "abc"]
    )
    every = CodedAnswer.of([1, 1, 1], pieces=[(1, ["a", "b", "c"])])
    assert rules(problem, every) == {"pieces"}


@pytest.mark.parametrize(
    "load", [Fraction(1, 4), Fraction(3, 4), Fraction(1, 2) + Fraction(1, 10**8)]
)
def test_loads_of_pieces_are_neither_less_nor_more(load: Fraction) -> None:
    """A load that is told too high is as wrong as one that is told too low."""
    problem = CodedProblem(
        task=Elastic(recovery_threshold=2),
        nodes=[Node(id=c, speed=speed) for c, speed in zip("abc", (1, 1, 2), strict=True)],
    )
    half = Fraction(1, 2)
    pieces = [(half, ["a", "c"]), (half, ["b", "c"])]
    assert rules(problem, CodedAnswer.of([half, half, 1], pieces=pieces)) == set()
    assert rules(problem, CodedAnswer.of([half, load, 1], pieces=pieces)) == {"piece_load"}


@pytest.mark.parametrize(
    ("right", "wrong"),
    [
        pytest.param(Code(n=3, stragglers=1, messages=1), Code(messages=2), id="messages"),
        pytest.param(Code(stragglers=1), Code(stragglers=0), id="stragglers"),
        pytest.param(Code(n=3), Code(n=2), id="n"),
    ],
)
def test_a_code_of_gradients_says_what_the_task_says(right: Code, wrong: Code) -> None:
    """Whoever reads the code of an answer builds the decoder by it."""
    assert rules(RING, replace(RIGHT, code=right)) == set()
    assert rules(RING, replace(RIGHT, code=wrong)) == {"code"}


def test_a_code_of_pieces_says_what_the_task_says() -> None:
    """The threshold of an elastic answer is that of its task."""
    problem = CodedProblem(
        task=Elastic(recovery_threshold=2, stragglers=1),
        nodes=[Node(id=c, speed=1) for c in "abc"],
    )
    answer = CodedAnswer.of([1, 1, 1], pieces=[(1, ["a", "b", "c"])])
    assert rules(problem, replace(answer, code=Code(n=3, k=2, stragglers=1))) == set()
    for wrong in (Code(n=2), Code(k=3), Code(stragglers=0)):
        assert rules(problem, replace(answer, code=wrong)) == {"code"}


def test_parts_of_gradients_are_not_sent_in_batches() -> None:
    """Half of a gradient is sent once; there is no law for a part of such a part."""
    problem = CodedProblem(
        task=Gradient(partitions=4, stragglers=1, messages=2),
        nodes=[Node(id=str(i), runtime=UNIT) for i in range(4)],
        limits=Limits(batches=3),
    )
    answer = CodedAnswer.of([3] * 4, partitions=[[(i + k) % 4 for k in range(3)] for i in range(4)])
    assert rules(problem, replace(answer, batches=1)) == set()
    assert rules(problem, replace(answer, batches=2)) == {"batches"}


@pytest.mark.parametrize(("bound", "broken"), [(8 - 4e-8, set()), (8 - 4e-7, {"bound"})])
def test_a_proof_leaves_no_more_than_a_hundred_millionth(bound: float, broken: set[str]) -> None:
    """OPTIMAL means a gap of at most 1e-8; ten times as much is only a good answer."""
    problem = CodedProblem(
        task=MatVec(rows=1), nodes=[Node(id="a", runtime=Law(law="deterministic", value=8))]
    )
    report = check(problem, CodedAnswer.of([1]))
    assert report.value == 8
    for status, expected in ((Status.OPTIMAL, broken), (Status.FEASIBLE, set())):
        found = check_claims(problem, report, Claims(status, 8.0, bound))
        assert {violation.rule for violation in found} == expected


@pytest.mark.parametrize(
    ("loads", "blocks", "broken"),
    [
        pytest.param([4, 4, 0], [[0], [1], []], set(), id="right"),
        pytest.param([4, 3, 0], [[0], [1], []], {"recovery"}, id="half of seven rows, rounded up"),
        pytest.param([4, 4, 4], [[0], [1], [2]], {"partitions"}, id="a block that there is not"),
        pytest.param([4, 4, 4], [[0], [1], [-1]], {"partitions"}, id="a block below the first"),
        pytest.param([4, 4, 0], [[0], [1], [1]], {"partitions"}, id="a block without a load"),
    ],
)
def test_blocks_of_replication_are_whole(
    loads: list[int], blocks: list[list[int]], broken: set[str]
) -> None:
    """Seven rows in two blocks are four and three; a copy takes what the larger one takes."""
    problem = CodedProblem(
        task=MatVec(rows=7), nodes=[Node(id=c, runtime=EXPONENTIAL) for c in "abc"]
    )
    code = Code(family="replication", k=2)
    assert rules(problem, CodedAnswer.of(loads, code=code, partitions=blocks)) == broken


@pytest.mark.parametrize(
    ("loads", "blocks", "k", "broken"),
    [
        pytest.param([0, 0, 0], [[], [], []], -1, {"code"}, id="fewer than none"),
        pytest.param([0, 0, 0], [[], [], []], 0, {"code"}, id="none"),
        pytest.param([7, 7, 7], [[0], [0], [0]], 10**15, {"coverage"}, id="more than memory"),
        pytest.param([7, 7, 7], [[0], [1], [10**15]], None, {"coverage"}, id="a far one"),
        pytest.param([7, 7, 7], [[-9], [-9], [-9]], None, {"partitions", "coverage"}, id="below"),
    ],
)
def test_the_number_of_blocks_is_possible(
    loads: list[int], blocks: list[list[int]], k: int | None, broken: set[str]
) -> None:
    """No blocks would be complete without any work; of too many none is listed one by one."""
    problem = CodedProblem(
        task=MatVec(rows=7), nodes=[Node(id=c, runtime=EXPONENTIAL) for c in "abc"]
    )
    code = Code(family="replication", k=k)
    assert rules(problem, CodedAnswer.of(loads, code=code, partitions=blocks)) == broken


@pytest.mark.parametrize(
    ("load", "broken"), [(10**12, set()), (10**12 + 1, {"load"}), (10**300, {"load"})]
)
@pytest.mark.parametrize("scaling", ["load", "per_row"])
def test_loads_beyond_all_counting_are_refused(
    load: int, broken: set[str], scaling: Literal["load", "per_row"]
) -> None:
    """A load that fits into no 64-bit number is a wrong answer, not a crash of the checker."""
    problem = CodedProblem(
        task=MatVec(rows=7),
        nodes=[Node(id=c, runtime=EXPONENTIAL) for c in "abc"],
        scaling=scaling,
    )
    assert rules(problem, CodedAnswer.of([load, 7, 7])) == broken


@pytest.mark.parametrize("row", [(0.5, 0, 1, 0), (0.5, 0)], ids=["too long", "too short"])
def test_a_row_of_the_code_has_an_entry_for_each_partition(row: tuple[float, ...]) -> None:
    """An entry of no partition, or a partition without an entry, is no encoding."""
    assert RIGHT.code.matrix is not None
    wrong = replace(RIGHT, code=Code(matrix=(*RIGHT.code.matrix[:2], row)))
    assert rules(RING, wrong) == {"decodability"}


def test_a_matrix_for_parts_of_gradients_is_not_called_right() -> None:
    """Its ranks would be those of another code; what is not judged does not pass."""
    problem = CodedProblem(
        task=Gradient(partitions=3, stragglers=0, messages=2),
        nodes=[Node(id=c, runtime=UNIT) for c in "abc"],
    )
    assert rules(problem, RIGHT) == {"decodability"}
    assert rules(problem, replace(RIGHT, code=Code())) == set()


def test_sizes_of_pieces_are_not_negative() -> None:
    """Sums that are right do not excuse a part that is taken back."""
    problem = CodedProblem(
        task=Elastic(recovery_threshold=2), nodes=[Node(id=c, speed=1) for c in "abc"]
    )
    half = Fraction(1, 2)
    pieces = [(2 * half, ["a", "c"]), (half, ["b", "c"]), (-half, ["b", "c"])]
    assert rules(problem, CodedAnswer.of([1, 0, 1], pieces=pieces)) == {"pieces"}
