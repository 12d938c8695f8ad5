"""Small files that make other tools stumble, as samples of this repository."""

from __future__ import annotations

import json
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from typing import TypeAlias

import pytest

from allocsolve.instances.reading import read_dag as read
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import InputError

ReadText: TypeAlias = Callable[..., DagProblem]
Psplib: TypeAlias = Callable[..., str]


def _durations(problem: DagProblem) -> list[Fraction]:
    return [problem.units(int(ticks)) for ticks in problem.arrays.mode_duration]


def test_decimal_durations_are_exact(read_text: ReadText) -> None:
    """3.9 must not become 3, and the grid must be a tenth, not a power of two."""
    problem = read_text("2 2\n2 1 1 3.9 1 2 4.9\n2 1 2 2.9 1 1 5.9\n", "fjsp")
    assert problem.arrays.tick == Fraction(1, 10)
    assert _durations(problem) == [Fraction(n, 10) for n in (39, 49, 29, 59)]


def test_machines_from_zero_need_the_option(read_text: ReadText) -> None:
    """Index 0 must not wrap to the last machine; with the option it is machine 0."""
    text = "2 2\n2 1 0 3 1 1 4\n2 1 1 2 1 0 5\n"
    with pytest.raises(InputError, match=r"machine 0.*1\.\.2") as caught:
        read_text(text, "fjsp")
    assert caught.value.line == 2
    assert "--index-base 0" in str(caught.value.remedy)
    problem = read_text(text, "fjsp", index_base=0)
    assert [node.id for node in problem.nodes] == ["0", "1"]
    assert problem.durations["1.1"] == {"0": 3}


def test_surplus_values_of_a_job_are_not_ignored(read_text: ReadText) -> None:
    """A line that announces one operation and holds two is a mistake."""
    with pytest.raises(InputError, match="1 operation, but after them 3 unread value") as caught:
        read_text("2 2\n1 1 1 3 1 2 4\n1 1 2 2 1 1 5\n", "fjsp")
    assert caught.value.line == 2


@pytest.mark.parametrize("successor", [0, 9, -1])
def test_unknown_successors_are_refused(
    read_text: ReadText, psplib_text: Psplib, successor: int
) -> None:
    """Successor 0 must not wrap to the last job, nor 9 of 4 give an IndexError."""
    text = psplib_text(successors=[(2, 3), (successor,), (4,), ()])
    with pytest.raises(InputError) as caught:
        read_text(text)
    for piece in ("PRECEDENCE RELATIONS", "job 2", f"successor {successor}", "1..4"):
        assert piece in str(caught.value)
    assert caught.value.line == 8


def test_cycle_names_its_path(read_text: ReadText, psplib_text: Psplib) -> None:
    """A person must see which jobs wait for each other, and where in the file."""
    with pytest.raises(InputError, match="1 -> 2 -> 4 -> 1") as caught:
        read_text(psplib_text(successors=[(2, 3), (4,), (4,), (1,)]))
    assert caught.value.line == 10
    assert caught.value.path is None


def test_repeated_edge_is_one_edge_and_one_warning(
    read_text: ReadText, psplib_text: Psplib
) -> None:
    """An edge listed twice is harmless, but not silent."""
    problem = read_text(psplib_text(successors=[(2, 2, 3), (4,), (4,), ()]))
    assert len(problem.arrays.edge_source) == 4
    assert len(problem.warnings) == 1


def test_large_durations_are_legal(read_text: ReadText, psplib_text: Psplib) -> None:
    """10^15 fits into the exact range of every consumer."""
    problem = read_text(psplib_text(duration=(0, 10**15, 10**15, 0)))
    assert problem.arrays.mode_duration.sum() * problem.arrays.tick == 2 * 10**15


def test_release_date_of_a_project_is_kept(read_text: ReadText, psplib_text: Psplib) -> None:
    """A release date in PROJECT INFORMATION moves the whole project."""
    information = (
        "PROJECT INFORMATION:\npronr.  #jobs rel.date duedate tardcost  MPM-Time\n1 2 5 9 0 7\n"
    )
    text = psplib_text().replace("PRECEDENCE", information + "PRECEDENCE")
    assert [task.release for task in read_text(text).tasks] == [5, 0, 0, 0]


