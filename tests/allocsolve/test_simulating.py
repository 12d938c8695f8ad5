"""`allocsolve.simulate`: plans of every kind on drawn nodes, and documents of what was found."""

from __future__ import annotations

import json
import math
import time
from collections.abc import Sequence
from fractions import Fraction
from pathlib import Path
from typing import Any, cast

import jsonschema  # type: ignore[import-untyped]  # its stubs are a package of their own
import numpy as np
import pytest

import allocsolve
from allocsolve.api.policies import policies_of
from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.data import MatVec, ObjectiveSpec
from allocsolve.models.coded.data import Node as Worker
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.dag.answer import DagResult, ScheduledTask
from allocsolve.models.dag.data import Edge, Node, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import CheckFailed, InputError, NoSolution, UsageError
from allocsolve.models.execution.policies import KeepPlan
from allocsolve.models.execution.rounds import Cancelled
from allocsolve.models.fair.answer import FairAnswer
from allocsolve.models.fair.data import Job, ResourceType
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.kernels import KernelSet
from allocsolve.models.nodes import Exponential, Law, Pareto
from allocsolve.report.schemas import schema_text
from allocsolve.report.simulation import encode_simulation, read_simulations, simulation_document
from allocsolve.solvers.control import Token


@pytest.fixture(scope="module")
def forked() -> DagProblem:
    """C after A, D after A and B; all of length 1, a node for each of two chains."""
    return DagProblem(
        name="forked",
        tasks=[Task(id=name, work=1) for name in "abcd"],
        edges=[Edge(source=s, target=t) for s, t in ("ac", "ad", "bd")],
        nodes=[Node(id=f"n{k}") for k in range(4)],
    )


@pytest.fixture(scope="module")
def plan(forked: DagProblem) -> DagResult:
    """Each task on a node of its own."""
    result = allocsolve.solve(forked, method="heft", threads=1)
    entries = [
        ScheduledTask(name, Fraction(start), Fraction(start + 1), f"n{k}")
        for k, (name, start) in enumerate(zip("abcd", (0, 0, 1, 1), strict=True))
    ]
    schedule = allocsolve.Schedule.from_entries(forked, entries)
    return result.replace(answer=schedule)


@pytest.fixture(scope="module")
def coded() -> CodedProblem:
    """Ten nodes with Exp(1), any seven of which suffice."""
    law = Law(law="exponential", rate=1)
    return CodedProblem(
        name="ten",
        task=MatVec(rows=7),
        nodes=[Worker(id=f"w{i}", runtime=law) for i in range(10)],
        objective=ObjectiveSpec(name="deadline_probability", deadline=2),
    )


@pytest.fixture(scope="module")
def fair() -> FairProblem:
    """Two jobs on two types."""
    return FairProblem(
        name="two",
        types=[ResourceType(id="v", count=1), ResourceType(id="k", count=2)],
        jobs=[
            Job(id="a", throughput={"v": 10, "k": 1}, remaining=38),
            Job(id="b", throughput={"v": 6, "k": 3}, remaining=38),
        ],
    )


def test_the_mean_of_a_small_graph(forked: DagProblem, plan: DagResult) -> None:
    """23/8 where all durations are Exp(1): the critical path alone would say 2."""
    found = allocsolve.simulate(forked, plan, law=Exponential(1.0), replications=40_000, seed=5)
    assert found.mean_ci is not None
    assert found.mean_ci[0] <= 23 / 8 <= found.mean_ci[1]
    assert (found.kind, found.planned, found.name) == ("dag", 2.0, "heft")
    assert found.instance.name == "forked"
    assert found.quantile(0.99) == found.quantiles[0.99]


@pytest.mark.parametrize(
    "law",
    [Exponential(0.5), Law(law="exponential", rate=Fraction(1, 2)), "exponential:rate=0.5"],
    ids=["object", "record", "text"],
)
def test_a_law_may_be_given_in_three_ways(
    forked: DagProblem, plan: DagResult, law: Exponential | Law | str
) -> None:
    """Options, documents and programs name laws differently, and mean the same."""
    found = allocsolve.simulate(forked, plan, law=law, replications=64, threads=1)
    reference = allocsolve.simulate(forked, plan, law=Exponential(0.5), replications=64, threads=2)
    assert found.quantiles == reference.quantiles


