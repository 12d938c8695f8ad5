"""A document says by itself which objective its value belongs to, settings and all."""

from __future__ import annotations

import json
from functools import cache

import jsonschema  # type: ignore[import-untyped]  # its stubs are a package of their own
import pytest

import allocsolve
from allocsolve.instances.kinds import Problem
from allocsolve.instances.writing import render
from allocsolve.models.errors import InputError
from allocsolve.report.documents import result_bytes
from allocsolve.report.schemas import schema_text

FAIR = allocsolve.from_dict(
    {
        "types": [{"id": "a", "count": 0.8}, {"id": "b", "count": 1.2}],
        "jobs": [
            {"id": "x", "throughput": {"a": 3, "b": 1}},
            {"id": "y", "throughput": {"a": 2, "b": 2}, "weight": 3},
            {"id": "z", "throughput": {"a": 1, "b": 4}},
            {"id": "w", "throughput": {"a": 1, "b": 0.5}},
        ],
    },
    kind="fair",
)
CODED = allocsolve.from_dict(
    {
        "task": {"type": "matvec", "rows": 4},
        "nodes": [
            {"id": "w0", "runtime": {"law": "shifted_exponential", "shift": 1, "rate": 1}},
            {"id": "w1", "runtime": {"law": "shifted_exponential", "shift": 2, "rate": 1}},
        ],
    },
    kind="coded",
)
SET = [
    pytest.param(FAIR, "alpha_fair", {"alpha": "3"}, {"alpha": "0.5"}, id="alpha"),
    pytest.param(
        FAIR, "leximin", {"equal_split": "proportional"}, {"equal_split": "best"}, id="equal split"
    ),
    pytest.param(FAIR, "max_min", {"split": "weighted"}, {"split": "equal"}, id="parts"),
    pytest.param(FAIR, "max_min", {"normalise": "none"}, {"normalise": "equal_split"}, id="unit"),
    pytest.param(CODED, "quantile", {"q": "0.9"}, {"q": "0.5"}, id="quantile"),
]


def _document(problem: Problem, objective: str, options: dict[str, str]) -> dict[str, object]:
    document: dict[str, object] = json.loads(_solved(problem, objective, tuple(options.items())))
    return document


@cache
def _solved(problem: Problem, objective: str, options: tuple[tuple[str, str], ...]) -> bytes:
    result = allocsolve.solve(problem, objective=objective, options=dict(options), threads=1)
    return result_bytes(result)


def _stating(document: dict[str, object], settings: dict[str, str] | None) -> dict[str, object]:
    """Return a copy that states these settings of its objective, and no options of a solver."""
    objective = document["objective"]
    assert isinstance(objective, dict)
    rest = {key: value for key, value in objective.items() if key != "settings"}
    numbers = {k: float(v) if v[0].isdigit() else v for k, v in (settings or {}).items()}
    stated = {} if settings is None else {"settings": numbers}
    return {**document, "objective": {**rest, **stated}, "solver": {"options": {}}}


@pytest.mark.parametrize(("problem", "objective", "options", "other"), SET)
def test_the_checker_needs_no_options(
    problem: Problem, objective: str, options: dict[str, str], other: dict[str, str]
) -> None:
    """The settings travel with the value; under others the same value is a false claim."""
    document = _document(problem, objective, options)
    alone = {**document, "solver": {"options": {}}}
    report = allocsolve.check(problem, alone)
    assert report.valid
    assert report.value == document["objective"]["value"]  # type: ignore[index]  # it is a dict
    assert not allocsolve.check(problem, _stating(document, other)).valid


@pytest.mark.parametrize(("problem", "objective", "options", "other"), SET)
def test_documents_obey_their_schema(
    problem: Problem, objective: str, options: dict[str, str], other: dict[str, str]
) -> None:
    """The settings are fields that the schema describes, with the values that are allowed."""
    validator = jsonschema.Draft202012Validator(json.loads(schema_text("solution")))
    document = _document(problem, objective, options)
    validator.validate(document)
    validator.validate(_stating(document, other))
    with pytest.raises(jsonschema.ValidationError):
        validator.validate(_stating(document, {"order": "some"}))


def test_documents_without_settings_are_read_as_before() -> None:
    """Earlier versions told the settings among the options of the solver."""
    document = _stating(_document(FAIR, "alpha_fair", {"alpha": "3"}), None)
    assert not allocsolve.check(FAIR, document).valid
    assert allocsolve.check(FAIR, {**document, "solver": {"options": {"alpha": "3"}}}).valid


def test_what_the_objective_states_outranks_the_solver() -> None:
    """Two places that disagree must not be mixed up: the objective is what is claimed."""
    document = _document(FAIR, "alpha_fair", {"alpha": "3"})
    assert allocsolve.check(FAIR, {**document, "solver": {"options": {"alpha": "5"}}}).valid


def test_settings_of_the_instance_hold_where_a_document_has_none() -> None:
    """A plan by hand says neither objective nor settings: those of the instance count."""
    goal = allocsolve.from_dict(
        {**_plain(FAIR), "objective": {"name": "alpha_fair", "alpha": 3}}, kind="fair"
    )
    document = _document(goal, "alpha_fair", {})
    hand = {key: document[key] for key in ("schema", "kind", "allocation")}
    assert allocsolve.check(goal, hand).value == document["objective"]["value"]  # type: ignore[index]  # it is a dict


def _plain(problem: Problem) -> dict[str, object]:
    text, _ = render(problem, "native")
    document: dict[str, object] = json.loads(text)
    return document


def test_a_result_is_judged_by_its_own_settings() -> None:
    """In memory as in a file: the result of a run knows what its value means."""
    result = allocsolve.solve(FAIR, objective="max_min", options={"normalise": "none"}, threads=1)
    assert result.objective.settings["normalise"] == "none"
    assert allocsolve.check(FAIR, result).valid


@pytest.mark.parametrize(
    ("settings", "path"),
    [
        pytest.param({"alpha": -1}, "$.objective.settings.alpha", id="range"),
        pytest.param({"split": "half"}, "$.objective.settings.split", id="word"),
        pytest.param({"order": 1}, "$.objective.settings", id="unknown"),
    ],
)
def test_wrong_settings_are_errors_of_the_document(settings: dict[str, object], path: str) -> None:
    """Whoever wrote the document has to be told where it is wrong."""
    document = {
        "schema": "allocsolve.solution/1",
        "kind": "fair",
        "objective": {"name": "max_min", "settings": settings},
        "allocation": {"jobs": [{"id": token} for token in "xyzw"]},
    }
    with pytest.raises(InputError) as caught:
        allocsolve.check(FAIR, document)
    assert caught.value.path == path
