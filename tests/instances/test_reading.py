"""Sources, detection of formats and the options of reading."""

from __future__ import annotations

import gzip
import hashlib
import io
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import TypeAlias

import msgspec
import pytest

from allocsolve.instances import source
from allocsolve.instances.catalogue import bundled
from allocsolve.instances.reading import read as read_any
from allocsolve.instances.reading import read_dag as read
from allocsolve.instances.registry import FORMATS, format_named
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import InputError, UsageError

ReadText: TypeAlias = Callable[..., DagProblem]
SHOP = "2 2\n0 3 1 4\n1 2 0 5\n"
TASKS = (
    '{"schema": "allocsolve.instance/1", "kind": "dag", '
    '"tasks": [{"id": "a", "work": 2}, {"id": "b", "work": 4}]}'
)


@pytest.mark.parametrize("name", bundled(), ids=str)
def test_bundled_file_is_read_alike_from_everywhere(name: str, tmp_path: Path) -> None:
    """By path, compressed, or as a stream without a name, an instance is the same."""
    path = bundled()[name]
    data = path.read_bytes()
    packed = tmp_path / f"{path.name}.GZ"
    packed.write_bytes(gzip.compress(data))
    first, second, third = read_any(path), read_any(packed), read_any(io.BytesIO(data))
    digest = hashlib.sha256(data).hexdigest()
    assert {p.origin.sha256 for p in (first, second, third)} == {digest}
    assert {p.origin.format for p in (first, second, third)} == {first.origin.format}
    assert first.origin.name == second.origin.name == name
    assert first.to_document() == second.to_document()
    unnamed = (msgspec.structs.replace(p.to_document(), name="") for p in (first, third))
    assert next(unnamed) == next(unnamed)


def test_dash_is_standard_input(monkeypatch: pytest.MonkeyPatch) -> None:
    """A pipe has no name, so content decides and errors say <stdin>."""

    class Stdin:
        buffer = io.BytesIO(SHOP.encode())

    monkeypatch.setattr(sys, "stdin", Stdin)
    assert read("-").origin.format == "jobshop"
    with pytest.raises(InputError, match="empty") as caught:
        read("-")
    assert caught.value.source == "<stdin>"


def test_closed_standard_input_is_an_input_error(monkeypatch: pytest.MonkeyPatch) -> None:
    """Started with a closed descriptor 0, Python has no sys.stdin at all."""
    monkeypatch.setattr(sys, "stdin", None)
    with pytest.raises(InputError, match="closed"):
        read("-")


def test_text_stream_is_refused() -> None:
    """Decoding is the reader's business: BOM and digest need the bytes."""
    with pytest.raises(UsageError, match="rb"):
        read(io.StringIO(SHOP))  # type: ignore[arg-type]  # the wrong type is the point


@pytest.mark.parametrize("kind", ["missing", "directory", "unreadable", "nul"])
def test_file_that_cannot_be_opened(kind: str, tmp_path: Path) -> None:
    """Whatever the operating system says, it is an InputError with the path."""
    path = str(tmp_path / "plan.sm")
    if kind == "directory":
        path = str(tmp_path)
    elif kind == "nul":
        path = "a\0b"
    elif kind == "unreadable":
        Path(path).write_text(SHOP)
        Path(path).chmod(0)
        if os.access(path, os.R_OK):
            pytest.skip("this user may read every file")
    with pytest.raises(InputError, match="cannot be read") as caught:
        read(path)
    assert caught.value.source == path


def test_misspelt_path_suggests_a_neighbour(tmp_path: Path) -> None:
    """The most frequent mistake is a typing error in the name."""
    (tmp_path / "project.sm").write_text(SHOP)
    with pytest.raises(InputError, match=r"did you mean 'project\.sm'"):
        read(tmp_path / "projct.sm")


def test_huge_file_is_refused_before_it_is_parsed(monkeypatch: pytest.MonkeyPatch) -> None:
    """A few compressed kilobytes may unpack to more than the memory holds."""
    monkeypatch.setattr(source, "LARGEST_FILE", 2**20)
    bomb = gzip.compress(b" " * (2**20 + 1))
    for data in (bomb, b" " * (2**20 + 1)):
        with pytest.raises(InputError, match="larger than 1 MiB"):
            read(io.BytesIO(data))


