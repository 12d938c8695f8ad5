"""Shapes of task graphs: the arcs of random and of well-known graphs.

Every function returns a graph on exactly ``size`` tasks, numbered in a topological order. Where
a well-known graph has another number of tasks, the next larger one is cut off after its first
``size`` tasks in that order.
"""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Iterator
from dataclasses import dataclass, field
from itertools import count, islice
from typing import TypeAlias

from allocsolve.instances.generators.draw import Draw

__all__ = [
    "Shape",
    "cholesky",
    "fork",
    "fork_join",
    "in_tree",
    "join",
    "layered",
    "lu",
    "mapreduce",
    "out_tree",
    "pipeline",
    "series_parallel",
    "stencil",
]

_Step: TypeAlias = tuple[Hashable, int, list[Hashable]]
"""Key of a task, its weight, and the keys of the tasks before it."""


@dataclass(frozen=True)
class Shape:
    """A graph on tasks 0, ..., size - 1.

    Attributes
    ----------
    arcs
        Pairs (i, j), i < j.
    weights
        Relative work of each task; empty if works are to be drawn.
    """

    size: int
    arcs: list[tuple[int, int]]
    weights: list[int] = field(default_factory=list)


def layered(draw: Draw, size: int, degree: int) -> Shape:
    """Draw about sqrt(size) layers; a task has 1, ..., ``degree`` predecessors close before it.

    Predecessors come from the two layers before, from all earlier layers if those are empty.
    """
    layers = max(2, math.isqrt(size))
    layer = sorted(draw.integer(0, layers - 1) for _ in range(size))
    first = [0] * (layers + 1)
    for i in layer:
        first[i + 1] += 1
    for i in range(layers):
        first[i + 1] += first[i]
    arcs: list[tuple[int, int]] = []
    for j in range(size):
        end, begin = first[layer[j]], first[max(0, layer[j] - 2)]
        begin = begin if begin < end else 0
        wanted = min(draw.integer(1, degree), end - begin)
        arcs.extend((i, j) for i in _sample(draw, begin, end, wanted))
    return Shape(size, arcs)


def _sample(draw: Draw, begin: int, end: int, wanted: int) -> list[int]:
    """Draw different numbers of begin, ..., end - 1; few of many, so that retries are rare."""
    if 2 * wanted >= end - begin:
        return draw.subset(range(begin, end), wanted)
    chosen: set[int] = set()
    while len(chosen) < wanted:
        chosen.add(draw.integer(begin, end - 1))
    return sorted(chosen)


def fork(size: int) -> Shape:
    """Return one task before all others."""
    return Shape(size, [(0, j) for j in range(1, size)])


def join(size: int) -> Shape:
    """Return one task after all others."""
    return Shape(size, [(i, size - 1) for i in range(size - 1)])


def fork_join(size: int) -> Shape:
    """Return one task before, and one after, all others."""
    before = fork(max(0, size - 1)).arcs
    after = [(i, size - 1) for i in range(min(1, size - 2), size - 1)] if size > 1 else []
    return Shape(size, before + after)


def out_tree(draw: Draw, size: int, degree: int) -> Shape:
    """Draw a tree that branches; a task has at most ``degree`` successors."""
    arcs: list[tuple[int, int]] = []
    free = [0]
    children = [0] * max(size, 1)
    for j in range(1, size):
        place = draw.integer(0, len(free) - 1)
        i = free[place]
        arcs.append((i, j))
        children[i] += 1
        if children[i] == degree:
            free[place] = free[-1]
            free.pop()
        free.append(j)
    return Shape(size, arcs)


def in_tree(draw: Draw, size: int, degree: int) -> Shape:
    """Draw a tree that joins; a task has at most ``degree`` predecessors."""
    last = size - 1
    return Shape(size, [(last - j, last - i) for i, j in out_tree(draw, size, degree).arcs])


def series_parallel(draw: Draw, size: int) -> Shape:
    """Draw a series-parallel graph between its first and its last task.

    Starting with one arc, a new task is put on a random arc, or beside it.
    """
    if size < 3:
        return fork(size)
    arcs = [(0, 1)]
    for task in range(2, size):
        place = draw.integer(0, len(arcs) - 1)
        source, target = arcs[place]
        if draw.chance(0.5):
            arcs[place] = (source, task)
        else:
            arcs.append((source, task))
        arcs.append((task, target))
    return Shape(size, _renumbered(size, arcs))


