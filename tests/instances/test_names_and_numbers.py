"""Names of files and numbers of other libraries, as people have them."""

from __future__ import annotations

import io
import json
import os
from pathlib import Path

import numpy as np
import pytest

from allocsolve.instances.formats import native
from allocsolve.instances.reading import read_dag as read
from allocsolve.instances.writing import render
from allocsolve.models.dag.data import DagDocument, Mode, Node, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import InputError, UsageError

SHOP = "1 1\n0 3\n"


@pytest.mark.parametrize(
    ("raw", "name"),
    [
        pytest.param("zwölf 工.jsp".encode(), "zwölf 工", id="utf-8"),
        pytest.param(b"b\xffd.jsp", "b\N{REPLACEMENT CHARACTER}d", id="not utf-8"),
        pytest.param(b"a\nb.jsp", "a\N{REPLACEMENT CHARACTER}b", id="line end"),
    ],
)
def test_every_name_of_a_file_fits_into_a_document(tmp_path: Path, raw: bytes, name: str) -> None:
    """A file may have any name; the name in documents is text that their reader accepts."""
    path = os.path.join(os.fsencode(tmp_path), raw)
    try:
        Path(os.fsdecode(path)).write_text(SHOP, encoding="utf-8")
    except OSError:
        pytest.skip("the file system refuses this name")
    problem = read(os.fsdecode(path))
    assert problem.name == problem.origin.name == name
    problem.name.encode()


@pytest.mark.parametrize(
    ("number", "value"),
    [(np.int64(3), 3), (np.float64(2.5), 2.5), (np.float32(0.5), 0.5)],
    ids=repr,
)
def test_numbers_of_numpy_are_written(number: int, value: float) -> None:
    """A problem built from scalars of numpy is the same after writing and reading."""
    problem = DagProblem(tasks=[Task(id="a", modes=[Mode(duration=value)])])
    scalars = DagProblem(tasks=[Task(id="a", modes=[Mode(duration=number)])])
    text, losses = render(scalars, "native")
    assert not losses
    assert json.loads(text)["tasks"][0]["modes"][0]["duration"] == value
    assert scalars.units(1) == problem.units(1)


@pytest.mark.parametrize("form", ["psplib", "patterson", "progenmax"])
def test_tasks_that_run_nowhere_are_no_project(form: str) -> None:
    """A task without any mode has no line in a project file, so the format refuses it."""
    problem = DagProblem(
        tasks=[Task(id="a"), Task(id="b", modes=[Mode(duration=1)])],
        nodes=[Node(id="n")],
        durations={"a": {}},
    )
    with pytest.raises(UsageError, match="tasks that can run nowhere"):
        render(problem, form)


@pytest.mark.parametrize("number", ["1e400", "1e-400", "1e999999999", "9" * 350])
def test_numbers_that_no_reader_of_json_holds_are_refused(number: str) -> None:
    """They would be written as infinity or zero, and the answer with them could not be checked."""
    native = (
        '{"schema": "allocsolve.instance/1", "kind": "dag", "tasks": [{"id": "t1", "modes": '
        f'[{{"duration": {number}}}]}}]}}'
    )
    with pytest.raises(InputError, match=r"task 't1': duration .* is beyond the range") as caught:
        read(io.BytesIO(native.encode()), format="native")
    assert caught.value.path == "$.tasks[0].modes[0].duration"
    with pytest.raises(InputError, match="is not a finite, non-negative number") as caught:
        read(io.BytesIO(f"1 1\n0 {number}\n".encode()), format="jobshop")
    assert caught.value.line == 2


def test_quotients_that_no_reader_of_json_holds_are_refused() -> None:
    """Work and speed are fine by themselves, but their quotient is not."""
    with pytest.raises(InputError, match="have a common grid beyond"):
        DagProblem(tasks=[Task(id="a", work=1e200)], nodes=[Node(id="n", speed=1e-200)])


def test_numbers_are_shared_within_a_document_only() -> None:
    """A large document repeats its numbers; once it is read, nothing of it may stay behind."""
    raw = {
        "schema": "allocsolve.instance/1",
        "kind": "dag",
        "tasks": [{"id": name, "work": 0.1} for name in "ab"],
        "nodes": [{"id": "n"}],
    }
    first, second = native.decode(raw), native.decode(raw)
    assert isinstance(first, DagDocument)
    assert isinstance(second, DagDocument)
    assert first.tasks[0].work is first.tasks[1].work
    assert first.tasks[0].work == second.tasks[0].work
    assert first.tasks[0].work is not second.tasks[0].work
