"""How likely a matrix product can be complete by a deadline at all, whatever the loads.

By the deadline a node has returned no more than the rows that it can have worked through, each of
them sent with the first message. So the job is complete no more likely than these rows reach the
need, which the checker computes from the true laws to judge whether a confidence is out of reach.
"""

from __future__ import annotations

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray, integers
from allocsolve.models.coded.arrivals import Arrivals
from allocsolve.models.coded.data import Elastic, Gradient
from allocsolve.models.coded.facts import Facts
from allocsolve.models.coded.law_arrays import array_survival
from allocsolve.models.coded.law_terms import NoExactLaw, terms_of
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.laws_base import vector

__all__ = ["most_likely"]

_MOST = 2e8
"""Rows of all nodes times rows that are needed, up to which this is computed."""

_ROUNDED = 1e-12


def most_likely(problem: CodedProblem, deadline: float) -> float | None:
    """Return an upper bound of P(T <= deadline) for all loads, in any batches and any code.

    Returns
    -------
    float or None
        None of gradients and elastic tasks, where a law has no exact form, and where it would
        take long.
    """
    if isinstance(problem.task, Gradient | Elastic):
        return None
    need = Facts(problem).need
    caps = np.minimum(problem.arrays.capacity, need).astype(np.int64)
    if int(caps.sum()) < need or float(caps.sum()) * need > _MOST:
        return None
    if problem.arrays.scenarios is not None:
        return _share(problem, caps, need, deadline * (1 + 1e-9))
    try:
        late, first = _late(problem, caps, deadline)
    except NoExactLaw:
        return None
    out = np.empty(1)
    array_survival(late, first, np.ones(late.shape[1], np.int64), need, out)
    return min(1.0, 1.0 - float(out[0]) + _ROUNDED)


def _late(problem: CodedProblem, caps: IntArray, deadline: float) -> tuple[FloatArray, IntArray]:
    """Return P(a row is done after the deadline) for each row, and where each source begins."""
    arrays, own = problem.arrays, len(caps) + np.arange(len(caps))
    source = np.where(arrays.group >= 0, arrays.group, own)
    ranked = np.argsort(source, kind="stable")
    node = np.repeat(ranked, caps[ranked])
    done = np.concatenate([np.arange(1, cap + 1) for cap in caps[ranked].tolist()])
    additive, per_row = problem.scaling == "additive", problem.scaling == "per_row"
    speed = np.where(arrays.speed > 0, arrays.speed, 1.0)[node]
    offset = arrays.startup[node] + arrays.message[node]
    rows = Arrivals(
        node=integers(node.tolist()),
        draws=integers(done.tolist() if per_row else [1] * len(done)),
        scale=vector((np.ones(len(done)) if additive or per_row else done) / speed),
        offset=vector(offset + (done * arrays.row_time[node] if additive else 0.0)),
        done=(),
        weight=integers([1] * len(done)),
    )
    late = np.ascontiguousarray(terms_of(problem, rows).late(np.array([deadline])))
    begins = np.flatnonzero(np.diff(source[node], prepend=-1.0))
    return late, integers([*begins.tolist(), len(node)])


def _share(problem: CodedProblem, caps: IntArray, need: int, deadline: float) -> float:
    """Return the share of the draws in which enough rows can be done."""
    arrays = problem.arrays
    assert arrays.scenarios is not None
    speed, start = np.where(arrays.speed > 0, arrays.speed, 1.0), arrays.startup + arrays.message
    draws = np.asarray(arrays.scenarios)
    if problem.scaling == "additive":
        begin, unit = start + draws, np.broadcast_to(arrays.row_time, draws.shape)
    else:
        begin, unit = np.broadcast_to(start, draws.shape), draws / speed
    left = deadline - begin
    with np.errstate(divide="ignore", invalid="ignore"):
        rows = np.where(unit > 0, np.floor(left / unit * (1 + 1e-9)), caps)
    done = np.where(left < 0, 0, np.minimum(rows, caps)).sum(axis=1)
    return float(np.mean(done >= need))
