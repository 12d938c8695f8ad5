"""The schemas that are shipped are the ones that are printed, and documents obey them."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]  # its stubs are a package of their own
import pytest

import allocsolve
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import UsageError
from allocsolve.report.bounds import encode_bounds
from allocsolve.report.checks import check_document, encode_check
from allocsolve.report.results import result_to_document
from allocsolve.report.schemas import RECORDS, schema_text
from allocsolve.report.solution import encode_solution


def _validator(name: str) -> jsonschema.Draft202012Validator:
    schema = json.loads(schema_text(name))
    jsonschema.Draft202012Validator.check_schema(schema)
    return jsonschema.Draft202012Validator(schema)


@pytest.mark.parametrize("name", RECORDS)
def test_the_shipped_schema_is_the_printed_one(checkout: Path, name: str) -> None:
    """Editors read the file, programs ask the command; both must see the same."""
    shipped = checkout / "allocsolve" / "schemas" / f"{name}.json"
    assert shipped.read_text(encoding="utf-8") == schema_text(name)


def test_no_other_schema_is_shipped(checkout: Path) -> None:
    """A schema of a document that no longer exists would mislead."""
    files = (checkout / "allocsolve" / "schemas").glob("*")
    assert {path.stem for path in files} == set(RECORDS)


def test_an_unknown_document_is_named() -> None:
    """The error has to say what there is."""
    with pytest.raises(UsageError, match="did you mean 'solution'"):
        schema_text("solutoin")


@pytest.mark.parametrize("limit", [0, 5], ids=["without an answer", "with an answer"])
def test_solutions_obey_their_schema(project: DagProblem, limit: float) -> None:
    """Whoever validates our output against our schema must never fail."""
    result = allocsolve.solve(project, time_limit=limit, threads=1)
    _validator("solution").validate(json.loads(encode_solution(result_to_document(result))))


def test_infeasible_solutions_obey_their_schema(project: DagProblem) -> None:
    """The reason is a union of types, where a schema goes wrong most easily."""
    late = project.replace(tasks=[*project.tasks[:2], _with_deadline(project)])
    result = allocsolve.solve(late, time_limit=5, threads=1)
    assert result.status == "INFEASIBLE"
    _validator("solution").validate(json.loads(encode_solution(result_to_document(result))))


def _with_deadline(project: DagProblem) -> allocsolve.Task:
    task = project.tasks[2]
    return allocsolve.Task(id=task.id, modes=task.modes, deadline=1)


def test_bounds_and_checks_obey_their_schemas(project: DagProblem) -> None:
    """Also the smaller documents are read by programs."""
    report = allocsolve.bound(project)
    _validator("bound").validate(json.loads(encode_bounds(report)))
    result = allocsolve.solve(project, time_limit=5, threads=1)
    checked = check_document(project, allocsolve.check(project, result))
    _validator("check").validate(json.loads(encode_check(checked)))


def test_written_instances_obey_their_schema(project: DagProblem, tmp_path: Path) -> None:
    """What `write` produces is what `schema instance` describes."""
    allocsolve.write(project, tmp_path / "project.json")
    _validator("instance").validate(json.loads((tmp_path / "project.json").read_bytes()))


def test_the_schema_refuses_what_the_reader_refuses() -> None:
    """A schema that lets everything pass would be no help."""
    bad = {"schema": "allocsolve.solution/1", "kind": "dag", "schedule": [{"task": "a"}]}
    assert not _validator("solution").is_valid(bad)
