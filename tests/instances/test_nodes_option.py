"""What is wrong with the nodes that an option gives is said of the option, or of its file."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

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
