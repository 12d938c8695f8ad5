"""The independent checker of ``coded`` answers.

It reads the data of the instance in input units, not the arrays that solvers read, and
recomputes the value of the objective from the exact completion law.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from fractions import Fraction
from types import MappingProxyType

from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.claims import check_claims
from allocsolve.models.coded.data import Elastic, Gradient, MatMul, MatVec
from allocsolve.models.coded.facts import Facts
from allocsolve.models.coded.judge_code import judge_code, judge_family
from allocsolve.models.coded.judge_parts import judge_blocks, judge_partitions
from allocsolve.models.coded.judge_pieces import judge_pieces
from allocsolve.models.coded.law import NoExactLaw, completion_law
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.thresholds import needed_units
from allocsolve.models.coded.value import load_cost, objective_value
from allocsolve.models.coded.verify import verify_reason
from allocsolve.models.exact import exact, plain
from allocsolve.models.result import CheckReport, Violation

__all__ = ["RULES", "check", "check_claims", "verify_reason"]

RULES: Mapping[str, str] = MappingProxyType(
    {
        "load_count": "There is one load for each node, in the order of the instance.",
        "load": "A load is not negative, at most 10^12, and a whole number where units cannot be "
        "divided.",
        "storage": "No node gets more than it can store; a dead node gets nothing.",
        "total_load": "The loads together stay within their limit.",
        "budget": "The loads together cost no more than the budget.",
        "batches": "The number of batches is allowed, and only whole results are sent where "
        "partial ones do not help.",
        "code": "The code is of a known family that fits the task, and its parameters are those "
        "of the task.",
        "recovery": "The loads together reach the number of units from which the result decodes.",
        "partitions": "Every node with a load has as many different partitions of the task.",
        "holds": "A node takes only partitions that it may hold, and pieces of blocks that it has.",
        "coverage": "Every partition or block is on as many nodes as the stragglers require.",
        "decodability": "Whichever nodes are silent, the others decode.",
        "error": "The expected squared error of an approximate gradient is accepted.",
        "order": "The order of a node names its partitions, each once.",
        "pieces": "Pieces have a size and name different nodes, as many as are needed.",
        "piece_cover": "The sizes of the pieces add up to 1.",
        "piece_load": "The pieces of a node add up to its load.",
        "confidence": "The job is complete by the deadline with the probability asked for.",
        "objective_value": "The claimed objective value is the one of the answer.",
        "bound": "A bound is not on the wrong side of the value of a right answer; OPTIMAL means "
        "that they meet.",
        "infeasible_claim": "INFEASIBLE is not claimed when a right answer exists.",
        "reason": "A reason of infeasibility holds.",
        "status": "The status fits to whether there is an answer.",
        "sense": "The claimed sense is the one of the objective.",
        "gap": "A claimed gap is the distance of value and bound by the larger of the two.",
    }
)
"""Each rule of the checker with what it asks for."""

_ROUNDED = Fraction(1, 10**9)
"""Sums of shares that a document had to round may be off by this much."""

_LARGEST_LOAD = 10**12
"""Units of a node that laws can still count; no job needs as many."""

_SURE = 1e-12
"""Rounding of a probability."""


def check(problem: CodedProblem, answer: CodedAnswer) -> CheckReport:
    """Judge an answer by every rule of the instance.

    Parameters
    ----------
    answer
        Anything that claims to be an answer; it may be wrong in every way.

    Returns
    -------
    CheckReport
        All broken rules; ``value`` is that of the objective, None if a rule is broken or the
        completion time has no exact law (then it can be simulated).

    Raises
    ------
    FeatureRefused
        If the instance has a feature that no rule covers.
    NoExactLaw
        If the objective is ``cost`` and its confidence cannot be computed.
    """
    violations = list(_judge_form(problem, answer))
    if len(answer.loads) == len(problem.nodes):
        violations += _judge_rest(problem, answer)
    if not violations:
        violations += _judge_confidence(problem, answer)
    if violations:
        return CheckReport(tuple(violations), None)
    try:
        return CheckReport((), objective_value(problem, answer))
    except NoExactLaw:
        return CheckReport((), None)


def _judge_form(problem: CodedProblem, answer: CodedAnswer) -> Iterator[Violation]:
    """Judge what must hold before anything else can be judged."""
    if len(answer.loads) != len(problem.nodes):
        message = f"{len(answer.loads)} loads are given for {len(problem.nodes)} nodes"
        yield Violation("load_count", message)
        return
    whole = not isinstance(problem.task, Elastic)
    for node, load in zip(problem.nodes, answer.loads, strict=True):
        if load < 0:
            yield Violation("load", f"node '{node.id}' has the negative load {plain(load)}")
        elif whole and load.denominator != 1:
            yield Violation("load", f"node '{node.id}' has the load {plain(load)}, not whole units")
        elif load > _LARGEST_LOAD:
            message = (
                f"node '{node.id}' has the load {plain(load)}, at most {_LARGEST_LOAD} is counted"
            )
            yield Violation("load", message)
    if answer.batches is not None and answer.batches < 1:
        yield Violation("batches", f"{answer.batches} batches; at least 1 is needed")


def _judge_rest(problem: CodedProblem, answer: CodedAnswer) -> Iterator[Violation]:
    """Judge every rule that says something about such loads, whether or not others are broken.

    Loads that are negative or no whole units can still be too many for a node or too few
    together; how they are spread over partitions and pieces is judged for possible loads only.
    """
    yield from _judge_limits(problem, answer)
    if any(_judge_form(problem, answer)):
        yield from judge_family(problem, answer)
        if _counts_units(problem, answer):
            yield from _judge_total(problem, answer)
        return
    yield from judge_code(problem, answer)
    yield from _judge_work(problem, answer)


def _judge_limits(problem: CodedProblem, answer: CodedAnswer) -> Iterator[Violation]:
    facts, limits = Facts(problem), problem.limits
    for node, load in zip(problem.nodes, answer.loads, strict=True):
        capacity = facts.capacity(node)
        if capacity is not None and load > capacity + _slack(problem):
            message = f"node '{node.id}' has the load {plain(load)}, it can take "
            yield Violation("storage", f"{message}{plain(capacity)}")
    total = sum(answer.loads, Fraction(0))
    if limits.total_load is not None and total > exact(limits.total_load) + _slack(problem):
        message = f"the loads add up to {plain(total)}, the limit is "
        yield Violation("total_load", f"{message}{plain(exact(limits.total_load))}")
    cost = load_cost(problem, answer)
    if limits.budget is not None and cost > exact(limits.budget) * (1 + _slack(problem)):
        message = f"the loads cost {plain(cost)}, the budget is {plain(exact(limits.budget))}"
        yield Violation("budget", message)
    if limits.batches != "free" and (answer.batches or 1) > limits.batches:
        message = f"{answer.batches} batches; at most {limits.batches} are allowed"
        yield Violation("batches", message)


def _slack(problem: CodedProblem) -> Fraction:
    return _ROUNDED if isinstance(problem.task, Elastic) else Fraction(0)


def _judge_work(problem: CodedProblem, answer: CodedAnswer) -> Iterator[Violation]:
    task = problem.task
    if isinstance(task, Gradient):
        yield from judge_partitions(problem, answer, task)
    elif isinstance(task, Elastic):
        yield from judge_pieces(problem, answer, task, _ROUNDED)
    elif answer.code.family == "replication":
        assert isinstance(task, MatVec | MatMul)
        yield from judge_blocks(problem, answer, task)
    else:
        yield from _judge_total(problem, answer)


def _counts_units(problem: CodedProblem, answer: CodedAnswer) -> bool:
    """Whether the result decodes from any units of the code, if they are enough."""
    is_divided = isinstance(problem.task, MatVec | MatMul)
    return is_divided and answer.code.family != "replication"


def _judge_total(problem: CodedProblem, answer: CodedAnswer) -> Iterator[Violation]:
    task = problem.task
    assert isinstance(task, MatVec | MatMul)
    need, total = needed_units(task, answer.code.family), sum(answer.loads, Fraction(0))
    if total < need:
        message = f"the loads add up to {plain(total)}, {need} units are needed"
        yield Violation("recovery", message)


def _judge_confidence(problem: CodedProblem, answer: CodedAnswer) -> Iterator[Violation]:
    goal = problem.objective
    if problem.objective_name != "cost" or goal.deadline is None or goal.confidence is None:
        return
    reached = completion_law(problem, answer).deadline_probability(float(goal.deadline))
    if reached < float(goal.confidence) - _SURE:
        message = f"the job is complete by {float(goal.deadline):g} with probability {reached:.12g}"
        yield Violation("confidence", f"{message}, {float(goal.confidence):g} is asked for")
