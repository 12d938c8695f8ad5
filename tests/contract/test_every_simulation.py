"""Every bundled instance that has a schedule can be replayed, drawn, and told as a document."""

from __future__ import annotations

import json
from pathlib import Path

import jsonschema  # type: ignore[import-untyped]  # its stubs are a package of their own
import pytest

import allocsolve
from allocsolve.instances.catalogue import bundled
from allocsolve.models.dag.answer import DagResult
from allocsolve.models.dag.problem import DagProblem
from allocsolve.report.schemas import schema_text
from allocsolve.report.simulation import encode_simulation, read_simulations, simulation_document

NAMES = sorted(
    name
    for name, path in bundled("dag").items()
    if not name.startswith("infeasible") and path.suffix != ".csv"
)


def _solved(name: str) -> tuple[DagProblem, DagResult]:
    path: Path = bundled()[name]
    problem = allocsolve.read(path, kind="dag")
    if not isinstance(problem, DagProblem):
        pytest.skip("not of kind dag")
    return problem, allocsolve.solve(problem, time_limit=5, threads=1)


@pytest.mark.parametrize("name", NAMES)
def test_the_replay_without_a_law_is_the_plan(name: str) -> None:
    """Planned starts give the planned makespan exactly; eager ones are never later."""
    problem, result = _solved(name)
    planned = allocsolve.simulate(problem, result, starts="planned")
    assert planned.method == "exact"
    assert planned.mean == planned.planned == float(result.objective.value)
    assert allocsolve.simulate(problem, result).mean <= planned.mean


@pytest.mark.parametrize("name", NAMES)
def test_a_simulation_is_told_in_full(name: str) -> None:
    """Whatever features an instance has, the document obeys its schema and reads back."""
    problem, result = _solved(name)
    law = "bimodal:base=0.9,slowdown=3,probability=0.1"
    found = allocsolve.simulate(problem, result, law=law, replications=256, keep_samples=True)
    data = encode_simulation(simulation_document(found))
    document = json.loads(data)
    jsonschema.Draft202012Validator(json.loads(schema_text("simulation"))).validate(document)
    assert encode_simulation(simulation_document(read_simulations(data))) == data
    assert document["replications"] == 256
    assert set(document["criticality"]) == {task.id for task in problem.tasks}
    assert document["quantiles"]["0.5"] <= document["quantiles"]["0.9"]
