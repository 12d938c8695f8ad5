"""Logs and random numbers: WfFormat, dnn-partitioning and SAGA files, and their rounding."""

from __future__ import annotations

import io
import json
from fractions import Fraction
from random import Random

import pytest

from allocsolve.instances.catalogue import bundled
from allocsolve.instances.reading import read_dag as read
from allocsolve.instances.writing import render
from allocsolve.models.dag.problem import DagProblem, Feature
from allocsolve.models.errors import InputError, UsageError
from allocsolve.models.exact import exact


def from_json(document: object, nodes: int | None = None) -> DagProblem:
    """Read a JSON file whose format is found by its content."""
    return read(io.BytesIO(json.dumps(document).encode()), nodes=nodes)


WORKFLOW_1_4 = {
    "name": "w",
    "schemaVersion": "1.4",
    "workflow": {
        "machines": [{"nodeName": "m1", "cpu": {"count": 2}}, {"nodeName": "m2"}],
        "tasks": [
            {
                "name": "a_1",
                "id": "ID1",
                "type": "compute",
                "runtimeInSeconds": 1.5,
                "parents": [],
                "children": ["b_1"],
                "files": [
                    {"link": "input", "name": "in", "sizeInBytes": 10},
                    {"link": "output", "name": "x", "sizeInBytes": 250},
                    {"link": "output", "name": "y", "sizeInBytes": 500},
                ],
            },
            {
                "name": "b_1",
                "id": "ID2",
                "runtimeInSeconds": 2,
                "parents": ["a_1"],
                "children": [],
                "files": [
                    {"link": "input", "name": "x", "sizeInBytes": 250},
                    {"link": "input", "name": "y", "sizeInBytes": 500},
                ],
            },
            {
                "name": "c_1",
                "id": "ID3",
                "runtimeInSeconds": 0,
                "parents": ["ID2"],
                "children": [],
                "files": [{"link": "input", "name": "x", "sizeInBytes": 250}],
            },
        ],
    },
}


def test_workflow_1_5() -> None:
    """Runtimes from the execution, bytes from the files that pass, slots from the cores."""
    problem = read(bundled()["workflow"])
    assert problem.origin.format == "wfformat"
    assert {task.id: task.work for task in problem.tasks} == {
        "split_1": Fraction(5, 2),
        "work_1": Fraction(41, 4),
        "work_2": 8,
        "merge_1": 3,
    }
    passed = {(edge.source, edge.target): edge.data for edge in problem.edges}
    assert passed["split_1", "work_1"] == 250_000_000
    assert passed["work_2", "merge_1"] == 12_500_000
    assert len(passed) == 4
    assert [(node.id, node.speed, node.slots) for node in problem.nodes] == [
        ("m1", 1, 1),
        ("m2", 1, 1),
    ]
    link = problem.default_link
    assert link is not None
    assert (link.latency, link.bandwidth) == (0, 125_000_000)


def test_workflow_1_4() -> None:
    """Tasks carry their files and runtimes; parents are named by name or by id."""
    problem = from_json(WORKFLOW_1_4)
    assert [task.id for task in problem.tasks] == ["ID1", "ID2", "ID3"]
    assert {(edge.source, edge.target): edge.data for edge in problem.edges} == {
        ("ID1", "ID2"): 750,
        ("ID2", "ID3"): 0,
    }
    assert [node.slots for node in problem.nodes] == [2, 1]
    assert "'x' of 'ID1' by 'ID3'" in problem.warnings[0]


def test_workflow_on_other_nodes() -> None:
    """A count of nodes replaces the machines but not the network, nor a missing list of them."""
    document = json.loads(json.dumps(WORKFLOW_1_4))
    del document["workflow"]["machines"]
    problem = from_json(document, nodes=3)
    assert len(problem.nodes) == 3
    assert problem.default_link is not None
    assert problem.default_link.bandwidth == 125_000_000


def test_control_characters_of_commands_do_not_matter() -> None:
    """Logs hold command lines with line breaks; ids with them are refused."""
    document = json.loads(json.dumps(WORKFLOW_1_4))
    document["workflow"]["tasks"][0]["command"] = {"program": "a\n\tb"}
    assert len(from_json(document).tasks) == 3
    document["workflow"]["tasks"][0]["id"] = "a\nb"
    with pytest.raises(InputError, match="task 0 has no id"):
        from_json(document)


def test_runtimes_with_many_digits_are_rounded() -> None:
    """A double of seventeen digits does not fit beside bytes over bandwidth."""
    document = json.loads(json.dumps(WORKFLOW_1_4))
    document["workflow"]["tasks"][0]["runtimeInSeconds"] = 1234.567890123456789
    problem = from_json(document)
    assert abs(exact(problem.tasks[0].work or 0) - exact(1234.567890123456789)) < 1e-7
    assert "1 number rounded to multiples of 1e-08" in problem.warnings[0]