@pytest.mark.parametrize(
    ("text", "name"),
    [
        pytest.param(SHOP, "jobshop", id="pairs"),
        pytest.param("2 2\n3 4\n2 5\n1 2\n2 1\n", "taillard", id="matrices"),
        pytest.param("2 2 9 9\nTimes\n3 4\n2 5\nMachines\n1 2\n2 1\n", "taillard", id="headings"),
        pytest.param("2 2 1.5\n1 2 1 3 2 4\n1 1 2 5\n", "fjsp", id="alternatives"),
    ],
)
def test_txt_is_decided_by_structure(text: str, name: str, tmp_path: Path) -> None:
    """Three formats share the suffix .txt; the counts within tell them apart."""
    file = tmp_path / "shop.txt"
    file.write_text(text)
    assert read(file).origin.format == name


def test_text_of_two_formats_is_not_guessed(read_text: ReadText) -> None:
    """Where two formats read the same text, the user must choose."""
    text = "1 2\n1 1 1 1\n"
    assert read_text(text, "jobshop").durations != read_text(text, "fjsp").durations
    with pytest.raises(InputError, match="several formats: jobshop, fjsp"):
        read_text(text)


def test_forced_format_gives_its_own_error(tmp_path: Path) -> None:
    """With --format the error is that format's, not a list of guesses."""
    file = tmp_path / "shop.txt"
    file.write_text("2 2\n0 3 1 4 7\n1 2 0\n")
    with pytest.raises(InputError, match="job 1 has 5 values") as caught:
        read(file, format="jobshop")
    assert caught.value.line == 2


def test_unknown_format_suggests_one() -> None:
    """A misspelt format is a usage error with the nearest name."""
    with pytest.raises(UsageError, match="did you mean 'psplib'"):
        format_named("pslib")


@pytest.mark.parametrize("name", ["native", "progenmax"])
def test_index_base_is_refused_without_meaning(read_text: ReadText, name: str) -> None:
    """An option that does nothing must not be accepted silently."""
    with pytest.raises(UsageError, match="no meaning for format"):
        read_text(TASKS, name, index_base=0)


def test_index_base_is_zero_or_one(read_text: ReadText) -> None:
    """No file counts from 2."""
    with pytest.raises(UsageError, match="0 or 1"):
        read_text(SHOP, "jobshop", index_base=2)


def test_index_base_moves_numbers(read_text: ReadText, psplib_text: Callable[..., str]) -> None:
    """Machines keep the number in the file; jobs of a project too."""
    one = read_text("2 2\n1 3 2 4\n2 2 1 5\n", "jobshop", index_base=1)
    assert [node.id for node in one.nodes] == ["1", "2"]
    zero = read_text("1 2\n3 4\n0 1\n", "taillard", index_base=0)
    assert zero.durations == {"1.1": {"0": 3}, "1.2": {"1": 4}}
    text = psplib_text(successors=[(1, 2), (3,), (3,), ()], base=0)
    project = read_text(text, "psplib", index_base=0)
    assert [task.id for task in project.tasks] == ["0", "1", "2", "3"]
    with pytest.raises(InputError, match="job number 0") as caught:
        read_text(text, "psplib")
    assert "--index-base 0" in str(caught.value.remedy)
    stream = read_text("2 0  5 1 1  0 0", "patterson", index_base=0)
    assert [(edge.source, edge.target) for edge in stream.edges] == [("0", "1")]


@pytest.mark.parametrize("nodes", [3, "3"])
def test_nodes_as_a_count(nodes: str | int) -> None:
    """A count stands for identical nodes without delays."""
    problem = read(io.BytesIO(TASKS.encode()), nodes=nodes)
    assert [node.id for node in problem.nodes] == ["n0", "n1", "n2"]


def test_nodes_from_a_file(tmp_path: Path) -> None:
    """A file brings nodes with speeds, links and the default link."""
    file = tmp_path / "cluster.json"
    file.write_text(
        json.dumps(
            {
                "nodes": [{"id": "x", "speed": 2}, {"id": "y"}],
                "links": [{"between": ["x", "y"], "latency": 3}],
                "default_link": {"bandwidth": None},
            }
        )
    )
    problem = read(io.BytesIO(TASKS.encode()), nodes=str(file))
    assert [node.speed for node in problem.nodes] == [2, 1]
    assert problem.links[0].latency == 3
    assert problem.default_link is not None
    assert problem.default_link.bandwidth is None


