"""Answers that go into a simulation: what the checker accepts is taken, and read once."""

from __future__ import annotations

from fractions import Fraction
from unittest.mock import Mock

import pytest

import allocsolve
from allocsolve.api.answers import checked_answer
from allocsolve.api.files import to_bytes
from allocsolve.models.dag.answer import Schedule, ScheduledTask
from allocsolve.models.dag.data import Edge, Node, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.report import results


def _chain(deadline: int | None) -> DagProblem:
    """Return two tasks in a row of length 1."""
    return DagProblem(
        tasks=[Task(id=name, work=1, deadline=deadline) for name in "ab"],
        edges=[Edge(source="a", target="b")],
        nodes=[Node(id="n")],
    )


@pytest.mark.parametrize("deadline", [None, 4], ids=["free", "every task has a deadline"])
def test_starts_between_the_times_of_the_instance(deadline: int | None) -> None:
    """The checker judges such a plan right, so that nothing later may refuse it."""
    problem = _chain(deadline)
    starts = {"a": Fraction(1, 3), "b": Fraction(3, 2)}
    entries = [ScheduledTask(name, start, start + 1, "n") for name, start in starts.items()]
    assert allocsolve.check(problem, entries).valid
    schedule = checked_answer(problem, entries)
    assert isinstance(schedule, Schedule)
    assert [entry.start for entry in schedule.entries()] == list(starts.values())
    assert schedule.problem.tasks == problem.tasks
    assert allocsolve.simulate(problem, entries, starts="planned").mean == 2.5


def test_a_document_is_read_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """A document of a hundred thousand tasks takes a second to read."""
    problem = _chain(None)
    data = to_bytes(allocsolve.solve(problem, threads=1))[0]
    read = Mock(side_effect=results.read_solution)
    monkeypatch.setattr(results, "read_solution", read)
    checked_answer(problem, data)
    assert read.call_count == 1
