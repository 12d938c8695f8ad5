"""Answers that go into a simulation: what the checker accepts is taken, and read once."""

from __future__ import annotations

import json
from fractions import Fraction
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest

import allocsolve
from allocsolve import plots
from allocsolve.api.answers import checked_answer
from allocsolve.api.cases import case_of
from allocsolve.api.files import to_bytes
from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.data import MatVec
from allocsolve.models.coded.data import Node as Worker
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.dag.answer import Schedule, ScheduledTask
from allocsolve.models.dag.data import Edge, Node, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import CheckFailed, InputError, UsageError
from allocsolve.models.nodes import Law
from allocsolve.report import results


def _chain(deadline: int | None) -> DagProblem:
    """Return two tasks in a row of length 1."""
    return DagProblem(
        tasks=[Task(id=name, work=1, deadline=deadline) for name in "ab"],
        edges=[Edge(source="a", target="b")],
        nodes=[Node(id="n")],
    )


@pytest.mark.parametrize("deadline", [None, 4], ids=["free", "every task has a deadline"])
def test_starts_between_the_times_of_the_instance(deadline: int | None) -> None:
    """The checker judges such a plan right, so that nothing later may refuse it."""
    problem = _chain(deadline)
    starts = {"a": Fraction(1, 3), "b": Fraction(3, 2)}
    entries = [ScheduledTask(name, start, start + 1, "n") for name, start in starts.items()]
    assert allocsolve.check(problem, entries).valid
    schedule = checked_answer(problem, entries)
    assert isinstance(schedule, Schedule)
    assert [entry.start for entry in schedule.entries()] == list(starts.values())
    assert schedule.problem.tasks == problem.tasks
    assert allocsolve.simulate(problem, entries, starts="planned").mean == 2.5


