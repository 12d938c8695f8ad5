"""Problems from graphs, dicts and frames."""

from __future__ import annotations

from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

from allocsolve.instances.objects import from_dict, from_frames, from_networkx
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import InputError, UsageError

TASKS = {"id": ["a", "b"], "work": [2.0, 3.5], "deadline": [None, 9]}
EDGES = {"from": ["a"], "to": ["b"], "data": [1]}


def _check(problem: DagProblem) -> None:
    assert [task.id for task in problem.tasks] == ["a", "b"]
    assert problem.tasks[1].work == Fraction(7, 2)
    assert [task.deadline for task in problem.tasks] == [None, 9]
    assert [(e.source, e.target, e.data) for e in problem.edges] == [("a", "b", 1)]
    assert [node.id for node in problem.nodes] == ["n0", "n1"]


def test_columns_of_lists() -> None:
    """A mapping of columns needs no library."""
    _check(from_frames(TASKS, EDGES, nodes=2))


def test_rows() -> None:
    """A list of rows is what csv.DictReader and many others give."""
    rows = [{"id": "a", "work": 2}, {"id": "b", "work": 3.5, "deadline": 9}]
    _check(from_frames(rows, [{"from": "a", "to": "b", "data": 1}], nodes=2))


def test_pandas() -> None:
    """NaN in a frame of pandas means "missing", also in a column of integers."""
    pandas = pytest.importorskip("pandas")
    _check(from_frames(pandas.DataFrame(TASKS), pandas.DataFrame(EDGES), nodes=2))


def test_pandas_integer_ids() -> None:
    """Integer ids become the same text in every table."""
    pandas = pytest.importorskip("pandas")
    problem = from_frames(
        pandas.DataFrame({"id": [1, 2], "duration": [3, 4], "demand.R1": [1, None]}),
        pandas.DataFrame({"from": [1], "to": [2]}),
        resources=pandas.DataFrame({"id": ["R1"], "capacity": [2]}),
    )
    assert [task.id for task in problem.tasks] == ["1", "2"]
    assert problem.arrays.mode_demand.tolist() == [[1], [0]]


def test_polars() -> None:
    """Null in a frame of polars means "missing"."""
    polars = pytest.importorskip("polars")
    _check(from_frames(polars.DataFrame(TASKS), polars.DataFrame(EDGES), nodes=2))


def test_durations_in_long_form() -> None:
    """Unrelated machines come as one row for each task and node."""
    problem = from_frames(
        {"id": ["a"]},
        nodes=[{"id": "x"}, {"id": "y"}],
        durations={"task": ["a", "a"], "node": ["x", "y"], "duration": [2, 5]},
    )
    assert problem.durations == {"a": {"x": 2, "y": 5}}


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        pytest.param(
            [{"task": "a", "node": "x", "duration": 1}] * 2, "two times on node", id="twice"
        ),
        pytest.param([{"task": "a", "node": "x"}], "the columns are", id="missing"),
    ],
)
def test_wrong_durations(rows: list[dict[str, object]], message: str) -> None:
    """A pair with two times, or with none, is a mistake."""
    with pytest.raises(InputError, match=message):
        from_frames({"id": ["a"]}, nodes=[{"id": "x"}], durations=rows)


@pytest.mark.parametrize("table", [3, "abc", [1], {"id": ["a"], "work": []}])
def test_what_is_no_table(table: object) -> None:
    """Misuse is a usage error, not an AttributeError."""
    with pytest.raises(UsageError):
        from_frames(table, nodes=1)


def test_networkx() -> None:
    """Attributes of nodes and edges are fields of tasks and edges; keys become text."""
    networkx = pytest.importorskip("networkx")
    graph = networkx.DiGraph()
    graph.add_node(1, work=np.int64(4), release=np.float64(0.5))
    graph.add_node("end", work=Decimal("1.5"))
    graph.add_edge(1, "end", data=2, min_lag=1)
    problem = from_networkx(graph, nodes=2, name="graph", default_link={"latency": 0.5})
    assert [task.id for task in problem.tasks] == ["1", "end"]
    assert [task.work for task in problem.tasks] == [4, Fraction(3, 2)]
    assert problem.tasks[0].release == Fraction(1, 2)
    assert problem.edges[0].min_lag == 1
    assert problem.name == problem.origin.name == "graph"
    assert problem.arrays.communicates


def test_networkx_errors_name_the_attribute() -> None:
    """An attribute that is no field would otherwise be lost in silence."""
    networkx = pytest.importorskip("networkx")
    graph = networkx.DiGraph()
    graph.add_node("a", wrok=1)
    with pytest.raises(InputError, match=r"task 'a'.*'wrok', did you mean 'work'"):
        from_networkx(graph, nodes=1)


def test_undirected_graph_is_refused() -> None:
    """Without directions there is no precedence."""
    networkx = pytest.importorskip("networkx")
    with pytest.raises(UsageError, match="directed"):
        from_networkx(networkx.Graph())


def test_dict_takes_any_exact_number() -> None:
    """Fractions and scalars of numpy are numbers as good as int."""
    problem = from_dict(
        {
            "tasks": ({"id": "a", "work": Fraction(1, 3)}, {"id": "b", "work": np.float32(0.5)}),
            "nodes": [{"id": "n", "slots": np.int32(2)}],
        },
        kind="dag",
    )
    assert [task.work for task in problem.tasks] == [Fraction(1, 3), Fraction(1, 2)]
    assert problem.nodes[0].slots == 2


@pytest.mark.parametrize("work", [float("nan"), float("inf"), True, "3", [1], np.float64("nan")])
def test_dict_refuses_what_is_no_number(work: object) -> None:
    """NaN, infinity, truth values and text are not amounts of work."""
    with pytest.raises(InputError, match=r"task 'a': work .* is not a number") as caught:
        from_dict({"tasks": [{"id": "a", "work": work}], "nodes": [{"id": "n"}]})
    assert caught.value.path == "$.tasks[0].work"
