"""Method ``milp``: true optimality, honest refusals, limits, and the engine below it."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable
from fractions import Fraction
from typing import TypeAlias

import pytest

from allocsolve.instances.generators.dag import generate
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.data import Edge, Mode, Node, Resource, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import SolverCrash, UsageError
from allocsolve.models.result import Bound, SolverProof, Termination
from allocsolve.solvers.control import Control, Event, Limits, Outcome, Proof, Token
from allocsolve.solvers.dag import milp
from allocsolve.solvers.engines.milp import EngineStatus, Numerics, map_status, run

Solve: TypeAlias = Callable[..., tuple[Outcome, Control[Schedule]]]
Judge: TypeAlias = Callable[[Schedule | None], None]

FORMULATIONS = tuple(milp.FORMULATIONS)
MILLIONS = (967897, 976220, 1079636, 1079327, 948686, 1070920, 960439, 1074636, 938577, 959025)


@pytest.fixture(scope="module")
def partition() -> DagProblem:
    """Return ten tasks on two machines whose optimum lies within a relative gap of 1e-4."""
    tasks = [Task(id=str(i), work=work) for i, work in enumerate(MILLIONS)]
    return DagProblem(tasks=tasks, nodes=[Node(id="a"), Node(id="b")])


@pytest.fixture(scope="module")
def hard() -> DagProblem:
    """Draw a project that HiGHS cannot finish within the time of a test."""
    return generate("rcpsp", tasks=50, seed=5, resource_factor=1, resource_strength=0.1)


@pytest.mark.parametrize("method", ["milp", "cpsat"])
def test_the_last_tick_is_proven(
    solve: Solve, judge: Judge, partition: DagProblem, method: str
) -> None:
    """A default gap of 1e-4 would call 5028094 optimal."""
    outcome, control = solve(partition, method)
    judge(control.answer)
    assert (outcome.proof, control.value) == (Proof.OPTIMAL, 5027785)
    assert control.bound is not None
    assert control.bound.value == 5027785


def test_long_horizons_are_refused_with_their_size(partition: DagProblem) -> None:
    """A program with 80 million binaries would only end the process."""
    limits = Limits(options={"formulation": "time_indexed"})
    with pytest.raises(UsageError, match=r"over 50\d{5} ticks has \d{8} pairs .* at most 60000"):
        milp.solve(partition, Control(limits))


def test_what_doubles_cannot_tell_apart_is_refused() -> None:
    """A binary that is wrong by a billionth moves a start of 10^12 ticks by a thousand."""
    works = (10**12 + 1, 10**12 + 7, 10**12 + 11)
    tasks = [Task(id=str(i), work=work) for i, work in enumerate(works)]
    problem = DagProblem(tasks=tasks, nodes=[Node(id="a"), Node(id="b")])
    with pytest.raises(UsageError, match=r"3 tasks over \d{13} ticks are beyond .* use method"):
        milp.solve(problem, Control(Limits()))


@pytest.mark.parametrize("formulation", FORMULATIONS)
@pytest.mark.parametrize("family", ["rcpsp", "multimode", "lags", "flexible", "communication"])
def test_both_formulations_prove(solve: Solve, judge: Judge, family: str, formulation: str) -> None:
    """From a list schedule the program asks for a better one, until there is none."""
    problem = generate(family, tasks=8, seed=3)
    outcome, control = solve(problem, "milp", options={"formulation": formulation})
    other, reference = solve(problem, "cpsat")
    judge(control.answer)
    assert (outcome.proof, control.value) == (other.proof, reference.value)


def test_resources_are_taken_moment_by_moment() -> None:
    """``auto`` prefers the time-indexed program where tasks share, pairs where they do not."""
    project = generate("rcpsp", tasks=10, seed=1)
    shop = generate("jobshop", tasks=12, seed=1)
    assert milp.choose(project, project.arrays.horizon, 0) == "time_indexed"
    assert milp.choose(shop, shop.arrays.horizon, 0) == "disjunctive"


def test_infeasibility_is_proven_by_search(solve: Solve) -> None:
    """Five units do not fit into two times two; no short reason says so."""
    tasks = [Task(id=str(i), work=1, memory=need) for i, need in enumerate([2, 1, 1, 1])]
    nodes = [Node(id="a", memory=3, slots=4), Node(id="b", memory=1.5)]
    outcome, control = solve(DagProblem(tasks=tasks, nodes=nodes), "milp")
    assert outcome.proof is Proof.INFEASIBLE
    assert outcome.reason is None or isinstance(outcome.reason, SolverProof)
    assert control.answer is None


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_a_token_ends_the_run(judge: Judge, hard: DagProblem, formulation: str) -> None:
    """HiGHS itself ignores signals; the best schedule so far is kept."""
    token = Token()
    control: Control[Schedule] = Control(Limits(options={"formulation": formulation}), token)
    ready: list[float] = []

    def cancel() -> None:
        ready.append(time.monotonic())
        token.cancel()

    timer = threading.Timer(2.0, cancel)
    timer.start()
    outcome = milp.solve(hard, control)
    late = time.monotonic() - ready[0]
    assert outcome.termination is Termination.INTERRUPTED
    judge(control.answer)
    assert late < 1.0, f"ended {late:.2f} s after the token"


@pytest.mark.parametrize("formulation", FORMULATIONS)
def test_the_deadline_ends_the_run(judge: Judge, hard: DagProblem, formulation: str) -> None:
    """Building, compiling and solving all count; what is open stays open."""
    deadline = time.monotonic() + 3.0
    options = {"formulation": formulation}
    control: Control[Schedule] = Control(Limits(deadline=deadline, options=options))
    outcome = milp.solve(hard, control)
    assert time.monotonic() - deadline < 1.0
    assert (outcome.proof, outcome.termination) == (Proof.NOTHING, Termination.TIME_LIMIT)
    assert not outcome.deterministic
    judge(control.answer)


def test_incumbents_and_bounds_are_told(partition: DagProblem) -> None:
    """Whoever watches sees values fall, bounds rise, and who found them."""
    events: list[Event] = []
    control: Control[Schedule] = Control(Limits(), listener=events.append)
    outcome = milp.solve(partition, control)
    assert outcome.proof is Proof.OPTIMAL
    values = [event.value for event in events if event.type == "incumbent"]
    bounds = [event.bound for event in events if event.type == "bound"]
    assert values == sorted(values, key=lambda v: -(v or 0))
    assert bounds == sorted(bounds, key=lambda v: v or 0)
    assert {event.source for event in events} >= {"list", "milp", "highs"}


def test_the_gap_is_good_enough(hard: DagProblem) -> None:
    """A run may end as soon as value and bound are near."""
    control: Control[Schedule] = Control(Limits(gap=0.9, deadline=time.monotonic() + 20))
    assert milp.solve(hard, control).termination is Termination.GAP_LIMIT


def test_runs_repeat(solve: Solve) -> None:
    """The same seed gives the same schedule."""
    problem = generate("jobshop", tasks=16, seed=4)
    starts = []
    for _ in range(2):
        outcome, control = solve(problem, "milp", seed=7)
        assert outcome.deterministic
        assert control.answer is not None
        starts.append(control.answer.start.tolist())
    assert starts[0] == starts[1]


def test_another_number_of_threads_is_no_obstacle(solve: Solve) -> None:
    """HiGHS fails in a process that used it with another number of threads before."""
    from allocsolve.solvers.engines.highs import highs

    other = highs()
    other.setOptionValue("threads", 2)
    other.addVar(1.0, 2.0)
    other.run()
    outcome, _ = solve(generate("jobshop", tasks=9, seed=2), "milp", threads=2)
    assert outcome.proof is Proof.OPTIMAL


def test_several_threads_may_solve_at_once() -> None:
    """Pyomo sets itself up at its first use and is not made for threads."""
    problems = [generate("rcpsp", tasks=8, seed=seed) for seed in range(4)]
    alone = [milp.solve(problem, Control(Limits())).proof for problem in problems]
    proofs: dict[int, Proof] = {}

    def work(k: int) -> None:
        proofs[k] = milp.solve(problems[k], Control(Limits())).proof

    threads = [threading.Thread(target=work, args=(k,)) for k in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [proofs[k] for k in range(4)] == alone == [Proof.OPTIMAL] * 4


def test_settings_are_checked(partition: DagProblem) -> None:
    """A misspelt formulation is named, with what is allowed."""
    with pytest.raises(UsageError, match="disjunctive, time_indexed"):
        milp.solve(partition, Control(Limits(options={"formulation": "disjunctiv"})))


def test_rounded_decisions_give_exact_starts() -> None:
    """Floating-point starts are never trusted: a third stays a third."""
    problem = DagProblem(
        tasks=[
            Task(id=name, modes=[Mode(duration=Fraction(1, 3), demand={"R": 1})]) for name in "abc"
        ],
        edges=[Edge(source="a", target="b", min_lag=0.1)],
        resources=[Resource(id="R", capacity=1)],
    )
    program = milp.formulation_module("disjunctive").build(problem, problem.arrays.horizon)
    before = program.model.before

    def value_of(variable: object) -> float:
        first = [before[k] for k in before if k in {(0, 2), (2, 1)}]
        return 0.9999999 if any(variable is v for v in first) else 1e-7

    schedule = program.decode(value_of)
    lengths = problem.arrays.mode_duration.tolist()
    assert schedule.start.tolist() == [0, lengths[0] + lengths[2], lengths[0]]


def test_unknown_statuses_are_errors() -> None:
    """A status that nobody thought of must not pass for a time limit."""
    import highspy

    kind = highspy.HighsModelStatus
    assert map_status(kind.kOptimal) is EngineStatus.OPTIMAL
    assert map_status(kind.kInfeasible) is EngineStatus.INFEASIBLE
    assert map_status(kind.kTimeLimit) is EngineStatus.STOPPED
    for status in (kind.kSolveError, kind.kUnbounded, kind.kNotset, kind.kMemoryLimit):
        with pytest.raises(SolverCrash, match=status.name):
            map_status(status)


def test_errors_of_callbacks_come_back() -> None:
    """An exception inside the engine's thread must reach the caller."""
    problem = generate("jobshop", tasks=9, seed=2)
    program = milp.formulation_module("disjunctive").build(problem, problem.arrays.horizon)
    control: Control[Schedule] = Control(Limits())

    def accept(_: Callable[[object], float]) -> None:
        raise ZeroDivisionError("in the callback")

    with pytest.raises(ZeroDivisionError, match="in the callback"):
        run(program.model, control, accept, Numerics())


def test_a_bound_is_rounded_up_only_with_a_margin() -> None:
    """The objective is integral: 4.3 proves 5, but 4.000001 may be a 4 with an error."""
    from allocsolve.solvers.engines import milp as engine

    control: Control[Schedule] = Control(Limits())
    job = engine._Job(None, control, lambda _: None, Numerics())
    for value, proven in [(4.000001, 4), (4.3, 5), (float("-inf"), 5), (5.2, 6)]:
        job._note_bound(value)
        assert isinstance(control.bound, Bound)
        assert control.bound.value == proven