def test_network_of_operators() -> None:
    """Nodes by type, durations by latency, eligibility, memory and shared nodes."""
    problem = read(bundled()["transformer"])
    assert [(node.id, node.type, node.memory) for node in problem.nodes] == [
        ("fpga0", "fpga", 2000),
        ("cpu0", "cpu", None),
    ]
    assert problem.durations["1"] == {"cpu0": 2}
    assert problem.durations["2"] == {"fpga0": exact(2.05), "cpu0": exact(20.5)}
    assert [task.memory for task in problem.tasks] == [None, 600, 700, 100]
    assert [task.colocate for task in problem.tasks] == [None, "2", None, "2"]
    assert {exact(edge.data) for edge in problem.edges} == {Fraction(1, 2), Fraction(1, 4)}
    assert {Feature.MEMORY, Feature.COLOCATION, Feature.COMMUNICATION} < problem.features


def operators(latency: float, count: int = 1) -> DagProblem:
    """Read operators of which the first has that latency."""
    rows = [{"id": i, "cpuLatency": latency if i == 0 else 100.5} for i in range(count)]
    return from_json({"maxFPGAs": 0, "maxCPUs": 2, "nodes": rows, "edges": []})


def test_numbers_that_fit_are_not_rounded() -> None:
    """Digits are given up only where the grid needs it."""
    exact_one = operators(13.700000000000001)
    assert exact_one.durations["0"]["cpu0"] == Fraction(13700000000000001, 10**15)
    assert exact_one.warnings == ()
    rounded = operators(13.700000000000001, count=200)
    assert rounded.durations["0"]["cpu0"] == Fraction(137, 10)
    assert rounded.warnings[0].startswith("1 number rounded to multiples of 1e-07")


def test_other_nodes_cannot_replace_accelerators() -> None:
    """Latencies belong to the nodes of the file."""
    with pytest.raises(UsageError, match="cpu0"):
        read(bundled()["transformer"], nodes=2)


def test_saga() -> None:
    """Speeds divide costs and sizes; links to itself are nothing, missing links are none."""
    problem = read(bundled()["sensors"])
    assert [(node.id, node.speed) for node in problem.nodes] == [("edge", 1), ("cloud", 2)]
    assert problem.arrays.data_time.max() * problem.arrays.tick == 2
    lonely = json.loads(bundled()["sensors"].read_text(encoding="utf-8"))
    lonely["network"]["edges"].pop()
    assert not from_json(lonely).arrays.linked[0, 1]
    lonely["network"]["edges"].append({"source": "edge", "target": "cloud", "speed": None})
    assert from_json(lonely).arrays.data_time.max() == 0


def random_saga(seed: int) -> dict[str, object]:
    """Draw a problem with all digits of a double, as SAGA does."""
    draw = Random(seed)
    tasks = [{"name": f"t{i}", "cost": draw.random()} for i in range(30)]
    edges = [
        {"source": f"t{draw.randrange(j)}", "target": f"t{j}", "size": draw.random()}
        for j in range(1, 30)
    ]
    nodes = [{"name": f"v{k}", "speed": draw.random() + 0.1} for k in range(5)]
    links = [
        {"source": f"v{a}", "target": f"v{b}", "speed": float("inf") if a == b else draw.random()}
        for a in range(5)
        for b in range(a, 5)
    ]
    return {
        "task_graph": {"tasks": tasks, "dependencies": edges},
        "network": {"nodes": nodes, "edges": links},
    }


@pytest.mark.parametrize("seed", range(3))
def test_random_doubles_are_rounded_close(seed: int) -> None:
    """Every duration is within a millionth of the largest one of what the file says."""
    document = random_saga(seed)
    problem = from_json(document)
    assert "rounded to 6 digits" in problem.warnings[0]
    raw = json.loads(json.dumps(document))
    speeds = [node["speed"] for node in raw["network"]["nodes"]]
    largest = max(task["cost"] for task in raw["task_graph"]["tasks"]) / min(speeds)
    for task, given in zip(problem.tasks, raw["task_graph"]["tasks"], strict=True):
        for node, speed in zip(problem.nodes, speeds, strict=True):
            duration = float(exact(task.work or 0) / exact(node.speed))
            assert duration == pytest.approx(given["cost"] / speed, abs=3e-6 * largest)


def test_saga_text_is_complete() -> None:
    """SAGA wants every pair of nodes, each node with itself too, and no nulls."""
    text, losses = render(read(bundled()["sensors"]), "saga")
    edges = json.loads(text)["network"]["edges"]
    assert {(edge["source"], edge["target"]) for edge in edges} == {
        ("edge", "edge"),
        ("cloud", "cloud"),
        ("edge", "cloud"),
    }
    assert all(isinstance(edge["speed"], int | float) for edge in edges)
    assert losses == []


@pytest.mark.parametrize("name", ["workflow", "transformer", "sensors"])
def test_json_dialects_are_told_apart(name: str) -> None:
    """All end in .json; a native file that mentions their words stays native."""
    problem = read(bundled()[name])
    text = render(problem, "native")[0].replace(f'"{problem.tasks[0].id}"', '"task_graph"')
    assert read(io.BytesIO(text.encode())).origin.format == "native"
