"""Search and CP-SAT together on projects and shops: who ends whom, and what is left behind."""

from __future__ import annotations

import threading
import time
from collections.abc import Callable, Iterator

import pytest

from allocsolve.instances.generators.dag import generate
from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.bounds import lower_bounds
from allocsolve.models.dag.data import Edge, Mode, Resource, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.reasons import find_reason
from allocsolve.models.dag.search_kernels import PROJECTS, SHOPS, WINDOWS
from allocsolve.models.errors import SolverCrash, SolverMissing
from allocsolve.models.result import Termination
from allocsolve.solvers.control import Control, Event, Outcome, Proof, Token
from allocsolve.solvers.dag import cpsat, prover, tandem
from allocsolve.solvers.engines.cpsat import EngineRun, EngineStatus, load

Optimum = Callable[[DagProblem], int | None]
Solve = Callable[..., tuple[Outcome, Control[Schedule]]]
Judge = Callable[[Schedule | None], None]

LONG = 300.0
"""A limit that no run of these tests may need."""

families = pytest.mark.parametrize("family", ["rcpsp", "multimode", "jobshop", "flexible"])


@pytest.fixture(autouse=True)
def nothing_left() -> Iterator[None]:
    """Fail if a run leaves a thread behind, whatever ended it; all is loaded before it."""
    load()
    for kernels in (PROJECTS, SHOPS, WINDOWS):
        kernels.build()
    before = set(threading.enumerate())
    yield
    for _ in range(40):
        left = {thread for thread in threading.enumerate() if thread not in before}
        if not left:
            return
        time.sleep(0.05)
    raise AssertionError(f"threads left behind: {left}")


def _hard(family: str = "rcpsp") -> DagProblem:
    """Draw an instance that neither part proves within a test."""
    if family == "rcpsp":
        return generate("rcpsp", tasks=90, seed=5, resource_factor=1, resource_strength=0.1)
    return generate(family, tasks=225, seed=5, machines=15)


def _tight() -> DagProblem:
    """Four tasks that exclude each other by different resources take 14, and 11 are given.

    No resource alone shows it: its own tasks take at most 11.
    """
    needs = {"a": "uv", "b": "uw", "c": "vw", "d": "uw"}
    lengths = {"a": 3, "b": 4, "c": 4, "d": 3}
    return DagProblem(
        tasks=[
            Task(
                id=name,
                release=3 if name == "d" else 0,
                deadline=8 if name == "d" else 11,
                modes=[Mode(duration=lengths[name], demand=dict.fromkeys(needs[name], 1))],
            )
            for name in needs
        ],
        resources=[Resource(id=name, capacity=1) for name in "uvw"],
    )


@families
@pytest.mark.parametrize(
    ("threads", "seconds"),
    [
        pytest.param(1, LONG, id="in turn"),
        pytest.param(2, LONG, id="side by side"),
        pytest.param(1, None, id="no limit"),
        pytest.param(2, None, id="no limit, two threads"),
    ],
)
def test_small_instances_are_proven(
    family: str,
    threads: int,
    seconds: float | None,
    solve: Solve,
    judge: Judge,
    case: Callable[[str, int], tuple[DagProblem, int | None]],
) -> None:
    """Together they are exact, and end long before a limit that is far away."""
    for seed in range(4):
        problem, best = case(family, seed)
        outcome, control = solve(problem, "auto", threads=threads, seconds=seconds)
        judge(control.answer)
        assert control.value == best
        assert outcome.proof is (Proof.INFEASIBLE if best is None else Proof.OPTIMAL)
        assert outcome.termination is Termination.FINISHED
        assert not outcome.abandoned


@pytest.mark.parametrize(("family", "source"), [("rcpsp", "genetic"), ("jobshop", "tabu")])
def test_a_schedule_tells_which_part_found_it(family: str, source: str, solve: Solve) -> None:
    """Every incumbent has a source, and the answer that of the last one."""
    events: list[Event] = []
    outcome, control = solve(_hard(family), "auto", threads=2, seconds=1.5, listener=events.append)
    found = [event.source for event in events if event.type == "incumbent"]
    assert source in found
    assert set(found) <= {"list", source, "cpsat"}
    assert control.source == found[-1]
    assert outcome.termination is Termination.TIME_LIMIT
    assert outcome.solver.name == "ortools"
    assert not outcome.deterministic


