"""The CP-SAT formulation: complete hints, honest domains, refusal of what would overflow."""

from __future__ import annotations

import pytest
from ortools.sat.python import cp_model

from allocsolve.instances.generators.dag import generate
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.check import check
from allocsolve.models.dag.cpsat import build, overflow
from allocsolve.models.dag.data import DefaultLink, Edge, Link, Mode, Node, Resource, Task
from allocsolve.models.dag.dispatch import serial_schedule
from allocsolve.models.dag.problem import DagProblem


def _solve(problem: DagProblem, horizon: int | None = None) -> tuple[str, Schedule | None]:
    formulation = build(problem, problem.arrays.horizon if horizon is None else horizon)
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.max_time_in_seconds = 20
    status = solver.status_name(solver.solve(formulation.model))
    if status not in ("OPTIMAL", "FEASIBLE"):
        return status, None
    schedule = formulation.decode(solver.value)
    assert check(problem, schedule.entries()).valid
    return status, schedule


FAMILIES = ("rcpsp", "jobshop", "flexible", "communication")


@pytest.mark.parametrize("family", FAMILIES)
def test_a_hint_names_every_variable_and_is_feasible(family: str) -> None:
    """A hint with a hole may be lost in presolve; a complete one is the first solution."""
    problem = generate(family, tasks=12, seed=2)
    schedule = serial_schedule(problem)
    assert schedule is not None
    formulation = build(problem, schedule.makespan)
    formulation.hint(schedule)
    proto = formulation.model.proto
    assert sorted(proto.solution_hint.vars) == list(range(len(proto.variables)))
    solver = cp_model.CpSolver()
    solver.parameters.num_workers = 1
    solver.parameters.stop_after_first_solution = True
    solver.parameters.fix_variables_to_their_hinted_value = True
    assert solver.solve(formulation.model) in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    assert formulation.decode(solver.value).start.tolist() == schedule.start.tolist()
    assert formulation.decode(solver.value).mode.tolist() == schedule.mode.tolist()


def test_the_horizon_is_tight() -> None:
    """At the optimum there is an answer, one tick below there is none: no slack, no cap."""
    problem = generate("rcpsp", tasks=8, seed=1)
    optimum = _solve(problem)[1]
    assert optimum is not None
    assert _solve(problem, optimum.makespan)[0] == "OPTIMAL"
    assert _solve(problem, optimum.makespan - 1)[0] == "INFEASIBLE"


def test_zero_length_tasks_occupy_nothing() -> None:
    """CP-SAT forbids an empty interval inside a busy one; the instance allows it."""
    tasks = [
        Task(id="A", work=5, deadline=5),
        Task(id="Z", work=0, release=2, deadline=2),
        Task(id="M", modes=[Mode(duration=0, demand={"R": 9})]),
    ]
    problem = DagProblem(
        tasks=tasks, nodes=[Node(id="a")], resources=[Resource(id="R", capacity=1)]
    )
    assert _solve(problem)[0] == "OPTIMAL"


@pytest.mark.parametrize(("speed", "bandwidth"), [(0, 1), (1, 0)], ids=["dead node", "dead link"])
def test_what_is_dead_is_not_used(speed: int, bandwidth: int) -> None:
    """Both tasks on the fast node is all that is left: 5/2."""
    problem = DagProblem(
        tasks=[Task(id="t1", work=2), Task(id="t2", work=3)],
        edges=[Edge(source="t1", target="t2", data=1)],
        nodes=[Node(id="a", speed=speed), Node(id="b", speed=2)],
        links=[Link(between=("a", "b"), bandwidth=bandwidth)],
    )
    schedule = _solve(problem)[1]
    assert schedule is not None
    assert problem.units(schedule.makespan) * 2 == 5


def test_missing_links_can_make_an_instance_infeasible() -> None:
    """Sender and receiver are bound to nodes without a link."""
    problem = DagProblem(
        tasks=[Task(id="a", work=1, eligible=["x"]), Task(id="b", work=1, eligible=["y"])],
        edges=[Edge(source="a", target="b", data=1)],
        nodes=[Node(id="x"), Node(id="y")],
        links=[Link(between=("x", "y"), bandwidth=0)],
    )
    assert _solve(problem)[0] == "INFEASIBLE"


def test_each_pair_of_nodes_pays_its_own_delay() -> None:
    """Three links of three speeds and one pair without: the cheapest way round is taken."""
    problem = DagProblem(
        tasks=[
            Task(id="a", work=1, eligible=["x"]),
            Task(id="b", work=1, eligible=["u", "v", "w"]),
        ],
        edges=[Edge(source="a", target="b", data=6)],
        nodes=[Node(id=name) for name in "xuvw"],
        links=[
            Link(between=("x", "u"), bandwidth=0),
            Link(between=("x", "v"), latency=4, bandwidth=6),
            Link(between=("x", "w"), latency=1, bandwidth=2),
        ],
    )
    schedule = _solve(problem)[1]
    assert schedule is not None
    assert schedule.makespan == 1 + 4 + 1
    assert schedule.entries()[1].node == "w"