def test_laws_of_nodes_hold_unless_one_is_given(forked: DagProblem, plan: DagResult) -> None:
    """Without any law the replay is the plan, and nothing is drawn."""
    exact = allocsolve.simulate(forked, plan)
    assert (exact.method, exact.mean, exact.replications) == ("exact", 2.0, None)
    slow = forked.replace(
        nodes=[Node(id=f"n{k}", runtime=Law(law="deterministic", value=3)) for k in range(4)]
    )
    schedule = plan.require().entries()
    assert allocsolve.simulate(slow, schedule).mean == 6.0
    assert allocsolve.simulate(slow, schedule, law="deterministic:value=2").mean == 4.0


def test_a_rejected_answer_is_not_simulated(forked: DagProblem, plan: DagResult) -> None:
    """A plan that cannot be carried out has no completion time; the error says what is broken."""
    entries = list(plan.require().entries())
    entries[3] = ScheduledTask("d", Fraction(0), Fraction(1), "n3")
    with pytest.raises(CheckFailed, match=r"rejects the answer.*\nprecedence: "):
        allocsolve.simulate(forked, entries)
    with pytest.raises(CheckFailed, match="rejects answer 2"):
        allocsolve.simulate(forked, plan.require(), entries)


def test_a_wrong_claim_is_rejected_too(forked: DagProblem, plan: DagResult) -> None:
    """A document that lies about its makespan is not to be trusted with a deadline."""
    document: dict[str, Any] = {"schema": "allocsolve.solution/1", "kind": "dag"}
    document["objective"] = {"value": 1}
    document["schedule"] = [
        {"task": e.task, "start": float(e.start), "end": float(e.end), "node": e.node}
        for e in plan.require().entries()
    ]
    with pytest.raises(CheckFailed, match="objective_value"):
        allocsolve.simulate(forked, json.dumps(document).encode())
    del document["objective"]
    assert allocsolve.simulate(forked, json.dumps(document).encode()).mean == 2.0


def test_an_answer_that_is_not_there(forked: DagProblem) -> None:
    """Neither a result without an answer nor a document without one can be replayed."""
    nothing = allocsolve.solve(forked, time_limit=0)
    with pytest.raises(NoSolution):
        allocsolve.simulate(forked, nothing)
    with pytest.raises(CheckFailed, match="there is no answer"):
        allocsolve.simulate(forked, b'{"schema": "allocsolve.solution/1", "kind": "dag"}')


@pytest.mark.parametrize(
    ("keywords", "message"),
    [
        pytest.param({"law": "gama:shape=1,scale=1"}, "did you mean 'gamma'", id="unknown law"),
        pytest.param({"law": "gamma:shape=-1,scale=1"}, "shape", id="impossible parameter"),
        pytest.param({"law": 3}, "law is 3", id="no law"),
        pytest.param({"replications": 1}, "replications is 1", id="one replication"),
        pytest.param({"precision": 2.0}, "precision", id="no precision"),
        pytest.param({"quantiles": (1.5,)}, "quantile", id="no probability"),
        pytest.param({"starts": "late"}, "eager, planned", id="unknown starts"),
        pytest.param({"policy": "redispach"}, "'redispatch'", id="unknown policy"),
        pytest.param({"policy": "redispatch:a=1"}, "no settings", id="setting of redispatch"),
        pytest.param({"policy": "speculate:when=1"}, "after=NUMBER", id="setting of speculate"),
        pytest.param({"policy": "speculate:after=x"}, "above 0", id="no number"),
        pytest.param({"policy": "speculate:after=0"}, "above 0", id="at once"),
        pytest.param({"names": ["a", "b"]}, "1 answers", id="too many names"),
    ],
)
def test_wrong_arguments_are_named(
    forked: DagProblem, plan: DagResult, keywords: dict[str, Any], message: str
) -> None:
    """What was wrong and what is allowed; before anything is drawn."""
    with pytest.raises(UsageError, match=message):
        allocsolve.simulate(forked, plan, **keywords)


