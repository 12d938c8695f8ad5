"""Measured durations from files, and files named in instances that may not lead outside."""

from __future__ import annotations

import builtins
import gzip
import io
import os
import sys
from collections.abc import Mapping
from fractions import Fraction
from pathlib import Path
from types import ModuleType

import msgspec
import pytest

from allocsolve.instances.traces import read_trace, resolve_files, resolve_path
from allocsolve.models.dag.data import DagDocument, Node, Task
from allocsolve.models.errors import InputError, SolverMissing, UsageError
from allocsolve.models.nodes import Law
from allocsolve.models.processes import Process, SlowdownRecord


def write(folder: Path, text: str, name: str = "trace.csv") -> Path:
    path = folder / name
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8")
    return path


@pytest.mark.parametrize(
    ("text", "column", "expected"),
    [
        pytest.param("duration\n1\n2.5\n", None, [1, 2.5], id="one named column"),
        pytest.param("1\n2.5\n\n\n", None, [1, 2.5], id="no names, blank lines at the end"),
        pytest.param("1,2\n3,4\n", None, [1, 2, 3, 4], id="table of rounds by nodes"),
        pytest.param("node,duration\na,1\nb,2\n", None, [1, 2], id="usual name"),
        pytest.param("node;t\na;1\n\nb;2e0\n", "t", [1, 2], id="semicolons"),
        pytest.param("node\tt\na\t.5\n", "t", [0.5], id="tabs"),
        pytest.param("start,end\n1,3\n2,2\n", "end - start", [2, 0], id="difference"),
        pytest.param("# seconds\nduration\n1\n# half\n2\n", None, [1, 2], id="comments"),
        pytest.param('"a,b",t\n"x, y",1\n', "t", [1], id="quotes"),
        pytest.param("\ufeffduration\r\n1\r\n", None, [1], id="byte order mark, CRLF"),
    ],
)
def test_layouts_of_csv(
    tmp_path: Path, text: str, column: str | None, expected: list[float]
) -> None:
    """Spreadsheets and loggers write all of these."""
    trace = read_trace(write(tmp_path, text), column=column)
    assert trace.samples.tolist() == expected
    assert not trace.samples.flags.writeable


def test_rows_can_be_chosen(tmp_path: Path) -> None:
    """One file often holds the durations of several operations."""
    path = write(tmp_path, "op,node,duration\nf,a,1\nb,a,2\nf,b,3\n")
    assert read_trace(path, where={"op": "f"}).samples.tolist() == [1, 3]
    assert read_trace(path, where={"op": "f", "node": "b"}).samples.tolist() == [3]
    with pytest.raises(InputError, match="no duration"):
        read_trace(path, where={"op": "g"})


def test_compressed_files_and_streams_are_read(tmp_path: Path) -> None:
    """Traces are large, so they come compressed or through a pipe."""
    path = tmp_path / "trace.csv.gz"
    path.write_bytes(gzip.compress(b"duration\n1\n2\n"))
    assert read_trace(path).samples.tolist() == [1, 2]
    assert read_trace(io.BytesIO(b"3\n")).label == "<stdin>"


@pytest.mark.parametrize(
    ("text", "line", "words"),
    [
        pytest.param("duration\n1\n-2\n", 3, "column 'duration': .* -2 is negative", id="negative"),
        pytest.param("node,duration\na,1\nb,\n", 3, "'duration': the cell is empty", id="missing"),
        pytest.param("duration\n1\n\n2\n", 3, "'duration': the cell is empty", id="blank line"),
        pytest.param("duration\n1\nslow\n", 3, "'slow' is not a number", id="text"),
        pytest.param("1,2\n3,nan\n", 2, "column 2: 'nan' is not a number", id="NaN"),
        pytest.param("1,2\n3,inf\n", 2, "column 2: 'inf' is not a number", id="infinity"),
        pytest.param("1\n1e999\n", 2, "column 1: the duration 1e999 is not finite", id="overflow"),
        pytest.param("1,2\n3\n", 2, "1 cells, the first one has 2", id="short row"),
        pytest.param("1,x\n3,4\n", 1, "column 2: 'x' is not a number", id="text in first row"),
        pytest.param("1,5\n2,3,4\n", 2, "3 cells", id="decimal comma and separator"),
    ],
)
def test_impossible_cells_name_line_and_column(
    tmp_path: Path, text: str, line: int, words: str
) -> None:
    """A trace of a million rows cannot be searched by eye."""
    path = write(tmp_path, text)
    with pytest.raises(InputError, match=words) as caught:
        read_trace(path)
    assert (caught.value.line, caught.value.source) == (line, str(path))
    assert str(caught.value).startswith(f"{path}:{line}: ")
    assert str(caught.value).count("\n") <= 4