def test_uniform_links_cost_one_condition_a_node() -> None:
    """n conditional precedences for an edge, not n squared: large graphs stay small models."""
    tasks = [Task(id="a", work=1), Task(id="b", work=1)]
    problem = DagProblem(
        tasks=tasks,
        edges=[Edge(source="a", target="b", data=1)],
        nodes=[Node(id=str(k)) for k in range(10)],
        default_link=DefaultLink(latency=2),
    )
    model = build(problem, problem.arrays.horizon).model
    conditional = [c for c in model.proto.constraints if c.has_linear() and c.enforcement_literal]
    assert len(conditional) == 10


def test_maximum_lags_count_from_the_end_of_the_chosen_mode() -> None:
    """With two modes the end is a variable; the short mode would leave the window."""
    problem = DagProblem(
        tasks=[
            Task(id="a", modes=[Mode(duration=2), Mode(duration=7)]),
            Task(id="b", release=9, modes=[Mode(duration=1)]),
        ],
        edges=[Edge(source="a", target="b", min_lag=1, max_lag=2)],
    )
    schedule = _solve(problem)[1]
    assert schedule is not None
    assert schedule.makespan == 10
    assert 1 <= int(schedule.start[1] - schedule.end[0]) <= 2


def test_nonrenewable_resources_limit_the_choice_of_modes() -> None:
    """Both quick modes together cost more than there is."""
    modes = [Mode(duration=1, demand={"N": 2}), Mode(duration=5, demand={"N": 1})]
    problem = DagProblem(
        tasks=[Task(id="a", modes=modes), Task(id="b", modes=modes)],
        edges=[Edge(source="a", target="b")],
        resources=[Resource(id="N", capacity=3, renewable=False)],
    )
    schedule = _solve(problem)[1]
    assert schedule is not None
    assert schedule.makespan == 6


def test_fixed_modes_beyond_a_nonrenewable_capacity_are_infeasible() -> None:
    """There is no literal to forbid: the sum itself is wrong."""
    task = [Mode(duration=1, demand={"N": 2})]
    problem = DagProblem(
        tasks=[Task(id="a", modes=task), Task(id="b", modes=task)],
        resources=[Resource(id="N", capacity=3, renewable=False)],
    )
    assert _solve(problem)[0] == "INFEASIBLE"


def test_no_tasks_end_at_once() -> None:
    """An empty instance is optimal with 0, not infeasible."""
    status, schedule = _solve(DagProblem(tasks=[]))
    assert status == "OPTIMAL"
    assert schedule is not None
    assert schedule.makespan == 0


def _scaled(time: int, amount: int) -> DagProblem:
    """Five tasks, two or three at a time; a remainder keeps the grid from shrinking it."""
    sizes = [(2, 2), (3, 1), (1, 3), (4, 2), (2, 1)]
    tasks = [
        Task(
            id=str(i),
            modes=[Mode(duration=d * time + (i == 0), demand={"R": q * amount + (i == 0)})],
        )
        for i, (d, q) in enumerate(sizes)
    ]
    capacity = Resource(id="R", capacity=5 * amount + 2)
    return DagProblem(tasks=tasks, edges=[Edge(source="0", target="3")], resources=[capacity])


SCALES = [
    pytest.param(2**47, 1, id="times of 2^49"),
    pytest.param(2**8, 2**44, id="amounts of 2^46"),
    pytest.param(2**30, 2**20, id="products of 2^58"),
    pytest.param(2**40, 2**10, id="products of 2^58, long"),
]


@pytest.mark.parametrize(("time", "amount"), SCALES)
def test_large_numbers_that_are_taken_come_out_right(time: int, amount: int) -> None:
    """What is not refused must be solved exactly, up to the very edge."""
    problem = _scaled(time, amount)
    assert overflow(problem, problem.arrays.horizon) is None
    schedule = _solve(problem)[1]
    small = _solve(_scaled(16, 16))[1]
    assert schedule is not None
    assert small is not None
    assert schedule.makespan // time == small.makespan // 16


@pytest.mark.parametrize(("time", "amount"), [pytest.param(2**40, 2**30, id="products of 2^75")])
def test_products_beyond_64_bits_are_refused(time: int, amount: int) -> None:
    """CP-SAT multiplies times and amounts; beyond int64 it may call anything infeasible."""
    problem = _scaled(time, amount)
    assert "64-bit" in (overflow(problem, problem.arrays.horizon) or "")


def test_building_can_be_interrupted() -> None:
    """A large model takes seconds to build; the caller's pulse must be felt all the time."""
    problem = generate("communication", tasks=60, seed=0)
    beats = 0

    class Stop(Exception):
        pass

    def pulse() -> None:
        nonlocal beats
        beats += 1
        if beats == 100:
            raise Stop

    with pytest.raises(Stop):
        build(problem, problem.arrays.horizon, pulse=pulse)
