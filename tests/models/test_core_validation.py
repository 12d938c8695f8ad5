"""Data of an instance: one message per rule, with the culprit and its place."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from typing import Any, cast

import pytest

from allocsolve.models.dag.data import (
    DefaultLink,
    Edge,
    Link,
    Mode,
    Node,
    Profile,
    Profiles,
    Resource,
    Setup,
    Task,
)
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import InputError

ONE = Task(id="a", modes=[Mode(duration=1)])
TWO = Task(id="b", modes=[Mode(duration=1)])
WORK = Task(id="w", work=1)
NODE = Node(id="n")

BAD: list[tuple[str, Mapping[str, object], str, str]] = [
    # name, fields, part of the message, JSON path
    ("same task", {"tasks": [ONE, ONE]}, "duplicate task id 'a'", "$.tasks[1].id"),
    ("same node", {"nodes": [NODE, NODE]}, "duplicate node id 'n'", "$.nodes[1].id"),
    (
        "same resource",
        {"resources": [Resource(id="R", capacity=1)] * 2},
        "duplicate resource id 'R'",
        "$.resources[1].id",
    ),
    (
        "unknown target",
        {"edges": [Edge(source="a", target="aa")]},
        "unknown task 'aa', did you mean 'a'?",
        "$.edges[0].to",
    ),
    (
        "unknown source",
        {"edges": [Edge(source="x", target="a")]},
        "unknown task 'x'",
        "$.edges[0].from",
    ),
    (
        "unknown resource",
        {"tasks": [Task(id="a", modes=[Mode(duration=1, demand={"R": 1})])]},
        "unknown resource 'R'",
        "$.tasks[0].modes[0].demand",
    ),
    ("no time", {"tasks": [Task(id="a")]}, "exactly one of modes", "$.tasks[0]"),
    ("no modes", {"tasks": [Task(id="a", modes=[])]}, "empty list of modes", "$.tasks[0]"),
    (
        "two times",
        {"tasks": [Task(id="a", work=1, modes=[Mode(duration=1)])]},
        "modes and work",
        "$.tasks[0]",
    ),
    ("no nodes", {"tasks": [WORK]}, "has no nodes", "$.tasks[0]"),
    (
        "eligible beside modes",
        {"tasks": [Task(id="a", modes=[Mode(duration=1)], eligible=[])]},
        "runs on no node",
        "$.tasks[0]",
    ),
    (
        "unknown host",
        {"tasks": [Task(id="w", work=1, eligible=["gpu"])], "nodes": [NODE]},
        "unknown node or node type 'gpu'",
        "$.tasks[0].eligible[0]",
    ),
    (
        "negative duration",
        {"tasks": [Task(id="a", modes=[Mode(duration=-1)])]},
        "duration is -1",
        "$.tasks[0].modes[0].duration",
    ),
    (
        "negative release",
        {"tasks": [Task(id="a", release=-1, work=1)]},
        "release is -1",
        "$.tasks[0].release",
    ),
    (
        "deadline without end",
        {"tasks": [Task(id="a", deadline=float("inf"), modes=[Mode(duration=1)])]},
        "deadline inf",
        "$.tasks[0].deadline",
    ),
    ("negative speed", {"nodes": [Node(id="n", speed=-1)]}, "speed is -1", "$.nodes[0].speed"),
    ("no slots", {"nodes": [Node(id="n", slots=0)]}, "slots is 0", "$.nodes[0].slots"),
    (
        "calendar backwards",
        {"nodes": [Node(id="n", unavailable=[(Fraction(2), Fraction(2))])]},
        "ends before it begins",
        "$.nodes[0].unavailable[0]",
    ),
    (
        "negative capacity",
        {"resources": [Resource(id="R", capacity=-1)]},
        "capacity is -1",
        "$.resources[0].capacity",
    ),
    (
        "negative data",
        {"tasks": [ONE, TWO], "edges": [Edge(source="a", target="b", data=-1)]},
        "data is -1",
        "$.edges[0].data",
    ),
    (
        "lag that is no number",
        {"tasks": [ONE, TWO], "edges": [Edge(source="a", target="b", min_lag=float("nan"))]},
        "min_lag nan",
        "$.edges[0].min_lag",
    ),
    (
        "link to nowhere",
        {"nodes": [NODE], "links": [Link(between=("n", "m"))]},
        "unknown node 'm'",
        "$.links[0].between",
    ),
    (
        "link to itself",
        {"nodes": [NODE], "links": [Link(between=("n", "n"), latency=0, bandwidth=None)]},
        "link n-n joins a node to itself",
        "$.links[0].between",
    ),
    (
        "negative latency",
        {"default_link": DefaultLink(latency=-1)},
        "latency is -1",
        "$.default_link.latency",
    ),
    (
        "duration of nobody",
        {"nodes": [NODE], "durations": {"x": {"n": 1}}},
        "unknown task 'x'",
        "$.durations",
    ),
    (
        "duration nowhere",
        {"tasks": [Task(id="a")], "nodes": [NODE], "durations": {"a": {"m": 1}}},
        "unknown node 'm'",
        "$.durations.a",
    ),
    (
        "setup on no node",
        {"setups": [Setup(node="n", before="p", after="q", time=1)]},
        "unknown node 'n'",
        "$.setups[0].node",
    ),
    (
        "profile without values",
        {"profiles": Profiles(price=Profile(period=1, values=[]))},
        "at least one value",
        "$.profiles.price",
    ),
    (
        "speed-up of width zero",
        {"tasks": [Task(id="w", work=1, speedup={"0": 1})], "nodes": [NODE]},
        "speedup entry '0'",
        "$.tasks[0].speedup",
    ),
    (
        "width zero",
        {"tasks": [Task(id="w", work=1, width=0)], "nodes": [NODE]},
        "width is 0",
        "$.tasks[0].width",
    ),
    (
        "more slots than an integer holds",
        {"tasks": [WORK], "nodes": [Node(id="n", slots=10**30)]},
        "it must be a whole number",
        "$.nodes[0].slots",
    ),
    (
        "half a slot",
        {"tasks": [WORK], "nodes": [Node(id="n", slots=cast(int, 1.5))]},
        "it must be a whole number",
        "$.nodes[0].slots",
    ),
    (
        "id that is a number",
        {"tasks": [Task(id=cast(str, 1), modes=[Mode(duration=1)])]},
        "task id 1 is not a text",
        "$.tasks[0].id",
    ),
    (
        "id that cannot be shown",
        {"tasks": [ONE], "nodes": [Node(id="n\ud800")]},
        "node id 'n\\ud800' is not a text",
        "$.nodes[0].id",
    ),
    (
        "lag from nowhere",
        {"tasks": [ONE, TWO], "edges": [Edge(source="a", target="b", lag_from=cast(Any, "mid"))]},
        "lag_from is 'mid'",
        "$.edges[0].lag_from",
    ),
    (
        "no duration",
        {"tasks": [Task(id="a", modes=[Mode(duration=cast(int, None))])]},
        "duration None is not a finite, non-negative number",
        "$.tasks[0].modes[0].duration",
    ),
    (
        "text as a duration",
        {"tasks": [Task(id="a", modes=[Mode(duration=cast(int, "1"))])]},
        "duration 1 is not a finite, non-negative number ('1' is not a number)",
        "$.tasks[0].modes[0].duration",
    ),
    (
        "no capacity",
        {"resources": [Resource(id="R", capacity=cast(int, None))]},
        "capacity None is not a finite",
        "$.resources[0].capacity",
    ),
    (
        "two speeds of one link",
        {
            "nodes": [NODE, Node(id="m")],
            "links": [Link(between=("n", "m")), Link(between=("m", "n"), latency=1)],
        },
        "link m-n comes twice with different values",
        "$.links[1]",
    ),
]


@pytest.mark.parametrize(
    ("fields", "message", "path"), [row[1:] for row in BAD], ids=[row[0] for row in BAD]
)
def test_bad_data(fields: Mapping[str, object], message: str, path: str) -> None:
    """Every rule names the culprit and its place in the document."""
    problem = DagProblem(tasks=[ONE])
    with pytest.raises(InputError) as caught:
        problem.replace(**fields)
    assert message in caught.value.what
    assert caught.value.path == path
