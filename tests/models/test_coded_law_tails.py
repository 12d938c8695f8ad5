"""When the mean of a completion time is infinite: decided exactly, never estimated."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Sequence
from fractions import Fraction

import numpy as np
import pytest

from allocsolve.models.coded.answer import Code, CodedAnswer
from allocsolve.models.coded.data import (
    Gradient,
    Limits,
    MatVec,
    Node,
    ObjectiveSpec,
    Scaling,
)
from allocsolve.models.coded.law import completion_law
from allocsolve.models.coded.law_tails import least_cover
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.execution.coded import simulate
from allocsolve.models.execution.request import SimulationRequest
from allocsolve.models.nodes import Law


def pareto(shape: float | Fraction) -> Law:
    return Law(law="pareto", shape=shape, scale=1)


def products(
    shapes: Sequence[float | None],
    rows: int,
    groups: Sequence[str | None] | None = None,
    scaling: Scaling = "load",
) -> CodedProblem:
    light = Law(law="exponential", rate=1)
    labels = groups or [None] * len(shapes)
    return CodedProblem(
        task=MatVec(rows=rows),
        nodes=[
            Node(id=f"w{i}", runtime=light if shape is None else pareto(shape), group=label)
            for i, (shape, label) in enumerate(zip(shapes, labels, strict=True))
        ],
        scaling=scaling,
        limits=Limits(batches="free"),
    )


@pytest.mark.parametrize(
    ("shapes", "loads", "rows", "infinite"),
    [
        pytest.param([1, None], [1, 1], 2, True, id="all of a node of shape 1"),
        pytest.param([1.001, None], [1, 1], 2, False, id="just above 1"),
        pytest.param([0.5, 0.5], [1, 1], 1, True, id="two halves add up to 1"),
        pytest.param([0.5, 0.501], [1, 1], 1, False, id="just above two halves"),
        pytest.param([0.1] * 10, [1] * 10, 1, True, id="ten tenths, exactly"),
        pytest.param([0.1] * 10 + [0.01], [1] * 11, 1, False, id="a little more"),
        pytest.param([0.4, 0.4, None], [1, 1, 3], 3, False, id="not needed"),
        pytest.param([0.9, 0.9, None], [2, 1, 3], 4, False, id="either of two suffices"),
        pytest.param([0.9, 0.9, None], [2, 1, 3], 5, True, id="one of them is needed"),
    ],
)
def test_infinite_means(
    shapes: list[float | None], loads: list[int], rows: int, infinite: bool
) -> None:
    """Infinite if and only if the shapes of some nodes that can block the job sum to 1 or less."""
    for batches in (1, 2):
        law = completion_law(products(shapes, rows), CodedAnswer.of(loads, batches=batches))
        assert math.isinf(law.mean) == infinite
        assert math.isfinite(law.quantile(0.9))
        assert math.isinf(law.std) or not infinite


def test_infinite_variances() -> None:
    """Between 1 and 2 the mean is finite and the variance is not."""
    law = completion_law(products([2, 3], 2), CodedAnswer.of([1, 1]))
    assert math.isfinite(law.mean)
    assert math.isinf(law.std)
    assert math.isfinite(completion_law(products([2, 0.5], 1), CodedAnswer.of([1, 1])).std)


def test_groups_are_late_together() -> None:
    """Two nodes of shape 0.7 block the job with index 1.4 apart, with 0.7 in one group."""
    apart = completion_law(products([0.7, 0.7], 1), CodedAnswer.of([1, 1]))
    together = completion_law(products([0.7, 0.7], 1, ["g", "g"]), CodedAnswer.of([1, 1]))
    mixed = completion_law(products([0.7, 1.5], 1, ["g", "g"]), CodedAnswer.of([1, 1]))
    assert math.isfinite(apart.mean)
    assert math.isinf(together.mean)
    assert mixed.mean == pytest.approx(3)


@pytest.mark.parametrize("seed", range(20))
def test_least_cover_by_brute_force(seed: int) -> None:
    """The knapsack agrees with all choices of one entry for each source."""
    source = random.Random(seed)
    sources = []
    for _ in range(5):
        steps = sorted(Fraction(source.randint(1, 20), 10) for _ in range(source.randint(1, 2)))
        weights = itertools.accumulate(source.randint(1, 4) for _ in steps)
        sources.append(list(zip(steps, weights, strict=True)))
    target = source.randint(1, 12)
    choices = itertools.product(*([(Fraction(0), 0), *entries] for entries in sources))
    costs = [
        sum(cost for cost, _ in chosen)
        for chosen in choices
        if sum(weight for _, weight in chosen) >= target
    ]
    assert least_cover(sources, target) == (float(min(costs)) if costs else math.inf)


def test_mixtures_are_as_heavy_as_their_heaviest_part() -> None:
    """A rare part with a heavy tail decides; a part without weight does not."""
    rare = Law(law="mixture", parts=[pareto(1), Law(law="exponential", rate=1)], weights=[1, 999])
    none = Law(law="mixture", parts=[pareto(1), Law(law="exponential", rate=1)], weights=[0, 1])
    for runtime, infinite in ((rare, True), (none, False)):
        problem = CodedProblem(task=MatVec(rows=1), nodes=[Node(id="a", runtime=runtime)])
        assert math.isinf(completion_law(problem, CodedAnswer.of([1])).mean) == infinite


def test_gradients_of_heavy_nodes() -> None:
    """Of three nodes of shape 0.6 one may be missing; so two are late together: 1.2."""
    nodes = [Node(id=f"w{i}", runtime=pareto(Fraction(3, 5))) for i in range(3)]
    problem = CodedProblem(
        task=Gradient(partitions=3, stragglers=1), nodes=nodes, objective=ObjectiveSpec(name="mean")
    )
    parts = [[0, 1], [1, 2], [0, 2]]
    matrix = ((0.5, 1, 0), (0, 1, -1), (0.5, 0, 1))
    plain = completion_law(problem, CodedAnswer.of([2] * 3, partitions=parts))
    coded = completion_law(
        problem, CodedAnswer.of([2] * 3, partitions=parts, code=Code(matrix=matrix))
    )
    assert math.isfinite(plain.mean)
    assert coded.mean == pytest.approx(plain.mean, rel=1e-9)
    batched = problem.replace(limits=Limits(batches=2))
    assert math.isfinite(completion_law(batched, CodedAnswer.of([2] * 3, partitions=parts)).mean)


def test_sampled_means_are_infinite_too() -> None:
    """Sums of Pareto draws have no exact law; their samples must not be given a mean."""
    problem = products([1, 0.8], 4, scaling="per_row")
    result = simulate(problem, [CodedAnswer.of([2, 3])], SimulationRequest(replications=500))[0]
    assert result.method == "monte_carlo"
    assert result.infinite
    assert result.mean_ci is None
    assert math.isfinite(result.quantile(0.5))


def test_jobs_that_never_complete() -> None:
    """Loads below the need: the law puts everything at infinity (the checker refuses them)."""
    law = completion_law(products([None, None], 5), CodedAnswer.of([1, 1]))
    assert math.isinf(law.mean)
    assert law.quantile(0.01) == math.inf
    assert law.deadline_probability(1e9) == 0
    np.testing.assert_array_equal(law.survival(np.array([[1.0, 2.0]])), [[1, 1]])
