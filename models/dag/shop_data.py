"""Job shops and flexible job shops as compiled search reads them.

Every task has at most one predecessor and one successor, runs on one machine that takes one
task at a time, and waits for nothing else: chains of operations and orders on machines.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from allocsolve.models.arrays import IntArray, offsets
from allocsolve.models.dag.problem import DagProblem, Feature

__all__ = ["Shop", "StepArray", "excuse", "shop_of"]

StepArray = npt.NDArray[np.int32]

_LARGEST = 3000
"""Operations up to which the table of forbidden pairs fits into memory (36 MB a thread)."""

_KNOWN = frozenset({Feature.NODES, Feature.MODES})
"""Features that the search takes into account."""


class Shop(NamedTuple):
    """Operations, numbered job by job along their chains.

    n operations, j jobs, m ways to do them; times in ticks.

    Attributes
    ----------
    task
        int64 (n,), the task of the problem.
    job_offset
        int64 (j + 1,), operations of each job.
    job_pred, job_succ
        int64 (n,), -1 at the ends of a job.
    way_offset
        int64 (n + 1,), rows of ``way_*`` for each operation.
    way_machine, way_duration, way_mode
        int64 (m,); the mode is an index into the problem's table.
    shortest
        int64 (n,).
    machines
        Their number.
    """

    task: IntArray
    job_offset: IntArray
    job_pred: IntArray
    job_succ: IntArray
    way_offset: IntArray
    way_machine: IntArray
    way_duration: IntArray
    way_mode: IntArray
    shortest: IntArray
    machines: int


def excuse(problem: DagProblem) -> str | None:
    """Say why a problem is no shop, None if it is one."""
    arrays = problem.arrays
    unknown = problem.features - _KNOWN
    if unknown:
        return f"it does not know {', '.join(sorted(unknown))}"
    if not len(problem.tasks) or arrays.order is None:
        return "it has no order"
    if len(problem.tasks) > _LARGEST:
        return f"it has more than {_LARGEST} tasks"
    if not len(arrays.node_slots) or bool((arrays.node_slots != 1).any()):
        return "a node takes several tasks at once"
    if bool((arrays.mode_node < 0).any()) or bool((np.diff(arrays.mode_offset) == 0).any()):
        return "a task runs on no node"
    if bool((arrays.mode_duration <= 0).any()):
        return "a task takes no time"
    for end in (arrays.edge_source, arrays.edge_target):
        if bool((np.bincount(end, minlength=1) > 1).any()):
            return "the tasks are no chains"
    return None


def shop_of(problem: DagProblem) -> Shop:
    """Return the arrays of a problem that :func:`excuse` has nothing against."""
    arrays, n = problem.arrays, len(problem.tasks)
    after = np.full(n, -1, np.int64)
    after[arrays.edge_source] = arrays.edge_target
    chains = _chains(after, np.setdiff1d(np.arange(n), arrays.edge_target))
    task = np.array([i for chain in chains for i in chain], np.int64)
    job_offset = offsets([len(chain) for chain in chains])
    number = np.arange(n)
    job_pred, job_succ = number - 1, number + 1
    job_pred[job_offset[:-1]] = -1
    job_succ[job_offset[1:] - 1] = -1
    ways = [way for i in task.tolist() for way in arrays.modes_of(i)]
    return Shop(
        task=task,
        job_offset=job_offset,
        job_pred=job_pred,
        job_succ=job_succ,
        way_offset=offsets([len(arrays.modes_of(i)) for i in task.tolist()]),
        way_machine=arrays.mode_node[ways],
        way_duration=arrays.mode_duration[ways],
        way_mode=np.array(ways, np.int64),
        shortest=arrays.min_duration[task],
        machines=len(arrays.node_slots),
    )


def _chains(after: IntArray, first: IntArray) -> list[list[int]]:
    chains = []
    for start in first.tolist():
        chain = [start]
        while after[chain[-1]] >= 0:
            chain.append(int(after[chain[-1]]))
        chains.append(chain)
    return chains
