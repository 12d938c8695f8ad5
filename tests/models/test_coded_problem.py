"""Data of coded jobs: what is refused, with which message, and what is kept."""

from __future__ import annotations

from fractions import Fraction
from typing import Any

import msgspec
import numpy as np
import pytest

from allocsolve.models.coded.data import (
    CodedDocument,
    Elastic,
    Gradient,
    Limits,
    MatMul,
    MatVec,
    Node,
    ObjectiveSpec,
    Scenarios,
    Sequential,
)
from allocsolve.models.coded.problem import CodedProblem, Feature
from allocsolve.models.coded.thresholds import fits_split, needed_units
from allocsolve.models.errors import InputError
from allocsolve.models.nodes import Law
from allocsolve.models.result import Sense

EXPONENTIAL = Law(law="exponential", rate=1)


def node(name: str = "w0", **fields: Any) -> Node:
    return Node(id=name, runtime=fields.pop("runtime", EXPONENTIAL), **fields)


def problem(**fields: Any) -> CodedProblem:
    defaults: dict[str, Any] = {"task": MatVec(rows=4), "nodes": [node()]}
    return CodedProblem(**(defaults | fields))


GRADIENT = Gradient(partitions=4, stragglers=1)

BAD: dict[str, tuple[dict[str, Any], str, str]] = {
    "no rows": ({"task": MatVec(rows=0)}, "$.task.rows", "rows 0"),
    "negative rows": ({"task": MatVec(rows=-3)}, "$.task.rows", "rows -3"),
    "split too fine": (
        {"task": MatMul(rows=2, inner=5, columns=5, split=(3, 1, 1))},
        "$.task.split[0]",
        "cannot be split into 3",
    ),
    "empty split": (
        {"task": MatMul(rows=2, inner=5, columns=5, split=(1, 0, 1))},
        "$.task.split[1]",
        "split of inner 0",
    ),
    "negative stragglers": (
        {"task": Gradient(partitions=4, stragglers=-1)},
        "$.task.stragglers",
        "stragglers -1",
    ),
    "no messages": (
        {"task": Gradient(partitions=4, stragglers=1, messages=0)},
        "$.task.messages",
        "messages 0",
    ),
    "burst beyond window": (
        {
            "task": Gradient(
                partitions=4, stragglers=1, sequential=Sequential(burst=4, window=3, lam=2)
            )
        },
        "$.task.sequential.burst",
        "burst 4",
    ),
    "no threshold": (
        {"task": Elastic(recovery_threshold=0)},
        "$.task.recovery_threshold",
        "recovery_threshold 0",
    ),
    "no nodes": ({"nodes": []}, "$.nodes", "no nodes"),
    "repeated id": ({"nodes": [node(), node()]}, "$.nodes[1].id", "duplicate node id 'w0'"),
    "no law": ({"nodes": [Node(id="w0")]}, "$.nodes[0].runtime", "no runtime law"),
    "unknown law": (
        {"nodes": [node(runtime=Law(law="exponentail", rate=1))]},
        "$.nodes[0].runtime.law",
        "did you mean 'exponential'",
    ),
    "impossible rate": (
        {"nodes": [node(runtime=Law(law="exponential", rate=0))]},
        "$.nodes[0].runtime.rate",
        "rate",
    ),
    "negative storage": ({"nodes": [node(storage=-1)]}, "$.nodes[0].storage", "storage -1"),
    "infinite cost": ({"nodes": [node(cost=float("inf"))]}, "$.nodes[0].cost", "cost inf"),
    "negative speed": ({"nodes": [node(speed=-2)]}, "$.nodes[0].speed", "node 'w0': speed -2"),
    "row_time without effect": (
        {"nodes": [node(row_time=1)]},
        "$.nodes[0].row_time",
        "no effect in scaling 'load'",
    ),
    "speed without effect": (
        {"nodes": [node(speed=2)], "scaling": "additive"},
        "$.nodes[0].speed",
        "no effect in scaling 'additive'",
    ),
    "holds of a product": ({"nodes": [node(holds=[0])]}, "$.nodes[0].holds", "this task has not"),
    "unknown partition": (
        {"task": GRADIENT, "nodes": [node(holds=[0, 4])]},
        "$.nodes[0].holds[1]",
        "holds 4, which is not a partition",
    ),
    "partition twice": (
        {"task": GRADIENT, "nodes": [node(holds=[2, 2])]},
        "$.nodes[0].holds[1]",
        "comes twice",
    ),
    "unknown scaling": ({"scaling": "rows"}, "$.scaling", "scaling 'rows'"),
    "elastic rows": (
        {"task": Elastic(recovery_threshold=1), "scaling": "per_row"},
        "$.scaling",
        "elastic loads are shares",
    ),
    "unknown objective": (
        {"objective": ObjectiveSpec(name="means")},  # type: ignore[arg-type]  # wrong on purpose
        "$.objective.name",
        "did you mean 'mean'",
    ),
    "worst case of a product": (
        {"objective": ObjectiveSpec(name="worst_case")},
        "$.objective.name",
        "needs a task with stragglers",
    ),
    "quantile without q": ({"objective": ObjectiveSpec(name="quantile")}, "$.objective.q", "no q"),
    "q of 1": ({"objective": ObjectiveSpec(name="quantile", q=1)}, "$.objective.q", "q 1"),
    "cost without confidence": (
        {"objective": ObjectiveSpec(name="cost", deadline=3)},
        "$.objective.confidence",
        "no confidence",
    ),
    "negative deadline": (
        {"objective": ObjectiveSpec(name="deadline_probability", deadline=-1)},
        "$.objective.deadline",
        "deadline -1",
    ),
    "no batches": ({"limits": Limits(batches=0)}, "$.limits.batches", "batches 0"),
    "negative limit": ({"limits": Limits(total_load=-1)}, "$.limits.total_load", "total_load -1"),
    "scenarios and laws": (
        {"scenarios": Scenarios(samples=[[1]])},
        "$.nodes[0].runtime",
        "scenarios, which replace it",
    ),
    "unread file": (
        {"nodes": [Node(id="w0")], "scenarios": Scenarios(file="x.csv")},
        "$.scenarios",
        "no samples",
    ),
    "short scenario": (
        {"nodes": [Node(id="w0")], "scenarios": Scenarios(samples=[[1], []])},
        "$.scenarios.samples[1]",
        "scenario 1 has 0 times for 1 nodes",
    ),
    "negative scenario": (
        {"nodes": [Node(id="w0")], "scenarios": Scenarios(samples=[[-1]])},
        "$.scenarios.samples[0][0]",
        "time of node 'w0' -1",
    ),
    "no scenarios": (
        {"nodes": [Node(id="w0")], "scenarios": Scenarios(samples=[])},
        "$.scenarios",
        "no scenarios",
    ),
    "scenarios of rows": (
        {
            "nodes": [Node(id="w0")],
            "scenarios": Scenarios(samples=[[1]]),
            "scaling": "per_row",
        },
        "$.scaling",
        "draws one for each row",
    ),
}