def test_a_document_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A document of a hundred thousand tasks takes a second to read."""
    problem = _chain(None)
    data = to_bytes(allocsolve.solve(problem, threads=1))[0]
    read = Mock(side_effect=results.read_solution)
    monkeypatch.setattr(results, "read_solution", read)
    checked_answer(problem, data)
    assert read.call_count == 1


def _forms(problem: DagProblem, folder: Path) -> dict[str, Any]:
    """Return a result of the chain in every form in which an answer is taken."""
    result = allocsolve.solve(problem, method="heft", threads=1)
    data, path = to_bytes(result)[0], folder / "plan.json"
    path.write_bytes(data)
    return {
        "result": result,
        "schedule": result.schedule,
        "entries": list(result.schedule.entries()),
        "bytes": data,
        "text": str(path),
        "path": path,
        "dict": json.loads(data),
    }


FORMS = ("result", "schedule", "entries", "bytes", "text", "path", "dict")


@pytest.mark.parametrize("form", FORMS)
def test_answers_are_taken_in_every_form_everywhere(form: str, tmp_path: Path) -> None:
    """Whoever has saved a solution should not have to find out how each function wants it."""
    problem = _chain(None)
    answer = _forms(problem, tmp_path)[form]
    assert allocsolve.check(problem, answer).valid
    assert allocsolve.simulate(problem, answer).mean == 2.0
    again = allocsolve.solve(problem, method="heft", warm_start=answer, threads=1)
    assert (again.objective.value, again.warnings) == (2, ())
    pytest.importorskip("matplotlib")
    assert plots.gantt(problem, answer).startswith(b"<?xml")


@pytest.mark.parametrize("form", ["answer", "bytes", "text", "path", "dict"])
def test_answers_of_other_kinds_are_taken_in_every_form(form: str, tmp_path: Path) -> None:
    """The same holds for every kind."""
    node = Worker(id="n", runtime=Law(law="deterministic", value=1))
    problem = CodedProblem(task=MatVec(rows=7), nodes=[node])
    document = {"schema": "allocsolve.solution/1", "kind": "coded", "assignment": {"loads": [7]}}
    path = tmp_path / "plan.json"
    path.write_text(json.dumps(document))
    answer: Any = {
        "answer": CodedAnswer.of([7]),
        "bytes": path.read_bytes(),
        "text": str(path),
        "path": path,
        "dict": document,
    }[form]
    assert allocsolve.check(problem, answer).valid
    assert allocsolve.simulate(problem, answer).kind == "coded"
    assert case_of(problem, None).prepare(answer) == (CodedAnswer.of([7]), [])
    pytest.importorskip("matplotlib")
    assert plots.completion(problem, {"plan": answer}).startswith(b"<?xml")


STRANGE: dict[str, Any] = {
    "None": None,
    "number": 3,
    "list of numbers": [1, 2],
    "answer of another kind": CodedAnswer.of([7]),
    "simulation": object(),
}


@pytest.mark.parametrize("given", STRANGE.values(), ids=STRANGE)
def test_what_is_no_answer_is_refused_everywhere(given: Any) -> None:
    """The message names what is allowed; nothing is tried on something else."""
    problem = _chain(None)
    message = r"answer is .*\n  allowed: a result of solve, a Schedule, .* \(path, bytes, or dict"
    for call in (allocsolve.check, allocsolve.simulate, plots.gantt):
        with pytest.raises(UsageError, match=message):
            call(problem, given)
    if given is not None:
        with pytest.raises(UsageError, match=message):
            allocsolve.solve(problem, method="heft", warm_start=given)


def test_files_and_dicts_that_are_no_documents_are_input_errors(tmp_path: Path) -> None:
    """The message names the file."""
    problem = _chain(None)
    missing = tmp_path / "missing.json"
    for call in (allocsolve.check, allocsolve.simulate):
        with pytest.raises(InputError, match=r"missing\.json: cannot be read.*\n  allowed: "):
            call(problem, str(missing))
        with pytest.raises(InputError, match="no JSON document"):
            call(problem, {"schema": object()})
    with pytest.raises(InputError, match="schema"):
        allocsolve.check(problem, {})


def _read(name: str, document: dict[str, Any], folder: Path, **keywords: Any) -> DagProblem:
    path = folder / name
    path.write_text(json.dumps(document))
    return allocsolve.read(path, kind="dag", **keywords)


INSTANCE: dict[str, Any] = {
    "schema": "allocsolve.instance/1",
    "kind": "dag",
    "tasks": [{"id": "a", "work": 1}],
    "nodes": [{"id": "n"}],
}


def test_a_plan_of_another_instance_is_told(tmp_path: Path) -> None:
    """Its numbers are right only by chance, so that a simulation says so as the checker does."""
    first = _read("first.json", INSTANCE, tmp_path)
    second = _read("second.json", INSTANCE | {"name": "changed"}, tmp_path)
    plan = allocsolve.solve(first, threads=1)
    (warning,) = allocsolve.check(second, plan).warnings
    assert warning.startswith("the document was made for another instance")
    assert allocsolve.simulate(second, plan).warnings == (warning,)
    told = [one.warnings for one in allocsolve.simulate(second, plan, plan, names=["p", "q"])]
    assert told == [(f"p: {warning}", f"q: {warning}")] * 2
    assert allocsolve.simulate(first, plan).warnings == ()


def test_a_rejected_plan_of_another_instance_is_told_so_first(tmp_path: Path) -> None:
    """The broken rules follow from that, and are no use before it."""
    first = _read("first.json", INSTANCE, tmp_path)
    longer = _read("longer.json", INSTANCE | {"tasks": [{"id": "a", "work": 2}]}, tmp_path)
    with pytest.raises(CheckFailed) as caught:
        allocsolve.simulate(longer, allocsolve.solve(first, threads=1))
    lines = str(caught.value).splitlines()
    assert lines[0].startswith("the document was made for another instance")
    assert lines[1] == "the checker rejects the answer, so it is neither simulated nor drawn"
    assert lines[2].startswith("duration: ")


def test_nodes_that_are_unknown_are_a_matter_of_an_option(tmp_path: Path) -> None:
    """A plan made with --nodes needs the same nodes again."""
    others = _read("first.json", INSTANCE, tmp_path, nodes=2)
    with pytest.raises(CheckFailed, match=r"rejects the answer.*\n  remedy: .*--nodes N") as caught:
        allocsolve.simulate(
            _read("first.json", INSTANCE, tmp_path), allocsolve.solve(others, threads=1)
        )
    assert "\nunknown_node: " in str(caught.value)
