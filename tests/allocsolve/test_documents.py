"""Documents come back as what they were, exactly, and anything unclear is refused."""

from __future__ import annotations

import json
import math
from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

import allocsolve
from allocsolve.models.dag.answer import DagResult, Schedule, ScheduledTask
from allocsolve.models.dag.data import Node, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.reason_types import CriticalPath, WindowOverload
from allocsolve.models.errors import InputError
from allocsolve.models.result import (
    Certificate,
    InstanceInfo,
    Objective,
    Reason,
    Sense,
    SolverInfo,
    SolverProof,
    Status,
    Termination,
)
from allocsolve.report.bounds import BoundEntry, bound_report, decode_bounds, encode_bounds
from allocsolve.report.checks import (
    check_document,
    check_report,
    decode_check,
    encode_check,
)
from allocsolve.report.codec import snap
from allocsolve.report.results import (
    read_result,
    read_solution,
    result_to_document,
)
from allocsolve.report.solution import encode_solution

HAND = '{"schema": "allocsolve.solution/1", "kind": "dag", "schedule": %s%s}'
GOOD = (
    '[{"task": "a", "start": 0, "node": "n"},'
    ' {"task": "b", "start": 0.6666666666666666, "node": "n"}]'
)


def _result(problem: DagProblem, reason: Reason | None = None) -> DagResult:
    answer = None if reason else Schedule.of(problem, [0, 2], [0, 1])
    return DagResult(
        kind="dag",
        method="cpsat",
        status=Status.INFEASIBLE if reason else Status.OPTIMAL,
        termination=Termination.FINISHED,
        objective=Objective("makespan", Sense.MIN, None if reason else 1, None if reason else 1),
        certificate=Certificate("critical_path", checked=reason is None, reason=reason),
        answer=answer,
        solver=SolverInfo("ortools", "9", 7, 1, {"a": 1, "b": "x", "c": True, "d": 0.5}),
        deterministic=True,
        instance=InstanceInfo("thirds", "native", "ab" * 32),
        timing={"total": 0.5},
        warnings=("careful",),
    )


@pytest.mark.parametrize(
    "reason",
    [
        pytest.param(None, id="an answer"),
        pytest.param(SolverProof(solver="ortools"), id="a proof without an argument"),
        pytest.param(CriticalPath(task="a", path=["a"], length=3.5, deadline=2), id="a path"),
        pytest.param(
            WindowOverload(
                resource=None, node=None, start=0, end=1, work=3, available=2, tasks=["a"]
            ),
            id="a reason in which null means something",
        ),
    ],
)
def test_a_result_comes_back_unchanged(thirds: DagProblem, reason: Reason | None) -> None:
    """Whoever stores a document must not lose anything of the result."""
    result = _result(thirds, reason)
    data = encode_solution(result_to_document(result))
    back = read_result(data, thirds)
    assert back.replace(answer=None) == result.replace(answer=None)
    assert (back.answer is None) == (result.answer is None)
    if back.answer is not None:
        assert back.schedule.entries() == result.schedule.entries()
    assert encode_solution(result_to_document(back)) == data


def test_unknown_numbers_are_null(thirds: DagProblem) -> None:
    """JSON has no NaN; a reader must see that a number is not there."""
    data = encode_solution(result_to_document(_result(thirds, SolverProof())))
    objective = json.loads(data)["objective"]
    assert [objective[key] for key in ("value", "bound", "gap")] == [None, None, None]


def test_a_float_is_snapped_back_onto_the_grid(thirds: DagProblem) -> None:
    """2/3 cannot be written as a decimal, but its nearest float can only mean 2/3 here."""
    claim = read_solution((HAND % (GOOD, "")).encode(), thirds)
    assert claim.answer is not None
    assert claim.answer[1] == ScheduledTask("b", Fraction(2, 3), Fraction(1), "n", 0)
    assert allocsolve.check(thirds, (HAND % (GOOD, "")).encode()).valid


def test_a_rounded_time_is_not_snapped(thirds: DagProblem) -> None:
    """0.667 is another time than 2/3; the checker has to see what was written."""
    claim = read_solution(
        (HAND % (GOOD.replace("0.6666666666666666", "0.667"), "")).encode(), thirds
    )
    assert claim.answer is not None
    assert claim.answer[1].start == Fraction(667, 1000)


@given(
    st.fractions(min_value=0, max_value=2**40),
    st.integers(min_value=1, max_value=10**6),
    st.integers(min_value=1, max_value=10**6),
)
def test_snapping_finds_every_grid_time_and_moves_nothing_else(
    value: Fraction, numerator: int, denominator: int
) -> None:
    """A time on the grid survives its way through a float; a move never changes the float."""
    tick = Fraction(numerator, denominator)
    snapped = snap(value, tick)
    assert snapped == value or (snapped / tick).denominator == 1
    assert float(snapped) == float(value)
    on_grid = round(value / tick) * tick
    assert snap(Fraction(repr(float(on_grid))), tick) == on_grid or on_grid / tick > 2**50


