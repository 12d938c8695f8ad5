"""Warm starts of the kinds whose objectives are real numbers."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path

import pytest

from allocsolve.api.cases import case_of
from allocsolve.instances.kinds import Problem
from allocsolve.models.coded.data import MatVec, Node
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.errors import InputError, UsageError
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.nodes import Law

Given = tuple[Problem, dict[str, object]]


def _coded(load: float) -> Given:
    node = Node(id="n", runtime=Law(law="deterministic", value=1))
    return CodedProblem(task=MatVec(rows=7), nodes=[node]), {"assignment": {"loads": [load]}}


def _fair(load: float) -> Given:
    jobs = [{"id": "0", "shares": {"0": load / 7}}]
    return FairProblem.from_arrays([[7.0]], [1]), {"allocation": {"jobs": jobs}}


@pytest.fixture(params=[_coded, _fair], ids=["coded", "fair"])
def given(request: pytest.FixtureRequest) -> Callable[[float], Given]:
    """A function from a load, of which 7 is right, to a problem and an answer."""
    build: Callable[[float], Given] = request.param
    return build


def _document(problem: Problem, answer: dict[str, object]) -> bytes:
    return json.dumps({"schema": "allocsolve.solution/1", "kind": problem.kind} | answer).encode()


def test_documents_and_their_files_start_a_run(
    given: Callable[[float], Given], tmp_path: Path
) -> None:
    """``solve`` promises that a file may be named, for every kind."""
    problem, answer = given(7)
    case, path = case_of(problem, None), tmp_path / "start.json"
    path.write_bytes(_document(problem, answer))
    for start in (path.read_bytes(), path, str(path)):
        found, warnings = case.prepare(start)
        assert warnings == []
        assert found is not None
        assert case.prepare(found) == (found, [])
        assert case.report(found).valid


@pytest.mark.parametrize(
    ("load", "fields", "warning"),
    [
        pytest.param(-1, {}, "the warm start is not used", id="wrong"),
        pytest.param(7, {"assignment": None, "allocation": None}, "holds no a", id="empty"),
    ],
)
def test_what_is_no_answer_is_told(
    given: Callable[[float], Given], load: float, fields: dict[str, object], warning: str
) -> None:
    """A run goes on without a start that breaks a rule, and says so."""
    problem, answer = given(load)
    found, (told,) = case_of(problem, None).prepare(
        _document(problem, {key: fields.get(key, value) for key, value in answer.items()})
    )
    assert found is None
    assert warning in told


def test_what_cannot_be_a_start_is_refused(given: Callable[[float], Given], tmp_path: Path) -> None:
    """A mistake of the caller is no reason to go on without a word."""
    case = case_of(given(7)[0], None)
    with pytest.raises(UsageError, match=r"answer is of type int\n  allowed: a result of solve"):
        case.prepare(7)
    with pytest.raises(InputError, match="cannot be read") as caught:
        case.prepare(tmp_path / "missing.json")
    assert "missing.json" in str(caught.value)
