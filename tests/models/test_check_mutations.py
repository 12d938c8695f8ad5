"""Right schedules changed in many ways: the checker names the broken rule each time."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction
from typing import TypeAlias

import pytest

from allocsolve.models.dag.answer import ScheduledTask
from allocsolve.models.dag.check import RULES, check
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import CheckFailed

Entries: TypeAlias = Sequence[ScheduledTask]
Change: TypeAlias = Callable[[Entries], Entries]
Drawn: TypeAlias = Callable[[str, int], tuple[DagProblem, Entries] | None]

FAMILIES = ("rcpsp", "multimode", "lags", "jobshop", "flexible", "communication")


def change(task: str, **fields: object) -> Change:
    """Replace fields of the entry of one task; times are given as decimal text."""
    values = {
        name: Fraction(value) if isinstance(value, str) and name in ("start", "end") else value
        for name, value in fields.items()
    }

    def apply(entries: Entries) -> Entries:
        assert any(e.task == task for e in entries)
        return [
            replace(e, **values) if e.task == task else e  # type: ignore[arg-type]  # any field
            for e in entries
        ]

    return apply


def both(*changes: Change) -> Change:
    """Apply several changes one after the other."""

    def apply(entries: Entries) -> Entries:
        for step in changes:
            entries = step(entries)
        return entries

    return apply


def drop(task: str) -> Change:
    """Leave the entry of one task out."""
    return lambda entries: [e for e in entries if e.task != task]


def add(task: str, **fields: object) -> Change:
    """Add an entry; what is not given is taken from the first entry."""

    def apply(entries: Entries) -> Entries:
        return [*entries, *change(task, **fields)([replace(entries[0], task=task)])]

    return apply


@dataclass(frozen=True)
class Mutation:
    """A change of a right schedule, the rules it breaks and a part of the message."""

    name: str
    apply: Change
    rules: set[str]
    message: str


PROJECT = [
    Mutation("task of another project", add("x"), {"unknown_task"}, "no task 'x'"),
    Mutation(
        "misspelt task",
        lambda entries: [replace(e, task="A") if e.task == "a" else e for e in entries],
        {"unknown_task", "missing_task"},
        "task 'a' is not scheduled",
    ),
    Mutation("one task left out", drop("b"), {"missing_task"}, "task 'b'"),
    Mutation("nothing scheduled", lambda _: [], {"missing_task"}, "task 'm'"),
    Mutation("milestone left out", drop("m"), {"missing_task"}, "task 'm'"),
    Mutation("task twice", add("m", start="4", end="4"), {"duplicate_task"}, "'m' is scheduled 2"),
    Mutation(
        "task thrice",
        both(add("b"), add("b", start="30", end="32")),
        {"duplicate_task"},
        "3 times",
    ),
    Mutation("project task on a node", change("b", node="cpu"), {"node_unexpected"}, "'cpu'"),
    Mutation("mode beyond the last", change("a", mode=2), {"unknown_mode"}, "modes 0 to 1, not 2"),
    Mutation("negative mode", change("b", mode=-1), {"unknown_mode"}, "not -1"),
    Mutation("end too late", change("b", end="4"), {"duration", "precedence"}, "takes 2"),
    Mutation("end too early", change("c", end="8.999"), {"duration"}, "takes 4"),
    Mutation("end before start", change("c", end="1"), {"duration"}, "from 5 to 1"),
    Mutation("length of another mode", change("a", mode=1), {"duration"}, "takes 5"),
    Mutation(
        "milestone with a length",
        change("m", end="4"),
        {"duration", "resource_capacity"},
        "takes 0",
    ),
    Mutation(
        "start before zero",
        change("m", start="-1", end="-1"),
        {"negative_start", "precedence"},
        "before time 0",
    ),
    Mutation(
        "before the release",
        both(change("a", start="0.5", end="3.5"), change("c", start="4.5", end="8.5")),
        {"release"},
        "released at 1",
    ),
    Mutation(
        "after the deadline",
        change("c", start="5.25", end="9.25"),
        {"deadline"},
        "from 5.25 to 9.25, but its deadline is 9",
    ),
    Mutation(
        "lag from the end too short",
        change("c", start="4.75", end="8.75"),
        {"precedence"},
        "at least 1",
    ),
    Mutation(
        "lag from the start too short",
        change("b", start="1.4", end="3.4"),
        {"precedence"},
        "0.4 after the start of 'a'",
    ),
    Mutation(
        "milestone before its predecessor",
        change("m", start="3.4", end="3.4"),
        {"precedence"},
        "task 'm' starts at 3.4",
    ),
    Mutation(
        "maximum lag from the end",
        change("c", start="6.5", end="10.5"),
        {"max_lag", "deadline"},
        "at most 2",
    ),
    Mutation(
        "maximum lag from the start",
        both(change("b", start="9", end="11"), change("m", start="11", end="11")),
        {"max_lag"},
        "8 after the start of 'a'",
    ),
    Mutation(
        "renewable resource overloaded",
        both(change("b", start="3.5", end="5.5"), change("m", start="6", end="6")),
        {"resource_capacity"},
        "resource 'R' needs 5 of 4 at time 5 (tasks b, c)",
    ),
    Mutation(
        "non-renewable resource overdrawn",
        change("b", mode=1),
        {"resource_total"},
        "'N' needs 10 of 9.5 in total (tasks a, b, c)",
    ),
]

CLUSTER = [
    Mutation("node that is not there", change("a", node="x"), {"unknown_node"}, "no node 'x'"),
    Mutation("misspelt node", change("b", node="fsat"), {"unknown_node"}, "did you mean 'fast'?"),
    Mutation("node of the wrong type", change("b", node="cpu"), {"ineligible_node"}, "fast"),
    Mutation("node without a duration", change("d", node="far"), {"ineligible_node"}, "cpu, fast"),
    Mutation("dead node", change("a", node="dead"), {"ineligible_node"}, "'dead'"),
    Mutation("dead node with a duration", change("d", node="dead"), {"ineligible_node"}, "'dead'"),
    Mutation("no node", change("b", node=None), {"node_missing"}, "task 'b' must run on a node"),
    Mutation("mode on a node", change("c", mode=1), {"unknown_mode"}, "only mode 0, not 1"),
    Mutation(
        "duration of another node",
        change("d", node="cpu", start="15", end="17.5"),
        {"duration"},
        "takes 3",
    ),
    Mutation(
        "speed of the node ignored",
        both(change("b", end="12"), change("d", start="12", end="14.5")),
        {"duration"},
        "from 8 to 12, but takes 2",
    ),
    Mutation(
        "data not yet there",
        change("b", start="7.5", end="9.5"),
        {"communication"},
        "travels until 8, but 'b' starts at 7.5",
    ),
    Mutation(
        "latency ignored",
        change("b", start="7", end="9"),
        {"communication"},
        "from 'a' on node 'cpu' to 'b' on node 'fast'",
    ),
    Mutation(
        "lag before the transfer ignored",
        change("c", start="8", end="9"),
        {"communication"},
        "until 9",
    ),
    Mutation("no link", change("a", node="far"), {"communication"}, "these nodes have no link"),
    Mutation(
        "precedence of one node",
        change("d", start="9.5", end="12"),
        {"precedence", "resource_capacity", "node_capacity"},
        "'d' starts at 9.5",
    ),
    Mutation(
        "licence taken twice",
        change("c", start="10", end="11"),
        {"resource_capacity"},
        "resource 'licence' needs 2 of 1 at time 10 (tasks c, d)",
    ),
]

MACHINES = [
    Mutation(
        "two tasks on one slot",
        change("2", start="2", end="4"),
        {"node_capacity"},
        "node 'one' runs 2 tasks at time 2, it has 1 slot(s) (tasks 1, 2)",
    ),
    Mutation(
        "three tasks on two slots",
        change("2", start="1", end="3", node="two"),
        {"node_capacity"},
        "node 'two' runs 3 tasks at time 1, it has 2 slot(s) (tasks 2, 3, 4)",
    ),
    Mutation(
        "overlap of a hair",
        change(
            "5", start="2.999999999999999999999", end="999999999999999999999/300000000000000000000"
        ),
        {"duration", "node_capacity"},
        "(tasks 3, 4, 5)",
    ),
    Mutation(
        "rounded third",
        change("5", end="3.3333333333333335"),
        {"duration"},
        "task '5'",
    ),
]

MODELS = [
    Mutation(
        "memory is held before and after a task runs",
        change("table", node="small", start="9", end="9"),
        {"memory"},
        "node 'small' must hold 1.5 of memory, it has 1 (tasks p, q, r, table)",
    ),
    Mutation(
        "a hair too much memory",
        change("r", node="large", start="1", end="2"),
        {"memory"},
        "node 'large' must hold 3.4 of memory, it has 3 (tasks r, s, table)",
    ),
    Mutation(
        "a task larger than its node",
        both(change("s", node="small", start="9", end="10")),
        {"memory"},
        "must hold 3.5",
    ),
    Mutation(
        "tied tasks apart",
        change("q", node="any"),
        {"colocation"},
        "the tasks of 'tied' must share one node, they are on 2 ('p' on 'small', 'q' on 'any')",
    ),
]

MUTATIONS = [
    *(("project", mutation) for mutation in PROJECT),
    *(("cluster", mutation) for mutation in CLUSTER),
    *(("machines", mutation) for mutation in MACHINES),
    *(("models", mutation) for mutation in MODELS),
]


def rules(problem: DagProblem, entries: Entries) -> set[str]:
    """Return the names of the broken rules."""
    return {violation.rule for violation in check(problem, entries).violations}


@pytest.mark.parametrize(
    ("base", "mutation"), MUTATIONS, ids=[f"{base}-{m.name}" for base, m in MUTATIONS]
)
def test_mutations_are_rejected(
    request: pytest.FixtureRequest, base: str, mutation: Mutation
) -> None:
    """Each change breaks exactly the rules that it is meant to break, and the message says how."""
    problem = request.getfixturevalue(base)
    report = check(problem, mutation.apply(request.getfixturevalue(f"{base}_entries")))
    assert {violation.rule for violation in report.violations} == mutation.rules
    assert any(mutation.message in violation.message for violation in report.violations)
    with pytest.raises(CheckFailed):
        report.raise_if_violated()


def test_there_are_many_mutations() -> None:
    """The mutations cover every rule on schedules, in at least thirty ways."""
    broken = set().union(*(mutation.rules for _, mutation in MUTATIONS))
    claims = {"objective_value", "bound", "infeasible_claim", "reason", "status", "sense", "gap"}
    assert broken == set(RULES) - claims
    assert len(MUTATIONS) >= 30


GENERIC: list[tuple[str, Callable[[Entries], Entries], str]] = [
    ("last entry lost", lambda entries: entries[:-1], "missing_task"),
    ("first entry twice", lambda entries: [*entries, entries[0]], "duplicate_task"),
    (
        "foreign task",
        lambda entries: [*entries, replace(entries[0], task="no such task")],
        "unknown_task",
    ),
    (
        "first task longer",
        lambda entries: [replace(entries[0], end=entries[0].end + 1), *entries[1:]],
        "duration",
    ),
    (
        "all moved before zero",
        lambda entries: [replace(e, start=e.start - 1000, end=e.end - 1000) for e in entries],
        "negative_start",
    ),
    ("mode 99", lambda entries: [replace(entries[0], mode=99), *entries[1:]], "unknown_mode"),
    ("node 'nowhere'", lambda entries: [replace(e, node="nowhere") for e in entries], "node"),
]


@pytest.mark.parametrize("family", FAMILIES)
@pytest.mark.parametrize(("name", "apply", "rule"), GENERIC, ids=[g[0] for g in GENERIC])
def test_mutations_of_random_schedules_are_rejected(
    drawn: Drawn, family: str, name: str, apply: Change, rule: str
) -> None:
    """What is wrong with any schedule is found in optimal schedules of every family."""
    found = 0
    for seed in range(12):
        case = drawn(family, seed)
        if case is None:
            continue
        problem, entries = case
        assert rules(problem, entries) == set(), name
        broken = rules(problem, apply(entries))
        expected = "unknown_node" if problem.nodes else "node_unexpected"
        assert (expected if rule == "node" else rule) in broken
        found += 1
    assert found >= 3


@pytest.mark.parametrize("family", FAMILIES)
def test_optimal_schedules_cannot_be_squeezed(drawn: Drawn, family: str) -> None:
    """Moving the last task of an optimal schedule to the left always breaks a rule.

    Otherwise the schedule would not be optimal: this finds rules that judge nothing.
    """
    for seed in range(20):
        case = drawn(family, seed)
        if case is None:
            continue
        problem, entries = case
        end = max(e.end for e in entries)
        tick = problem.arrays.tick
        moved = [
            replace(e, start=e.start - tick, end=e.end - tick) if e.end == end else e
            for e in entries
        ]
        assert end == 0 or rules(problem, moved)