@pytest.mark.parametrize(("fields", "path", "text"), BAD.values(), ids=list(BAD))
def test_bad_data_is_refused(fields: dict[str, Any], path: str, text: str) -> None:
    """Each rule names the place, what is wrong, what is allowed and how to mend it."""
    with pytest.raises(InputError) as caught:
        problem(**fields)
    assert caught.value.path == path
    assert text in str(caught.value)
    assert caught.value.allowed
    assert len(str(caught.value).splitlines()) <= 5


@pytest.mark.parametrize(
    "fields",
    [
        pytest.param({"task": Gradient(partitions=4, stragglers=9)}, id="too many stragglers"),
        pytest.param({"nodes": [node(storage=1)]}, id="too little storage"),
        pytest.param({"limits": Limits(total_load=1)}, id="too low a limit"),
    ],
)
def test_impossible_wishes_are_no_input_errors(fields: dict[str, Any]) -> None:
    """An infeasible instance is a right instance; its answer is a reason."""
    assert problem(**fields).kind == "coded"


def test_arrays_hold_the_data() -> None:
    """Solvers read arrays; they must say what the data says."""
    found = problem(
        task=GRADIENT,
        nodes=[
            node("a", storage=2.5, cost=3, group="g", holds=[1, 3, 0]),
            node("b", speed=0, group="g"),
            node("c", startup=0.5, message=2, group="alone"),
        ],
    ).arrays
    assert found.capacity.tolist() == [2, 0, 4]
    assert found.cost.tolist() == [3, 0, 0]
    assert found.group.tolist() == [0, 0, -1]
    assert found.holds is not None
    assert found.holds.tolist() == [[True, True, False, True], [True] * 4, [True] * 4]
    assert not found.independent
    with pytest.raises(ValueError, match="read-only"):
        found.cost[0] = 1


