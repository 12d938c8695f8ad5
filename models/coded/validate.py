"""Validation of ``coded`` data: each rule names the field, its value and what is allowed."""

from __future__ import annotations

import math
from collections.abc import Sequence

from allocsolve.models.coded.data import (
    OBJECTIVES,
    CodedData,
    Elastic,
    Gradient,
    MatMul,
    MatVec,
    Node,
    Scenarios,
)
from allocsolve.models.errors import InputError, suggest
from allocsolve.models.exact import LARGEST, Number, exact
from allocsolve.models.fields import is_real, refuse_repeated

__all__ = ["validate"]

_SCALINGS = ("load", "additive", "per_row")
_LARGEST_NEED = 10**7
"""Rows or partitions at most: the law of the completion time holds a number for each."""


def validate(data: CodedData) -> None:
    """Refuse data that no instance can have.

    Impossible wishes (too many stragglers, too little storage) are no error: such an
    instance is infeasible.

    Raises
    ------
    InputError
        With the JSON path, the ids concerned and what would be allowed.
    """
    _validate_task(data)
    if data.scaling not in _SCALINGS:
        raise _choice("scaling", str(data.scaling), _SCALINGS, "$.scaling")
    if data.scaling == "per_row" and isinstance(data.task, Elastic):
        raise InputError(
            "elastic loads are shares of a matrix, but scaling 'per_row' draws a time for each row",
            allowed="scaling 'load' or 'additive' for elastic tasks",
            remedy="use another scaling",
            path="$.scaling",
        )
    if not data.nodes:
        raise InputError(
            "the instance has no nodes",
            allowed="at least one node",
            remedy='add {"id": "w0", "runtime": {...}} to "nodes"',
            path="$.nodes",
        )
    refuse_repeated("nodes", "node", [node.id for node in data.nodes])
    for i, node in enumerate(data.nodes):
        _validate_node(data, node, f"$.nodes[{i}]")
    if data.scenarios is not None:
        _validate_scenarios(data, data.scenarios)
    _validate_objective(data)
    _validate_limits(data)


def _validate_task(data: CodedData) -> None:
    task, place = data.task, "$.task"
    if isinstance(task, MatVec):
        _whole("matvec task: rows", task.rows, 1, f"{place}.rows")
    elif isinstance(task, MatMul):
        _validate_product(task)
    elif isinstance(task, Gradient):
        _whole("gradient task: partitions", task.partitions, 1, f"{place}.partitions")
        _whole("gradient task: stragglers", task.stragglers, 0, f"{place}.stragglers")
        _whole("gradient task: messages", task.messages, 1, f"{place}.messages")
        _validate_sequential(task)
        _validate_error(task)
    elif isinstance(task, Elastic):
        threshold, stragglers = task.recovery_threshold, task.stragglers
        _whole("elastic task: recovery_threshold", threshold, 1, f"{place}.recovery_threshold")
        _whole("elastic task: stragglers", stragglers, 0, f"{place}.stragglers")
        if task.partitions is not None:
            _whole("elastic task: partitions", task.partitions, 1, f"{place}.partitions")
    else:
        kinds = "a task of type matvec, matmul, gradient or elastic"
        raise InputError(f"the task {task!r} is of no known type", allowed=kinds, path=place)


def _validate_product(task: MatMul) -> None:
    sizes = {"rows": task.rows, "inner": task.inner, "columns": task.columns}
    for name, size in sizes.items():
        _whole(f"matmul task: {name}", size, 1, f"$.task.{name}")
    for i, (name, parts) in enumerate(zip(("rows", "inner", "columns"), task.split, strict=True)):
        _whole(f"matmul task: split of {name}", parts, 1, f"$.task.split[{i}]")
        if parts > sizes[name]:
            raise InputError(
                f"matmul task: {name} {sizes[name]} cannot be split into {parts} blocks",
                allowed=f"1..{sizes[name]}",
                remedy="use fewer blocks",
                path=f"$.task.split[{i}]",
            )