@pytest.mark.parametrize(
    ("text", "words"),
    [
        pytest.param("", "empty", id="empty"),
        pytest.param("duration\n", "no duration", id="names only"),
        pytest.param('a,"b\n1,2\n', "not CSV", id="open quote"),
        pytest.param("\0\n", "binary", id="binary"),
    ],
)
def test_files_without_durations_are_refused(tmp_path: Path, text: str, words: str) -> None:
    """No law can be fitted to nothing."""
    with pytest.raises(InputError, match=words):
        read_trace(write(tmp_path, text))
    with pytest.raises(InputError, match="cannot be read"):
        read_trace(tmp_path / "absent.csv")


@pytest.mark.parametrize(
    ("text", "column", "where", "words"),
    [
        pytest.param("a,b\n1,2\n", None, {}, "name that of the durations", id="which"),
        pytest.param("start,end\n1,2\n", "ends", {}, "did you mean 'end'", id="unknown"),
        pytest.param("start,end\n1,2\n", "end - begin", {}, "no column 'begin'", id="term"),
        pytest.param("1,2\n", "t", {}, "no line of column names", id="no names"),
        pytest.param("t\n1\n", None, {"op": "f"}, "no column 'op'", id="condition"),
    ],
)
def test_columns_that_are_not_there_are_refused(
    tmp_path: Path, text: str, column: str | None, where: Mapping[str, str], words: str
) -> None:
    """A wrong option is a matter of usage; the error lists the columns."""
    with pytest.raises(UsageError, match=words):
        read_trace(write(tmp_path, text), column=column, where=where)


def parquet_file(folder: Path, columns: Mapping[str, list[object]]) -> Path:
    pyarrow = pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    parquet = pytest.importorskip("pyarrow.parquet", reason="pyarrow is not installed")
    path = folder / "trace.parquet"
    parquet.write_table(pyarrow.table(columns), path)
    return path


def test_parquet_files_are_read(tmp_path: Path) -> None:
    """Columns, differences and choices of rows are the same as in CSV."""
    path = parquet_file(
        tmp_path, {"op": ["f", "b", "f"], "start": [0, 1, 2], "end": [1.5, 3.0, 2.0]}
    )
    assert read_trace(path, column="end").samples.tolist() == [1.5, 3.0, 2.0]
    assert read_trace(path, column="end - start", where={"op": "f"}).samples.tolist() == [1.5, 0]
    with pytest.raises(UsageError, match="columns: op, start, end"):
        read_trace(path)


@pytest.mark.parametrize(
    ("cells", "words"),
    [
        pytest.param([1.0, None], "the cell is empty", id="null"),
        pytest.param([1.0, float("nan")], "the cell is empty", id="NaN"),
        pytest.param([1.0, -3.5], "the duration -3.5 is negative", id="negative"),
        pytest.param([1.0, float("inf")], "is not finite", id="infinite"),
        pytest.param([None, "slow"], "is empty", id="first of two"),
        pytest.param(["1", "slow"], "'1' is not a number", id="text"),
        pytest.param([True, False], "'True' is not a number", id="truth"),
    ],
)
def test_impossible_cells_of_parquet_name_the_row(
    tmp_path: Path, cells: list[object], words: str
) -> None:
    """Rows count from 1, as lines of a CSV file without names would."""
    path = parquet_file(tmp_path, {"duration": cells})
    with pytest.raises(InputError, match=words) as caught:
        read_trace(path)
    assert caught.value.line == (2 if "1.0" in str(cells[0]) else 1)
    assert "column 'duration'" in caught.value.what


