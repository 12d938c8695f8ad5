"""The worst case: the time by which a decodable set has answered whoever never answers.

The nodes take their mean times (which is the time itself where a law is deterministic). Of a
condition that needs k of some nodes, the worst s silent nodes are s of the first k + s.
"""

from __future__ import annotations

import math

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.completion import completion_of
from allocsolve.models.coded.data import Elastic, Gradient
from allocsolve.models.coded.decoding import MOST_SETS, Decoder, straggler_sets
from allocsolve.models.coded.problem import CodedProblem

__all__ = ["mean_times", "worst_case"]


def worst_case(problem: CodedProblem, answer: CodedAnswer) -> float:
    """Return the worst time of a gradient or elastic answer that passes the checker.

    With an encoding matrix that is given and too many sets of stragglers, it is the time of
    the slowest node, by which every decodable set has answered.

    Returns
    -------
    float
        Infinite if some stragglers leave no decodable set, or a mean is infinite.
    """
    task = problem.task
    assert isinstance(task, Gradient | Elastic)
    completion = completion_of(problem, answer)
    arrivals = completion.arrivals
    times = arrivals.times(mean_times(problem)) if len(arrivals.node) else np.zeros(0)
    if problem.scaling == "per_row":
        times = (
            arrivals.offset + arrivals.scale * arrivals.draws * mean_times(problem)[arrivals.node]
        )
    if completion.decoder is not None:
        return _worst_decoded(completion.decoder, times, arrivals.node.tolist(), task.stragglers)
    worst = 0.0
    for condition in completion.conditions:
        ranked = np.sort(times[condition.arrivals])
        rank = condition.need + task.stragglers
        worst = max(worst, float(ranked[rank - 1]) if 0 < rank <= len(ranked) else math.inf)
    return worst


def mean_times(problem: CodedProblem) -> FloatArray:
    """Return the mean time of each node per unit of load, float64 (n,)."""
    scenarios = problem.arrays.scenarios
    if scenarios is not None:
        means: FloatArray = scenarios.mean(axis=0)
        return means
    return np.array([law.mean() for law in problem.arrays.laws])


def _worst_decoded(decoder: Decoder, times: FloatArray, node: list[int], stragglers: int) -> float:
    nodes = len(decoder.matrix)
    if math.comb(nodes, stragglers) > MOST_SETS:
        return float(times.max(initial=0.0))
    place = {name: k for k, name in enumerate(node)}
    table = [
        [times[place[i]] if i in place and i not in missing else math.inf for i in range(nodes)]
        for missing in straggler_sets(nodes, stragglers)
    ]
    return float(decoder.times(np.array(table), np.arange(nodes)).max())
