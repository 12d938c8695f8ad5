"""Priority rules of schedule generation: one key for each task, smaller keys first.

Kolisch (1996), Efficient priority rules for the resource-constrained project scheduling
problem; Topcuoglu et al. (2002) for the mean durations and transfers on nodes.
"""

from __future__ import annotations

import random
from collections.abc import Callable, Mapping, Sequence

from allocsolve.models.dag.network import Arc, Network

__all__ = [
    "RULES",
    "latest_finish",
    "latest_start",
    "most_successors",
    "perturbed",
    "rank_positional_weight",
]


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


def most_successors(network: Network) -> list[float]:
    """Return keys that take the most direct and indirect successors first (MTS)."""
    return [-float(set_.bit_count()) for set_ in _descendants(network)]


def rank_positional_weight(network: Network) -> list[float]:
    """Return keys that take the longest work of a task and its successors first (GRPW*)."""
    duration = mean_durations(network)
    return [
        -duration[i] - sum(duration[j] for j in _members(set_))
        for i, set_ in enumerate(_descendants(network))
    ]


def _descendants(network: Network) -> list[int]:
    """Return the set of all successors of each task, as the bits of an integer."""
    sets = [0] * len(network)
    for i in reversed(network.order):
        for j in network.ahead[i]:
            sets[i] |= sets[j] | (1 << j)
    return sets


def _members(bits: int) -> list[int]:
    digits = bin(bits)[:1:-1]
    return [k for k, digit in enumerate(digits) if digit == "1"]


RULES: Mapping[str, Callable[[Network], list[float]]] = {
    "latest_start": latest_start,
    "latest_finish": latest_finish,
    "most_successors": most_successors,
    "rank_positional_weight": rank_positional_weight,
}
"""Rules by name, best ones first (on the average over project instances)."""


def perturbed(keys: Sequence[float], strength: float, source: random.Random) -> list[float]:
    """Return the keys with uniform noise of the given share of their range added."""
    spread = strength * (max(keys, default=0.0) - min(keys, default=0.0))
    return [key + spread * source.random() for key in keys]