def _renumbered(size: int, arcs: list[tuple[int, int]]) -> list[tuple[int, int]]:
    """Return the arcs with tasks numbered in a topological order."""
    after: list[list[int]] = [[] for _ in range(size)]
    missing = [0] * size
    for i, j in arcs:
        after[i].append(j)
        missing[j] += 1
    order = [i for i in range(size) if not missing[i]]
    for i in order:
        for j in after[i]:
            missing[j] -= 1
            if not missing[j]:
                order.append(j)
    number = {task: k for k, task in enumerate(order)}
    return [(number[i], number[j]) for i, j in arcs]


def _cut(size: int, steps: Iterable[_Step]) -> Shape:
    """Return the graph of the first ``size`` steps; keys that are not there yet are no tasks."""
    number: dict[Hashable, int] = {}
    arcs: list[tuple[int, int]] = []
    weights: list[int] = []
    for key, weight, before in islice(steps, size):
        j = number[key] = len(number)
        weights.append(weight)
        arcs.extend((number[other], j) for other in before if other in number)
    return Shape(size, arcs, weights)


def stencil(size: int) -> Shape:
    """Return rows of about sqrt(size) cells; a cell needs its three neighbours of the last row."""
    width = max(1, math.isqrt(size))
    arcs = [
        (j - width + shift, j)
        for j in range(width, size)
        for shift in (-1, 0, 1)
        if 0 <= j % width + shift < width
    ]
    return Shape(size, arcs)


def lu(size: int) -> Shape:
    """Return the tiled LU factorization without pivoting; weights are operations per tile.

    Source: A. Buttari et al., "A class of parallel tiled linear algebra algorithms for
    multicore architectures", Parallel Computing 35 (2009).
    """
    tiles = next(b for b in count(1) if b * (b + 1) * (2 * b + 1) // 6 >= size)
    return _cut(size, _lu_steps(tiles))


def _lu_steps(tiles: int) -> Iterator[_Step]:
    for k in range(tiles):
        yield (k, k, k), 2, [(k, k, k - 1)]
        for i in range(k + 1, tiles):
            yield (i, k, k), 3, [(k, k, k), (i, k, k - 1)]
            yield (k, i, k), 3, [(k, k, k), (k, i, k - 1)]
        for i in range(k + 1, tiles):
            for j in range(k + 1, tiles):
                yield (i, j, k), 6, [(i, k, k), (k, j, k), (i, j, k - 1)]


def cholesky(size: int) -> Shape:
    """Return the tiled Cholesky factorization; weights are operations per tile.

    Source: A. Buttari et al., "A class of parallel tiled linear algebra algorithms for
    multicore architectures", Parallel Computing 35 (2009).
    """
    tiles = next(b for b in count(1) if b * (b + 1) * (b + 2) // 6 >= size)
    return _cut(size, _cholesky_steps(tiles))


def _cholesky_steps(tiles: int) -> Iterator[_Step]:
    for k in range(tiles):
        yield (k, k, k), 1, [(k, k, k - 1)]
        for i in range(k + 1, tiles):
            yield (i, k, k), 3, [(k, k, k), (i, k, k - 1)]
        for i in range(k + 1, tiles):
            yield (i, i, k), 3, [(i, k, k), (i, i, k - 1)]
            for j in range(k + 1, i):
                yield (i, j, k), 6, [(i, k, k), (j, k, k), (i, j, k - 1)]


def mapreduce(size: int, reducers: int) -> Shape:
    """Return a split, its maps, ``reducers`` tasks that need all maps, and a task that collects."""
    if size < 4:
        return fork(size)
    reduces = min(reducers, size - 3)
    maps = range(1, size - 1 - reduces)
    collect = size - 1
    arcs = [(0, i) for i in maps]
    arcs += [(i, j) for i in maps for j in range(maps.stop, collect)]
    arcs += [(j, collect) for j in range(maps.stop, collect)]
    return Shape(size, arcs)


def pipeline(size: int, layers: int) -> Shape:
    """Return training steps of a deep network: micro-batches forward and back through layers.

    Going back takes twice the work, and needs what the layer kept on the way forward.

    Source: Y. Huang et al., "GPipe: efficient training of giant neural networks using
    pipeline parallelism", NeurIPS 2019.
    """
    return _cut(size, _pipeline_steps(layers))


def _pipeline_steps(layers: int) -> Iterator[_Step]:
    for batch in count():
        for layer in range(layers):
            yield (batch, layer, "forward"), 1, [(batch, layer - 1, "forward")]
        for layer in reversed(range(layers)):
            needed: list[Hashable] = [(batch, layer + 1, "back"), (batch, layer, "forward")]
            yield (batch, layer, "back"), 2, needed
