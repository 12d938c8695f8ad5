"""Task graphs in DOT, GXL, STG and CSV: one graph in four notations, and the corners of each."""

from __future__ import annotations

import io
import itertools
import json
from pathlib import Path

import pytest

from allocsolve.instances.catalogue import bundled, task_graphs
from allocsolve.instances.objects import from_dict
from allocsolve.instances.reading import read_dag as read
from allocsolve.instances.registry import FORMATS
from allocsolve.instances.writing import render
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import InputError, UsageError
from allocsolve.models.exact import exact

DIAMOND = {"prepare": 2, "left": 5, "right side": 4, "assemble": 3}
EDGES = {
    ("prepare", "left"): 1,
    ("prepare", "right side"): 1,
    ("left", "assemble"): 2,
    ("right side", "assemble"): 1,
}
TASKS_ONLY = [row.name for row in FORMATS if row.tasks_only]


def graph(text: str, name: str, nodes: int = 2) -> DagProblem:
    """Read a task graph from text."""
    return read(io.BytesIO(text.encode()), format=name, nodes=nodes)


def works(problem: DagProblem) -> dict[str, object]:
    """Return the work of each task."""
    return {task.id: task.work for task in problem.tasks}


def data(problem: DagProblem) -> dict[tuple[str, str], object]:
    """Return the data of each edge."""
    return {(edge.source, edge.target): edge.data for edge in problem.edges}


@pytest.mark.parametrize("name", ["diamond.dot", "diamond.gxl", "diamond.csv"])
def test_one_graph_in_three_notations(name: str) -> None:
    """The same ids, works and data, whatever the notation."""
    problem = read(task_graphs()[name], nodes=2)
    assert works(problem) == DIAMOND
    assert data(problem) == EDGES
    assert problem.warnings == ()


def test_standard_task_graph_variants() -> None:
    """Pairs carry communication; the count may leave out two dummies, which stay tasks."""
    pairs = read(task_graphs()["diamond_communication.stg"], nodes=2)
    assert list(works(pairs).values()) == list(DIAMOND.values())
    assert sorted(data(pairs).values(), key=str) == [1, 1, 1, 2]
    dummies = read(task_graphs()["dummies.stg"], nodes=2)
    assert list(works(dummies).values()) == [0, 2, 5, 4, 3, 0]
    assert set(data(dummies).values()) == {0}


@pytest.mark.parametrize("name", sorted(task_graphs()))
def test_content_alone_tells_the_format(name: str) -> None:
    """From standard input there is no suffix to go by."""
    path = task_graphs()[name]
    unnamed = read(io.BytesIO(path.read_bytes()), nodes=2)
    assert unnamed.origin.format == read(path, nodes=2).origin.format


@pytest.mark.parametrize("name", sorted(task_graphs()))
def test_nodes_are_asked_for(name: str) -> None:
    """Without nodes there is nothing to run on, and the error says what to give."""
    with pytest.raises(InputError, match="describes tasks only") as caught:
        read(task_graphs()[name])
    assert "--nodes" in str(caught.value.remedy)


def test_nodes_from_a_file(tmp_path: Path) -> None:
    """Speeds, slots and links of a cluster come from its own document."""
    cluster = tmp_path / "cluster.json"
    cluster.write_text(
        '{"nodes": [{"id": "a", "speed": 2}, {"id": "b", "slots": 3}],'
        ' "links": [{"between": ["a", "b"], "latency": 4, "bandwidth": 0.5}]}'
    )
    problem = read(task_graphs()["diamond.dot"], nodes=str(cluster))
    assert [(node.id, node.speed, node.slots) for node in problem.nodes] == [
        ("a", 2, 1),
        ("b", 1, 3),
    ]
    assert problem.links[0].latency == 4