def test_elastic_storage_is_a_share() -> None:
    """A share is not rounded to whole units and never above one."""
    nodes = [Node(id="a", storage=0.25), Node(id="b"), Node(id="c", storage=7)]
    capacity = problem(task=Elastic(recovery_threshold=1), nodes=nodes).arrays.capacity
    assert capacity.tolist() == [0.25, 1, 1]


def test_documents_round_trip() -> None:
    """What is read is written, with exact numbers, and other fields stay away."""
    document = CodedDocument(
        schema="allocsolve.instance/1",
        kind="coded",
        name="x",
        task=Gradient(partitions=4, stragglers=1),
        nodes=[node("a", storage=Fraction(5, 2), holds=[0])],
        objective=ObjectiveSpec(name="quantile", q=Fraction(99, 100)),
        limits=Limits(batches="free"),
    )
    found = CodedProblem.from_document(document)
    assert found.to_document() == document
    text = msgspec.to_builtins(document, enc_hook=float)
    assert text["task"] == {"type": "gradient", "partitions": 4, "stragglers": 1}
    assert set(text["nodes"][0]) == {"id", "runtime", "storage", "holds"}


def test_objectives_have_defaults() -> None:
    """Gradients and elastic jobs guard against stragglers; products run as fast as they can."""
    assert problem().objective_name == "mean"
    assert problem(task=GRADIENT).objective_name == "worst_case"
    assert problem(task=GRADIENT, objective=ObjectiveSpec(name="mean")).objective_name == "mean"
    goal = ObjectiveSpec(name="deadline_probability", deadline=2)
    assert problem(objective=goal).sense is Sense.MAX


def test_features_name_what_is_asked() -> None:
    """A method is refused by these names if it cannot honour them."""
    rich = problem(
        nodes=[node("a", group="g", message=1, storage=3), node("b", group="g")],
        limits=Limits(batches="free", budget=3, total_load=9),
    )
    assert rich.features == {
        Feature.MATVEC,
        Feature.GROUPS,
        Feature.MESSAGES,
        Feature.STORAGE,
        Feature.BATCHES,
        Feature.BUDGET,
        Feature.TOTAL_LOAD,
    }


@pytest.mark.parametrize(
    ("family", "split", "threshold"),
    [
        ("polynomial", (4, 1, 4), 16),
        ("matdot", (1, 4, 1), 7),
        ("entangled", (2, 2, 2), 9),
        ("polydot", (2, 2, 2), 12),
        ("orthomatdot", (1, 3, 1), 5),
    ],
)
def test_recovery_thresholds(family: str, split: tuple[int, int, int], threshold: int) -> None:
    """The thresholds of the literature."""
    assert fits_split(family, split)
    assert needed_units(MatMul(rows=9, inner=9, columns=9, split=split), family) == threshold


def test_families_that_do_not_fit_a_split() -> None:
    """A polynomial code has no parts of the inner dimension."""
    assert not fits_split("polynomial", (2, 2, 2))
    assert not fits_split("nonsense", (1, 1, 1))


def test_scenarios_become_an_array() -> None:
    """A row is a joint draw of all nodes."""
    found = problem(
        nodes=[Node(id="a"), Node(id="b")], scenarios=Scenarios(samples=[[1, 2], [3, 4.5]])
    )
    assert found.arrays.scenarios is not None
    np.testing.assert_array_equal(found.arrays.scenarios, [[1, 2], [3, 4.5]])
    assert found.arrays.laws == ()