@pytest.mark.parametrize("threads", [1, 2])
def test_what_cp_sat_finds_is_said_to_be_its_own(
    threads: int, solve: Solve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With a search that finds nothing, the engine's schedule comes through, and its proof."""
    monkeypatch.setattr(tandem._Tandem, "_search", _wait_for_the_end)
    problem = generate("jobshop", tasks=30, seed=3, machines=5)
    outcome, control = solve(problem, "auto", threads=threads, seconds=LONG)
    assert control.source == "cpsat"
    assert outcome.proof is Proof.OPTIMAL


def _wait_for_the_end(run: object, threads: int, _seconds: float, stop: Callable[[], bool]) -> bool:
    """Find nothing beside the engine, and do not search before or after it."""
    while threads and getattr(run, "_prover", None) is not None and not stop():
        time.sleep(0.01)
    return False


def _idle(*_: object, stop: Callable[[], bool], **__: object) -> EngineRun:
    """Stand for an engine that finds nothing."""
    while not stop():
        time.sleep(0.01)
    return EngineRun(EngineStatus.UNKNOWN, None)


@pytest.mark.parametrize(
    ("problem", "source"),
    [
        pytest.param(
            generate("rcpsp", tasks=60, seed=2, resource_strength=0.5), "genetic", id="project"
        ),
        pytest.param(generate("jobshop", tasks=60, seed=1, machines=5), "tabu", id="shop"),
    ],
)
def test_a_proof_of_the_search_ends_the_engine(
    problem: DagProblem, source: str, solve: Solve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The search meets a bound that is known: nobody waits for the engine or the limit."""
    monkeypatch.setattr(prover, "run", _idle)
    outcome, control = solve(problem, "auto", threads=2, seconds=LONG)
    assert control.source == source
    assert outcome.proof is Proof.OPTIMAL
    assert outcome.termination is Termination.FINISHED


@pytest.mark.parametrize("threads", [1, 2])
def test_no_schedule_at_all_is_proven_by_the_engine(
    threads: int, solve: Solve, optimum: Optimum
) -> None:
    """Search finds no schedule for ever; the engine's proof must end it at once."""
    problem = _tight()
    assert find_reason(problem) is None
    assert optimum(problem) is None
    for seconds in (LONG, None):
        outcome, control = solve(problem, "auto", threads=threads, seconds=seconds)
        assert outcome.proof is Proof.INFEASIBLE
        assert outcome.termination is Termination.FINISHED
        assert control.answer is None


@pytest.mark.parametrize("family", ["rcpsp", "jobshop"])
@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("limited", [True, False])
def test_an_interrupt_ends_both(
    family: str, threads: int, limited: bool, solve: Solve, judge: Judge
) -> None:
    """Ctrl-C sets the token: whoever works then stops, and the best schedule is kept."""
    token = Token()
    timer = threading.Timer(0.7, token.cancel)
    timer.start()
    seconds = LONG if limited else None
    outcome, control = solve(_hard(family), "auto", threads=threads, seconds=seconds, token=token)
    assert token.age() < 5.0  # a tenth of that on an idle machine; the limit is far away
    judge(control.answer)
    assert control.answer is not None
    assert outcome.termination is Termination.INTERRUPTED
    assert not outcome.deterministic


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("seconds", [1.0, None])
def test_search_goes_on_without_an_engine(
    threads: int,
    seconds: float | None,
    solve: Solve,
    judge: Judge,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """An engine that cannot be loaded costs proofs, not schedules, and is spoken of."""

    def fail(*_: object) -> bool:
        raise SolverMissing("CP-SAT needs ortools")

    monkeypatch.setattr(prover, "load", fail)
    monkeypatch.setattr(cpsat, "load", fail)
    outcome, control = solve(_hard(), "auto", threads=threads, seconds=seconds)
    judge(control.answer)
    assert control.source == "genetic"
    assert outcome.solver.name == "allocsolve"
    assert outcome.warnings == ("CP-SAT was not used: CP-SAT needs ortools",)
    wanted = Termination.FINISHED if seconds is None else Termination.TIME_LIMIT
    assert outcome.termination is wanted


@pytest.mark.parametrize("threads", [1, 2])
def test_numbers_beyond_the_engine_are_searched(
    threads: int, solve: Solve, judge: Judge, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Overflow in the engine would be a wrong proof; the search has no such limit here."""
    monkeypatch.setattr(tandem, "overflow", lambda *_: "its numbers leave 64-bit")
    outcome, control = solve(_hard(), "auto", threads=threads, seconds=None)
    judge(control.answer)
    assert outcome.solver.name == "allocsolve"
    assert outcome.warnings == ("CP-SAT was not used: its numbers leave 64-bit",)
    assert outcome.termination is Termination.FINISHED
    assert outcome.deterministic


def test_an_engine_that_fails_ends_the_run(solve: Solve, monkeypatch: pytest.MonkeyPatch) -> None:
    """A crash is said at once, not at the limit, and never passed over."""

    def fail(*_: object, **__: object) -> EngineRun:
        raise SolverCrash("CP-SAT ended with status 77")

    monkeypatch.setattr(prover, "run", fail)
    with pytest.raises(SolverCrash, match="77"):
        solve(_hard(), "auto", threads=2, seconds=LONG)


def test_a_contradiction_of_the_engine_is_a_crash(
    solve: Solve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Infeasible beside a schedule that exists is nobody's proof."""

    def deny(*_: object, **__: object) -> EngineRun:
        return EngineRun(EngineStatus.INFEASIBLE, None)

    monkeypatch.setattr(prover, "run", deny)
    with pytest.raises(SolverCrash, match="infeasible"):
        solve(_hard(), "auto", threads=2, seconds=LONG)


def test_the_engine_begins_anew_with_shorter_schedules(
    solve: Solve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """What others find must come to the engine: as its horizon and as its hint."""
    horizons: list[int] = []
    build = cpsat.formulate

    def formulate(problem: DagProblem, control: Control[Schedule]) -> object:
        horizons.append(cpsat.horizon(problem, control))
        return build(problem, control)

    monkeypatch.setattr(prover, "_FIRST", 0.05)
    monkeypatch.setattr(prover, "_GROWTH", 1.0)
    monkeypatch.setattr(prover, "run", _idle)
    monkeypatch.setattr(cpsat, "formulate", formulate)
    solve(_hard(), "auto", threads=2, seconds=1.5)
    assert horizons == sorted(horizons, reverse=True)
    assert horizons[0] > horizons[-1]


@families
def test_one_thread_without_a_limit_repeats_itself(family: str, solve: Solve) -> None:
    """No clock has a say then: the same seed gives the same bytes, and the result says so."""
    problem = generate(family, tasks=20, seed=3)
    runs = [solve(problem, "auto", threads=1, seconds=None, seed=5) for _ in range(2)]
    (one, first), (two, second) = runs
    assert one.deterministic
    assert two.deterministic
    assert first.answer is not None
    assert second.answer is not None
    assert first.answer.start.tobytes() == second.answer.start.tobytes()
    assert first.answer.mode.tobytes() == second.answer.mode.tobytes()
    assert first.source == second.source


@pytest.mark.parametrize("family", ["rcpsp", "jobshop"])
def test_events_of_two_threads_never_contradict(family: str, solve: Solve) -> None:
    """Search and engine speak in turn: incumbents fall, bounds rise, none passes another."""
    events: list[Event] = []
    solve(_hard(family), "auto", threads=2, seconds=1, listener=events.append)
    values = [event.value for event in events if event.type == "incumbent"]
    bounds = [event.bound for event in events if event.type == "bound"]
    assert values == sorted(set(values), key=lambda value: -(value or 0))
    assert bounds == sorted(set(bounds), key=lambda bound: bound or 0)
    assert all(
        event.bound <= event.value
        for event in events
        if event.value is not None and event.bound is not None
    )


def test_a_listener_that_fails_ends_the_run(solve: Solve) -> None:
    """Whichever thread called it, its error comes to the caller before the limit."""

    def listener(event: Event) -> None:
        if event.source == "building the CP-SAT model":
            raise ValueError("no more")

    with pytest.raises(ValueError, match="no more"):
        solve(_hard(), "auto", threads=2, seconds=LONG, listener=listener)


def test_a_gap_ends_both(solve: Solve) -> None:
    """Good enough is feasible, and says which limit was met."""
    outcome, control = solve(_hard(), "auto", threads=2, seconds=LONG, gap=0.5)
    assert outcome.termination is Termination.GAP_LIMIT
    assert control.value is not None
    assert control.bound is not None


@pytest.mark.parametrize(
    ("edges", "suits"),
    [
        pytest.param([], True, id="plain"),
        pytest.param([Edge(source="a", target="b", max_lag=9)], False, id="maximum lag"),
    ],
)
def test_what_search_does_not_know_goes_to_the_engine(
    edges: list[Edge], suits: bool, solve: Solve
) -> None:
    """Whole instances are CP-SAT's where lists cannot stand for schedules."""
    problem = DagProblem(
        tasks=[Task(id=n, modes=[Mode(duration=3, demand={"r": 1})]) for n in "abc"],
        edges=edges,
        resources=[Resource(id="r", capacity=1)],
    )
    assert (tandem.kernels_for(problem) is PROJECTS) == suits
    outcome, control = solve(problem, "auto", threads=2)
    assert outcome.proof is Proof.OPTIMAL
    assert control.value is not None
    assert problem.units(control.value) == 9


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("family", ["rcpsp", "jobshop"])
def test_refuted_lengths_raise_the_bound_of_a_run(
    family: str, threads: int, solve: Solve, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the engine proves nothing the gap is certified by what windows refute."""
    monkeypatch.setattr(prover, "run", _idle)
    monkeypatch.setattr(cpsat, "run", lambda *_: EngineRun(EngineStatus.UNKNOWN, None))
    problem = generate("rcpsp", tasks=60, seed=9004, resource_factor=0.75, resource_strength=0.2)
    problem = problem if family == "rcpsp" else _hard(family)
    _, control = solve(problem, "auto", threads=threads, seconds=1.5)
    assert control.bound is not None
    assert control.bound.source in ("windows", "shaving")
    assert lower_bounds(problem)[0].value < control.bound.value <= (control.value or 0)
