"""Robust choice: the least quantile on drawn nodes, and what it costs."""

from __future__ import annotations

import json
import math

import jsonschema  # type: ignore[import-untyped]  # its stubs are a package of their own
import msgspec
import numpy as np
import pytest

import allocsolve
from allocsolve.models.dag.answer import Appraisal, DagResult, Robustness, Schedule
from allocsolve.models.dag.data import Edge, Node, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import UsageError
from allocsolve.models.kernels import KernelSet
from allocsolve.models.nodes import Exponential, Law, Pareto
from allocsolve.report.results import read_result, result_to_document
from allocsolve.report.schemas import schema_text
from allocsolve.report.solution import encode_solution
from allocsolve.solvers.control import Limits, Token
from allocsolve.solvers.dag import robust as robust_module
from allocsolve.solvers.dag.robust import RobustRequest
from allocsolve.solvers.dag.robust_candidates import (
    Candidate,
    Pool,
    PoolControl,
    add_expected,
    add_lists,
)

HEAVY = Law(law="pareto", shape=1.3, scale=0.5)


@pytest.fixture(scope="module")
def straggling() -> DagProblem:
    """Forty tasks on four nodes, the first of which straggles badly."""
    problem = allocsolve.generate("layered", tasks=40, seed=3)
    first, *others = problem.nodes
    return problem.replace(nodes=[msgspec.structs.replace(first, runtime=HEAVY), *others])


@pytest.fixture(scope="module")
def result(straggling: DagProblem) -> DagResult:
    """The robust choice for the 0.95 quantile around HEFT."""
    return allocsolve.solve(straggling, method="heft", robust=0.95, threads=1, time_limit=None)


def test_the_choice_pays_for_its_quantile(straggling: DagProblem, result: DagResult) -> None:
    """Longer as planned, much better in the bad case; simulate confirms it on other draws."""
    robust = result.robust
    assert robust is not None
    assert robust.price > 0
    assert robust.gain is not None
    assert robust.gain > 0.2
    assert result.objective.value == robust.chosen.makespan > robust.nominal.makespan
    nominal = allocsolve.solve(straggling, method="heft", threads=1)
    assert nominal.objective.value == robust.nominal.makespan
    found = allocsolve.simulate(
        straggling, result, nominal, names=["robust", "nominal"], quantiles=(0.95,), seed=99
    )
    for one, told in zip(found, (robust.chosen, robust.nominal), strict=True):
        low, high = one.quantile_cis[0.95]
        assert low <= told.ci[1]
        assert told.ci[0] <= high


def test_the_answer_is_checked_and_bounded(straggling: DagProblem, result: DagResult) -> None:
    """The bound is one on the makespan, which the choice may miss; the status says so."""
    allocsolve.check(straggling, result).raise_if_violated()
    assert (result.status, result.termination) == ("FEASIBLE", "finished")
    assert result.objective.bound is not None
    assert result.objective.bound <= 532


def test_the_same_choice_every_time(straggling: DagProblem, result: DagResult) -> None:
    """With one thread and no limit the document is the same but for its timing."""
    again = allocsolve.solve(straggling, method="heft", robust="q=0.95", threads=1, time_limit=None)
    first, second = (
        encode_solution(result_to_document(one.replace(timing={}))) for one in (result, again)
    )
    assert result.deterministic
    assert first == second


def test_the_document_tells_the_price(straggling: DagProblem, result: DagResult) -> None:
    """What was chosen, what was given up, and by which draws; the document reads back."""
    data = encode_solution(result_to_document(result))
    document = json.loads(data)
    jsonschema.Draft202012Validator(json.loads(schema_text("solution"))).validate(document)
    told = document["robust"]
    assert set(told) >= {"quantile", "chosen", "nominal", "price", "gain", "candidates", "law"}
    assert told["source"].endswith("_expected")
    assert read_result(data, straggling).robust == result.robust