def test_what_means_nothing_for_a_kind_is_refused(coded: CodedProblem, fair: FairProblem) -> None:
    """An option without any effect would be believed to have had one."""
    answer = CodedAnswer.of([1] * 10)
    for keywords in ({"policy": "redispatch"}, {"starts": "planned"}):
        with pytest.raises(UsageError):
            allocsolve.simulate(coded, answer, **keywords)  # type: ignore[call-overload]  # wrong on purpose
    with pytest.raises(UsageError, match="kind 'fair'"):
        allocsolve.simulate(fair, FairAnswer(fair, np.full((2, 2), 0.25)), policy="speculate")
    with pytest.raises(UsageError, match="read it first"):
        allocsolve.simulate("plan.json", answer)  # type: ignore[call-overload]  # wrong on purpose
    with pytest.raises(UsageError, match="at least one"):
        allocsolve.simulate(coded)  # type: ignore[call-overload]  # wrong on purpose


def test_coded_jobs_are_exact(coded: CodedProblem) -> None:
    """The anchors of (10, 7) with Exp(1); the deadline is that of the objective."""
    found = allocsolve.simulate(coded, CodedAnswer.of([1] * 10))
    assert (found.method, found.generator) == ("exact", None)
    assert found.mean == pytest.approx(2761 / 2520, abs=1e-9)
    assert found.quantile(0.99) == pytest.approx(2.3728593346, abs=1e-9)
    assert found.deadline == 2.0
    assert found.deadline_probability is not None


def test_allocations_are_replayed(fair: FairProblem) -> None:
    """Without a law the makespan is that of the utilities."""
    answer = FairAnswer(fair, np.array([[0.5, 0.5], [0.5, 0.5]]))
    found = allocsolve.simulate(fair, answer)
    assert found.mean == pytest.approx(38 / 4.5)
    drawn = allocsolve.simulate(fair, answer, law="gamma:shape=4,scale=0.25", replications=500)
    assert drawn.mean > found.mean
    assert "jobs" in drawn.extra


def test_several_answers_are_compared_in_pairs(forked: DagProblem, plan: DagResult) -> None:
    """Each pair once, in the order of the answers, whatever the kind."""
    others = [allocsolve.solve(forked, method=m, threads=1) for m in ("one_node", "etf")]
    found = allocsolve.simulate(forked, plan, *others, law="exponential:rate=1", replications=200)
    assert [one.name for one in found] == ["heft", "one_node", "etf"]
    pairs = [(pair.first, pair.second) for pair in found[0].comparison or ()]
    assert pairs == [("heft", "one_node"), ("heft", "etf"), ("one_node", "etf")]
    assert found[2].comparison == found[0].comparison


def test_pairs_of_other_kinds(coded: CodedProblem, fair: FairProblem) -> None:
    """Coded and fair answers are compared by the same document."""
    three = allocsolve.simulate(
        coded,
        CodedAnswer.of([1] * 10),
        CodedAnswer.of([2] * 10),
        CodedAnswer.of([1] * 9 + [0]),
        replications=100,
    )
    assert [(p.first[-1], p.second[-1]) for p in three[1].comparison or ()] == [
        ("1", "2"),
        ("1", "3"),
        ("2", "3"),
    ]
    shares = [np.array([[a, 1 - a], [1 - a, a]]) for a in (0.5, 0.6)]
    two = allocsolve.simulate(
        fair,
        FairAnswer(fair, shares[0]),
        FairAnswer(fair, shares[1]),
        law="exponential:rate=1",
        replications=100,
    )
    assert len(two[0].comparison or ()) == 1


