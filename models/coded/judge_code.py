"""Rules about the code of an answer."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.arrivals import batches_of
from allocsolve.models.coded.completion import REPLICATED
from allocsolve.models.coded.data import Elastic, Gradient, MatMul
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.rounds import Rounds
from allocsolve.models.coded.thresholds import (
    APPROXIMATE,
    families,
    fits_split,
    needed_units,
)
from allocsolve.models.result import Violation

__all__ = ["judge_code", "judge_family"]


def judge_code(problem: CodedProblem, answer: CodedAnswer) -> Iterator[Violation]:
    """Judge family, parameters and batches of a code."""
    code = answer.code
    yield from judge_family(problem, answer)
    if code.family not in families(problem.task):
        return
    for name, allowed in _parameters(problem, answer).items():
        value = getattr(code, name)
        if value is not None and value not in allowed:
            choice = " or ".join(str(number) for number in sorted(allowed)) or "absent"
            yield Violation("code", f"{name} of the code is {value}, it must be {choice}")
    if code.copies is not None and code.family != APPROXIMATE:
        message = f"copies of the code is {code.copies}, only family '{APPROXIMATE}' has it"
        yield Violation("code", message)
    yield from _judge_batches(problem, answer)


def judge_family(problem: CodedProblem, answer: CodedAnswer) -> Iterator[Violation]:
    """Judge whether there is such a code for the task, whatever the loads are."""
    family, task = answer.code.family, problem.task
    known = families(task)
    if family not in known:
        message = f"family '{family}' is not known for this task (known: {', '.join(known)})"
        yield Violation("code", message)
    elif isinstance(task, MatMul) and not fits_split(family, task.split):
        message = f"family '{family}' is not defined for the split {list(task.split)}"
        yield Violation("code", message)


def _judge_batches(problem: CodedProblem, answer: CodedAnswer) -> Iterator[Violation]:
    batches = batches_of(problem, answer)
    if batches > 1 and answer.code.family in REPLICATED:
        message = f"family '{answer.code.family}' sends whole results, not {batches} batches"
        yield Violation("batches", message)
    task = problem.task
    if batches > 1 and isinstance(task, Gradient) and task.messages > 1:
        message = f"a part of 1/{task.messages} of a gradient is not sent in {batches} batches"
        yield Violation("batches", message)


def _parameters(problem: CodedProblem, answer: CodedAnswer) -> Mapping[str, set[int]]:
    """Return what n, k, stragglers and messages of a code may be."""
    task, nodes = problem.task, len(problem.nodes)
    if isinstance(task, Gradient):
        rounds = Rounds.of(task, nodes)
        if rounds is not None:
            missing = rounds.stragglers(answer.code.family)
            known = set() if missing is None else {missing}
            return {"n": {nodes}, "stragglers": known, "messages": {1}}
        common = {"stragglers": {task.stragglers}, "messages": {task.messages}}
        return {"n": {nodes}, **common}
    if isinstance(task, Elastic):
        return {"n": {nodes}, "k": {task.recovery_threshold}, "stragglers": {task.stragglers}}
    if answer.code.family == "replication":
        return {"n": {nodes}}
    total, need = sum(answer.loads), needed_units(task, answer.code.family)
    counts, enough = {int(total)}, {need}
    equal = _equal_load(answer)
    if equal:
        # A code over nodes of equal loads says the same as one over their units.
        counts.add(sum(load > 0 for load in answer.loads))
        enough.add(-(-need // equal))
    return {"n": counts, "k": enough}


def _equal_load(answer: CodedAnswer) -> int | None:
    """Return the load that all nodes with a load have, None if they differ."""
    loads = {load for load in answer.loads if load > 0}
    return int(loads.pop()) if len(loads) == 1 else None