@pytest.mark.parametrize("target", ["dot", "stg", "csv", "saga"])
@pytest.mark.parametrize("name", sorted(task_graphs()))
def test_round_trips(name: str, target: str) -> None:
    """Works, data and order survive; what is left out is said."""
    problem = read(task_graphs()[name], nodes=2)
    text, losses = render(problem, target)
    again = graph(text, target) if target in TASKS_ONLY else read(io.BytesIO(text.encode()))
    assert list(works(again).values()) == list(works(problem).values())
    assert again.arrays.edge_data.tolist() == problem.arrays.edge_data.tolist()
    assert again.arrays.edge_source.tolist() == problem.arrays.edge_source.tolist()
    assert again.arrays.edge_target.tolist() == problem.arrays.edge_target.tolist()
    assert again.arrays.data_time.tolist() == problem.arrays.data_time.tolist()
    assert any("nodes and links" in loss for loss in losses) == (target in TASKS_ONLY)
    renamed = target == "stg" and not name.endswith(".stg")
    assert any("task ids" in loss for loss in losses) == renamed


def test_strange_ids_survive() -> None:
    """Quotes, backslashes, separators and keywords are ids like others."""
    ids = [
        'say "hi"',
        "back\\slash",
        "a,b;c",
        "node",
        "digraph",
        "-1",
        "ä",
        "a -> b",
        "#x",
        "'",
        " x ",
    ]
    problem = from_dict(
        {
            "tasks": [{"id": key, "work": 1} for key in ids],
            "edges": [{"from": a, "to": b} for a, b in itertools.pairwise(ids)],
            "nodes": [{"id": "n"}],
        },
        kind="dag",
    )
    for target in ("dot", "csv"):
        again = graph(render(problem, target)[0], target)
        assert list(works(again)) == ids
        assert list(data(again)) == list(data(problem))


@pytest.mark.parametrize("target", ["dot", "stg", "csv", "saga"])
@pytest.mark.parametrize(
    ("name", "obstacle"),
    [
        ("ft06", "durations that depend on the node"),
        ("house", "tasks with modes"),
        ("windows", "deadlines"),
        ("infeasible_lag_cycle", "maximum lags"),
        ("transformer", "colocation"),
    ],
)
def test_what_a_graph_cannot_say_is_refused(name: str, obstacle: str, target: str) -> None:
    """A graph with weights has no place for other rules."""
    with pytest.raises(UsageError, match="cannot express") as caught:
        render(read(bundled()[name]), target)
    assert obstacle in str(caught.value)


def test_dot_grammar() -> None:
    """Comments, chains, defaults, ports, joined and HTML texts, subgraphs, no semicolons."""
    problem = graph(
        """# made by hand
        strict digraph "G" { graph [label=<a <b>bold</b> name>]; rankdir = LR
        node [WEIGHT=2, shape=box]; edge [weight=7]
        a; b [weight=3.5] /* two
        lines */ c:p:n
        a -> b -> c // a chain
        subgraph cluster_1 { node [weight=5]; d e }
        c -> { d; e } [weight="1" + "0"]
        a -> b [weight=9]
        "f" + "g" [label="f"] }""",
        "dot",
    )
    assert works(problem) == {"a": 2, "b": exact(3.5), "c": 2, "d": 5, "e": 5, "fg": 2}
    assert data(problem) == {
        ("a", "b"): 9,
        ("b", "c"): 7,
        ("c", "d"): 10,
        ("c", "e"): 10,
    }
    assert problem.name == "G"
    assert problem.warnings == ("2 subgraphs flattened",)


@pytest.mark.parametrize(
    ("text", "work", "note"),
    [
        ("digraph { a b a -> b }", {"a": 1, "b": 1}, "each of the 2 tasks has work 1"),
        ("digraph { a [label=3] b [label=4] }", {"a": 3, "b": 4}, "labels are taken"),
        ("digraph { a [label=3] b [label=x] }", {"a": 1, "b": 1}, "work 1"),
        ("digraph { a [label=3 weight=5] }", {"a": 5}, None),
        ("digraph { }", {}, None),
    ],
    ids=["no weights", "numeric labels", "labels of words", "weights first", "empty"],
)
def test_graphs_without_weights(text: str, work: dict[str, int], note: str | None) -> None:
    """What is assumed is said."""
    problem = graph(text, "dot")
    assert works(problem) == work
    assert [note in sentence for sentence in problem.warnings if note] == [True] * bool(note)
    assert bool(problem.warnings) == bool(note)


