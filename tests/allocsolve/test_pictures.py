"""Schedules for eyes and for other programs."""

from __future__ import annotations

import csv
import io
import json
import subprocess
import sys
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import pytest

import allocsolve
from allocsolve.models.dag.answer import ScheduledTask
from allocsolve.models.dag.data import Node, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import UsageError
from allocsolve.plots import gantt
from allocsolve.report.export import chrome_trace, lanes, schedule_csv, schedule_text


@pytest.fixture
def entries(project: DagProblem) -> tuple[ScheduledTask, ...]:
    """The optimum of the project."""
    return allocsolve.solve(project, time_limit=20, threads=1).schedule.entries()


def test_csv_has_a_row_for_each_task(
    project: DagProblem, entries: tuple[ScheduledTask, ...]
) -> None:
    """A spreadsheet needs a header and one row for each task."""
    rows = list(csv.DictReader(io.StringIO(schedule_csv(project, entries))))
    assert [row["task"] for row in rows] == ["a", "b", "c"]
    assert [row["end"] for row in rows] == ["3", "7", rows[2]["end"]]


def test_csv_quotes_what_would_break_it() -> None:
    """Ids are free texts."""
    entry = ScheduledTask('x,"y"\n', Fraction(0), Fraction(1, 2), "n,1")
    text = schedule_csv(DagProblem(tasks=[]), [entry])
    assert next(csv.DictReader(io.StringIO(text))) == {
        "task": 'x,"y"\n',
        "start": "0",
        "end": "0.5",
        "node": "n,1",
        "mode": "0",
    }


def test_the_trace_is_in_microseconds(thirds: DagProblem) -> None:
    """chrome://tracing and Perfetto take microseconds, whatever the unit of the instance."""
    schedule = allocsolve.solve(thirds, time_limit=20, threads=1).schedule
    trace = json.loads(chrome_trace(thirds, schedule.entries()))
    slices = [event for event in trace["traceEvents"] if event["ph"] == "X"]
    assert [event["name"] for event in slices] == ["a", "b"]
    assert slices[1]["ts"] == pytest.approx(1e6 * 2 / 3)
    minutes = json.loads(chrome_trace(thirds.replace(time_unit="min"), schedule.entries()))
    assert minutes["traceEvents"][2]["ts"] == pytest.approx(60e6 * 2 / 3)


def test_lanes_do_not_overlap() -> None:
    """Two tasks at once on one node must both be seen."""
    times = [(0, 4), (1, 2), (2, 5), (4, 6), (0, 1)]
    entries = [ScheduledTask(str(k), Fraction(a), Fraction(b)) for k, (a, b) in enumerate(times)]
    lane = lanes(entries)
    assert max(lane) == 1
    for i, first in enumerate(entries):
        for j, second in enumerate(entries[:i]):
            if lane[i] == lane[j]:
                assert first.end <= second.start or second.end <= first.start


def test_an_unknown_export_is_refused(project: DagProblem) -> None:
    """The message names what can be written."""
    with pytest.raises(UsageError, match="csv, chrome"):
        schedule_text(project, (), "excel")


def test_the_chart_names_tasks_and_makespan(
    project: DagProblem, entries: tuple[ScheduledTask, ...]
) -> None:
    """What is drawn is one well-formed picture with a title."""
    page = gantt(project, entries, form="html", title="A <b> title")
    assert b"<title>A &lt;b&gt; title</title>" in page
    image = gantt(project, entries)
    root = ElementTree.fromstring(image)
    assert root.tag == "{http://www.w3.org/2000/svg}svg"
    for text in (b"<!-- project: 3 tasks, makespan 7 -->", b"<!-- a -->", b"<!-- R -->"):
        assert text in image
    assert gantt(project, entries, form="png").startswith(b"\x89PNG")


def test_odd_names_are_drawn_as_they_are() -> None:
    """A task called $x$ is no formula, and an empty schedule is a picture too."""
    problem = DagProblem(tasks=[Task(id="$x^$", work=1)], nodes=[Node(id="<n>")])
    entry = ScheduledTask("$x^$", Fraction(0), Fraction(1), "<n>")
    assert gantt(problem, [entry]).count(b"<svg") == 1
    assert gantt(DagProblem(tasks=[]), ()).count(b"<svg") == 1


def test_an_unknown_form_is_refused(project: DagProblem) -> None:
    """Before matplotlib is even looked for."""
    with pytest.raises(UsageError, match="svg, png, html"):
        gantt(project, (), form="gif")


def test_the_same_picture_every_time(tmp_path: Path, ft06: Path) -> None:
    """A picture in a repository must not change without a reason."""
    plan = tmp_path / "plan.json"
    allocsolve.write(
        allocsolve.solve(allocsolve.read(ft06, kind="dag"), method="list", time_limit=5), plan
    )
    pictures = set()
    for seed in ("1", "2"):
        target = tmp_path / f"{seed}.svg"
        subprocess.run(
            [sys.executable, "-m", "allocsolve", "plot", ft06, plan, "-o", target],
            cwd=tmp_path,
            env={"PYTHONHASHSEED": seed, **_environment()},
            check=True,
        )
        pictures.add(target.read_bytes())
    assert len(pictures) == 1


def _environment() -> dict[str, str]:
    import os

    return {key: value for key, value in os.environ.items() if key != "PYTHONHASHSEED"}


def test_a_missing_extra_is_named(tmp_path: Path, ft06: Path) -> None:
    """Exit 69 with the command that installs it."""
    plan = tmp_path / "plan.json"
    allocsolve.write(
        allocsolve.solve(allocsolve.read(ft06, kind="dag"), method="list", time_limit=5), plan
    )
    code = (
        "import sys; sys.modules['matplotlib'] = None\n"
        "from allocsolve.cli import main; sys.exit(main(sys.argv[1:]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", code, "plot", ft06, plan, "-o", "a.svg"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 69
    assert "pip install 'allocsolve[plot]'" in done.stderr
