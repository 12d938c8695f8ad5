"""Pictures of coded assignments: laws beside those of the rules, and loads."""

from __future__ import annotations

import re
from xml.etree import ElementTree

import numpy as np
import pytest

import allocsolve
from allocsolve.api.rules import rule_answers
from allocsolve.models.coded.answer import CodedAnswer, CodedResult
from allocsolve.models.coded.data import (
    Elastic,
    Gradient,
    Limits,
    MatVec,
    Node,
    ObjectiveSpec,
)
from allocsolve.models.coded.law import NoExactLaw, completion_law
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.value import objective_value
from allocsolve.models.errors import CheckFailed, UsageError
from allocsolve.models.nodes import Law
from allocsolve.plots import assignment, loads
from allocsolve.plots.law_curves import Curve, tail_of, times_of

pytest.importorskip("matplotlib")

SLOW = Law(law="shifted_exponential", shift=1, rate=1)
FAST = Law(law="shifted_exponential", shift=1 / 3, rate=3)
BEST = CodedAnswer.of([1, 1, 5, 5])


@pytest.fixture(scope="module")
def four() -> CodedProblem:
    """Two slow and two fast nodes; the best loads are 1, 1, 5, 5."""
    laws = (SLOW, SLOW, FAST, FAST)
    nodes = [Node(id=name, runtime=law) for name, law in zip("abcd", laws, strict=True)]
    return CodedProblem(name="four", task=MatVec(rows=12), nodes=nodes)


def _comments(image: bytes) -> list[str]:
    assert ElementTree.fromstring(image).tag == "{http://www.w3.org/2000/svg}svg"
    return re.findall(r"<!-- (.*?) -->", image.decode())


def test_the_answer_stands_beside_every_rule(four: CodedProblem) -> None:
    """Each rule is named with its exact value; the objective is marked; bytes repeat."""
    image = assignment(four, BEST, name="best")
    told = _comments(image)
    assert {"four: completion law and loads", "best: mean 4.3653", "mean 4.3653"} <= set(told)
    assert "hcmm_ceil: mean 5.06085 (+15.9%)" in told
    assert "best: 12 in all" in told
    for name, answer in rule_answers(four).items():
        assert any(text.startswith(f"{name}: mean ") for text in told)
        assert objective_value(four, answer) >= objective_value(four, BEST)
    assert assignment(four, BEST, name="best") == image
    assert assignment(four, BEST, form="png").startswith(b"\x89PNG")


def test_late_quantiles_are_drawn_as_tails(four: CodedProblem) -> None:
    """At 0.99 the curves of all answers lie at 1 and nothing could be told apart."""
    late = four.replace(objective=ObjectiveSpec(name="quantile", q=0.99))
    told = _comments(assignment(late, BEST))
    assert {"probability of not being complete", "0.01", "quantile 0.99: 10.5175"} <= set(told)
    assert tail_of(four.replace(objective=ObjectiveSpec(name="quantile", q=0.5))) is None


@pytest.mark.parametrize(
    ("objective", "texts"),
    [
        pytest.param(
            ObjectiveSpec(name="deadline_probability", deadline=6),
            {"deadline 6", "answer: P(T &lt;= 6) 0.84546"},
            id="deadline",
        ),
        pytest.param(
            ObjectiveSpec(name="cost", deadline=6, confidence=0.8),
            {"deadline 6", "answer: cost 0"},
            id="cost",
        ),
    ],
)
def test_what_the_objective_looks_at_is_marked(
    four: CodedProblem, objective: ObjectiveSpec, texts: set[str]
) -> None:
    """A curve alone does not say whether the deadline is met."""
    assert texts <= set(_comments(assignment(four.replace(objective=objective), BEST, rules={})))


def test_a_result_brings_its_objective(four: CodedProblem) -> None:
    """What was solved for another objective than that of the file is judged by its own."""
    result = allocsolve.solve(
        four, method="hcmm_ceil", objective="quantile", threads=1, options={"q": "0.9"}
    )
    told = _comments(assignment(four, result, rules={}))
    assert any(text.startswith("quantile 0.9: ") for text in told)


