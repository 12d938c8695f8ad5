"""Which runtime law and which process each task of a plan meets, and whether means exist."""

from __future__ import annotations

import math
from collections.abc import Sequence

from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.execution.plan import ReplayPlan
from allocsolve.models.nodes import (
    Bimodal,
    Deterministic,
    Empirical,
    Exponential,
    Gamma,
    Mixture,
    RuntimeLaw,
    ShiftedExponential,
    Weibull,
    law_from,
)
from allocsolve.models.processes import Markov, NodeProcess, Slowdown, process_from

__all__ = ["has_finite_moments", "loses_work", "node_laws", "node_processes", "task_laws"]


def node_laws(problem: DagProblem) -> list[RuntimeLaw | None]:
    """Return the runtime law of each node, None where durations are as planned."""
    return [
        None if node.runtime is None else law_from(node.runtime, path=f"$.nodes[{k}].runtime")
        for k, node in enumerate(problem.nodes)
    ]


def node_processes(problem: DagProblem) -> list[NodeProcess]:
    """Return the slowdowns, failures and losses of each node."""
    return [
        NodeProcess()
        if node.process is None
        else process_from(node.process, path=f"$.nodes[{k}].process")
        for k, node in enumerate(problem.nodes)
    ]


def task_laws(
    plan: ReplayPlan, law: RuntimeLaw | None, of_nodes: Sequence[RuntimeLaw | None]
) -> list[RuntimeLaw | None]:
    """Return the law of each task: the one asked for, else that of its node."""
    if law is not None:
        return [law] * len(plan.order)
    return [None if node < 0 else of_nodes[node] for node in plan.node.tolist()]


def has_finite_moments(
    plan: ReplayPlan,
    laws: Sequence[RuntimeLaw | None],
    processes: Sequence[NodeProcess],
    link_law: RuntimeLaw | None,
) -> tuple[bool, bool]:
    """Return whether the makespan has a finite mean, and a finite variance.

    The makespan is at least every duration and at most the sum of all, so its moments are
    finite exactly if those of all durations and transfers are. Loss of nodes is left out.
    """
    mean, variance = True, True
    if link_law is not None and plan.arcs.transfer.any():
        mean, variance = math.isfinite(link_law.mean()), math.isfinite(link_law.variance())
    tick = float(plan.problem.arrays.tick)
    known: dict[tuple[int, int], tuple[bool, bool]] = {}
    for task, law in enumerate(laws):
        node, work = int(plan.node[task]), float(plan.duration[task]) * tick
        if work <= 0:
            continue
        process = processes[node] if node >= 0 else NodeProcess()
        restarts = process.failures is not None and not process.failures.resume
        key = (id(law), node if restarts else _process_key(process))
        if restarts or key not in known:
            known[key] = _finite(law, process, work)
        mean, variance = mean and known[key][0], variance and known[key][1]
    return mean, variance


def _process_key(process: NodeProcess) -> int:
    return -1 if process.slowdown is None else id(process.slowdown)


def _finite(law: RuntimeLaw | None, process: NodeProcess, work: float) -> tuple[bool, bool]:
    """Return whether a duration has a finite mean and a finite variance."""
    factors = [found for found in (law, _factor(process.slowdown)) if found is not None]
    mean = all(math.isfinite(factor.mean()) for factor in factors)
    variance = mean and all(math.isfinite(factor.variance()) for factor in factors)
    failures = process.failures
    if failures is None or failures.resume or not failures.rate:
        return mean, variance
    # Restarts until the work is done once take exp(rate work) on average.
    random = [factor for factor in factors if not _bounded(factor)]
    rate = failures.rate * work * _largest(factors)
    if len(random) > 1:
        return _product_within(random, rate), _product_within(random, 2 * rate)
    of = random[0] if random else Deterministic(1.0)
    return _grows_within(of, rate), _grows_within(of, 2 * rate)


def _factor(slowdown: Slowdown | None) -> RuntimeLaw | None:
    """Return a law that bounds the factors of a slowdown."""
    if isinstance(slowdown, Markov):
        return Deterministic(slowdown.factor if slowdown.to_slow else 1.0)
    law: RuntimeLaw | None = getattr(slowdown, "law", None)
    return law