def test_parquet_needs_its_extra(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without pyarrow the error says what to install, and CSV still works."""
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    monkeypatch.setitem(sys.modules, "pyarrow.parquet", None)
    with pytest.raises(SolverMissing, match=r"allocsolve\[frames\]"):
        read_trace(tmp_path / "trace.parquet")
    assert read_trace(write(tmp_path, "1\n")).samples.tolist() == [1]


def test_a_file_that_is_no_parquet_is_refused(tmp_path: Path) -> None:
    """The suffix alone does not make the format."""
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    with pytest.raises(InputError, match="cannot be read as Parquet"):
        read_trace(write(tmp_path, "duration\n1\n", "trace.parquet"))
    with pytest.raises(InputError, match="no such file"):
        read_trace(tmp_path / "absent.parquet")


def document(law: Law) -> DagDocument:
    slow = Process(slowdown=SlowdownRecord(law=law))
    nodes = [Node(id="a"), Node(id="b", runtime=law), Node(id="c", process=slow)]
    tasks = [Task(id="t", work=1)]
    return DagDocument(schema="allocsolve.instance/1", kind="dag", tasks=tasks, nodes=nodes)


def test_laws_take_the_durations_of_their_file(tmp_path: Path) -> None:
    """Wherever a node holds a law, also inside of a process or a mixture."""
    write(tmp_path, "1\n0.25\n", "sub/trace.csv")
    inner = Law(law="empirical", file="sub/trace.csv")
    mixture = Law(law="mixture", parts=[Law(law="exponential", rate=1), inner], weights=[1, 1])
    found = resolve_files(document(mixture), tmp_path)
    runtime, process = found.nodes[1].runtime, found.nodes[2].process
    assert runtime is not None
    assert runtime.parts is not None
    assert runtime.parts[1] == Law(law="empirical", samples=[Fraction(1), Fraction(1, 4)])
    assert process is not None
    assert process.slowdown is not None
    assert process.slowdown.law == runtime


def test_documents_without_files_stay_as_they_are() -> None:
    """Nothing is copied, and no folder is needed."""
    plain = document(Law(law="exponential", rate=1))
    assert resolve_files(plain, None) is plain


class Scenarios(msgspec.Struct, frozen=True):
    """A table of joint draws, as instances of coded jobs have it."""

    samples: list[list[Fraction]] | None = None
    file: str | None = None


def test_tables_take_the_rows_of_their_file(tmp_path: Path) -> None:
    """Rows of scenarios stay together; flattened they would lose their correlation."""
    write(tmp_path, "a,b\n1,2\n3,4\n")
    found = resolve_files(Scenarios(file="trace.csv"), tmp_path)
    assert found == Scenarios(samples=[[Fraction(1), Fraction(2)], [Fraction(3), Fraction(4)]])


@pytest.mark.parametrize(
    "named",
    [
        pytest.param("../secret.csv", id="parent"),
        pytest.param("sub/../../secret.csv", id="parent inside"),
        pytest.param("link.csv", id="link to a file"),
        pytest.param("folder/secret.csv", id="link to a folder"),
        pytest.param("..\\secret.csv", id="parent in the way of Windows"),
        pytest.param("C:\\secret.csv", id="drive"),
        pytest.param("\\\\host\\secret.csv", id="share"),
        pytest.param("", id="empty"),
        pytest.param("sub", id="folder"),
        pytest.param("absent.csv", id="absent"),
        pytest.param("-", id="standard input"),
        pytest.param("loop.csv", id="link to itself"),
        pytest.param("nul\0", id="NUL"),
    ],
)
def test_files_outside_of_the_folder_are_refused(
    tmp_path: Path, named: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """An instance from elsewhere must not make anybody's files part of a result or an error."""
    secret = write(tmp_path, "secret\n", "secret.csv")
    folder = tmp_path / "instance"
    (folder / "sub").mkdir(parents=True)
    (folder / "link.csv").symlink_to(secret)
    (folder / "folder").symlink_to(tmp_path)
    (folder / "loop.csv").symlink_to("loop.csv")
    monkeypatch.setattr(builtins, "open", _refuse_open)
    with pytest.raises(InputError) as caught:
        resolve_files(document(Law(law="empirical", file=named)), folder)
    assert caught.value.path == "$.nodes[1].runtime.file"


def _refuse_open(*_: object, **__: object) -> ModuleType:
    raise AssertionError("a file was opened before its path was checked")


def test_absolute_names_are_refused(tmp_path: Path) -> None:
    """Even of a file below the folder: the instance could not be moved."""
    path = write(tmp_path, "1\n")
    with pytest.raises(InputError, match="not below the folder"):
        resolve_path(str(path), tmp_path, path="$")


@pytest.mark.skipif(os.name != "posix", reason="elsewhere no file has such a name")
@pytest.mark.parametrize("name", [r"C:\trace.csv", "C:trace.csv", r"..\trace.csv"])
def test_names_that_lead_elsewhere_on_another_system_are_refused(tmp_path: Path, name: str) -> None:
    """An instance means the same file wherever it is read, or none."""
    write(tmp_path, "1\n", name)
    with pytest.raises(InputError, match="not below the folder"):
        resolve_path(name, tmp_path, path="$")


def test_links_that_stay_inside_are_followed(tmp_path: Path) -> None:
    """A folder of data often links its current version."""
    target = write(tmp_path, "1\n", "v2.csv")
    (tmp_path / "current.csv").symlink_to("v2.csv")
    assert resolve_path("current.csv", tmp_path, path="$") == target.resolve()


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="this system has no named pipes")
def test_pipes_are_refused(tmp_path: Path) -> None:
    """Reading one would wait for ever."""
    os.mkfifo(tmp_path / "pipe.csv")
    with pytest.raises(InputError, match="not a regular file"):
        resolve_path("pipe.csv", tmp_path, path="$")


def test_an_instance_that_is_no_file_names_none() -> None:
    """Relative to what would it be?"""
    with pytest.raises(InputError, match="the instance is not a file"):
        resolve_files(document(Law(law="empirical", file="x.csv")), None)


def test_a_file_with_many_columns_is_a_fault_of_the_instance(tmp_path: Path) -> None:
    """A record has no option to choose one, so the error is not one of usage."""
    write(tmp_path, "a,b\n1,2\n")
    with pytest.raises(InputError, match="2 columns"):
        resolve_files(document(Law(law="empirical", file="trace.csv")), tmp_path)


def test_cells_of_a_named_file_name_that_file(tmp_path: Path) -> None:
    """The fault is in the trace, not in the instance."""
    path = write(tmp_path, "1\n-1\n")
    with pytest.raises(InputError) as caught:
        resolve_files(document(Law(law="empirical", file="trace.csv")), tmp_path)
    assert str(caught.value).startswith(f"{path.resolve()}:2: column 1")