def _validate_sequential(task: Gradient) -> None:
    if task.sequential is None:
        return
    place, rounds = "$.task.sequential", task.sequential
    _whole("sequential: burst", rounds.burst, 1, f"{place}.burst")
    _whole("sequential: window", rounds.window, 1, f"{place}.window")
    _whole("sequential: lambda", rounds.lam, 0, f"{place}.lambda")
    if rounds.burst > rounds.window:
        raise InputError(
            f"sequential: burst {rounds.burst} is longer than the window {rounds.window}",
            allowed=f"1..{rounds.window}",
            remedy="correct burst or window",
            path=f"{place}.burst",
        )
    if task.stragglers not in (0, rounds.lam):
        raise InputError(
            f"gradient task: stragglers {task.stragglers} beside lambda {rounds.lam} of sequential",
            allowed="stragglers 0, or the same number: over rounds lambda says how many straggle",
            remedy="write stragglers = 0",
            path="$.task.stragglers",
        )
    if task.messages > 1:
        raise InputError(
            f"gradient task: parts of 1/{task.messages} of a message over rounds are not known",
            allowed="messages 1 with sequential",
            remedy="delete messages or sequential",
            path="$.task.messages",
        )


def _validate_error(task: Gradient) -> None:
    if task.error is None:
        return
    if not is_real(task.error) or not 0 <= task.error < 1:
        raise InputError(
            f"gradient task: error {_shown(task.error)} is out of range",
            allowed="a number from 0 and below 1: a share of the partitions",
            remedy="write 0.1 for 10 %, or delete error for an exact gradient",
            path="$.task.error",
        )
    other = "sequential" if task.sequential is not None else "messages"
    if task.sequential is not None or task.messages > 1:
        raise InputError(
            f"gradient task: an error of a gradient with {other} is not known",
            allowed="error without sequential, and with messages 1",
            remedy=f"delete error or {other}",
            path="$.task.error",
        )


def _validate_node(data: CodedData, node: Node, path: str) -> None:
    owner = f"node '{node.id}'"
    for name in ("speed", "cost", "startup", "message", "row_time"):
        _amount(f"{owner}: {name}", getattr(node, name), f"{path}.{name}")
    if node.storage is not None:
        _amount(f"{owner}: storage", node.storage, f"{path}.storage")
    _validate_runtime(data, node, path)
    _validate_unused(data, node, path)
    _validate_holds(data, node, path)


def _validate_runtime(data: CodedData, node: Node, path: str) -> None:
    needs_law = isinstance(data.task, MatVec | MatMul) and data.scenarios is None
    if node.runtime is None and needs_law:
        raise InputError(
            f"node '{node.id}' has no runtime law",
            allowed="a runtime law for each node, or scenarios for all of them",
            remedy='add "runtime": {"law": "shifted_exponential", "shift": 1, "rate": 1}',
            path=f"{path}.runtime",
        )
    if node.runtime is not None and data.scenarios is not None:
        raise InputError(
            f"node '{node.id}' has a runtime law, and the instance has scenarios, which replace it",
            allowed="runtime laws or scenarios",
            remedy="delete one of them",
            path=f"{path}.runtime",
        )


def _validate_unused(data: CodedData, node: Node, path: str) -> None:
    """Refuse fields that the scaling would leave without effect."""
    if data.scaling != "additive" and exact(node.row_time):
        raise InputError(
            f"node '{node.id}': row_time {node.row_time} has no effect in scaling '{data.scaling}'",
            allowed="row_time in scaling 'additive' only",
            remedy='set "scaling": "additive", or put the time of a row into the law',
            path=f"{path}.row_time",
        )
    if data.scaling == "additive" and exact(node.speed) not in (0, 1):
        raise InputError(
            f"node '{node.id}': speed {node.speed} has no effect in scaling 'additive'",
            allowed="row_time, the time of a row",
            remedy="write row_time = 1 / speed",
            path=f"{path}.speed",
        )


def _validate_holds(data: CodedData, node: Node, path: str) -> None:
    if node.holds is None:
        return
    count, seen = getattr(data.task, "partitions", None), set[int]()
    if count is None:
        raise InputError(
            f"node '{node.id}': holds lists partitions, which this task has not",
            allowed="holds in gradient tasks, and in elastic tasks with partitions",
            remedy="delete holds, or limit the load by storage",
            path=f"{path}.holds",
        )
    for k, part in enumerate(node.holds):
        if not _is_whole(part) or not 0 <= part < count or part in seen:
            fault = "comes twice" if part in seen else "is not a partition"
            raise InputError(
                f"node '{node.id}': holds {part}, which {fault}",
                allowed=f"partitions 0..{count - 1}, each once",
                remedy="correct the number; partitions count from 0",
                path=f"{path}.holds[{k}]",
            )
        seen.add(part)


