"""Assignments of coded jobs as documents: what is written is read back."""

from __future__ import annotations

import math
from fractions import Fraction

import pytest

from allocsolve.models.coded.answer import Code, CodedAnswer
from allocsolve.models.coded.check import check
from allocsolve.models.coded.data import Limits, MatVec, Node, ObjectiveSpec
from allocsolve.models.coded.measures import measure
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.errors import InputError
from allocsolve.models.nodes import Law
from allocsolve.report.checks import (
    ClaimReport,
    check_document,
    check_report,
    decode_check,
    encode_check,
)
from allocsolve.report.codec import builtins, decode, encode
from allocsolve.report.coded import (
    AssignmentEntry,
    ConditionEntry,
    assignment_entry,
    coded_answer,
    metrics_entry,
)

ANSWERS = {
    "loads": CodedAnswer.of([1, 2, 0]),
    "code": CodedAnswer.of([1, 2], code=Code("orthopoly", n=3, k=2, seed=0), batches=2),
    "points": CodedAnswer.of([1, 1], code=Code("roots_of_unity", points=(1.0, complex(0, 1)))),
    "matrix": CodedAnswer.of(
        [2, 2],
        code=Code(matrix=((1.0, 0.5), (complex(0.25, -1), 2.0)), stragglers=0, messages=1),
        partitions=[[0, 1], [1, 0]],
        order=[[1, 0], [0, 1]],
    ),
    "pieces": CodedAnswer.of([Fraction(1, 4), 1], pieces=[(0.25, ["a", "b"]), (0.75, ["b"])]),
}


@pytest.mark.parametrize("answer", ANSWERS.values(), ids=list(ANSWERS))
def test_assignments_round_trip(answer: CodedAnswer) -> None:
    """Loads, codes with complex numbers, partitions and pieces come back unchanged."""
    text = encode(builtins(assignment_entry(answer)))
    assert coded_answer(decode(text, AssignmentEntry)) == answer


def test_a_form_may_hold_only_loads() -> None:
    """A document written by hand needs nothing else; the code is any MDS code."""
    entry = decode(b'{"loads": [3, 2.0, 1]}', AssignmentEntry)
    assert coded_answer(entry) == CodedAnswer.of([3, 2, 1])
    empty = decode(b'{"loads": [1], "code": null, "partitions": null}', AssignmentEntry)
    assert coded_answer(empty) == CodedAnswer.of([1])


def test_fields_that_say_nothing_stay_away() -> None:
    """A small answer is a small document."""
    assert set(builtins(assignment_entry(CodedAnswer.of([1])))) == {"loads", "code", "batches"}


def test_metrics_and_comparisons_are_written() -> None:
    """The law of the answer, the baselines and the condition of the code belong to it."""
    problem = CodedProblem(
        task=MatVec(rows=2),
        nodes=[Node(id=name, runtime=Law(law="exponential", rate=1)) for name in "abc"],
        objective=ObjectiveSpec(name="deadline_probability", deadline=1, q=Fraction(1, 4)),
    )
    answer = CodedAnswer.of([1, 1, 1])
    entry = assignment_entry(
        answer,
        metrics=metrics_entry(measure(problem, answer)),
        baselines={"uniform": 1.5, "none": None, "never": float("inf")},
        condition=ConditionEntry(worst=8.5, sets=3, all=True),
    )
    found = builtins(entry)
    assert found["metrics"]["mean"] == pytest.approx(5 / 6)
    assert set(found["metrics"]["quantiles"]) == {"0.25", "0.5", "0.9", "0.99"}
    assert 0.5 < found["metrics"]["deadline_probability"] < 0.7
    assert [row["value"] for row in found["baselines"]] == [1.5, None, None]
    assert found["condition"] == {"worst": 8.5, "sets": 3, "all": True}
    assert decode(encode(found), AssignmentEntry).metrics == entry.metrics


def test_infinite_means_are_null() -> None:
    """JSON has no infinity: the mean is null and the document says why."""
    law = Law(law="pareto", shape=1, scale=1)
    problem = CodedProblem(task=MatVec(rows=1), nodes=[Node(id="a", runtime=law)])
    found = builtins(metrics_entry(measure(problem, CodedAnswer.of([1]))))
    assert (found["mean"], found["infinite"]) == (None, True)
    assert found["quantiles"]["0.5"] == pytest.approx(2)


def test_metrics_without_an_exact_law_are_null() -> None:
    """What can only be sampled is left to the simulation."""
    law = Law(law="weibull", shape=2, scale=1)
    problem = CodedProblem(
        task=MatVec(rows=2),
        nodes=[Node(id="a", runtime=law)],
        scaling="per_row",
        limits=Limits(batches=1),
    )
    assert builtins(metrics_entry(measure(problem, CodedAnswer.of([2]))))["mean"] is None


def test_ragged_matrices_are_refused() -> None:
    """Rows of different length are no matrix."""
    entry = decode(b'{"loads": [1, 1], "code": {"matrix": [[1, 0], [1]]}}', AssignmentEntry)
    with pytest.raises(InputError, match="differ in length") as caught:
        coded_answer(entry)
    assert caught.value.path == "$.assignment.code.matrix"


def test_an_infinite_value_is_said_in_the_check_document() -> None:
    """The mean of a right answer may be infinite; the check is written and read back so."""
    law = Law(law="pareto", shape=1, scale=1)
    problem = CodedProblem(task=MatVec(rows=1), nodes=[Node(id="a", runtime=law)])
    report = check(problem, CodedAnswer.of([1]))
    document = check_document(problem, ClaimReport(report.violations, report.value))
    text = encode_check(document)
    assert b'"value": null' in text
    assert b'"infinite": true' in text
    assert check_report(decode_check(text)).value == math.inf
