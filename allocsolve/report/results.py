"""A result as a solution document, and a solution document as what it claims."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace
from fractions import Fraction

from allocsolve.models.dag.answer import DagResult, Schedule, ScheduledTask
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import InputError
from allocsolve.models.exact import exact, plain
from allocsolve.models.result import (
    Certificate,
    InstanceInfo,
    Objective,
    Sense,
    SolverInfo,
    Termination,
)
from allocsolve.report.claims import Claim, claim_of_document
from allocsolve.report.codec import snap
from allocsolve.report.common import common_fields
from allocsolve.report.robust import robust_entry, robustness
from allocsolve.report.solution import (
    CertificateEntry,
    DagSolution,
    InstanceEntry,
    ObjectiveEntry,
    ScheduleEntry,
    SolverEntry,
    decode_solution,
)

__all__ = [
    "read_result",
    "read_solution",
    "result_to_document",
]


def result_to_document(result: DagResult) -> DagSolution:
    """Return the solution document of a result."""
    return DagSolution(
        kind="dag",
        schedule=None if result.answer is None else _schedule_entries(result.answer.entries()),
        robust=robust_entry(result.robust),
        **common_fields(result),
    )


def _schedule_entries(entries: Sequence[ScheduledTask]) -> list[ScheduleEntry]:
    return [
        ScheduleEntry(
            task=entry.task, start=entry.start, end=entry.end, node=entry.node, mode=entry.mode
        )
        for entry in entries
    ]


def read_solution(data: bytes, problem: DagProblem) -> Claim[tuple[ScheduledTask, ...]]:
    """Read what a solution document claims about a problem, times snapped to its grid.

    Raises
    ------
    InputError
        If the text is not a solution document or an entry cannot be understood.
    """
    return _claim(decode_solution(data, "dag", DagSolution), problem)


def _claim(document: DagSolution, problem: DagProblem) -> Claim[tuple[ScheduledTask, ...]]:
    claim = claim_of_document(document, _scheduled_tasks(document.schedule, problem))
    return replace(
        claim,
        value=_snapped(claim.value, problem),
        bound=_snapped(claim.bound, problem),
    )


def _snapped(value: Fraction | None, problem: DagProblem) -> Fraction | None:
    return None if value is None else snap(value, problem.arrays.tick)


def _scheduled_tasks(
    schedule: Sequence[ScheduleEntry] | None, problem: DagProblem
) -> tuple[ScheduledTask, ...] | None:
    if schedule is None:
        return None
    return tuple(
        _scheduled_task(entry, f"$.schedule[{i}]", problem) for i, entry in enumerate(schedule)
    )


def _scheduled_task(entry: ScheduleEntry, path: str, problem: DagProblem) -> ScheduledTask:
    if entry.nodes or (entry.width not in (None, 1) and entry.width):
        raise InputError(
            f"task '{entry.task}': an entry on several nodes cannot be judged",
            allowed="one node for each task",
            path=path,
        )
    tick = problem.arrays.tick
    start, mode = snap(exact(entry.start), tick), entry.mode or 0
    if entry.end is not None:
        end = snap(exact(entry.end), tick)
    else:
        end = start + _duration(problem, entry, mode, path)
    return ScheduledTask(entry.task, start, end, entry.node, mode)


def _duration(problem: DagProblem, entry: ScheduleEntry, mode: int, path: str) -> Fraction:
    """Return how long the entry takes, for a document that leaves its end out."""
    task = problem.task_index.get(entry.task)
    node = -1 if entry.node is None else problem.node_index.get(entry.node, -2)
    arrays = problem.arrays
    for k in arrays.modes_of(task) if task is not None else ():
        if arrays.mode_node[k] == node and arrays.mode_index[k] == mode:
            return problem.units(int(arrays.mode_duration[k]))
    raise InputError(
        f"task '{entry.task}' has no end, and none follows from its node and mode",
        allowed="an entry with task, start and end",
        path=path,
    )


def read_result(data: bytes, problem: DagProblem) -> DagResult:
    """Read a complete solution document back as the result that it was written from.

    Raises
    ------
    InputError
        If the document does not say how the run ended, or its schedule does not fit.
    """
    document = decode_solution(data, "dag", DagSolution)
    claim = _claim(document, problem)
    if claim.status is None or not document.termination:
        raise InputError("the document does not say how the run ended", path="$.termination")
    answer = None if claim.answer is None else Schedule.from_entries(problem, claim.answer)
    instance = document.instance or InstanceEntry()
    return DagResult(
        kind="dag",
        method=document.method or "",
        status=claim.status,
        termination=Termination(document.termination),
        objective=_objective(document.objective or ObjectiveEntry(), claim),
        certificate=_certificate(document.certificate or CertificateEntry()),
        answer=answer,
        solver=_solver(document.solver or SolverEntry()),
        deterministic=bool(document.deterministic),
        instance=InstanceInfo(instance.name or "", instance.format, instance.sha256),
        timing=document.timing or {},
        warnings=tuple(document.warnings or ()),
        robust=robustness(document.robust),
    )


def _objective(entry: ObjectiveEntry, claim: Claim[tuple[ScheduledTask, ...]]) -> Objective:
    return Objective(
        name=entry.name or "makespan",
        sense=Sense(entry.sense or "min"),
        known=None if claim.value is None else plain(claim.value),
        bound=None if claim.bound is None else plain(claim.bound),
    )


def _certificate(entry: CertificateEntry) -> Certificate:
    tolerance = plain(exact(entry.tolerance or 0))
    return Certificate(entry.bound_source, bool(entry.checked), tolerance, entry.reason)


def _solver(entry: SolverEntry) -> SolverInfo:
    return SolverInfo(
        name=entry.name or "",
        version=entry.version or "",
        seed=entry.seed or 0,
        threads=entry.threads or 1,
        options=entry.options or {},
    )