def test_policies_are_compared_on_the_same_numbers(forked: DagProblem, plan: DagResult) -> None:
    """A policy that keeps the plan does what no policy does, replication by replication."""
    found = allocsolve.simulate(
        forked,
        plan,
        law="bimodal:base=1,slowdown=9,probability=0.2",
        policy=["static", KeepPlan(), "speculate"],
        replications=200,
    )
    assert [one.name for one in found] == [
        "heft (static)",
        "heft (keep plan)",
        "heft (speculative copies)",
    ]
    same, _, better = found[0].comparison or ()
    assert (same.mean_difference, same.probability_first_better) == (0.0, 0.5)
    assert better.mean_difference is not None
    assert better.mean_difference > 0
    assert found[0].samples is None


def test_when_a_copy_starts(forked: DagProblem) -> None:
    """By default 1.5 times the median of the law: the rule of Spark."""
    law = Exponential(math.log(2))
    (policy,) = policies_of("speculate", forked, law)
    assert getattr(policy, "after", None) == pytest.approx(1.5)
    (policy,) = policies_of("speculate:after=3", forked, law)
    assert getattr(policy, "after", None) == 3.0
    slow = forked.replace(nodes=[Node(id="n", runtime=Law(law="deterministic", value=4))])
    (policy,) = policies_of("speculate", slow, None)
    assert getattr(policy, "after", None) == 6.0


def test_progress_rises_to_the_end(forked: DagProblem, plan: DagResult) -> None:
    """A bar that stops short of its end looks like a failure."""
    shares: list[float] = []
    allocsolve.simulate(
        forked,
        plan,
        plan.require(),
        names=["a", "b"],
        law="exponential:rate=1",
        policy=["static", "redispatch"],
        replications=100,
        on_progress=shares.append,
    )
    assert shares == sorted(shares)
    assert shares[-1] == pytest.approx(1)


def test_precision_ends_the_run(forked: DagProblem, plan: DagResult) -> None:
    """The interval of the mean is as narrow as asked for, and no replication is wasted."""
    found = allocsolve.simulate(forked, plan, law="exponential:rate=1", precision=0.01)
    assert found.mean_ci is not None
    assert found.mean_ci[1] - found.mean <= 0.0101 * found.mean
    assert found.replications is not None
    assert 2_000 < found.replications < 20_000


@pytest.mark.parametrize("policy", [None, "redispatch"], ids=["compiled", "policy"])
def test_an_interrupted_run_keeps_what_it_has(
    forked: DagProblem, plan: DagResult, policy: str | None
) -> None:
    """The estimate so far is worth more than none; it says that it is shorter than asked."""
    token = Token()
    found = allocsolve.simulate(
        forked,
        plan,
        law="exponential:rate=1",
        replications=10**9,
        policy=policy,
        on_progress=lambda share: token.cancel() if share * 10**9 > 3000 else None,
        token=token,
    )
    assert found.replications is not None
    assert 16 <= found.replications < 10**9
    assert any("interrupted" in warning for warning in found.warnings)


def test_nothing_drawn_is_no_estimate(forked: DagProblem, plan: DagResult) -> None:
    """Cancelled before the first draw there is nothing to report."""
    token = Token()
    token.cancel()
    with pytest.raises(Cancelled):
        allocsolve.simulate(forked, plan, law="exponential:rate=1", token=token)


def _validated(simulations: Any) -> dict[str, Any]:
    data = encode_simulation(simulation_document(simulations))
    document: dict[str, Any] = json.loads(data)
    jsonschema.Draft202012Validator(json.loads(schema_text("simulation"))).validate(document)
    assert encode_simulation(simulation_document(read_simulations(data))) == data
    return document