@pytest.mark.parametrize("kind", ["gradient", "elastic", "batches"])
def test_every_task_has_its_rules(four: CodedProblem, kind: str) -> None:
    """Gradients and elastic jobs have rules of their own; loads carry their unit."""
    problem, unit, rule = {
        "gradient": (
            four.replace(task=Gradient(partitions=4, stragglers=1)),
            "partitions",
            "heterogeneity_aware",
        ),
        "elastic": (
            four.replace(task=Elastic(recovery_threshold=2)),
            "share of the matrix",
            "water_filling",
        ),
        "batches": (four.replace(limits=Limits(batches=4)), "coded rows", "bpcc"),
    }[kind]
    rules = rule_answers(problem)
    best = next(iter(rules))
    assert rule in rules
    told = _comments(assignment(problem, rules[best], name="mine"))
    assert unit in told
    assert any(text.startswith(f"{rule}: ") for text in told)


def test_picture_and_document_name_the_same_rules(four: CodedProblem) -> None:
    """A rule that only one of them knows, or another value, would make a reader doubt both."""
    for problem in (
        four,
        four.replace(task=Gradient(partitions=4, stragglers=1)),
        four.replace(task=Elastic(recovery_threshold=2)),
    ):
        result = allocsolve.solve(problem, threads=1)
        assert isinstance(result, CodedResult)
        found = {
            name: objective_value(problem, answer) for name, answer in rule_answers(problem).items()
        }
        told = {name: value for name, value in result.baselines.items() if value is not None}
        assert found == pytest.approx(told, rel=1e-9)


def test_rules_come_best_first_and_keep_all_limits(four: CodedProblem) -> None:
    """The first one is what an answer has to beat; one that breaks a limit is none."""
    values = [objective_value(four, answer) for answer in rule_answers(four).values()]
    assert values == sorted(values)
    tight = four.replace(nodes=[Node(id=n.id, runtime=n.runtime, storage=3) for n in four.nodes])
    assert {tuple(map(int, answer.loads)) for answer in rule_answers(tight).values()} == {
        (3, 3, 3, 3)
    }
    assert rule_answers(four, time_limit=0) == {}


def test_rules_that_were_not_reached_are_no_secret(four: CodedProblem) -> None:
    """A picture without a rule would say that the rule has no answer."""
    told = _comments(assignment(four, BEST, time_limit=0))
    assert "four: completion law and loads, rules that were found in 0 s" in told
    assert not any(text.startswith("hcmm") for text in told)


def test_loads_are_drawn_with_capacities(four: CodedProblem) -> None:
    """Bars and marks for answers, a line where storage limits the load, and only there."""
    answers = {"best": BEST, "even": CodedAnswer.of([4] * 4)}
    told = _comments(loads(four, answers))
    assert {"best: 12 in all", "even: 16 in all", "four: load of each node"} <= set(told)
    assert "what the node can take" not in told
    capped = four.replace(
        nodes=[Node(id=node.id, runtime=node.runtime, storage=6) for node in four.nodes]
    )
    assert "what the node can take" in _comments(loads(capped, answers))
    many = four.replace(nodes=[Node(id=f"w{i}", runtime=SLOW) for i in range(500)])
    assert "one: 500 in all" in _comments(loads(many, {"one": CodedAnswer.of([1] * 500)}))
    with pytest.raises(UsageError, match="no answer"):
        loads(four, {})
    with pytest.raises(CheckFailed, match="recovery"):
        loads(four, {"few": CodedAnswer.of([1] * 4)})


def test_curves_far_away_do_not_hide_the_answer(four: CodedProblem) -> None:
    """A rule that takes a hundred times as long is named in the legend and not in sight."""
    law = completion_law(four, BEST)
    slow = four.replace(
        nodes=[
            Node(id=n.id, runtime=Law(law="shifted_exponential", shift=300, rate=1))
            for n in four.nodes
        ]
    )
    far = completion_law(slow, BEST)
    near = times_of([Curve(law, "", "k"), Curve(far, "", "k")])
    assert near[-1] < 4 * law.quantile(0.995)
    assert np.array_equal(near, times_of([Curve(law, "", "k")]))
    assert times_of([Curve(law, "", "k")], [500.0])[-1] > 500


def test_a_law_without_exact_form_is_refused(four: CodedProblem) -> None:
    """The command line draws samples then."""
    weibull = Law(law="weibull", shape=0.5, scale=1)
    nodes = [Node(id=node.id, runtime=weibull) for node in four.nodes]
    with pytest.raises(NoExactLaw):
        assignment(four.replace(scaling="per_row", nodes=nodes), BEST)
