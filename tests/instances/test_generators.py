"""Generated instances: the same everywhere, of the stated size and shape, bad settings refused."""

from __future__ import annotations

import hashlib
import itertools
import os
import subprocess
import sys

import msgspec
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from allocsolve.instances.generators.dag import FAMILIES, generate
from allocsolve.instances.generators.draw import Draw
from allocsolve.instances.generators.network import draw_network
from allocsolve.instances.generators.settings import Setting
from allocsolve.instances.generators.task_graphs import TASK_GRAPHS
from allocsolve.models.dag.problem import DagProblem, Feature
from allocsolve.models.errors import UsageError
from allocsolve.models.exact import exact, plain

SCRIPT = """
import hashlib, sys, msgspec
from allocsolve.instances.generators.dag import FAMILIES, generate
for family in FAMILIES:
    document = generate(family, tasks=30, seed=7).to_document()
    print(family, hashlib.sha256(repr(document).encode()).hexdigest())
"""

MEASURED = {
    # family: what every instance of it asks of a method, at the default settings
    "rcpsp": {Feature.RENEWABLE, Feature.PROJECT},
    "multimode": {Feature.RENEWABLE, Feature.NONRENEWABLE, Feature.MODES, Feature.PROJECT},
    "lags": {
        Feature.RENEWABLE,
        Feature.LAGS,
        Feature.MAX_LAGS,
        Feature.PROJECT,
        Feature.START_LAGS,
    },
    "jobshop": {Feature.NODES},
    "flexible": {Feature.NODES, Feature.MODES},
    "communication": {Feature.NODES, Feature.MODES, Feature.COMMUNICATION},
} | {row.name: {Feature.NODES, Feature.MODES, Feature.COMMUNICATION} for row in TASK_GRAPHS}

names = pytest.mark.parametrize("family", list(FAMILIES))


def digest(problem: DagProblem) -> str:
    """Return a short text that differs when any datum differs."""
    return hashlib.sha256(repr(problem.to_document()).encode()).hexdigest()