def _bounded(law: RuntimeLaw) -> bool:
    if isinstance(law, Mixture):
        return all(_bounded(part) for part in law.parts)
    return isinstance(law, Deterministic | Bimodal | Empirical)


def _largest(factors: Sequence[RuntimeLaw]) -> float:
    """Return the product of the largest values of the bounded factors."""
    import numpy as np

    top = np.ones(1)
    return math.prod(float(f.quantile(top)[0]) for f in factors if _bounded(f))


def _grows_within(law: RuntimeLaw, rate: float) -> bool:
    """Return whether the mean of ``exp(rate X)`` is finite."""
    if isinstance(law, Mixture):
        return all(_grows_within(part, rate) for part in law.parts)
    if isinstance(law, Exponential | ShiftedExponential):
        return rate < law.rate
    if isinstance(law, Gamma):
        return rate * law.scale < 1
    if isinstance(law, Weibull):
        return law.shape > 1 or (law.shape == 1 and rate * law.scale < 1)
    return _bounded(law)


def _product_within(laws: Sequence[RuntimeLaw], rate: float) -> bool:
    """Return whether the mean of ``exp(rate X Y)`` is finite for two unbounded factors.

    Tails ``exp(-(x / s)^a)`` and ``exp(-(y / t)^b)`` give the product one of shape ``c`` with
    ``1 / c = 1 / a + 1 / b``; for ``c = 1`` it falls as ``exp(-a^(1/a) b^(1/b) z / (s t))``.
    """
    (a, s), (b, t) = (_decay(law) for law in laws)
    if not a or not b:
        return False
    inverse = 1.0 / a + 1.0 / b
    if inverse != 1.0:
        return inverse < 1.0
    return rate * s * t < math.pow(a, 1.0 / a) * math.pow(b, 1.0 / b)


def _decay(law: RuntimeLaw) -> tuple[float, float]:
    """Return shape and scale of the tail ``exp(-(x / scale)^shape)``; shape 0 is heavier."""
    if isinstance(law, Mixture):
        return min((_decay(part) for part in law.parts), key=lambda tail: (tail[0], -tail[1]))
    if isinstance(law, Exponential | ShiftedExponential):
        return 1.0, 1.0 / law.rate
    if isinstance(law, Gamma):
        return 1.0, law.scale
    if isinstance(law, Weibull):
        return law.shape, law.scale
    return (math.inf, 1.0) if _bounded(law) else (0.0, 1.0)


def loses_work(
    plan: ReplayPlan, laws: Sequence[RuntimeLaw | None], processes: Sequence[NodeProcess]
) -> bool | None:
    """Return whether a node is lost before its work is done, with positive probability.

    Returns
    -------
    bool or None
        True: the mean makespan of the plan is infinite, whatever the samples say. None: not
        known.
    """
    tick = float(plan.problem.arrays.tick)
    answer: bool | None = False
    for node, process in enumerate(processes):
        tasks = [i for i in range(len(laws)) if plan.node[i] == node and plan.duration[i] > 0]
        if process.loss is None or not tasks:
            continue
        factors = [
            [f for f in (laws[i], _factor(process.slowdown)) if f is not None] for i in tasks
        ]
        work = [float(plan.duration[i]) * tick for i in tasks]
        least = sum(w * _end(of, 0.0) for w, of in zip(work, factors, strict=True))
        most = max(w * _end(of, 1.0) for w, of in zip(work, factors, strict=True))
        fails = process.failures is not None and process.failures.rate > 0 and most > 0
        earliest = _end([process.loss], 0.0)
        slots = plan.problem.nodes[node].slots
        if fails or earliest < max(
            most if math.isinf(most) or not earliest else 0.0, least / slots
        ):
            return True
        answer = None
    return answer


def _end(factors: Sequence[RuntimeLaw], p: float) -> float:
    """Return the product of the least (``p`` = 0) or the greatest (1) values of factors."""
    import numpy as np

    ends = [float(factor.quantile(np.array([p]))[0]) for factor in factors]
    return 0.0 if 0.0 in ends else math.prod(ends)
