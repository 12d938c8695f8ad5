"""Rules of the literature for loads, and closed formulas of codes.

Loads of rules are real numbers; :mod:`allocsolve.models.coded.baselines` makes them whole.

Sources: HCMM (Reisizadeh, Prakash, Pedarsani and Avestimehr, IEEE Trans. Information Theory 65,
2019), whose loads are also those of the group formula of Kim, Park and Choi; BPCC, its version
with batches; replication (Behrouzi-Far and Soljanin 2020); multi-round gradient codes
(Krishnan, Ramkumar et al., ICLR 2023); communication-efficient ones (Ye and Abbe, ICML 2018).
"""

from __future__ import annotations

import math

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.nodes import Exponential, RuntimeLaw, ShiftedExponential

__all__ = [
    "best_pace",
    "burst_load",
    "communication_load",
    "hcmm_loads",
    "load_balanced",
    "mds_mean",
    "multiplexed_load",
    "replication_mean",
    "unit_times",
]

_GRID = 2000
_GOLDEN = (math.sqrt(5) - 1) / 2


def unit_times(problem: CodedProblem) -> FloatArray:
    """Return a typical time of each node for a unit of load, float64 (n,); infinite if dead.

    It is the mean, or the median where the mean is infinite.
    """
    arrays = problem.arrays
    if arrays.scenarios is not None:
        times = arrays.scenarios.mean(axis=0)
    else:
        times = np.array([_typical(law) for law in arrays.laws])
    with np.errstate(divide="ignore", invalid="ignore"):
        if problem.scaling == "additive":
            return np.where(arrays.speed > 0, np.maximum(arrays.row_time, 1e-9 * times), np.inf)
        return np.asarray(np.where(arrays.speed > 0, times / arrays.speed, np.inf))


def _typical(law: RuntimeLaw) -> float:
    mean = law.mean()
    return mean if math.isfinite(mean) else float(law.quantile(np.array([0.5]))[0])


def load_balanced(problem: CodedProblem, need: int) -> FloatArray:
    """Return loads in proportion to the speeds that add up to the need, float64 (n,)."""
    times = unit_times(problem)
    at_once = times == 0
    speeds = at_once.astype(np.float64) if at_once.any() else 1.0 / times
    total = float(speeds.sum())
    return speeds if total == 0 else np.asarray(need * speeds / total)


def hcmm_loads(problem: CodedProblem, need: int, batches: int = 1) -> FloatArray:
    """Return the loads of HCMM, or with batches those of BPCC, float64 (n,).

    A node that is given ``l = tau / x`` has returned ``(l / b) sum_j P(X <= x b / j)`` units
    by tau on average; x is chosen to make that largest, and tau so that the sum over all nodes
    is the need. For one batch and shifted exponential nodes x is
    ``-(W_{-1}(-exp(-a mu - 1)) + 1) / mu``.
    """
    arrays = problem.arrays
    found = dict[tuple[RuntimeLaw, float], tuple[float, float]]()
    paces, gains = np.zeros(len(arrays.laws)), np.zeros(len(arrays.laws))
    for i, (law, speed) in enumerate(zip(arrays.laws, arrays.speed.tolist(), strict=True)):
        if speed == 0:
            paces[i] = math.inf
            continue
        if (law, speed) not in found:
            pace, gain = best_pace(law, batches)
            found[law, speed] = (pace / speed, gain * speed)
        paces[i], gains[i] = found[law, speed]
    total = float(gains.sum())
    if not 0 < total < math.inf:
        return load_balanced(problem, need)
    with np.errstate(divide="ignore"):
        return np.asarray(np.minimum(need / total / paces, need * batches))


def best_pace(law: RuntimeLaw, batches: int = 1) -> tuple[float, float]:
    """Return the time per unit of load at which a node returns most, and how much that is.

    Returns
    -------
    tuple of float
        x and ``(1 / (x b)) sum_j P(X <= x b / j)``.
    """
    if batches == 1 and isinstance(law, Exponential):
        return 0.0, law.rate
    if batches == 1 and isinstance(law, ShiftedExponential) and law.shift * law.rate < 600:
        from scipy.special import lambertw

        product = law.shift * law.rate
        pace = -(float(lambertw(-math.exp(-product - 1), -1).real) + 1) / law.rate
        return pace, law.rate / (1 + law.rate * pace)
    return _searched_pace(law, batches)


def _searched_pace(law: RuntimeLaw, batches: int) -> tuple[float, float]:
    """Find the pace on a grid of quantiles and jumps, then by golden section."""
    parts = np.arange(1, batches + 1) / batches

    def gain(paces: FloatArray) -> FloatArray:
        late = law.survival(paces[:, None] / parts * (1 + 4e-15))
        return np.asarray((1.0 - late).mean(axis=1) / paces)

    ranks = np.linspace(0, 1, _GRID + 1)[:-1]
    jumps = [x for x in law.breakpoints() if 0 < x < math.inf]
    grid = np.unique(np.concatenate([law.quantile(ranks), jumps]))
    grid = grid[(grid > 0) & np.isfinite(grid)]
    if not len(grid):
        return 0.0, math.inf
    values = gain(grid)
    best = int(values.argmax())
    low, high = grid[max(best - 1, 0)], grid[min(best + 1, len(grid) - 1)]
    for _ in range(60):
        left, right = high - _GOLDEN * (high - low), low + _GOLDEN * (high - low)
        first, second = gain(np.array([left, right])).tolist()
        low, high = (low, right) if first >= second else (left, high)
    inner = float(gain(np.array([low]))[0])
    if inner > values[best]:
        return float(low), inner
    return float(grid[best]), float(values[best])


def mds_mean(nodes: int, enough: int, shift: float, rate: float) -> float:
    """Return the mean time of an (n, k) MDS code for one unit of work on equal nodes.

    ``(1 / k) (a + (H_n - H_{n-k}) / mu)``; each of the n nodes has 1/k of the work.
    """
    harmonic = math.fsum(1 / i for i in range(nodes - enough + 1, nodes + 1))
    return (shift + harmonic / rate) / enough


def replication_mean(nodes: int, blocks: int, shift: float, rate: float) -> float:
    """Return the mean time of one unit of work in blocks that are replicated evenly.

    Shifted exponential nodes (Behrouzi-Far and Soljanin 2020): ``N D / B + H_B / mu`` for
    work of N units, of which each node does N / B.
    """
    return nodes * shift / blocks + math.fsum(1 / i for i in range(1, blocks + 1)) / rate


def communication_load(nodes: int, stragglers: int, messages: int) -> float:
    """Return the share of all partitions that a node needs for messages of 1/m.

    Ye and Abbe 2018: ``(s + m) / n``.
    """
    return (stragglers + messages) / nodes


def burst_load(nodes: int, burst: int, window: int, stragglers: int) -> float:
    """Return the load of a selective-repetition gradient code over rounds.

    ``(ceil(B lambda / (W - 1 + B)) + 1) / n``.
    """
    return (-(-burst * stragglers // (window - 1 + burst)) + 1) / nodes


def multiplexed_load(nodes: int, burst: int, window: int, stragglers: int) -> float:
    """Return the load of a multiplexed gradient code over rounds.

    ``(lambda + 1)(W - 1 + B) / (n (B + (W - 1)(lambda + 1)))``, and
    ``(W - 1 + B) / (n (W - 1))`` if all nodes may straggle.
    """
    span = window - 1 + burst
    if stragglers == nodes:
        return span / (nodes * (window - 1))
    return (stragglers + 1) * span / (nodes * (burst + (window - 1) * (stragglers + 1)))
