"""Writing and reading again gives the same problem, and losses are said aloud."""

from __future__ import annotations

import io
import json
from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

import numpy as np
import pytest

from allocsolve.instances.catalogue import bundled
from allocsolve.instances.objects import from_dict
from allocsolve.instances.reading import read_dag as read
from allocsolve.instances.writing import render
from allocsolve.models.dag.data import Edge, Mode, Node, Resource, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import UsageError

ReadText: TypeAlias = Callable[..., DagProblem]
ARRAYS = (
    "release",
    "deadline",
    "mode_offset",
    "mode_duration",
    "mode_node",
    "mode_index",
    "mode_demand",
    "capacity",
    "renewable",
    "edge_source",
    "edge_target",
    "start_lag",
    "edge_max_lag",
    "edge_data",
    "node_slots",
    "latency",
    "data_time",
    "linked",
)


def _same(first: DagProblem, second: DagProblem) -> bool:
    assert first.arrays.tick == second.arrays.tick
    assert first.arrays.resource_unit == second.arrays.resource_unit
    return all(
        np.array_equal(getattr(first.arrays, name), getattr(second.arrays, name)) for name in ARRAYS
    )


def _again(problem: DagProblem, name: str) -> tuple[DagProblem, list[str]]:
    text, losses = render(problem, name)
    return read(io.BytesIO(text.encode()), format=name), losses


@pytest.mark.parametrize("name", bundled("dag"), ids=str)
def test_native_holds_everything(name: str) -> None:
    """The native format is the one into which every instance goes without loss."""
    problem = read(bundled()[name])
    again, losses = _again(problem, "native")
    assert losses == []
    assert again.to_document() == problem.to_document()
    assert _same(again, problem)


@pytest.mark.parametrize(
    ("name", "format_name"),
    [
        ("house", "psplib"),
        ("fitting", "psplib"),
        ("workshop", "patterson"),
        ("curing", "progenmax"),
        ("ft06", "jobshop"),
        ("cells", "fjsp"),
    ],
)
def test_own_format_loses_nothing(name: str, format_name: str) -> None:
    """What was read from a format can be written in it, equal in every array and id."""
    problem = read(bundled()[name])
    again, losses = _again(problem, format_name)
    assert losses == []
    assert [task.id for task in again.tasks] == [task.id for task in problem.tasks]
    assert [node.id for node in again.nodes] == [node.id for node in problem.nodes]
    assert _same(again, problem)


@pytest.mark.parametrize(
    ("name", "format_name", "loss"),
    [
        pytest.param("workshop", "psplib", None, id="patterson as psplib"),
        pytest.param("house", "patterson", None, id="psplib as patterson"),
        pytest.param("house", "progenmax", "task ids", id="precedence as lags"),
        pytest.param("turning", "jobshop", "machine ids", id="taillard as pairs"),
        pytest.param("ft06", "fjsp", "machine ids", id="job shop as flexible"),
    ],
)
def test_neighbouring_formats_keep_the_meaning(
    name: str, format_name: str, loss: str | None
) -> None:
    """Ids may change between formats, and are reported; times and order may not."""
    problem = read(bundled()[name])
    again, losses = _again(problem, format_name)
    assert _same(again, problem)
    assert [loss is not None and loss in sentence for sentence in losses] == [True] * len(losses)
    assert len(losses) == (loss is not None)


def test_dummies_are_added_where_a_format_needs_them() -> None:
    """Project formats begin and end with dummies, which take no time and wait for all."""
    problem = DagProblem(
        tasks=[
            Task(id="a", modes=[Mode(duration=2)]),
            Task(id="b", modes=[Mode(duration=3, demand={"crane": 1})], due=4, weight=2),
        ],
        edges=[Edge(source="a", target="b", max_lag=5)],
        resources=[Resource(id="crane", capacity=1)],
    )
    again, losses = _again(problem, "progenmax")
    assert [int(d) for d in again.arrays.mode_duration] == [0, 2, 3, 0]
    lags = {(edge.source, edge.target): edge.min_lag for edge in again.edges}
    assert lags[("1", "2")] == 2
    assert lags[("2", "1")] == -7
    assert lags[("1", "3")] == 2
    assert lags[("2", "3")] == 3
    assert lags[("0", "1")] == lags[("0", "2")] == 0
    for piece in ("dummy", "due dates", "weights", "resource ids"):
        assert any(piece in sentence for sentence in losses)


@pytest.mark.parametrize(
    ("name", "format_name", "features"),
    [
        ("ft06", "psplib", ["nodes"]),
        ("curing", "psplib", ["minimum lags"]),
        ("fitting", "patterson", ["several modes", "non-renewable resources"]),
        ("fitting", "progenmax", ["several modes"]),
        ("pipeline", "fjsp", ["communication", "precedence other than chains"]),
        ("windows", "jobshop", ["deadlines", "release dates"]),
        ("house", "fjsp", ["renewable resources", "tasks without nodes"]),
        ("cells", "jobshop", ["several modes"]),
    ],
)
def test_what_a_format_cannot_say_is_refused_by_name(
    name: str, format_name: str, features: list[str]
) -> None:
    """Writing half an instance would be worse than writing none."""
    with pytest.raises(UsageError, match=f"'{format_name}' cannot express") as caught:
        render(read(bundled()[name]), format_name)
    assert [feature for feature in features if feature not in str(caught.value)] == []


def test_job_shop_needs_an_operation_for_each_machine() -> None:
    """JSPLIB has no way to skip a machine; the flexible format has."""
    problem = from_dict(
        {
            "tasks": [{"id": "1.1"}],
            "nodes": [{"id": "0"}, {"id": "1"}],
            "durations": {"1.1": {"0": 2.5}},
        },
        kind="dag",
    )
    with pytest.raises(UsageError, match="1 operation for 2 machines"):
        render(problem, "jobshop")
    again, losses = _again(problem, "fjsp")
    assert again.durations == {"1.1": {"1": Fraction(5, 2)}}
    assert len(losses) == 1


def test_taillard_is_read_only() -> None:
    """The table says so, and writing names the formats that can."""
    with pytest.raises(UsageError, match=r"cannot be written.*jobshop"):
        render(read(bundled()["turning"]), "taillard")


@pytest.mark.parametrize(
    "number", ["0.1", "1e-7", "12345678901.000001", "0.30000000000000000000000000004"]
)
def test_decimal_text_survives(read_text: ReadText, number: str) -> None:
    """Numbers are exact on the way in and on the way out, beyond double precision too."""
    problem = read_text(
        '{"schema": "allocsolve.instance/1", "kind": "dag", "nodes": [{"id": "n"}], '
        f'"tasks": [{{"id": "a", "work": 1, "weight": {number}}}]}}'
    )
    assert problem.tasks[0].weight == Fraction(number)
    again, losses = _again(problem, "native")
    assert again.tasks[0].weight == Fraction(number)
    assert losses == []


def test_endless_decimals_are_rounded_and_reported() -> None:
    """A third has no decimal text; the reader of the file must know."""
    problem = DagProblem(tasks=[Task(id="a", work=Fraction(1, 3))], nodes=[Node(id="n")])
    again, losses = _again(problem, "native")
    assert again.tasks[0].work == pytest.approx(1 / 3)
    assert losses == ["1 number without an exact decimal form rounded"]


def test_native_text_is_strict_json() -> None:
    """Other programs must be able to read it: one object, defaults left out."""
    document = json.loads(render(read(bundled()["ft06"]), "native")[0])
    assert document["schema"] == "allocsolve.instance/1"
    assert document["tasks"][0] == {"id": "1.1"}