@pytest.mark.parametrize(
    ("text", "name", "message"),
    [
        ("digraph { a -> a }", "dot", "cycle"),
        ("digraph { a [weight=1] } digraph { b }", "dot", "unexpected 'digraph'"),
        ("digraph { a = { } }", "dot", "unexpected"),
        ("digraph { a [label=<x] }", "dot", "HTML"),
        ("digraph { /* a }", "dot", "comment"),
        ('digraph { "a\tb" }', "dot", "cannot be shown"),
        ("digraph " + "{ subgraph " * 60, "dot", "nested"),
        ("2 3\n0 1 0\n1 1 0", "stg", "2 values"),
        ("1\n0 1", "stg", "2 values"),
        ("x", "stg", "'x'"),
        ("from,to\na,b\nb,a", "csv", "cycle"),
        ('from,to\n"a,b\n', "csv", "cells"),
        ("from,to\n,b\n", "csv", "'from' is empty"),
        ("from,to,data\na,,3\n", "csv", "has no data"),
        ("from,to,from\na,b,c\n", "csv", "comes twice"),
        ("#\n", "csv", "the table is empty"),
        ("<graph/>", "gxl", "root element is 'graph'"),
        ("<gxl/>", "gxl", "0 graphs"),
        ("<gxl><graph><node id=''/></graph></gxl>", "gxl", "no attribute 'id'"),
        ("<gxl><graph><edge from='a' to='b'/></graph></gxl>", "gxl", "unknown task 'a'"),
        ("<gxl>&amp;<graph>&unknown;</graph></gxl>", "gxl", "entity"),
    ],
    ids=str,
)
def test_more_refusals(text: str, name: str, message: str) -> None:
    """Every way out of the grammar ends in an error that names the place."""
    with pytest.raises(InputError, match=message) as caught:
        graph(text, name)
    assert caught.value.remedy or caught.value.allowed


def test_csv_of_edges_only() -> None:
    """Two columns are enough; tasks are numbered by their first mention."""
    problem = graph("to;from\nb;a\nc;a\n", "csv")
    assert works(problem) == {"a": 1, "b": 1, "c": 1}
    assert data(problem) == {("a", "b"): 0, ("a", "c"): 0}
    assert "work 1" in problem.warnings[0]


def test_csv_places_count_quotes() -> None:
    """The column of an error is that of the text, not of the cell."""
    with pytest.raises(InputError) as caught:
        graph('from,to,data,work\n"a ""x""",b,?,\n', "csv")
    assert (caught.value.line, caught.value.column) == (2, 1)
    with pytest.raises(InputError) as caught:
        graph('from,to,data,work\n"a",,,1\nb,,,1\n"a",b,?,\n', "csv")
    assert (caught.value.line, caught.value.column) == (4, 7)


def test_stg_pairs_on_lines_of_their_own() -> None:
    """Some files give every predecessor a line."""
    problem = graph("3\n0 1 0\n1 2 1\n0 7\n2 3 2\n0 4\n1 5\n", "stg")
    assert data(problem) == {("0", "1"): 7, ("0", "2"): 4, ("1", "2"): 5}


def test_gxl_reads_weights_of_elements_only() -> None:
    """Attributes of the graph, and of parts inside an element, are not weights."""
    problem = graph(
        """<gxl><graph id="g"><attr name="weight"><int>9</int></attr>
        <node id="1"><attr name="Start time"><int>4</int></attr>
        <attr name="Weight"><float> 2.5 </float></attr></node></graph></gxl>""",
        "gxl",
    )
    assert works(problem) == {"1": exact(2.5)}


def test_count_of_nodes_keeps_the_default_link(tmp_path: Path) -> None:
    """More machines of the same kind stand on the same network."""
    document = {
        "schema": "allocsolve.instance/1",
        "kind": "dag",
        "tasks": [{"id": "a", "work": 1}],
        "nodes": [{"id": "n"}],
        "default_link": {"latency": 3, "bandwidth": None},
    }
    file = tmp_path / "native.json"
    file.write_text(json.dumps(document))
    link = read(file, nodes=4).default_link
    assert link is not None
    assert (link.latency, link.bandwidth) == (3, None)


def test_looking_at_comments_takes_no_time() -> None:
    """A text of comments must not make the search for the format try all their groupings."""
    with pytest.raises(InputError, match="no format fits"):
        read(io.BytesIO(b"/**/ " * 5000 + b"x"))