def test_documents_round_trip(
    forked: DagProblem, plan: DagResult, coded: CodedProblem, fair: FairProblem
) -> None:
    """What is read back is what was written, for every kind; documents obey their schema."""
    dag = allocsolve.simulate(
        forked, plan, law="gamma:shape=2,scale=1", deadline=4, replications=99, keep_samples=True
    )
    document = _validated(dag)
    assert list(document)[:3] == ["schema", "kind", "instance"]
    assert len(document["samples"]) == 99
    assert [one["label"] for one in document["examples"]] == ["median", "bad"]
    assert document["extra"]["asked"]["law"] == {"law": "gamma", "shape": 2.0, "scale": 1.0}
    back = read_simulations(encode_simulation(simulation_document(dag)))[0]
    assert dag.samples is not None
    assert back.samples is not None
    assert back.samples.tolist() == dag.samples.tolist()
    assert (back.quantiles, back.mean_ci) == (dag.quantiles, dag.mean_ci)
    assert _validated(allocsolve.simulate(coded, CodedAnswer.of([1] * 10)))["method"] == "exact"
    _validated(allocsolve.simulate(fair, FairAnswer(fair, np.full((2, 2), 0.5))))


def test_an_infinite_mean_is_null_and_said_to_be(forked: DagProblem, plan: DagResult) -> None:
    """A number would be believed; JSON has no infinity."""
    other = allocsolve.solve(forked, method="one_node", threads=1)
    law = Pareto(shape=1.0, scale=1.0)
    found = allocsolve.simulate(forked, plan, other, law=law, replications=64)
    document = _validated(found)
    assert (document["mean"], document["infinite"], document["std"]) == (None, True, None)
    assert document["mean_ci"] is None
    assert document["comparison"][0]["mean_difference"] is None
    assert document["others"][0]["infinite"] is True
    assert document["quantiles"]["0.5"] > 2
    finite = _validated(allocsolve.simulate(forked, plan, law="pareto:shape=1.5,scale=1"))
    assert "infinite" not in finite
    assert finite["mean"] is not None
    assert (finite["std"], finite["mean_ci"]) == (None, None)


def test_a_null_mean_has_to_be_explained() -> None:
    """A missing mean is not an infinite one."""
    document: dict[str, Any] = {"schema": "allocsolve.simulation/1", "kind": "dag"}
    document |= {"instance": {}, "name": "x"}
    document |= {"method": "exact", "mean": None, "std": 0, "quantiles": {}, "quantile_cis": {}}
    document |= {"utilisation": {}, "warnings": []}
    with pytest.raises(InputError, match="not said to be infinite"):
        read_simulations(json.dumps(document).encode())
    document["infinite"] = True
    (found,) = read_simulations(json.dumps(document).encode())
    assert found.infinite


def test_simulations_are_written_like_results(
    forked: DagProblem, plan: DagResult, tmp_path: Path
) -> None:
    """One function writes everything; a simulation has one format."""
    found = allocsolve.simulate(forked, plan)
    allocsolve.write(found, tmp_path / "one.json")
    assert json.loads((tmp_path / "one.json").read_bytes())["mean"] == 2.0
    allocsolve.write((found, found.replace(name="again")), tmp_path / "two.json")
    assert json.loads((tmp_path / "two.json").read_bytes())["others"][0]["name"] == "again"
    with pytest.raises(UsageError, match="one format only"):
        allocsolve.write(found, tmp_path / "one.csv", format="csv")


