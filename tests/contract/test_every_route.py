"""Every row of the table of methods keeps the same promises on every small bundled instance."""

from __future__ import annotations

import csv
import time
from functools import cache

import pytest

import allocsolve
from allocsolve.instances.catalogue import bundled
from allocsolve.models.dag.check import verify_reason
from allocsolve.models.dag.problem import DagProblem, Feature
from allocsolve.models.result import SolverProof, Status, Termination
from allocsolve.report.results import read_result, result_to_document
from allocsolve.report.solution import encode_solution
from allocsolve.solvers.routes import METHODS, Method

LIMIT = 10.0
"""Seconds; far more than the instances that have one need."""

SLACK = 5.0
"""Seconds over the limit that a busy machine may add; the promise itself is measured apart."""

DAG_METHODS = [method for method in METHODS if method.kind == "dag"]


def _on_two_nodes(**changes: object) -> dict[str, object]:
    """Two tasks on two nodes, with some fields added to the first task, node or document."""
    task: dict[str, object] = {"id": "t", "work": 2}
    node: dict[str, object] = {"id": "a", "type": "cpu"}
    document: dict[str, object] = {}
    for field, value in changes.items():
        record = {"task": task, "node": node}.get(field.partition("_")[0], document)
        record[field.partition("_")[2] if record is not document else field] = value
    tasks, nodes = [task, {"id": "u", "work": 1}], [node, {"id": "b", "type": "cpu"}]
    return document | {"tasks": tasks, "nodes": nodes}


def _project(**changes: object) -> dict[str, object]:
    """Two tasks without nodes, with some fields added to the edge between them or replaced."""
    tasks: list[dict[str, object]] = [
        {"id": "t", "modes": [{"duration": 2}]},
        {"id": "u", "modes": [{"duration": 1}]},
    ]
    edge: dict[str, object] = {"from": "t", "to": "u"}
    for field in [field for field in changes if field.startswith("edge_")]:
        edge[field.removeprefix("edge_")] = changes.pop(field)
    tasks[0] |= {"modes": changes.pop("modes")} if "modes" in changes else {}
    return {"tasks": tasks, "edges": [edge]} | changes


def _resource(*, renewable: bool) -> dict[str, object]:
    return _project(
        modes=[{"duration": 2, "demand": {"R": 1}}],
        resources=[{"id": "R", "capacity": 1, "renewable": renewable}],
    )


FEATURES: dict[str, dict[str, object]] = {
    Feature.MODES: _project(modes=[{"duration": 2}, {"duration": 3}]),
    Feature.NODES: _on_two_nodes(),
    Feature.RENEWABLE: _resource(renewable=True),
    Feature.NONRENEWABLE: _resource(renewable=False),
    Feature.RELEASES: _on_two_nodes(task_release=1),
    Feature.DEADLINES: _on_two_nodes(task_deadline=9),
    Feature.LAGS: _project(edge_min_lag=1),
    Feature.MAX_LAGS: _project(edge_max_lag=5),
    Feature.COMMUNICATION: _on_two_nodes(edges=[{"from": "t", "to": "u", "data": 1}]),
    Feature.CALENDARS: _on_two_nodes(node_unavailable=[[1, 2]]),
    Feature.SETUPS: _on_two_nodes(
        task_setup_class="x", setups=[{"from": "x", "to": "x", "time": 1}]
    ),
    Feature.MEMORY: _on_two_nodes(task_memory=1, node_memory=2),
    Feature.GANGS: _on_two_nodes(task_width=2),
    Feature.MOLDABLE: _on_two_nodes(task_speedup={"1": 1, "2": 1.5}),
    Feature.COLOCATION: _on_two_nodes(task_colocate="label"),
    Feature.PROJECT: _project(),
    Feature.START_LAGS: _project(edge_lag_from="start", edge_min_lag=1),
}
"""One small instance for each feature."""


@cache
def _problem(name: str) -> DagProblem:
    return allocsolve.read(bundled()[name], kind="dag")


PAIRS = [
    pytest.param(method, name, id=f"{method.name}-{name}")
    for method in DAG_METHODS
    for name in bundled("dag")
    if _problem(name).features <= method.honours
]
"""What a method refuses is no pair: that it does so has a test of its own."""


@cache
def _optima() -> dict[str, dict[str, str]]:
    path = next(iter(bundled().values())).with_name("optima.csv")
    return {row["name"]: row for row in csv.DictReader(path.open(encoding="utf-8"))}


SHORTER = {"annealing": {"rounds": "3"}}
"""Settings of methods that would go on long after the best schedule is found."""


def _solve(method: str, name: str) -> allocsolve.DagResult:
    """Solve without a time limit: every method comes to an end, on a machine of any speed."""
    options = SHORTER.get(method)
    return allocsolve.solve(
        _problem(name), method=method, time_limit=None, threads=1, options=options
    )


@cache
def _solved(method: str, name: str) -> allocsolve.DagResult:
    return _solve(method, name)


def _result(method: Method, name: str) -> allocsolve.DagResult:
    return _solved(method.name, name)


def test_the_table_names_a_default() -> None:
    """Whoever names no method gets `auto`, which must be a row like any other."""
    assert "auto" in {method.name for method in DAG_METHODS}


@pytest.mark.parametrize("method", DAG_METHODS, ids=lambda method: method.name)
def test_rows_load_and_describe_themselves(method: Method) -> None:
    """A target that cannot be imported, or an empty description, would only show at use."""
    assert callable(method.load())
    assert len(method.description) > 10


def test_there_is_an_instance_for_every_feature() -> None:
    """A feature without one would escape the next test."""
    names = {value for name, value in vars(Feature).items() if name.isupper()}
    assert set(FEATURES) == names
    for feature, document in FEATURES.items():
        assert feature in allocsolve.from_dict(document, kind="dag").features