@given(st.decimals(min_value=0, max_value=10**9, allow_nan=False, places=6))
def test_decimals_are_read_exactly(start: object) -> None:
    """0.1 in a document is one tenth, not the nearest binary fraction."""
    problem = DagProblem(tasks=[Task(id="a", work=1)], nodes=[Node(id="n")])
    text = f'[{{"task": "a", "start": {start}, "end": {start}, "node": "n"}}]'
    claim = read_solution((HAND % (text, "")).encode(), problem)
    assert claim.answer is not None
    assert claim.answer[0].start == Fraction(str(start))


@given(st.floats(min_value=0, max_value=1e15, allow_nan=False))
def test_every_float_in_a_bound_survives(value: float) -> None:
    """What is written is the shortest text of the number, so reading gives it back."""
    problem = DagProblem(tasks=[Task(id="a", work=value)], nodes=[Node(id="n")])
    entry = BoundEntry(value=problem.units(1), source="critical_path", detail="one tick")
    report = bound_report(problem, "makespan", Sense.MIN, [entry], None)
    back = decode_bounds(encode_bounds(report))
    assert math.isclose(float(back.best or 0), float(report.best or 0), rel_tol=1e-15)
    assert encode_bounds(back) == encode_bounds(report)


def test_a_check_comes_back_unchanged(thirds: DagProblem) -> None:
    """Checks are stored beside solutions, as evidence."""
    wrong = HAND % (GOOD.replace('"start": 0,', '"start": 5,'), ', "status": "OPTIMAL"')
    document = check_document(thirds, allocsolve.check(thirds, wrong.encode()))
    assert not document.valid
    assert decode_check(encode_check(document)) == document
    assert check_document(thirds, check_report(document)) == document


@pytest.mark.parametrize(
    "extra",
    [
        pytest.param("", id="absent"),
        pytest.param(
            ', "status": null, "objective": null, "certificate": null, "solver": null,'
            ' "instance": null, "timing": null, "warnings": null, "method": null',
            id="null",
        ),
        pytest.param(
            ', "status": "", "termination": "", "method": "", "objective": {}, "timing": {},'
            ' "certificate": {"reason": {}}, "solver": {"name": ""}, "warnings": []',
            id="empty",
        ),
    ],
)
def test_a_document_by_hand_needs_only_the_answer(thirds: DagProblem, extra: str) -> None:
    """Somebody else's schedule must be checkable without knowing our provenance fields."""
    report = allocsolve.check(thirds, (HAND % (GOOD, extra)).encode())
    assert report.valid
    assert report.value == 1


@pytest.mark.parametrize(
    ("text", "mentions"),
    [
        pytest.param("{", "1:2", id="a syntax error has line and column"),
        pytest.param("[]", "object", id="not an object"),
        pytest.param('{"kind": "dag"}', "schema is missing", id="no schema"),
        pytest.param(HAND.replace("dag", "fair") % (GOOD, ""), "kind is 'fair'", id="other kind"),
        pytest.param(HAND % (GOOD, ', "statsu": "OPTIMAL"'), "statsu", id="unknown field"),
        pytest.param(HAND % (GOOD, ', "status": "GOOD"'), "$.status", id="unknown status"),
        pytest.param(HAND % (GOOD, ', "kind": "dag"'), "'kind' comes twice", id="repeated key"),
        pytest.param(HAND % ('[{"task": "a"}]', ""), "$.schedule[0]", id="no start"),
        pytest.param(HAND % ('[{"task": "a", "start": NaN}]', ""), "NaN", id="not a number"),
        pytest.param("\xff", "UTF-8", id="not UTF-8"),
        pytest.param(HAND % ('[{"task": "a", "start": "0"}]', ""), "number", id="a text"),
        pytest.param(HAND % ('[{"task": "a", "start": true}]', ""), "number", id="a truth value"),
        pytest.param(HAND % ('[{"task": "a", "start": 1e999}]', ""), "beyond", id="exponent"),
        pytest.param(HAND % ('[{"task": "z", "start": 0}]', ""), "no end", id="no end to derive"),
        pytest.param(
            HAND % ('[{"task": "a", "start": 0, "nodes": ["n", "n"]}]', ""),
            "several nodes",
            id="a gang",
        ),
    ],
)
def test_what_cannot_be_understood_is_refused(thirds: DagProblem, text: str, mentions: str) -> None:
    """A guess about a solution would end as a wrong verdict."""
    with pytest.raises(InputError) as refused:
        read_solution(text.encode("latin-1"), thirds)
    assert mentions in str(refused.value)


def test_an_unfinished_document_is_no_result(thirds: DagProblem) -> None:
    """A hand-written answer says nothing about a run, so it cannot become a result."""
    with pytest.raises(InputError, match="how the run ended"):
        read_result((HAND % (GOOD, "")).encode(), thirds)
