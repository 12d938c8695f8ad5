"""The table of methods, and what it refuses."""

from __future__ import annotations

import pytest

from allocsolve.models.dag.data import Node, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import FeatureRefused, UsageError
from allocsolve.solvers import routes
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