def test_what_is_told_did_not_decide(monkeypatch: pytest.MonkeyPatch) -> None:
    """Two schedules with one law: the smaller of two estimates would be too small on average."""
    monkeypatch.setattr(robust_module, "_FINAL", 512)
    problem = DagProblem(
        tasks=[Task(id=name, work=1) for name in "abc"], nodes=[Node(id="x"), Node(id="y")]
    )
    nominal = Schedule.of(problem, [0, 1, 0], [0, 2, 5])
    other = Schedule.of(problem, [0, 0, 1], [0, 3, 4])
    request = RobustRequest(0.9, Exponential(1.0))
    differences = []
    for seed in range(40):
        control = PoolControl(Pool(), Limits(threads=1, seed=seed), Token())
        race = robust_module._Race(problem, control, request)
        pair = [Candidate(nominal, "nominal"), Candidate(other, "other")]
        schedule, told = race.result(pair, nominal)
        if schedule is other:
            differences.append(told.chosen.value - told.nominal.value)
    assert len(differences) > 5
    assert any(difference > 0 for difference in differences)
    spread = np.std(differences) / math.sqrt(len(differences))
    assert abs(np.mean(differences)) < 3 * spread


def test_without_a_choice_there_is_nothing_to_tell(straggling: DagProblem) -> None:
    """Documents of ordinary runs stay as they were."""
    plain = allocsolve.solve(straggling, method="heft", threads=1)
    assert plain.robust is None
    assert b'"robust"' not in encode_solution(result_to_document(plain))


def test_a_project_is_chosen_too() -> None:
    """Schedules with resources come from sampling; an optimum keeps its proof if it is chosen."""
    problem = allocsolve.generate("rcpsp", tasks=20, seed=2)
    law = "bimodal:base=1,slowdown=5,probability=0.1"
    result = allocsolve.solve(problem, robust="q=0.9", law=law, threads=1, time_limit=20)
    robust = result.robust
    assert robust is not None
    assert robust.candidates > 1
    assert robust.chosen.value <= robust.nominal.ci[1]
    assert robust.law == {"law": "bimodal", "base": 1.0, "slowdown": 5.0, "probability": 0.1}
    proved = result.objective.value == result.objective.bound
    assert (result.status == "OPTIMAL") == proved
    allocsolve.check(problem, result).raise_if_violated()


def test_no_schedule_is_no_choice() -> None:
    """An instance without a schedule keeps its reason."""
    problem = DagProblem(tasks=[Task(id="a", work=3, deadline=2)], nodes=[Node(id="n")])
    result = allocsolve.solve(problem, robust=0.9, law="exponential:rate=1", threads=1)
    assert (result.status, result.robust) == ("INFEASIBLE", None)


def test_an_interrupt_gives_the_nominal_schedule(straggling: DagProblem) -> None:
    """There is an answer at once, and a word that it was not chosen for its quantile."""
    token = Token()
    found = allocsolve.solve(
        straggling,
        method="heft",
        robust=0.9,
        threads=1,
        token=token,
        on_event=lambda event: token.cancel() if event.source.startswith("candidate") else None,
    )
    assert found.status == "FEASIBLE"
    assert found.robust is None
    assert any("best as planned" in warning for warning in found.warnings)


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        pytest.param({"robust": "0.9"}, "q=0.95", id="text without q"),
        pytest.param({"robust": "q=1.5"}, "between 0 and 1", id="no probability"),
        pytest.param({"robust": 1.0}, "above 0 and below 1", id="certainty"),
        pytest.param({"robust": 0.9}, "something random", id="no law"),
        pytest.param({"law": "exponential:rate=1"}, "without robust", id="law alone"),
        pytest.param({"robust": 0.9, "law": "exp:rate=1"}, "exponential", id="unknown law"),
    ],
)
def test_wrong_arguments_are_named(keywords: dict[str, object], message: str) -> None:
    """Before anything is searched."""
    problem = DagProblem(tasks=[Task(id="a", work=1)], nodes=[Node(id="n")])
    with pytest.raises(UsageError, match=message):
        allocsolve.solve(problem, **keywords)  # type: ignore[call-overload]  # as wrong as it is meant


def test_a_process_is_random_enough() -> None:
    """Failures without a runtime law are a reason to choose."""
    node = Node(id="n")
    problem = DagProblem(tasks=[Task(id="a", work=1)], nodes=[node])
    assert not RobustRequest(0.9).is_random(problem)
    assert RobustRequest(0.9, Exponential(1.0)).is_random(problem)
    slow = problem.replace(nodes=[msgspec.structs.replace(node, runtime=HEAVY)])
    assert RobustRequest(0.9).is_random(slow)


def _control(pool: Pool) -> PoolControl:
    return PoolControl(pool, Limits(threads=1), Token())