def test_the_same_for_every_hash_seed() -> None:
    """An instance is named by its seed alone, so nothing may depend on the order of a set."""
    outputs = {
        subprocess.run(
            [sys.executable, "-c", SCRIPT],
            env=os.environ | {"PYTHONHASHSEED": str(seed)},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in (0, 1, 2)
    }
    assert len(outputs) == 1


def test_the_same_on_every_platform() -> None:
    """The first numbers of a seed never change, since published instances are named by it."""
    draw = Draw(1)
    assert [draw.integer(1, 100) for _ in range(6)] == [14, 85, 77, 26, 50, 45]
    assert Draw(2).shuffled("abcdef") == list("cbdaef")


@names
def test_seeds_differ(family: str) -> None:
    """Another seed gives another instance, the same seed the same one."""
    drawn = [digest(generate(family, tasks=20, seed=seed)) for seed in (0, 1, 2, 0)]
    assert len(set(drawn)) == 3
    assert drawn[0] == drawn[3]


@names
@settings(deadline=None, max_examples=30)
@given(tasks=st.integers(0, 40), seed=st.integers(0, 2**70))
def test_size(family: str, tasks: int, seed: int) -> None:
    """Exactly the asked number of tasks, each id once, and a name that says what it is."""
    problem = generate(family, tasks=tasks, seed=seed)
    assert len(problem.tasks) == tasks
    assert problem.name == problem.origin.name == f"{family}_{tasks}_{seed}"
    assert DagProblem.from_document(problem.to_document()).features == problem.features
    assert problem.warnings == ()


@names
def test_features(family: str) -> None:
    """Each family asks for the features that it is there for, and for no others."""
    assert generate(family, tasks=30, seed=0).features == MEASURED[family]


@names
@settings(deadline=None, max_examples=20)
@given(data=st.data())
def test_any_allowed_settings_work(family: str, data: st.DataObject) -> None:
    """Every value within its range gives a valid instance (ranges cut to small sizes)."""
    given_values: dict[str, int | float | str] = {}
    for row in FAMILIES[family].settings:
        if not isinstance(row, Setting):
            given_values[row.name] = data.draw(st.sampled_from(row.words))
        elif isinstance(row.default, int):
            given_values[row.name] = data.draw(st.integers(int(row.low), min(int(row.high), 12)))
        else:
            given_values[row.name] = data.draw(st.floats(row.low, min(row.high, 5)))
    for low, high in (("min_duration", "max_duration"), ("min_work", "max_work")):
        if low in given_values:
            a, b = sorted([int(given_values[low]), int(given_values[high])])
            given_values |= {low: a, high: b}
    assert len(generate(family, tasks=8, seed=1, **given_values).tasks) == 8


@given(seed=st.integers(0, 10**6), size=st.integers(1, 25), complexity=st.floats(0, 3))
def test_networks_have_no_redundant_arc(seed: int, size: int, complexity: float) -> None:
    """No arc follows from others: the number of arcs measures what the setting says."""
    network = draw_network(Draw(seed), size, complexity)
    arcs = set(network.arcs)
    assert len(arcs) == len(network.arcs)
    assert all(i < j for i, j in arcs)
    reach: dict[int, set[int]] = {}
    for i in range(size - 1, -1, -1):
        direct = {j for a, j in arcs if a == i}
        further = set().union(*(reach[j] for j in direct))
        assert not direct & further
        reach[i] = direct | further


def test_network_complexity_is_met() -> None:
    """The number of arcs is the number of tasks times the setting, where there is room."""
    assert len(generate("rcpsp", tasks=100, seed=0, network_complexity=1.8).edges) == 180
    assert generate("rcpsp", tasks=100, seed=0, network_complexity=0).edges == ()


def test_large_networks_are_quick() -> None:
    """Beyond the size whose closure is kept, networks still have the asked number of arcs."""
    assert len(generate("rcpsp", tasks=3000, seed=0).edges) == 4500


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10**6), factor=st.sampled_from([0, 0.25, 0.5, 1]))
def test_resource_factor(seed: int, factor: float) -> None:
    """Every task needs the stated share of the resources, and none more than there is."""
    problem = generate("rcpsp", tasks=10, seed=seed, resources=4, resource_factor=factor)
    capacity = {resource.id: resource.capacity for resource in problem.resources}
    for task in problem.tasks:
        (mode,) = task.modes or []
        assert len(mode.demand) == 4 * factor
        assert all(amount <= capacity[name] for name, amount in mode.demand.items())


def test_resource_strength() -> None:
    """Strength 0 leaves the largest demand, strength 1 never delays the earliest schedule."""
    tight = generate("rcpsp", tasks=30, seed=3, resource_strength=0)
    loose = generate("rcpsp", tasks=30, seed=3, resource_strength=1)
    for r, resource in enumerate(tight.resources):
        demands = [mode.demand.get(resource.id, 0) for t in tight.tasks for mode in t.modes or []]
        assert resource.capacity == max(demands)
        assert loose.resources[r].capacity >= resource.capacity
    assert tight.tasks == loose.tasks


def test_modes_trade_time_for_demand() -> None:
    """Later modes are longer and need no more of anything."""
    for task in generate("multimode", tasks=20, seed=5, modes=4).tasks:
        modes = task.modes or []
        assert len(modes) == 4
        for a, b in itertools.pairwise(modes):
            assert a.duration <= b.duration
            assert all(b.demand[name] <= amount for name, amount in a.demand.items())


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 10**6), slack=st.sampled_from([0, 0.5, 2]))
def test_maximum_lags_alone_never_contradict(seed: int, slack: float) -> None:
    """The earliest starts keep every maximum lag: only resources can make it infeasible."""
    problem = generate("lags", tasks=15, seed=seed, slack=slack, max_lag_share=1)
    start = dict.fromkeys((task.id for task in problem.tasks), exact(0))
    for _ in start:
        for edge in problem.edges:
            start[edge.target] = max(start[edge.target], start[edge.source] + exact(edge.min_lag))
            if edge.max_lag is not None:
                latest = start[edge.target] - exact(edge.max_lag)
                start[edge.source] = max(start[edge.source], latest)
    for edge in problem.edges:
        distance = start[edge.target] - start[edge.source]
        assert distance >= edge.min_lag
        assert edge.max_lag is None or distance <= edge.max_lag