@pytest.mark.parametrize("feature", FEATURES)
@pytest.mark.parametrize("method", DAG_METHODS, ids=lambda method: method.name)
def test_what_a_method_cannot_honour_it_refuses(method: Method, feature: str) -> None:
    """An ignored feature would give a wrong answer without a word."""
    problem = allocsolve.from_dict(FEATURES[feature], kind="dag")
    missing = problem.features - method.honours
    if not missing:
        result = allocsolve.solve(problem, method=method.name, time_limit=LIMIT, threads=1)
        assert result.status in (Status.OPTIMAL, Status.FEASIBLE)
        return
    with pytest.raises(allocsolve.FeatureRefused) as refused:
        allocsolve.solve(problem, method=method.name, time_limit=LIMIT)
    assert set(refused.value.features) == missing
    assert refused.value.exit_code == 2
    able = [other.name for other in DAG_METHODS if problem.features <= other.honours]
    assert list(refused.value.alternatives) == able


@pytest.mark.parametrize(("method", "name"), PAIRS)
def test_answers_pass_the_checker(method: Method, name: str) -> None:
    """Nobody marks their own work: a feasible status stands for a checked answer."""
    result = _result(method, name)
    if result.status in (Status.INFEASIBLE, Status.UNKNOWN):
        assert result.answer is None
        return
    assert result.status in (Status.OPTIMAL, Status.FEASIBLE)
    report = allocsolve.check(_problem(name), result)
    assert report.violations == ()
    assert report.value == result.objective.value
    assert result.certificate.checked


@pytest.mark.parametrize(("method", "name"), PAIRS)
def test_bounds_are_never_worse_than_values(method: Method, name: str) -> None:
    """A lower bound above a value is a wrong proof; equality is exactly OPTIMAL."""
    result = _result(method, name)
    known, bound = result.objective.known, result.objective.bound
    if known is None or bound is None:
        assert result.status is not Status.OPTIMAL
        return
    assert bound <= known
    assert (bound == known) == (result.status is Status.OPTIMAL)
    assert result.certificate.bound_source


@pytest.mark.parametrize(("method", "name"), PAIRS)
def test_status_and_termination_agree(method: Method, name: str) -> None:
    """Proofs end a run; an unproved run must say what ended it."""
    result = _result(method, name)
    if result.status in (Status.OPTIMAL, Status.INFEASIBLE):
        assert result.termination is Termination.FINISHED
    if method.exact and result.termination is Termination.FINISHED:
        assert result.status in (Status.OPTIMAL, Status.INFEASIBLE)


@pytest.mark.parametrize(("method", "name"), PAIRS)
def test_nothing_beats_the_known_optimum(method: Method, name: str) -> None:
    """The optima are found by enumeration or are literature; exact methods must reach them."""
    result, known = _result(method, name), _optima()[name]
    if known["status"] == "INFEASIBLE":
        assert result.answer is None
        assert not method.exact or result.status is Status.INFEASIBLE
        return
    optimum = float(known["value"])
    assert result.objective.bound is None or result.objective.bound <= optimum
    assert result.objective.known is None or result.objective.known >= optimum
    assert not method.exact or (result.status, result.objective.known) == ("OPTIMAL", optimum)


@pytest.mark.parametrize(("method", "name"), PAIRS)
def test_the_same_seed_gives_the_same_bytes(method: Method, name: str) -> None:
    """With one thread and no limit in the way, a run can be repeated exactly."""
    first = _result(method, name)
    assert first.deterministic
    again = _solve(method.name, name)
    documents = [
        encode_solution(result_to_document(result.replace(timing={}))) for result in (first, again)
    ]
    assert documents[0] == documents[1]


@pytest.mark.parametrize(("method", "name"), PAIRS)
@pytest.mark.parametrize("limit", [0.05, 0.5], ids=lambda limit: f"{limit}s")
def test_the_time_limit_holds(method: Method, name: str, limit: float) -> None:
    """A method that ignores its limit blocks whoever waits for it."""
    begin = time.monotonic()
    result = allocsolve.solve(_problem(name), method=method.name, time_limit=limit, threads=1)
    assert time.monotonic() - begin <= limit + SLACK
    if result.termination is Termination.TIME_LIMIT:
        assert not result.deterministic


@pytest.mark.parametrize(("method", "name"), PAIRS)
def test_documents_come_back_unchanged(method: Method, name: str) -> None:
    """A document is the whole result: nothing may be lost on the way to JSON and back."""
    result = _result(method, name)
    written = encode_solution(result_to_document(result))
    again = read_result(written, _problem(name))
    assert encode_solution(result_to_document(again)) == written
    assert (again.status, again.objective) == (result.status, result.objective)


@pytest.mark.parametrize(("method", "name"), PAIRS)
def test_infeasibility_carries_a_reason_that_can_be_verified(method: Method, name: str) -> None:
    """`INFEASIBLE` alone helps nobody to mend an instance."""
    result = _result(method, name)
    reason = result.certificate.reason
    if result.status is not Status.INFEASIBLE:
        assert reason is None
        return
    assert reason is not None
    assert reason.sentence()
    assert isinstance(reason, SolverProof) or verify_reason(_problem(name), reason)


@pytest.mark.parametrize("method", DAG_METHODS, ids=lambda method: method.name)
def test_no_time_means_no_search(method: Method) -> None:
    """`--time-limit 0` checks and bounds only; an answer would have been searched for."""
    result = allocsolve.solve(_problem("ft06"), method=method.name, time_limit=0)
    assert result.status is Status.UNKNOWN
    assert result.answer is None
    assert result.objective.bound is None or result.objective.bound <= 55
