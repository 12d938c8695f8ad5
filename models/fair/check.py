"""The independent checker of allocations: every rule, recomputed from the data.

It imports no solver. Feasibility is judged within a relative rounding error of 1e-9.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from types import MappingProxyType

import numpy as np

from allocsolve.models.arrays import BoolArray, FloatArray
from allocsolve.models.fair.allocation import Allocation, Placed, place
from allocsolve.models.fair.answer import FairAnswer
from allocsolve.models.fair.claims import check_claims
from allocsolve.models.fair.demands import judge_objective
from allocsolve.models.fair.objectives import evaluate
from allocsolve.models.fair.occupancy import judge_rounds, judge_runs
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.settings import Settings
from allocsolve.models.fair.utility import loads, time_used
from allocsolve.models.fair.verify import verify_reason
from allocsolve.models.result import CheckReport, Violation

__all__ = ["RULES", "TOLERANCE", "check", "check_claims", "verify_reason"]

TOLERANCE = 1e-9
"""Relative rounding error that feasibility may leave."""

_SHOWN = 10
"""Most violations of one rule; an allocation may have a million jobs."""

RULES: Mapping[str, str] = MappingProxyType(
    {
        "unknown_job": "Every entry names a job of the instance.",
        "missing_job": "Every job of the instance has an entry.",
        "duplicate_job": "No job has more than one entry.",
        "unknown_type": "Every type that an entry names is a type of the instance.",
        "unknown_pair": "Units are shared only by pairs of the instance.",
        "number": "Shares, prices, levels and times are finite numbers.",
        "negative_share": "No share is negative.",
        "time_cap": "Under the time cap the shares of a job sum to at most 1.",
        "capacity": "The jobs hold together no more units of a type than there are.",
        "utility": "A claimed utility is what the shares bring.",
        "floor": "With sharing incentive no job is below its equal split.",
        "deadline": "Each job with a deadline gets what it needs to meet it.",
        "envy": "Where envy-freeness is asked for, no job prefers another's shares.",
        "equal_throughput": "Where it is asked for, all jobs have equal weighted throughput.",
        "level": "Claimed levels are those of the allocation.",
        "rounds": "In a round a job runs on a type that serves it, on whole units in stock.",
        "runs": "Each job runs once for its remaining work, on whole units in stock.",
        "price": "Prices and time prices are not negative.",
        "objective_value": "The claimed objective value is the one of the allocation.",
        "bound": "A bound is not worse than a right answer; OPTIMAL means they meet.",
        "certificate": "The prices prove that an OPTIMAL answer is one.",
        "infeasible_claim": "INFEASIBLE is not claimed when a right answer exists.",
        "reason": "A reason of infeasibility holds.",
        "status": "The status fits to whether there is an answer.",
        "sense": "The claimed sense is the one of the objective.",
        "gap": "A claimed gap is |value - bound| / max(|value|, |bound|), 0 for 0/0; for Nash "
        "welfare |value - bound| / the sum of the weights.",
    }
)
"""Each rule of the checker with what it asks for."""


def check(
    problem: FairProblem,
    allocation: Allocation | FairAnswer,
    *,
    name: str | None = None,
    settings: Settings | None = None,
) -> CheckReport:
    """Judge an allocation by every rule of the instance and of an objective.

    Parameters
    ----------
    allocation
        Anything that claims to be an allocation: ids and numbers may be wrong in every way.
    name
        The objective, that of the instance if None.

    Returns
    -------
    CheckReport
        The broken rules, at most ten violations of each; ``value`` is the objective value,
        None if it cannot be computed.

    Raises
    ------
    InputError
        If the objective needs data that the instance does not have.
    """
    chosen = name or problem.goal.name
    by = settings or problem.settings
    placed = (
        Placed(allocation, np.full(len(allocation), np.nan), ())
        if isinstance(allocation, FairAnswer)
        else place(problem, allocation)
    )
    answer = placed.answer
    violations = [*placed.violations, *_judge_numbers(answer)]
    if any(violation.rule == "number" for violation in violations):
        return CheckReport(tuple(violations), None)
    violations.extend(_judge_shares(answer))
    violations.extend(_judge_utilities(answer, placed.claimed))
    violations.extend(_judge_prices(answer))
    violations.extend(judge_rounds(answer))
    violations.extend(judge_runs(answer, required=chosen == "completion_time"))
    violations.extend(judge_objective(answer, chosen, by))
    value = evaluate(answer, chosen, by)
    return CheckReport(_shortened(violations), value if np.isfinite(value) else None)


def _shortened(violations: list[Violation]) -> tuple[Violation, ...]:
    seen: dict[str, int] = {}
    kept = []
    for violation in violations:
        seen[violation.rule] = seen.get(violation.rule, 0) + 1
        if seen[violation.rule] <= _SHOWN:
            kept.append(violation)
    more = {rule: count - _SHOWN for rule, count in seen.items() if count > _SHOWN}
    kept += [Violation(rule, f"and {count} more") for rule, count in more.items()]
    return tuple(kept)


def _judge_numbers(answer: FairAnswer) -> Iterator[Violation]:
    for field in ("shares", "prices", "time_prices", "job_prices", "levels", "pair_shares"):
        values = getattr(answer, field)
        if values is not None and not np.isfinite(values).all():
            yield Violation("number", f"{field} holds a number that is not finite")
    for run in answer.runs or ():
        if not np.isfinite([run.start, run.end]).all():
            job = answer.problem.job_ids[run.job]
            yield Violation("number", f"the run of job '{job}' has a time that is not finite")


def _judge_shares(answer: FairAnswer) -> Iterator[Violation]:
    problem, arrays = answer.problem, answer.problem.arrays
    for i, j in np.argwhere(answer.shares < 0).tolist():
        share = answer.shares[i, j]
        yield Violation(
            "negative_share",
            f"job '{problem.job_ids[i]}' has the share {share} on type '{problem.type_ids[j]}'",
        )
    if answer.pair_shares is not None:
        for q, j in np.argwhere(answer.pair_shares < 0).tolist():
            pair = "-".join(problem.pairs[q].jobs)
            share = answer.pair_shares[q, j]
            yield Violation("negative_share", f"pair {pair} has a share {share}")
    if problem.time_cap:
        used = time_used(arrays, answer.shares, answer.pair_shares)
        for i in np.flatnonzero(used > 1 + TOLERANCE).tolist():
            job = problem.job_ids[i]
            yield Violation("time_cap", f"the shares of job '{job}' sum to {used[i]}, over 1")
    held = loads(arrays, answer.shares, answer.pair_shares)
    for j in np.flatnonzero(held > arrays.capacity * (1 + TOLERANCE)).tolist():
        kind = problem.types[j]
        yield Violation("capacity", f"{held[j]} of type '{kind.id}' are held, of {kind.count}")


def _differ(claimed: FloatArray, known: FloatArray) -> BoolArray:
    scale = np.maximum(np.abs(claimed), np.abs(known))
    wrong: BoolArray = np.abs(claimed - known) > TOLERANCE * scale
    return wrong


def _judge_utilities(answer: FairAnswer, claimed: FloatArray) -> Iterator[Violation]:
    for i in np.flatnonzero(_differ(claimed, answer.utilities)).tolist():
        yield Violation(
            "utility",
            f"utility {claimed[i]} is claimed for job '{answer.problem.job_ids[i]}', its shares "
            f"bring {answer.utilities[i]}",
        )


def _judge_prices(answer: FairAnswer) -> Iterator[Violation]:
    prices, times = answer.prices, answer.time_prices
    for j in np.flatnonzero(prices < 0).tolist() if prices is not None else ():
        assert prices is not None
        token = answer.problem.type_ids[j]
        yield Violation("price", f"the price of type '{token}' is {prices[j]}, below 0")
    for field, values in (("time price", times), ("job price", answer.job_prices)):
        for i in np.flatnonzero(values < 0).tolist() if values is not None else ():
            assert values is not None
            token = answer.problem.job_ids[i]
            yield Violation("price", f"the {field} of job '{token}' is {values[i]}, below 0")
