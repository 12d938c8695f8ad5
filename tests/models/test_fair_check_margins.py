"""How exactly the checker of allocations judges: just inside a rule and just outside of it."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from allocsolve.models.claims import Claims
from allocsolve.models.fair.answer import FairAnswer, Run
from allocsolve.models.fair.certificates import certified_bound, price_bound
from allocsolve.models.fair.check import check, check_claims, verify_reason
from allocsolve.models.fair.data import Job, Pair, ResourceType
from allocsolve.models.fair.envy import envy_ratios
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.reason_types import SloConflict
from allocsolve.models.fair.settings import Settings
from allocsolve.models.fair.weighted import weighted_bound
from allocsolve.models.result import Status

RAW = Settings(normalise="none")


def rules(answer: FairAnswer, name: str = "max_min") -> set[str]:
    """Return the rules that an answer breaks."""
    report = check(answer.problem, answer, name=name, settings=RAW)
    return {violation.rule for violation in report.violations}


@pytest.mark.parametrize(("count", "rule"), [(2, "time_cap"), (1, "capacity")])
def test_feasibility_is_judged_within_a_billionth(count: int, rule: str) -> None:
    """What rounding leaves passes, ten times the promised tolerance does not."""
    problem = FairProblem.from_arrays([[1.0]], [count], time_cap=rule == "time_cap")
    for excess, broken in ((5e-10, set()), (1e-8, {rule})):
        assert rules(FairAnswer(problem, np.array([[1 + excess]]))) == broken


def _pair(count: int) -> FairProblem:
    """Return two jobs that may share units of one type."""
    return FairProblem(
        types=[ResourceType(id="g", count=count)],
        jobs=[Job(id="a", throughput={"g": 1}), Job(id="b", throughput={"g": 1})],
        pairs=[Pair(jobs=("a", "b"), throughput={"g": (0.8, 0.8)})],
    )


@pytest.mark.parametrize(("count", "broken"), [(1, {"capacity", "time_cap"}), (2, {"time_cap"})])
def test_what_a_pair_holds_counts_once_for_the_stock_and_for_both_jobs(
    count: int, broken: set[str]
) -> None:
    """A shared unit is one unit, but each of the two jobs spends its time on it."""
    shares, shared = np.array([[0.5], [0.0]]), np.array([[0.6]])
    assert rules(FairAnswer(_pair(count), shares, pair_shares=shared)) == broken
    assert rules(FairAnswer(_pair(count), 0 * shares, pair_shares=shared)) == set()


def test_unit_prices_of_a_pair_make_its_bound_tight() -> None:
    """Paces 10 and 10 alone, 9 and 3 together: the best level is 45/8, by hand.

    Job a gets 9 p and job b 3 p + 10 (1 - p), so p = 5/8; unit prices 7/90 and 1/10 prove it.
    """
    problem = FairProblem(
        types=[ResourceType(id="g", count=1)],
        jobs=[Job(id="a", throughput={"g": 10}), Job(id="b", throughput={"g": 10})],
        pairs=[Pair(jobs=("a", "b"), throughput={"g": (9, 3)})],
    )
    prices, times, worth = np.ones(1), np.zeros(2), np.array([7 / 90, 1 / 10])
    best = FairAnswer(problem, np.array([[0.0], [3 / 8]]), pair_shares=np.array([[5 / 8]]))
    assert best.utilities == pytest.approx([45 / 8, 45 / 8])
    with_prices = certified_bound(problem, "max_min", prices, times, job_prices=worth, settings=RAW)
    assert with_prices == pytest.approx(45 / 8, rel=1e-12)
    assert certified_bound(problem, "max_min", prices, times, settings=RAW) > 45 / 8 + 0.1


def test_a_gang_is_not_served_by_fewer_units_than_it_needs() -> None:
    """The shortest run of a gang of two is on the type that has two, however fast the other is."""
    problem = FairProblem.from_arrays(
        [[10.0, 1.0]], [1, 2], columns={"gang": [2], "remaining": [10]}
    )
    assert price_bound(problem, "completion_time", np.zeros(2)) == pytest.approx(10)


@pytest.mark.parametrize(
    ("name", "shares", "rule"),
    [
        pytest.param("nash_sharing_incentive", (0.5, 0.5), "floor", id="floor"),
        pytest.param("envy_free_efficiency", (0.4, 0.4), "envy", id="envy"),
        pytest.param("equal_throughput", (0.4, 0.4), "equal_throughput", id="equal"),
        pytest.param("cost", (0.25, 0.25), "deadline", id="deadline"),
    ],
)
def test_what_an_objective_asks_is_judged_within_a_ten_millionth(
    name: str, shares: tuple[float, float], rule: str
) -> None:
    """Solvers end within their own tolerance; an answer that is a little worse breaks the rule."""
    columns = {"remaining": [5.0, 5.0], "deadline": [20.0, 20.0]}
    problem = FairProblem.from_arrays([[1.0], [1.0]], [1], cost=[1.0], columns=columns)
    for lack, broken in ((5e-8, set()), (1e-5, {rule})):
        held = np.array([[shares[0] * (1 - lack)], [shares[1]]])
        assert rules(FairAnswer(problem, held), name) == broken


def test_who_has_nothing_envies_beyond_measure() -> None:
    """A quotient by zero is no excuse: any share of another would be infinitely more."""
    problem = FairProblem.from_arrays([[1.0], [1.0]], [1])
    one, none = (FairAnswer(problem, np.array([[0.0], [part]])) for part in (0.5, 0.0))
    assert envy_ratios(one)[0].tolist() == [np.inf, 0.0]
    assert envy_ratios(none)[0].tolist() == [0.0, 0.0]
    assert rules(one, "envy_free_efficiency") == {"envy"}


@pytest.mark.parametrize(
    ("runs", "broken"),
    [
        pytest.param([(0, 0, 2), (1, 2, 5)], set(), id="one after the other"),
        pytest.param([(0, 0, 2), (1, 1, 4)], {"runs"}, id="a gang beside another job"),
        pytest.param([(0, 0, 2), (0, 2, 4), (1, 4, 7)], {"runs"}, id="twice"),
        pytest.param([(0, 0, 2)], {"runs"}, id="not at all"),
    ],
)
def test_gangs_run_once_on_units_of_their_own(
    runs: list[tuple[int, float, float]], broken: set[str]
) -> None:
    """A gang of two and a single job do not fit on two units at once."""
    columns = {"remaining": [2.0, 3.0], "gang": [2, 1]}
    problem = FairProblem.from_arrays([[1.0], [1.0]], [2], columns=columns)
    entries = tuple(Run(job, 0, start, end) for job, start, end in runs)
    answer = FairAnswer(problem, np.zeros((2, 1)), runs=entries)
    assert rules(answer, "completion_time") == broken


def test_runs_may_follow_each_other_at_once() -> None:
    """A unit that one job leaves is free at that moment; a moment earlier it is not."""
    problem = FairProblem.from_arrays([[1.0], [1.0]], [1], columns={"remaining": [3.0, 2.0]})
    for begin, broken in ((3.0, set()), (3.0 - 1e-6, {"runs"})):
        runs = (Run(0, 0, 0.0, 3.0), Run(1, 0, begin, begin + 2.0))
        answer = FairAnswer(problem, np.array([[0.6], [0.4]]), runs=runs)
        assert rules(answer, "completion_time") == broken
    early = (Run(0, 0, -1.0, 2.0), Run(1, 0, 3.0, 5.0))
    answer = FairAnswer(problem, np.array([[0.6], [0.4]]), runs=early)
    assert rules(answer, "completion_time") == {"runs"}


def test_both_certificates_have_to_be_right() -> None:
    """Prices that prove the answer do not excuse time prices that are claimed beside them."""
    problem = FairProblem.from_arrays([[2.0, 1], [1, 3]], [1, 1])
    value = float(np.log(6))
    for times, broken in (((1.0, 1.0), set()), ((1.0, 1.0 + 1e-3), {"certificate"})):
        answer = FairAnswer(problem, np.eye(2), prices=np.zeros(2), time_prices=np.array(times))
        report = check(problem, answer, name="nash")
        claims = Claims(Status.OPTIMAL, value, value)
        found = check_claims(problem, answer, report, claims, name="nash")
        assert {violation.rule for violation in found} == broken


@pytest.mark.parametrize(
    ("columns", "ratio"),
    [({}, 3.0), ({"weight": [2, 1]}, 6.0), ({"gang": [2, 1]}, 1.5), ({"gang": [1, 2]}, 6.0)],
    ids=["plain", "weight", "gang of the envious", "gang of the envied"],
)
def test_envy_scales_with_weights_and_gangs(columns: dict[str, list[int]], ratio: float) -> None:
    """Shares 1/10 and 3/10 of one type: three times as much, by weight and by units held."""
    problem = FairProblem.from_arrays([[1.0], [1.0]], [2], columns=columns)
    ratios, envied = envy_ratios(FairAnswer(problem, np.array([[0.1], [0.3]])))
    assert ratios[0] == pytest.approx(ratio)
    assert ratios[0] * ratios[1] == pytest.approx(1)
    assert envied.tolist() == [1, 0]


def test_a_round_puts_no_job_where_it_gains_nothing() -> None:
    """There is room for it, so only its pace of 0 tells that it is wasted."""
    problem = FairProblem.from_arrays([[1.0, 0.0], [1.0, 2.0]], [1, 1])
    for row, broken in (([0, 1], set()), ([1, 0], {"rounds"})):
        answer = FairAnswer(problem, np.zeros((2, 2)), rounds=np.array([row]))
        assert rules(answer) == broken


@pytest.mark.parametrize(("off", "broken"), [(1e-10, set()), (1e-7, {"objective_value"})])
def test_a_claimed_value_may_be_off_by_rounding_only(off: float, broken: set[str]) -> None:
    """Ten digits are what a document promises, not six."""
    problem = FairProblem.from_arrays([[2.0, 1], [1, 3]], [1, 1])
    answer = FairAnswer(problem, np.eye(2))
    report = check(problem, answer, name="total_throughput")
    claims = Claims(Status.FEASIBLE, 5.0 * (1 + off))
    found = check_claims(problem, answer, report, claims, name="total_throughput")
    assert {violation.rule for violation in found} == broken


@pytest.mark.parametrize(("work", "late"), [(9.999, False), (10.001, True)])
def test_a_deadline_that_can_just_be_met_is_no_conflict(work: float, late: bool) -> None:
    """A reason that is nearly right would call an instance infeasible that is not."""
    columns = {"remaining": [work], "deadline": [10.0]}
    problem = FairProblem.from_arrays([[1.0]], [1], cost=[1.0], columns=columns)
    assert verify_reason(problem, SloConflict(jobs=["0"])) == late
    assert verify_reason(problem, SloConflict(jobs=["0"], prices={"0": 1.0})) == late


@pytest.mark.parametrize("value", [np.nan, np.inf])
@pytest.mark.parametrize(
    "field", ["shares", "pair_shares", "prices", "time_prices", "job_prices", "levels"]
)
def test_every_number_of_an_answer_has_to_be_one(field: str, value: float) -> None:
    """Comparisons with NaN are False, so a rule that does not look for it lets it pass."""
    shapes = {"shares": (2, 1), "pair_shares": (1, 1), "prices": (1,)}
    right: dict[str, Any] = {"shares": np.zeros((2, 1))}
    wrong = np.zeros(shapes.get(field, (2,)))
    wrong.flat[0] = value
    assert rules(FairAnswer(_pair(1), **right)) == set()
    assert rules(FairAnswer(_pair(1), **(right | {field: wrong}))) == {"number"}


@pytest.mark.parametrize("run", [Run(0, 0, np.nan, 2.0), Run(0, 0, 0.0, np.inf)])
def test_runs_have_finite_times(run: Run) -> None:
    """A run without an end, or from nowhere, is no run."""
    problem = FairProblem.from_arrays([[1.0]], [1], columns={"remaining": [2.0]})
    answer = FairAnswer(problem, np.zeros((1, 1)), runs=(run,))
    assert rules(answer, "completion_time") == {"number"}


def test_a_pair_that_nobody_would_use_leaves_the_bound_as_it_is() -> None:
    """Paces 10 alone and 2 together: each job gets half of the time, and no prices prove less."""
    problem = FairProblem(
        types=[ResourceType(id="g", count=1)],
        jobs=[Job(id="a", throughput={"g": 10}), Job(id="b", throughput={"g": 10})],
        pairs=[Pair(jobs=("a", "b"), throughput={"g": (2, 2)})],
    )
    bound = certified_bound(problem, "max_min", np.ones(1), np.zeros(2), settings=RAW)
    assert bound == pytest.approx(5, rel=1e-12)


def test_unit_prices_that_are_too_dear_prove_nothing() -> None:
    """No unit of a job's progress is worth more than what it costs; claimed numbers are cut."""
    problem = FairProblem.from_arrays([[10.0], [10.0]], [1])
    prices, times = np.ones(1), np.zeros(2)
    for worth in (None, np.full(2, 0.1), np.full(2, 100.0)):
        bound = certified_bound(problem, "max_min", prices, times, job_prices=worth, settings=RAW)
        assert bound == pytest.approx(5, rel=1e-12)


@pytest.mark.parametrize("pairs", [[], [Pair(jobs=("a", "b"), throughput={"g": (9, 3)})]])
def test_time_without_a_limit_has_no_price(pairs: list[Pair]) -> None:
    """Time prices that are claimed beside an instance without a time cap change no bound."""
    problem = FairProblem(
        types=[ResourceType(id="g", count=1)],
        jobs=[Job(id="a", throughput={"g": 10}), Job(id="b", throughput={"g": 10})],
        pairs=pairs,
        time_cap=False,
    )
    free, dear = (
        weighted_bound(problem, "max_min", np.ones(1), times, settings=RAW)
        for times in (np.zeros(2), np.ones(2))
    )
    assert free == dear == pytest.approx(6 if pairs else 5)