def test_demand_above_capacity_is_read(read_text: ReadText, psplib_text: Psplib) -> None:
    """It is a matter for the reasons of infeasibility, not for the reader."""
    assert read_text(psplib_text(demand=(0, 5, 2, 0))).arrays.mode_demand.max() == 5


def test_editors_may_leave_marks(read_text: ReadText) -> None:
    """BOM, CRLF, tabs, trailing blanks and blank lines carry no meaning."""
    plain = read_text("2 2\n2 1 1 3 1 2 4\n2 1 2 2 1 1 5\n", "fjsp")
    marked = read_text("\ufeff2 2\r\n2\t1 1 3 1 2 4 \r\n2 1 2 2 1 1 5\r\n\r\n\r\n", "fjsp")
    assert marked.to_document().tasks == plain.to_document().tasks
    assert marked.durations == plain.durations


def test_comment_lines_are_skipped(read_text: ReadText) -> None:
    """A # line is no job, wherever it stands."""
    problem = read_text("# two jobs\n2 2\n0 3 1 4  # first\n\n# second\n1 2 0 5\n", "jobshop")
    assert [task.id for task in problem.tasks] == ["1.1", "1.2", "2.1", "2.2"]


def test_no_tasks_are_an_instance(read_text: ReadText) -> None:
    """An empty plan is feasible, so it must be readable."""
    document = {"schema": "allocsolve.instance/1", "kind": "dag", "tasks": [], "nodes": []}
    assert read_text(json.dumps(document)).tasks == ()


def test_dead_nodes_and_links_are_named(read_text: ReadText) -> None:
    """Speed 0 and bandwidth 0 mean "not usable" and must be said aloud."""
    document = {
        "schema": "allocsolve.instance/1",
        "kind": "dag",
        "tasks": [{"id": "t1", "work": 2}, {"id": "t2", "work": 3}],
        "edges": [{"from": "t1", "to": "t2", "data": 1}],
        "nodes": [{"id": "a", "speed": 0}, {"id": "b", "speed": 2}],
        "links": [{"between": ["a", "b"], "bandwidth": 0}],
    }
    assert [word in " ".join(read_text(json.dumps(document)).warnings) for word in ("a", "a-b")]


def _texts(case: dict[str, object], psplib_text: Psplib) -> list[bytes]:
    """Return the files that a case of the shared table describes."""
    given = case["input"]
    assert isinstance(given, dict)
    if "text" in given:
        return [given["text"].encode()]
    if "bytes_hex" in given:
        return [bytes.fromhex(given["bytes_hex"])]
    documents = given.get("documents") or ([given["document"]] if "document" in given else [])
    if documents:
        return [json.dumps(document).encode() for document in documents]
    if "base" not in given:
        return []
    changes = [given["change"], given["second"]] if "second" in given else [given["change"]]
    return [_project(given["base"], change, psplib_text).encode() for change in changes]


def _project(base: dict[str, list[object]], change: dict[str, object], write: Psplib) -> str:
    table = {key: list(value) for key, value in base.items() if key != "tasks"}
    for place, value in change.items():
        name, _, index = place.partition("[")
        if index:
            table[name][int(index[:-1])] = value
        else:
            assert isinstance(value, list)
            table[name] = value
    demand = [row[0] if isinstance(row, list) else row for row in table["req"]]
    for i, row in enumerate(demand):
        demand[i] = row[0] if isinstance(row, list) else row
    return write(table["dur"], table["succ"], demand, table["cap"][0])


def test_shared_cases_are_read_as_stated(
    cases_dir: Path, psplib_text: Psplib, tmp_path: Path
) -> None:
    """Every file of the shared table gives a problem, or an error with the stated words."""
    cases = json.loads((cases_dir / "front_door.json").read_text(encoding="utf-8"))["cases"]
    seen = 0
    for case in cases:
        if case["input"].get("document", {}).get("kind", "dag") != "dag":
            continue
        for data in _texts(case, psplib_text):
            seen += 1
            file = tmp_path / "case"
            file.write_bytes(data)
            right = case["right"]
            if right.get("error") != "input":
                assert read(file, format=case["input"]["format"]).kind == "dag", case["id"]
                continue
            with pytest.raises(InputError) as caught:
                read(file, format=case["input"]["format"])
            mentions = [] if "second" in case["input"] else right.get("mentions", [])
            assert [m for m in mentions if m not in str(caught.value)] == [], case["id"]
            assert right.get("line") in (None, caught.value.line), case["id"]
    assert seen >= 15