def test_small_runs_do_not_wait_for_a_compiler(
    forked: DagProblem, plan: DagResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where nothing is compiled yet, a small run is plain Python with the same samples."""
    compiled = allocsolve.simulate(
        forked, plan, law="exponential:rate=1", replications=64, keep_samples=True
    )
    monkeypatch.setattr(KernelSet, "is_loaded", lambda _: False)
    monkeypatch.setattr(KernelSet, "is_ready", lambda _: False)
    monkeypatch.setattr(KernelSet, "build", lambda _: pytest.fail("it was compiled"))
    plain = allocsolve.simulate(
        forked, plan, law="exponential:rate=1", replications=64, keep_samples=True, threads=2
    )
    assert compiled.samples is not None
    assert plain.samples is not None
    assert plain.samples.tolist() == compiled.samples.tolist()


def test_a_compilation_can_be_interrupted(
    forked: DagProblem, plan: DagResult, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Ctrl-C does not wait a minute for a compiler whose work nobody wants any more."""
    token = Token()

    def compile_for_ever(_: KernelSet) -> float:
        token.cancel()
        time.sleep(1.0)
        return 1.0

    monkeypatch.setattr(KernelSet, "is_loaded", lambda _: False)
    monkeypatch.setattr(KernelSet, "build", compile_for_ever)
    began = time.monotonic()
    with pytest.raises(Cancelled):
        allocsolve.simulate(forked, plan, law="exponential:rate=1", replications=10**7, token=token)
    assert time.monotonic() - began < 0.9


def test_a_plan_by_hand_may_start_between_the_times_of_the_instance(forked: DagProblem) -> None:
    """The checker takes such starts, so the replay does; plans on other grids compare with it."""
    entries = [
        ScheduledTask(name, Fraction(start), Fraction(start) + 1, f"n{k}")
        for k, (name, start) in enumerate(zip("abcd", ("0.25", "1/3", "2", "2.5"), strict=True))
    ]
    planned = allocsolve.simulate(forked, entries, starts="planned")
    assert planned.mean == planned.planned == 3.5
    assert allocsolve.simulate(forked, entries).mean == 2.0
    whole = allocsolve.solve(forked, method="heft", threads=1)
    found = allocsolve.simulate(
        forked, entries, whole, names=["hand", "heft"], law="exponential:rate=1", replications=50
    )
    assert len(found[0].comparison or ()) == 1


@pytest.mark.parametrize(
    ("kind", "keywords"),
    [
        pytest.param("coded", {"link_law": Exponential(1.0)}, id="coded links"),
        pytest.param("coded", {"starts": "planned"}, id="coded starts"),
        pytest.param("coded", {"dtype": "float32"}, id="coded float32"),
        pytest.param("coded", {"policy": KeepPlan()}, id="coded policy"),
        pytest.param("fair", {"link_law": Exponential(1.0)}, id="fair links"),
        pytest.param("fair", {"starts": "planned"}, id="fair starts"),
        pytest.param("fair", {"dtype": "float32"}, id="fair float32"),
        pytest.param("fair", {"policy": KeepPlan()}, id="fair dispatcher"),
        pytest.param("dag", {"policy": object()}, id="no policy"),
        pytest.param("dag", {"policy": "redispatch", "starts": "planned"}, id="policy starts"),
        pytest.param(
            "dag", {"policy": "speculate", "link_law": Exponential(1.0)}, id="policy links"
        ),
    ],
)
def test_what_has_no_effect_is_refused(
    kind: str,
    keywords: dict[str, Any],
    forked: DagProblem,
    plan: DagResult,
    coded: CodedProblem,
    fair: FairProblem,
) -> None:
    """Whoever asks for something that is not done would believe that it was; told what is."""
    of_kind: dict[str, tuple[Any, Any]] = {
        "dag": (forked, plan),
        "coded": (coded, CodedAnswer.of([1] * 10)),
        "fair": (fair, FairAnswer(fair, np.full((2, 2), 0.5))),
    }
    with pytest.raises(UsageError, match="allowed: "):
        allocsolve.simulate(*of_kind[kind], **keywords)


PRECISIONS = [
    pytest.param(
        {"replications": 2500}, "exponential:rate=1", "was not reached: after 2500", id="cap"
    ),
    pytest.param({}, "pareto:shape=1.8,scale=1", "variance is infinite", id="variance"),
    pytest.param({}, "pareto:shape=0.9,scale=1", "infinite mean a precision", id="mean"),
]


@pytest.mark.parametrize(("keywords", "law", "message"), PRECISIONS)
@pytest.mark.parametrize("kind", ["dag", "fair"])
def test_a_precision_that_is_not_reached_is_told(
    kind: str,
    keywords: dict[str, Any],
    law: str,
    message: str,
    forked: DagProblem,
    plan: DagResult,
    fair: FairProblem,
) -> None:
    """A run that ends before its precision must not look like one that has it."""
    shares = FairAnswer(fair, np.array([[1.0, 0.0], [0.0, 1.0]]))
    pair: tuple[Any, Any] = (forked, plan) if kind == "dag" else (fair, shares)
    found = allocsolve.simulate(*pair, law=law, precision=0.001, **keywords)
    assert found.replications == keywords.get("replications", 10_000)
    assert any(message in warning for warning in found.warnings)


def test_a_precision_that_is_reached_needs_no_warning(forked: DagProblem, plan: DagResult) -> None:
    """The half width is at most what was asked for, not only about that."""
    for seed in range(5):
        found = allocsolve.simulate(
            forked, plan, law="weibull:shape=0.7,scale=1", precision=0.01, seed=seed
        )
        assert found.mean_ci is not None
        assert found.mean_ci[1] - found.mean <= 0.01 * found.mean
        assert not found.warnings


STRANGE: dict[str, Any] = {
    "precision": "1%",
    "quantiles": "0.5",
    "quantiles of text": ["0.5"],
    "quantiles as a number": 0.5,
    "replications": 1.5,
    "seed": 1.5,
    "threads": "2",
    "deadline": "5",
    "names": "ab",
    "law": 3,
    "link_law": 3,
    "policy": 3,
    "token": 3,
    "on_progress": 3,
    "keep_samples": "no",
    "dtype": None,
    "starts": None,
    "replication": 100,
}


@pytest.mark.parametrize(("name", "value"), STRANGE.items(), ids=STRANGE)
def test_arguments_of_a_wrong_type_are_refused(
    forked: DagProblem, plan: DagResult, name: str, value: Any
) -> None:
    """Nobody should have to read a TypeError from the depths, and no misspelling is ignored."""
    keywords: dict[str, Any] = {name.partition(" ")[0]: value}
    with pytest.raises(UsageError, match=r"\n  allowed: "):
        allocsolve.simulate(forked, plan, **keywords)


def test_numbers_of_other_libraries_are_numbers(forked: DagProblem, plan: DagResult) -> None:
    """Counts and quantiles often come out of arrays."""
    law = Exponential(1.0)
    found = allocsolve.simulate(
        forked,
        plan,
        law=law,
        replications=cast("int", np.int64(64)),
        quantiles=cast("Sequence[float]", np.array([0.5])),
    )
    reference = allocsolve.simulate(forked, plan, law=law, replications=64, quantiles=(0.5,))
    assert (found.quantiles, found.replications) == (reference.quantiles, 64)


def test_a_simulation_is_shown_in_one_line(forked: DagProblem, plan: DagResult) -> None:
    """A session shows it whenever it is the last value of a cell."""
    text = repr(allocsolve.simulate(forked, plan))
    assert text == "<Simulation 'heft' (dag): mean 2, q0.5 2, q0.9 2, q0.99 2, exact>"


@pytest.mark.parametrize("q", ["0.9", None, 2, math.nan], ids=str)
def test_what_is_no_quantile_is_refused(forked: DagProblem, plan: DagResult, q: Any) -> None:
    """The reader of a simulation errs like its maker."""
    with pytest.raises(UsageError, match="allowed: a number above 0 and below 1"):
        allocsolve.simulate(forked, plan).quantile(q)


@pytest.mark.parametrize(
    "keywords",
    [{"token": 3}, {"on_incumbent": 3}, {"on_event": "x"}, {"options": 3}],
    ids=lambda keywords: next(iter(keywords)),
)
def test_arguments_of_solve_of_a_wrong_type_are_refused(
    forked: DagProblem, keywords: dict[str, Any]
) -> None:
    """They would end a long run after its first incumbent."""
    with pytest.raises(UsageError, match=r"\n  allowed: "):
        allocsolve.solve(forked, method="heft", **keywords)


@pytest.mark.parametrize("robust", [[1], 2, "0.9", True, math.nan], ids=str)
def test_what_is_no_quantile_is_refused_by_a_robust_choice(forked: DagProblem, robust: Any) -> None:
    """A quantile is a number, or the text of the command line."""
    with pytest.raises(UsageError, match=r"\n  allowed: "):
        allocsolve.solve(forked, robust=robust, law=Exponential(1.0))