def test_the_pool_keeps_different_schedules() -> None:
    """The shortest of many, each once, whoever offers it again."""
    problem = DagProblem(tasks=[Task(id="a", work=1)], nodes=[Node(id="n")])
    pool = Pool()
    for start in [*range(200, -1, -1), 5]:
        pool.add(Schedule.of(problem, [start], [0]), f"at {start}")
    kept = pool.candidates()
    assert [one.schedule.makespan for one in kept] == list(range(1, 49))
    pool.add(Schedule.of(problem, [500], [0]), "expected", stays=True)
    assert pool.candidates()[-1].source == "expected"
    assert len(pool.candidates()) == 49
    control = _control(pool)
    assert control.offer(Schedule.of(problem, [7], [0]), 8, "first")
    assert not control.offer(Schedule.of(problem, [9], [0]), 10, "second")
    assert control.value == 8


def test_list_schedules_are_candidates(straggling: DagProblem) -> None:
    """Many different schedules, all of which the checker accepts."""
    pool = Pool()
    add_lists(straggling, _control(pool), pool)
    found = pool.candidates()
    assert len(found) > 5
    for one in found:
        allocsolve.check(straggling, one.schedule).raise_if_violated()


@pytest.mark.parametrize("family", ["related", "unrelated", "eligible", "linked", "packed"])
@pytest.mark.parametrize("seed", range(6))
def test_expected_schedules_are_schedules(draw_cluster: object, family: str, seed: int) -> None:
    """Nodes and order come from expected times, the starts from planned ones: rules hold."""
    problem: DagProblem = draw_cluster(family, seed)  # type: ignore[operator]  # a fixture that draws
    laws = [Exponential(1.0), Pareto(1.5, 2.0), None][: len(problem.nodes)]
    pool = Pool()
    add_expected(problem, _control(pool), pool, laws, 0.9)
    for one in pool.candidates():
        report = allocsolve.check(problem, one.schedule)
        assert report.valid, (one.source, report.violations)


def test_expected_times_avoid_a_straggler() -> None:
    """Two equal tasks: one of two nodes takes ten times as long in the mean, so it gets none."""
    problem = DagProblem(
        tasks=[Task(id="a", work=4), Task(id="b", work=4)], nodes=[Node(id="x"), Node(id="y")]
    )
    pool = Pool()
    add_expected(problem, _control(pool), pool, [Exponential(0.1), None], 0.9)
    (heft,) = [one for one in pool.candidates() if one.source == "heft_expected"]
    assert {entry.node for entry in heft.schedule.entries()} == {"y"}
    same = Pool()
    add_expected(problem, _control(same), same, [Exponential(2.0), Exponential(2.0)], 0.9)
    assert same.candidates() == []


def test_infinite_means_count_by_their_quantile() -> None:
    """A node whose mean is infinite is still avoided."""
    problem = DagProblem(
        tasks=[Task(id="a", work=4), Task(id="b", work=4)],
        edges=[Edge(source="a", target="b")],
        nodes=[Node(id="x"), Node(id="y")],
    )
    pool = Pool()
    add_expected(problem, _control(pool), pool, [Pareto(0.9, 1.0), None], 0.9)
    assert {e.node for one in pool.candidates() for e in one.schedule.entries()} == {"y"}


def test_price_and_gain() -> None:
    """Shares of the nominal schedule; unknown where its quantile is infinite."""
    near, far = Appraisal(10.0, 20.0, (19.0, 21.0)), Appraisal(8.0, 40.0, (39.0, 41.0))
    choice = Robustness(0.9, near, far, "x", 2, 10, 0)
    assert (choice.price, choice.gain) == (0.25, 0.5)
    endless = Appraisal(8.0, float("inf"), (39.0, float("inf")))
    assert Robustness(0.9, near, endless, "x", 2, 10, 0).gain is None
    empty = Appraisal(0.0, 0.0, (0.0, 0.0))
    assert (Robustness(0.9, empty, empty, "x", 1, 10, 0).price) == 0.0


@pytest.mark.parametrize(
    ("known", "words"),
    [
        (True, "too short to load the compiled replay"),
        (False, "doctor --compile' does it once"),
        (None, "too short to load the replay"),
    ],
    ids=["cached", "not compiled", "nobody knows"],
)
def test_what_was_missing_for_a_comparison_is_said(
    monkeypatch: pytest.MonkeyPatch, known: bool | None, words: str
) -> None:
    """Whoever has compiled everything is not told to compile it."""
    monkeypatch.setattr(KernelSet, "is_known_as_cached", lambda _: known)
    assert words in robust_module._unready()