@pytest.mark.parametrize("nodes", [0, "-1", "10001", "9" * 30])
def test_nodes_out_of_range(nodes: str | int) -> None:
    """Counts below one and beyond memory are usage errors."""
    with pytest.raises(UsageError, match="--nodes"):
        read(io.BytesIO(TASKS.encode()), nodes=nodes)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        pytest.param('{"machines": []}', 'must be an object with "nodes"', id="no nodes"),
        pytest.param('{"nodes": [{"id": "a", "speed": "x"}]}', "node 'a': speed", id="speed"),
        pytest.param('{"nodes": [], "resources": []}', "no field 'resources'", id="other"),
        pytest.param("[", "not JSON", id="syntax"),
    ],
)
def test_wrong_file_of_nodes(content: str, message: str, tmp_path: Path) -> None:
    """An error in the file of nodes must name that file, not the instance."""
    file = tmp_path / "cluster.json"
    file.write_text(content)
    with pytest.raises(InputError, match=message) as caught:
        read(io.BytesIO(TASKS.encode()), nodes=str(file))
    assert caught.value.source == str(file)


@pytest.mark.parametrize("name", ["house", "ft06"])
def test_nodes_are_refused_without_meaning(name: str) -> None:
    """Projects run on no node, and the times of a job shop name its own machines."""
    with pytest.raises(UsageError, match="--nodes"):
        read(bundled()[name], nodes=2)


def test_reading_stays_light() -> None:
    """Reading needs numpy and msgspec; a solver or a frame library would cost a second."""
    code = (
        "import sys, importlib\n"
        "from allocsolve.instances import reading, writing, objects, catalogue\n"
        f"for name in {[row.target for row in FORMATS]!r}: importlib.import_module(name)\n"
        "heavy = {'scipy', 'numba', 'ortools', 'highspy', 'cvxpy', 'pyomo', 'pandas', 'polars',\n"
        "         'networkx', 'matplotlib', 'typer', 'tqdm'} & set(sys.modules)\n"
        "assert not heavy, heavy\n"
    )
    subprocess.run([sys.executable, "-c", code], check=True, timeout=60)


def test_thousand_tasks_are_read_at_once(read_text: ReadText) -> None:
    """Nothing may be quadratic: 1000 tasks take about 0.03 s of processor time."""
    rows = [" ".join(f"{(j + o) % 10} {1 + (j * o) % 99}" for o in range(10)) for j in range(100)]
    text = "100 10\n" + "\n".join(rows) + "\n"
    read_text(text, "jobshop")
    began = time.process_time()
    assert len(read_text(text, "jobshop").tasks) == 1000
    assert time.process_time() - began < 1


def test_laws_in_files_are_read_from_beside_the_instance(tmp_path: Path) -> None:
    """An instance names the trace of a node; what the trace holds is what the problem has."""
    (tmp_path / "trace.csv").write_text("1\n2\n4\n", encoding="utf-8")
    path = tmp_path / "file.json"
    path.write_text(
        '{"schema": "allocsolve.instance/1", "kind": "dag", "tasks": [], "nodes": [{"id": "a", '
        '"runtime": {"law": "empirical", "file": "trace.csv"}}]}',
        encoding="utf-8",
    )
    law = read(path).nodes[0].runtime
    assert law is not None
    assert law.samples == [1, 2, 4]
    with path.open("rb") as stream, pytest.raises(InputError, match="file"):
        read(stream)


def test_a_file_of_another_kind_is_refused_by_name(tmp_path: Path) -> None:
    """A verb that needs tasks cannot do anything with shares."""
    path = tmp_path / "shares.json"
    path.write_text(
        '{"schema": "allocsolve.instance/1", "kind": "fair", "jobs": [], "types": []}',
        encoding="utf-8",
    )
    with pytest.raises(InputError, match="kind 'fair'"):
        read(path)