def _validate_scenarios(data: CodedData, scenarios: Scenarios) -> None:
    place = "$.scenarios"
    if scenarios.samples is None or scenarios.file is not None:
        raise InputError(
            "scenarios have no samples" if scenarios.samples is None else "scenarios come twice",
            allowed="either samples or a file that the reader of the instance can find",
            remedy='give "samples": [[..], ..]: a row for each draw, a column for each node',
            path=place,
        )
    if data.scaling == "per_row":
        raise InputError(
            "scenarios hold one time for each node, but scaling 'per_row' draws one for each row",
            allowed="scaling 'load' or 'additive' with scenarios",
            remedy="use runtime laws, or another scaling",
            path="$.scaling",
        )
    if not scenarios.samples:
        raise InputError("there are no scenarios", allowed="at least one row", path=place)
    for k, row in enumerate(scenarios.samples):
        if len(row) != len(data.nodes):
            raise InputError(
                f"scenario {k} has {len(row)} times for {len(data.nodes)} nodes",
                allowed="one time for each node, in the order of the nodes",
                remedy="add or delete times",
                path=f"{place}.samples[{k}]",
            )
        for i, value in enumerate(row):
            label = f"scenario {k}: time of node '{data.nodes[i].id}'"
            _amount(label, value, f"{place}.samples[{k}][{i}]")


def _validate_objective(data: CodedData) -> None:
    goal, place = data.objective, "$.objective"
    if goal.name is not None and goal.name not in OBJECTIVES:
        raise _choice("objective", str(goal.name), OBJECTIVES, f"{place}.name")
    if goal.name == "worst_case" and isinstance(data.task, MatVec | MatMul):
        raise InputError(
            "objective 'worst_case' needs a task with stragglers",
            allowed="worst_case with gradient and elastic tasks",
            remedy="use mean, quantile, deadline_probability or cost",
            path=f"{place}.name",
        )
    required = {
        "quantile": ("q",),
        "deadline_probability": ("deadline",),
        "cost": ("deadline", "confidence"),
    }.get(goal.name or "", ())
    for name in required:
        if getattr(goal, name) is None:
            raise InputError(
                f"objective '{goal.name}' has no {name}",
                allowed=f"{name}: a number",
                remedy=f'add "{name}" to the objective, or --set {name}=... on the command line',
                path=f"{place}.{name}",
            )
    if goal.q is not None:
        _share("objective: q", goal.q, f"{place}.q")
    if goal.confidence is not None:
        _share("objective: confidence", goal.confidence, f"{place}.confidence")
    if goal.deadline is not None:
        _amount("objective: deadline", goal.deadline, f"{place}.deadline")


def _validate_limits(data: CodedData) -> None:
    limits, place = data.limits, "$.limits"
    if limits.total_load is not None:
        _amount("limits: total_load", limits.total_load, f"{place}.total_load")
    if limits.budget is not None:
        _amount("limits: budget", limits.budget, f"{place}.budget")
    if limits.batches != "free" and (not _is_whole(limits.batches) or limits.batches < 1):
        raise InputError(
            f"limits: batches {limits.batches} is not allowed",
            allowed='a whole number from 1, or "free"',
            remedy="correct batches",
            path=f"{place}.batches",
        )


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _whole(label: str, value: int, least: int, path: str) -> None:
    if not _is_whole(value) or not least <= value <= _LARGEST_NEED:
        raise InputError(
            f"{label} {value} is out of range",
            allowed=f"a whole number {least}..{_LARGEST_NEED}",
            remedy="correct the number",
            path=path,
        )


def _amount(label: str, value: Number, path: str) -> None:
    if not is_real(value) or not math.isfinite(value) or not 0 <= value <= LARGEST:
        raise InputError(
            f"{label} {_shown(value)} must be finite and non-negative",
            allowed="a finite, non-negative number",
            remedy="correct the number",
            path=path,
        )


def _share(label: str, value: Number, path: str) -> None:
    if not is_real(value) or not 0 < value < 1:
        raise InputError(
            f"{label} {_shown(value)} must lie between 0 and 1",
            allowed="a number greater than 0 and less than 1",
            remedy="write 0.99 for 99 %",
            path=path,
        )


def _shown(value: object) -> str:
    return f"{float(value):g}" if is_real(value) else repr(value)  # type: ignore[arg-type]  # is_real says that it is a number


def _choice(label: str, value: str, known: Sequence[str], path: str) -> InputError:
    return InputError(
        f"{label} '{value}' is not known{suggest(value, known)}",
        allowed=", ".join(known),
        remedy=f"correct the {label}",
        path=path,
    )
