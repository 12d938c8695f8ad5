"""What is wrong with the nodes that an option gives is said of the option, or of its file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from allocsolve.instances.catalogue import bundled
from allocsolve.instances.reading import read_dag as read
from allocsolve.models.errors import InputError, UsageError


@pytest.fixture
def graph(tmp_path: Path) -> Path:
    """Return a task graph without nodes."""
    path = tmp_path / "graph.dot"
    path.write_text("digraph { a [Weight=1]; b [Weight=2]; a -> b [Weight=3] }")
    return path


@pytest.mark.parametrize("count", ["0", "-1", "10001", "99999999999999999999", "9" * 5000, "", " "])
def test_a_wrong_count_is_named_as_it_was_given(graph: Path, count: str) -> None:
    """Another number, or the name of the instance, would send the user to the wrong place."""
    with pytest.raises(UsageError) as caught:
        read(graph, nodes=count)
    assert str(caught.value).startswith(f"--nodes {count.strip() or repr(count)} is not allowed")


FILES = {
    "no nodes": ({"nodes": []}, "$.nodes"),
    "the same node twice": ({"nodes": [{"id": "m"}, {"id": "m"}]}, "$.nodes[1].id"),
    "no slots": ({"nodes": [{"id": "m", "slots": 0}]}, "$.nodes[0].slots"),
    "a link to nowhere": (
        {"nodes": [{"id": "m"}], "links": [{"between": ["m", "x"]}]},
        "$.links[0].between",
    ),
    "a negative bandwidth": (
        {"nodes": [{"id": "m"}], "default_link": {"bandwidth": -1}},
        "$.default_link.bandwidth",
    ),
}


@pytest.mark.parametrize(("document", "path"), FILES.values(), ids=FILES)
def test_an_error_in_the_file_of_nodes_is_located_there(
    graph: Path, tmp_path: Path, document: dict[str, object], path: str
) -> None:
    """The instance has no line with the wrong value; the file of nodes has."""
    nodes = tmp_path / "nodes.json"
    nodes.write_text(json.dumps(document))
    with pytest.raises(InputError) as caught:
        read(graph, nodes=str(nodes))
    assert str(caught.value).startswith(f"{nodes}:{path}:")


WORKFLOW: list[tuple[dict[str, object], object]] = [
    ({}, 125_000_000),
    ({"links": [{"between": ["a", "b"], "bandwidth": 7}]}, 125_000_000),
    ({"default_link": {"bandwidth": 9}}, 9),
    ({"default_link": {"bandwidth": None}}, None),
]


@pytest.mark.parametrize(("tables", "bandwidth"), WORKFLOW, ids=lambda value: str(value)[:30])
def test_a_file_of_nodes_keeps_the_network_of_the_format(
    tmp_path: Path, tables: dict[str, object], bandwidth: object
) -> None:
    """One byte a second, of which nobody spoke, would make every transfer last for years."""
    nodes = tmp_path / "nodes.json"
    nodes.write_text(json.dumps({"nodes": [{"id": "a"}, {"id": "b"}], **tables}))
    link = read(bundled()["workflow"], nodes=str(nodes)).default_link
    assert link is not None
    assert link.bandwidth == bandwidth


@pytest.mark.parametrize("how", ["count", "file"])
def test_pairs_that_are_merely_unlisted_do_not_part_new_nodes(tmp_path: Path, how: str) -> None:
    """SAGA lists every link; its default link of bandwidth 0 means the old pairs only."""
    network = {"nodes": [{"name": "p", "speed": 1}], "edges": []}
    graph = {
        "tasks": [{"name": "a", "cost": 1}, {"name": "b", "cost": 1}],
        "dependencies": [{"source": "a", "target": "b", "size": 1}],
    }
    file, nodes = tmp_path / "instance.json", tmp_path / "nodes.json"
    file.write_text(json.dumps({"name": "s", "network": network, "task_graph": graph}))
    nodes.write_text(json.dumps({"nodes": [{"id": "x"}, {"id": "y"}]}))
    assert read(file, nodes=2 if how == "count" else str(nodes)).default_link is None
