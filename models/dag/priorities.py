"""Priority rules of schedule generation: one key for each task, smaller keys first.

Kolisch (1996), Efficient priority rules for the resource-constrained project scheduling
problem; Topcuoglu et al. (2002) for the mean durations and transfers on nodes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

import numpy as np

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.dag.network import Arc, Network

__all__ = [
    "RULES",
    "SUCCESSOR_RULES",
    "latest_finish",
    "latest_start",
    "most_successors",
    "perturbed",
    "rank_positional_weight",
]

Stop = Callable[[], bool]

_BLOCK = 1_000_000
"""Bytes of a table of successors, some hundredths of a second of work."""


def _never() -> bool:
    return False


def mean_durations(network: Network) -> list[float]:
    """Return the mean duration of each task over its ways."""
    return [sum(way.duration for way in ways) / len(ways) if ways else 0.0 for ways in network.ways]


def tails(network: Network) -> list[float]:
    """Return the mean longest path from the start of each task to the end of the project."""
    duration = mean_durations(network)
    transfer = _mean_transfer(network)
    tail = list(duration)
    position = {task: k for k, task in enumerate(network.order)}
    for i in reversed(network.order):
        for arc in network.outgoing[i]:
            if position[arc.other] > position[i]:
                lag = _start_lag(arc, duration[i], transfer)
                tail[i] = max(tail[i], lag + tail[arc.other])
    return tail


def _start_lag(arc: Arc, duration: float, transfer: tuple[float, float]) -> float:
    lag = arc.min_lag + (0.0 if arc.from_start else duration)
    return lag + transfer[0] + arc.data * transfer[1] if arc.data else lag


def _mean_transfer(network: Network) -> tuple[float, float]:
    """Return the mean latency and the mean time of a unit of data over all pairs of nodes."""
    n = len(network.latency)
    if not network.communicates or n == 0:
        return 0.0, 0.0
    pairs = n * n
    return sum(map(sum, network.latency)) / pairs, sum(map(sum, network.data_time)) / pairs


def latest_start(network: Network) -> list[float]:
    """Return keys that take the smallest latest start first (LST)."""
    return [-tail for tail in tails(network)]


def latest_finish(network: Network) -> list[float]:
    """Return keys that take the smallest latest finish first (LFT)."""
    return [
        duration - tail
        for duration, tail in zip(mean_durations(network), tails(network), strict=True)
    ]


def most_successors(network: Network, stop: Stop = _never) -> list[float] | None:
    """Return keys that take the most direct and indirect successors first (MTS).

    One step for each pair of tasks, most of them in arrays; None if ``stop``, asked at least
    every tenth of a second, became true.
    """
    counts = _sums_ahead(network, [1.0] * len(network), stop)
    return None if counts is None else [1.0 - count for count in counts]


def rank_positional_weight(network: Network, stop: Stop = _never) -> list[float] | None:
    """Return keys that take the longest work of a task and its successors first (GRPW*).

    The cost and ``stop`` are those of :func:`most_successors`.
    """
    work = _sums_ahead(network, mean_durations(network), stop)
    return None if work is None else [-amount for amount in work]


def _sums_ahead(network: Network, weight: Sequence[float], stop: Stop) -> list[float] | None:
    """Return for each task the weight of itself and all its successors.

    Sets of successors are the bits of integers, for some successors at a time, so that neither
    room nor the time between two looks at the clock grows with the square of the tasks.
    """
    n, order = len(network), network.order
    total = np.zeros(n)
    width = 8 * max(8, _BLOCK // max(1, n))
    for first in range(0, n, width):
        if stop():
            return None
        block = order[first : first + width]
        before = order[: first + width]  # nothing later leads to the block
        bits = _bits_ahead(network, before, block)
        total[before] += _weigh(bits, [weight[task] for task in block])
    sums: list[float] = total.tolist()
    return sums


def _bits_ahead(network: Network, tasks: Sequence[int], block: Sequence[int]) -> IntArray:
    """Return which tasks of a block each task is or leads to, uint8 (tasks, block / 8)."""
    ahead = network.ahead
    reach = [0] * len(network)
    for k, task in enumerate(block):
        reach[task] = 1 << k
    for i in reversed(tasks):
        for j in ahead[i]:
            reach[i] |= reach[j]
    size = (len(block) + 7) // 8
    raw = b"".join(reach[i].to_bytes(size, "little") for i in tasks)
    return np.frombuffer(raw, np.uint8).reshape(len(tasks), size).astype(np.int64)


def _weigh(bits: IntArray, weight: Sequence[float]) -> FloatArray:
    """Return the weight of each row of bits, by a table of all values of a byte."""
    size = bits.shape[1]
    padded = np.zeros(8 * size)
    padded[: len(weight)] = weight
    digits = (np.arange(256)[:, None] >> np.arange(8)) & 1
    table = padded.reshape(size, 8) @ digits.T.astype(np.float64)
    weighed: FloatArray = table[np.arange(size), bits].sum(axis=1)
    return weighed


RULES: Mapping[str, Callable[[Network], list[float]]] = {
    "latest_start": latest_start,
    "latest_finish": latest_finish,
}
"""Rules by name, the better first (on the average over project instances)."""

SUCCESSOR_RULES: Mapping[str, Callable[[Network, Stop], list[float] | None]] = {
    "most_successors": most_successors,
    "rank_positional_weight": rank_positional_weight,
}
"""Rules that look at all pairs of tasks, and can be stopped."""


def perturbed(keys: Sequence[float], strength: float, source: random.Random) -> list[float]:
    """Return the keys with uniform noise of the given share of their range added."""
    spread = strength * (max(keys, default=0.0) - min(keys, default=0.0))
    return [key + spread * source.random() for key in keys]