def test_job_shop_routes() -> None:
    """Every job is a chain that visits each machine at most once; the last may be shorter."""
    problem = generate("jobshop", tasks=11, seed=0, machines=4)
    assert [task.id for task in problem.tasks][-3:] == ["3.1", "3.2", "3.3"]
    for job in ("1", "2", "3"):
        machines = [
            node
            for token, row in problem.durations.items()
            if token.startswith(f"{job}.")
            for node in row
        ]
        assert len(machines) == len(set(machines))
    assert len(problem.edges) == 11 - 3


def test_flexibility() -> None:
    """Every operation has the stated share of the machines to choose from."""
    problem = generate("flexible", tasks=10, seed=0, machines=10, flexibility=0.3)
    assert {len(row) for row in problem.durations.values()} == {3}


def test_kinds_of_nodes() -> None:
    """Related nodes differ by speed, unrelated ones by a table, identical ones not at all."""
    related, unrelated, identical = (
        generate("communication", tasks=6, seed=2, machine=kind, nodes=6)
        for kind in ("related", "unrelated", "identical")
    )
    assert len({node.speed for node in related.nodes}) > 1
    assert len(unrelated.durations) == 6
    assert {node.speed for node in identical.nodes} == {1}
    assert not related.durations
    assert not identical.durations


def test_numbers_given_as_text() -> None:
    """The command line hands settings over as text."""
    text = generate("rcpsp", tasks=9, seed=1, resources="2", resource_factor="0.5")
    assert digest(text) == digest(generate("rcpsp", tasks=9, seed=1, resources=2))


BAD: list[tuple[str, dict[str, int | float | str], str]] = [
    ("rcsp", {}, "did you mean 'rcpsp'"),
    ("rcpsp", {"resorces": 3}, "did you mean 'resources'"),
    ("rcpsp", {"resources": -1}, "from 0 to 100"),
    ("rcpsp", {"resources": 2.5}, "must be an integer"),
    ("rcpsp", {"resources": "many"}, "resources=many"),
    ("rcpsp", {"resources": True}, "must be an integer"),
    ("rcpsp", {"resource_factor": 1.01}, "from 0 to 1"),
    ("rcpsp", {"resource_factor": float("nan")}, "resource_factor=nan"),
    ("rcpsp", {"resources": float("inf")}, "resources=inf"),
    ("rcpsp", {"min_duration": 5, "max_duration": 4}, "min_duration=5 is above max_duration=4"),
    ("communication", {"min_work": 11}, "min_work=11 is above max_work=10"),
    ("communication", {"machine": "relatd"}, "did you mean 'related'"),
    ("jobshop", {"machines": 0}, "from 1"),
    ("jobshop", {"resources": 1}, "no setting 'resources'"),
]


@pytest.mark.parametrize(("family", "options", "message"), BAD, ids=[row[2] for row in BAD])
def test_bad_settings(family: str, options: dict[str, int | float | str], message: str) -> None:
    """A wrong setting is named with what is allowed."""
    with pytest.raises(UsageError, match=message):
        generate(family, tasks=5, seed=0, **options)


@pytest.mark.parametrize(("tasks", "seed"), [(-1, 0), (5, -1), (10**7, 0), (True, 0)])
def test_bad_counts(tasks: int, seed: int) -> None:
    """Sizes and seeds are non-negative integers, and no size exhausts the memory."""
    with pytest.raises(UsageError, match="must be"):
        generate("rcpsp", tasks=tasks, seed=seed)


def test_documents_are_plain() -> None:
    """Numbers of generated instances are written as integers."""
    document = generate("communication", tasks=5, seed=1).to_document()
    text = msgspec.json.encode(document, enc_hook=plain)
    assert b"." not in text.replace(b"allocsolve.instance/1", b"")
