"""The checker of allocations: every mutation of a right answer breaks the rule that it should."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest

from allocsolve.models.claims import Claims
from allocsolve.models.errors import InputError
from allocsolve.models.fair.allocation import (
    Allocation,
    JobRun,
    JobShares,
    PairShares,
    allocation_of,
    place,
)
from allocsolve.models.fair.answer import FairAnswer, Run
from allocsolve.models.fair.check import RULES, check, check_claims, verify_reason
from allocsolve.models.fair.data import Job, Pair, ResourceType
from allocsolve.models.fair.objectives import evaluate
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.reason_types import SloConflict
from allocsolve.models.fair.reasons import find_reason
from allocsolve.models.fair.settings import Settings
from allocsolve.models.result import SolverProof, Status

PROBLEM = FairProblem(
    types=[ResourceType(id="a", count=1), ResourceType(id="b", count=2)],
    jobs=[
        Job(id="1", throughput={"a": 10, "b": 1}, remaining=1),
        Job(id="2", throughput={"a": 6, "b": 3}, remaining=1),
        Job(id="3", throughput={"b": 1}, remaining=1, gang=2),
    ],
    pairs=[],
)
SHARES = np.array([[17 / 18, 1 / 18], [1 / 18, 17 / 18], [0, 0.5]])
RIGHT = allocation_of(
    FairAnswer(PROBLEM, SHARES, prices=np.array([1.0, 0]), time_prices=np.ones(3))
)


def mutate(place_of: int, **changes: Any) -> Callable[[Allocation], Allocation]:
    """Return what changes one entry of an allocation."""

    def apply(of: Allocation) -> Allocation:
        jobs = list(of.jobs)
        jobs[place_of] = replace(jobs[place_of], **changes)
        return replace(of, jobs=tuple(jobs))

    return apply


MUTATIONS = [
    ("unknown_job", mutate(0, job="4")),
    ("missing_job", lambda of: replace(of, jobs=of.jobs[:2])),
    ("duplicate_job", lambda of: replace(of, jobs=(*of.jobs, of.jobs[0]))),
    ("unknown_type", mutate(0, shares={"c": 1.0})),
    ("unknown_type", lambda of: replace(of, prices={"c": 1.0})),
    ("unknown_pair", lambda of: replace(of, pairs=(PairShares(("1", "2"), {"a": 0.1}),))),
    ("number", mutate(0, shares={"a": float("nan")})),
    ("number", mutate(0, shares={"a": float("inf")})),
    ("number", lambda of: replace(of, levels=(float("nan"),))),
    ("number", lambda of: replace(of, runs=(JobRun("1", "a", 0, float("inf")),))),
    ("negative_share", mutate(0, shares={"a": 17 / 18, "b": -0.01})),
    ("time_cap", mutate(2, shares={"b": 1.01})),
    ("time_cap", mutate(0, shares={"a": 17 / 18, "b": 1.001 / 18})),
    ("capacity", mutate(2, shares={"b": 0.51})),
    ("capacity", mutate(1, shares={"a": 1.0001 / 18, "b": 0.5})),
    ("utility", mutate(1, utility=19 / 6 + 1e-6)),
    ("price", lambda of: replace(of, prices={"a": 1.0, "b": -1e-6})),
    ("price", mutate(0, time_price=-1e-6)),
    ("price", mutate(0, job_price=-1e-6)),
    ("rounds", lambda of: replace(of, rounds=({"3": "a"},))),
    ("rounds", lambda of: replace(of, rounds=({"3": "b", "2": "b"},))),
    ("unknown_job", lambda of: replace(of, rounds=({"9": "b"},))),
    ("unknown_type", lambda of: replace(of, rounds=({"1": "z"},))),
    ("runs", lambda of: replace(of, runs=(JobRun("1", "a", 0, 0.1),))),
]


@pytest.mark.parametrize(
    ("rule", "change"), MUTATIONS, ids=[f"{k}-{r}" for k, (r, _) in enumerate(MUTATIONS)]
)
def test_each_mutation_breaks_its_rule(
    rule: str, change: Callable[[Allocation], Allocation]
) -> None:
    """A checker that lets one of these pass checks nothing."""
    assert check(PROBLEM, RIGHT, name="nash").violations == ()
    broken = {violation.rule for violation in check(PROBLEM, change(RIGHT), name="nash").violations}
    assert rule in broken
    assert broken <= set(RULES)


def test_rounding_errors_pass() -> None:
    """A solver leaves 1e-10 of everything; that breaks nothing."""
    answer = FairAnswer(PROBLEM, SHARES * (1 + 1e-10))
    assert check(PROBLEM, answer, name="nash").valid


def test_without_the_cap_shares_may_exceed_one() -> None:
    """The cap is a choice of the instance."""
    problem = PROBLEM.replace(time_cap=False)
    answer = FairAnswer(problem, np.array([[0, 2.0], [1, 0], [0, 0]]))
    assert check(problem, answer, name="nash").valid


def test_many_violations_are_counted() -> None:
    """A million broken jobs must not be a million lines."""
    problem = FairProblem.from_arrays(np.ones((1000, 1)), [1000])
    report = check(problem, FairAnswer(problem, np.full((1000, 1), -1.0)), name="max_min")
    messages = [v.message for v in report.violations if v.rule == "negative_share"]
    assert len(messages) == 11
    assert messages[-1] == "and 990 more"


@pytest.mark.parametrize("levels", [(0.25, 0.5), (0.5, 0.5, 1), (0.5, 1, 2)])
def test_wrong_levels_are_found(levels: tuple[float, ...]) -> None:
    """Each job claims its level, or each level is listed once."""
    problem = FairProblem.from_arrays([[1.0], [1], [1]], [2], time_cap=False)
    raw = Settings(normalise="none")
    shares = np.array([[0.5], [0.5], [1.0]])
    for right in ([0.5, 0.5, 1], [0.5, 1]):
        answer = FairAnswer(problem, shares, levels=np.array(right))
        assert check(problem, answer, name="leximin", settings=raw).valid
    wrong = FairAnswer(problem, shares, levels=np.array(levels))
    found = check(problem, wrong, name="leximin", settings=raw)
    assert (levels == (0.5, 0.5, 1)) == found.valid


def test_allocations_round_trip_through_ids() -> None:
    """An answer, its ids and the answer of those are the same."""
    problem = PROBLEM.replace(pairs=[Pair(jobs=("1", "2"), throughput={"a": (5, 3)})])
    answer = FairAnswer(
        problem,
        SHARES / 2,
        prices=np.array([1.0, 0]),
        time_prices=np.array([1.0, 2, 3]),
        job_prices=np.array([3.0, 2, 1]),
        levels=np.array([1.0, 2]),
        rounds=np.array([[0, 1, -1], [-1, -1, 1]]),
        pair_shares=np.array([[0.25, 0]]),
        runs=(Run(0, 0, 0, 0.1),),
    )
    twin = place(problem, allocation_of(answer)).require()
    for field in (
        "shares",
        "prices",
        "time_prices",
        "job_prices",
        "levels",
        "rounds",
        "pair_shares",
    ):
        assert np.array_equal(getattr(twin, field), getattr(answer, field)), field
    assert twin.runs == answer.runs


def claims(answer: FairAnswer | None, **changes: Any) -> set[str]:
    """Return the rules that the claims about an answer break."""
    name = changes.pop("name", "max_min")
    raw = Settings(normalise="none")
    report = None
    if answer is not None:
        report = check(answer.problem, answer, name=name, settings=raw)
    problem = MARKET if answer is None else answer.problem
    found = check_claims(problem, answer, report, Claims(**changes), name=name, settings=raw)
    return {violation.rule for violation in found}


MARKET = FairProblem.from_arrays([[2.0, 1], [1, 3]], [1, 1])
NASH = FairAnswer(MARKET, np.eye(2), prices=np.array([0.0, 0.0]), time_prices=np.array([1.0, 1.0]))


def test_right_claims_pass() -> None:
    """Nash welfare of two jobs with a type each: only time is scarce, prices are 0."""
    value = float(np.log(6))
    assert claims(NASH, name="nash", status=Status.OPTIMAL, value=value, bound=value) == set()


@pytest.mark.parametrize(
    ("answer", "changes", "rule"),
    [
        pytest.param(NASH, {"value": 1.8}, "objective_value", id="value"),
        pytest.param(NASH, {"bound": 1.7}, "bound", id="a bound below the value"),
        pytest.param(
            NASH, {"status": Status.OPTIMAL, "bound": 1.8}, "bound", id="OPTIMAL with a gap"
        ),
        pytest.param(NASH, {"status": Status.INFEASIBLE}, "infeasible_claim", id="infeasible"),
        pytest.param(NASH, {"status": Status.UNKNOWN}, "status", id="unknown"),
        pytest.param(None, {"status": Status.OPTIMAL}, "status", id="no answer"),
        pytest.param(None, {"value": 1.0}, "objective_value", id="a value of nothing"),
        pytest.param(
            FairAnswer(MARKET, np.eye(2), prices=np.array([3.0, 0])),
            {"status": Status.OPTIMAL},
            "certificate",
            id="wrong prices",
        ),
        pytest.param(
            FairAnswer(MARKET, np.eye(2), prices=np.zeros(2), time_prices=np.array([1.0, 1.1])),
            {"status": Status.OPTIMAL},
            "certificate",
            id="wrong time prices",
        ),
        pytest.param(
            FairAnswer(MARKET, np.eye(2) * 0.99, prices=np.zeros(2)),
            {"status": Status.OPTIMAL},
            "certificate",
            id="an answer that is not best",
        ),
        pytest.param(
            None,
            {"status": Status.INFEASIBLE, "reason": SloConflict(jobs=["0"])},
            "reason",
            id="a reason that does not hold",
        ),
        pytest.param(
            None,
            {"status": Status.FEASIBLE, "reason": SolverProof()},
            "reason",
            id="a reason with another status",
        ),
    ],
)
def test_wrong_claims_are_found(answer: FairAnswer | None, changes: Any, rule: str) -> None:
    """What a document says of its answer is judged by the answer and the prices alone."""
    assert rule in claims(answer, **({"name": "nash"} | changes))


def slo(*needs: tuple[float, float]) -> FairProblem:
    """Build jobs of pace 1 on one unit with remaining work and deadline."""
    jobs = [
        Job(id=str(i), throughput={"g": 1}, remaining=work, deadline=by)
        for i, (work, by) in enumerate(needs)
    ]
    return FairProblem(types=[ResourceType(id="g", count=1, cost=1)], jobs=jobs)


def test_conflicts_of_deadlines_are_verified() -> None:
    """Jobs that need 0.6 units each cannot share one; a price proves it, one of them does not."""
    problem = slo((6, 10), (6, 10), (1, 100))
    assert verify_reason(problem, SloConflict(jobs=["0", "1"], prices={"g": 1.0}))
    assert not verify_reason(problem, SloConflict(jobs=["0", "2"], prices={"g": 1.0}))
    assert not verify_reason(problem, SloConflict(jobs=["0", "1"]))
    assert not verify_reason(problem, SloConflict(jobs=["0", "9"], prices={"g": 1.0}))
    assert not verify_reason(problem, SloConflict(jobs=["0", "1"], prices={"g": -1.0}))
    assert "'0', '1'" in SloConflict(jobs=["0", "1"]).sentence()
    assert find_reason(problem, "cost") is None


def test_a_deadline_that_nobody_could_meet_is_found() -> None:
    """Alone on the whole stock the job is still late."""
    problem = slo((1, 10), (11, 10))
    reason = find_reason(problem, "cost")
    assert reason == SloConflict(jobs=["1"])
    assert verify_reason(problem, reason)
    assert find_reason(problem, "nash") is None


def test_missed_deadlines_and_unequal_throughputs_are_found() -> None:
    """Constraints of the objective are judged beside feasibility."""
    problem = slo((4, 10), (4, 10))
    short = FairAnswer(problem, np.array([[0.4], [0.3]]))
    assert [v.rule for v in check(problem, short, name="cost").violations] == ["deadline"]
    assert [v.rule for v in check(problem, short, name="equal_throughput").violations] == [
        "equal_throughput"
    ]


def test_an_answer_of_the_wrong_shape_is_refused() -> None:
    """Arrays that do not belong to the problem are a mistake of the caller."""
    for wrong in ({"shares": np.ones((2, 3))}, {"prices": np.ones(3)}, {"rounds": np.ones((1, 3))}):
        fields: dict[str, Any] = {"shares": np.eye(2)} | wrong
        with pytest.raises(ValueError, match="shape"):
            FairAnswer(MARKET, **fields)


def test_entries_without_numbers_count_as_nothing() -> None:
    """A document by hand lists only what a job gets."""
    empty = Allocation(jobs=(JobShares("0", {}), JobShares("1", {"1": 1.0})))
    report = check(MARKET, empty, name="total_throughput")
    assert report.valid
    assert report.value == 3.0
    assert check(MARKET, empty, name="nash").value is None


def test_rounds_of_arrays_and_missing_runs_are_judged() -> None:
    """An answer of arrays may hold a type that there is not."""
    wrong = FairAnswer(MARKET, np.zeros((2, 2)), rounds=np.array([[0, 7]]))
    assert [v.rule for v in check(MARKET, wrong, name="max_min").violations] == ["rounds"]
    timed = FairProblem.from_arrays([[1.0]], [1], columns={"remaining": [1]})
    none = FairAnswer(timed, np.ones((1, 1)))
    assert [v.rule for v in check(timed, none, name="completion_time").violations] == ["runs"]


def test_negative_shares_of_pairs_are_found() -> None:
    """Pairs are judged like jobs."""
    problem = PROBLEM.replace(pairs=[Pair(jobs=("1", "2"), throughput={"a": (5, 3)})])
    answer = FairAnswer(problem, SHARES / 2, pair_shares=np.array([[-0.1, 0.0]]))
    assert [v.rule for v in check(problem, answer, name="max_min").violations] == ["negative_share"]


def test_objectives_ask_for_their_data() -> None:
    """Without remaining work there is no makespan; the message names the job."""
    with pytest.raises(InputError, match="job '0' has no remaining, which objective 'makespan'"):
        check(MARKET, NASH, name="makespan")
    with pytest.raises(InputError, match="unknown objective"):
        evaluate(NASH, "nsh")


def test_answers_as_frames() -> None:
    """One row for each job."""
    pytest.importorskip("pandas")
    frame = NASH.to_frame()
    assert list(frame.columns) == ["job", "0", "1", "utility", "time_price"]
    assert frame["utility"].tolist() == [2.0, 3.0]


@pytest.mark.parametrize("changes", [{"value": 5.0, "bound": 5.0}, {"status": Status.OPTIMAL}])
def test_nothing_may_be_claimed_of_a_worthless_allocation(changes: dict[str, Any]) -> None:
    """Nash welfare of a job without utility is minus infinity, whatever a document says."""
    problem = FairProblem.from_arrays([[2.0], [1.0]], [1.0])
    answer = FairAnswer(problem, np.array([[1.0], [0.0]]))
    report = check(problem, answer, name="nash")
    assert report.valid
    assert report.value is None
    found = check_claims(problem, answer, report, Claims(**changes), name="nash")
    assert {violation.rule for violation in found} == {"objective_value"}
