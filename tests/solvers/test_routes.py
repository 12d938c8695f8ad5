"""The table of methods, and what it refuses."""

from __future__ import annotations

import time
from collections.abc import Callable
from types import ModuleType

import msgspec
import pytest

from allocsolve.instances.generators.dag import generate
from allocsolve.models.dag.data import Edge, Node, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import FeatureRefused, UsageError
from allocsolve.models.result import SolverInfo, Termination
from allocsolve.solvers import routes
from allocsolve.solvers.control import Control, Limits, Outcome, Proof
from allocsolve.solvers.dag import communication, cpsat, heterogeneous, tandem
from allocsolve.solvers.routes import METHODS, OBJECTIVES, method_named, refuse_unsupported

PLAIN = DagProblem(tasks=[Task(id="t", work=1)], nodes=[Node(id="a")])
CLOSED = DagProblem(tasks=[Task(id="t", work=1)], nodes=[Node(id="a", unavailable=[(5, 6)])])


def test_names_are_unique_in_a_kind() -> None:
    """Of two rows of one name one could never be called."""
    names = [(method.kind, method.name) for method in METHODS]
    assert len(set(names)) == len(names)


@pytest.mark.parametrize("method", METHODS, ids=lambda method: method.name)
def test_objectives_of_rows_are_names_of_the_contract(method: routes.Method) -> None:
    """A misspelt objective in a row would make it unreachable."""
    assert set(method.objectives) <= set(OBJECTIVES[method.kind])


def test_an_unknown_method_is_named_with_a_suggestion() -> None:
    """A typing error should cost one look."""
    with pytest.raises(UsageError, match=r"did you mean 'cpsat'.*auto"):
        method_named("dag", "cpsatt")


@pytest.mark.parametrize(
    "method", [row for row in METHODS if row.kind == "dag"], ids=lambda method: method.name
)
def test_what_is_honoured_passes(method: routes.Method) -> None:
    """The plainest instance is refused by nobody."""
    refuse_unsupported(method, PLAIN, "makespan")


def test_objectives_of_the_contract_are_refused_by_name() -> None:
    """Known, but not to this method: refused, never answered with another objective."""
    with pytest.raises(FeatureRefused, match="total_tardiness") as refused:
        refuse_unsupported(method_named("dag", "auto"), PLAIN, "total_tardiness")
    assert refused.value.alternatives == ()


def test_unknown_objectives_get_a_suggestion() -> None:
    """Not known to any method: a typing error."""
    with pytest.raises(UsageError, match="did you mean 'makespan'"):
        refuse_unsupported(method_named("dag", "auto"), PLAIN, "makspan")


def test_refusals_name_the_methods_that_can(monkeypatch: pytest.MonkeyPatch) -> None:
    """Whoever is refused should know where to go."""
    rows = list(METHODS)
    able = routes.Method(
        "able", "dag", rows[0].honours | CLOSED.features, ("makespan",), True, "x:y", "waits"
    )
    monkeypatch.setattr(routes, "METHODS", (*rows, able))
    with pytest.raises(FeatureRefused, match="calendars") as refused:
        refuse_unsupported(rows[0], CLOSED, "makespan")
    assert refused.value.alternatives == ("able",)


def _without_data(family: str, **settings: object) -> DagProblem:
    """Draw a task graph and leave its data out."""
    drawn = generate(family, **settings).to_document()  # type: ignore[arg-type]  # checked there
    edges = [Edge(source=edge.source, target=edge.target) for edge in drawn.edges]
    return DagProblem.from_document(msgspec.structs.replace(drawn, edges=edges))


SERVED: dict[str, tuple[DagProblem, str]] = {
    "no data, many tasks": (_without_data("layered", tasks=200, seed=1), "heterogeneous"),
    "no data, nodes that differ": (
        _without_data("layered", tasks=40, seed=1, node_kind="unrelated"),
        "cpsat heterogeneous",
    ),
    "no data, few tasks": (_without_data("layered", tasks=12, seed=1), "communication"),
    "data": (generate("layered", tasks=12, seed=1), "communication"),
    "flexible shop": (
        generate("flexible", tasks=40, seed=1, flexibility=0.5),
        "tandem",
    ),
    "large flexible shop": (
        generate("flexible", tasks=200, seed=1, flexibility=0.5),
        "tandem",
    ),
    "job shop": (generate("jobshop", tasks=20, seed=1), "tandem"),
    "project": (generate("rcpsp", tasks=20, seed=1), "tandem"),
    "one node": (_without_data("layered", tasks=12, seed=1, nodes=1), "tandem"),
}


@pytest.mark.parametrize(("problem", "served_by"), SERVED.values(), ids=SERVED)
def test_auto_takes_the_methods_that_find_more(
    problem: DagProblem, served_by: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Task graphs without data lost to list schedulers as long as CP-SAT had to choose nodes."""
    asked: list[str] = []

    def note(module: ModuleType) -> Callable[..., Outcome]:
        def run(*_: object) -> Outcome:
            asked.append(module.__name__.rpartition(".")[2])
            return Outcome(Proof.NOTHING, Termination.TIME_LIMIT, SolverInfo("none", "0", 0, 1))

        return run

    monkeypatch.setattr(communication, "search", note(communication))
    monkeypatch.setattr(heterogeneous, "search", note(heterogeneous))
    monkeypatch.setattr(cpsat, "run_engine", note(cpsat))
    monkeypatch.setattr(tandem, "search", note(tandem))
    monkeypatch.setattr(Control, "is_proven", lambda _: False)
    method_named("dag", "auto").load()(problem, Control(Limits(time.monotonic() + 60)))
    assert asked == served_by.split()
