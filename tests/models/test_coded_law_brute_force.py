"""Completion laws against the sum over all states of all nodes, written out independently."""

from __future__ import annotations

import itertools
import math
import random
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest
from scipy.integrate import quad

from allocsolve.models.coded.answer import Code, CodedAnswer
from allocsolve.models.coded.check import check
from allocsolve.models.coded.data import (
    Elastic,
    Gradient,
    Limits,
    MatVec,
    Node,
    ObjectiveSpec,
    Task,
)
from allocsolve.models.coded.law import completion_law
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.execution.coded import simulate
from allocsolve.models.execution.request import SimulationRequest
from allocsolve.models.nodes import Law, law_from

MEAN = ObjectiveSpec(name="mean")
LAWS = (
    Law(law="shifted_exponential", shift=0.5, rate=2),
    Law(law="exponential", rate=1),
    Law(law="weibull", shape=0.7, scale=1, shift=0.25),
    Law(law="pareto", shape=3, scale=0.5),
    Law(law="lognormal", log_mean=0, log_std=0.8),
    Law(law="gamma", shape=2.5, scale=0.4),
    Law(law="bimodal", base=0.5, slowdown=4, probability=0.2),
    Law(law="empirical", samples=[0.25, 0.5, 0.5, 1.75]),
    Law(law="deterministic", value=0.75),
    Law(
        law="mixture",
        parts=[Law(law="deterministic", value=1), Law(law="exponential", rate=3)],
        weights=[1, 2],
    ),
)

Sent = Sequence[int]
Complete = Callable[[Sent], bool]


def draw_nodes(source: random.Random, count: int, **fields: Any) -> list[Node]:
    return [
        Node(
            id=f"w{i}",
            runtime=source.choice(LAWS),
            startup=source.choice((0, 0.5)),
            message=source.choice((0, 0, 0.25)),
            **fields,
        )
        for i in range(count)
    ]


def ends_of(load: int, batches: int) -> list[int]:
    """Rows that a node has done at each of its results."""
    count = min(load, batches)
    return [math.ceil(j * load / count) for j in range(1, count + 1)]


def late(problem: CodedProblem, node: int, done: float, number: int, t: float) -> float:
    """Probability that a result has not arrived by t, from the definition of the scaling."""
    data = problem.nodes[node]
    assert data.runtime is not None
    law = law_from(data.runtime, path="$")
    rest = t - float(data.startup) - number * float(data.message)
    if problem.scaling == "additive":
        rest -= done * float(data.row_time)
        return 1 - float(law.cdf(np.array([rest]))[0])
    return 1 - float(law.cdf(np.array([rest / done * float(data.speed)]))[0])


def brute_force(
    problem: CodedProblem, ends: Sequence[Sequence[float]], complete: Complete, t: float
) -> float:
    """Sum over how many results each node has sent; return P(not complete at t)."""
    total = 0.0
    tails = [
        [0.0, *(late(problem, i, done, j, t) for j, done in enumerate(mine, 1)), 1.0]
        for i, mine in enumerate(ends)
    ]
    for sent in itertools.product(*(range(len(mine) + 1) for mine in ends)):
        if not complete(sent):
            total += math.prod(tails[i][k + 1] - tails[i][k] for i, k in enumerate(sent))
    return total


def compare(
    problem: CodedProblem, answer: CodedAnswer, ends: Sequence[Sequence[float]], complete: Complete
) -> None:
    report = check(problem, answer)
    assert report.valid, report.violations
    law = completion_law(problem, answer)
    times = np.array([0.3 * k + 0.0137 for k in range(40)])
    expected = [brute_force(problem, ends, complete, t) for t in times.tolist()]
    np.testing.assert_allclose(law.survival(times), expected, rtol=1e-10, atol=1e-13)
    assert report.value == law.mean


@pytest.mark.parametrize("seed", range(12))
def test_weighted_sums(seed: int) -> None:
    """Any mix of laws, loads, messages, speeds and batches; each node brings part of its load."""
    source = random.Random(seed)
    nodes = draw_nodes(source, 4, speed=source.choice((1, 2)))
    loads = [source.randint(0, 5) for _ in nodes]
    batches = source.choice((1, 1, 2, 3))
    rows = max(1, sum(loads) * 2 // 3)
    loads[0] += rows - min(rows, sum(loads))
    problem = CodedProblem(task=MatVec(rows=rows), nodes=nodes, limits=Limits(batches="free"))
    ends = [ends_of(load, batches) for load in loads]

    def complete(sent: Sent) -> bool:
        return sum(([0, *ends[i]])[k] for i, k in enumerate(sent)) >= rows

    compare(problem, CodedAnswer.of(loads, batches=batches), ends, complete)


@pytest.mark.parametrize("seed", range(4))
def test_additive_delays(seed: int) -> None:
    """The time of a row is fixed and the random delay does not grow with the load."""
    source = random.Random(seed)
    nodes = draw_nodes(source, 4, row_time=0.5)
    problem = CodedProblem(
        task=MatVec(rows=7), nodes=nodes, scaling="additive", limits=Limits(batches=2)
    )
    loads = [3, 2, 4, 1]
    ends = [ends_of(load, 2) for load in loads]

    def complete(sent: Sent) -> bool:
        return sum(([0, *ends[i]])[k] for i, k in enumerate(sent)) >= 7

    compare(problem, CodedAnswer.of(loads), ends, complete)


@pytest.mark.parametrize("seed", range(3))
def test_gradients_in_batches(seed: int) -> None:
    """Each partition has to arrive from one node; the order decides which comes first."""
    source = random.Random(seed)
    parts = [[i, (i + 1) % 4, (i + 2) % 4] for i in range(4)]
    order = [source.sample(mine, 3) for mine in parts]
    problem = CodedProblem(
        task=Gradient(partitions=4, stragglers=2),
        nodes=draw_nodes(source, 4),
        objective=MEAN,
        limits=Limits(batches=2),
    )
    ends = [[2, 3]] * 4

    def complete(sent: Sent) -> bool:
        found = {part for i, k in enumerate(sent) for part in order[i][: (0, 2, 3)[k]]}
        return len(found) == 4

    answer = CodedAnswer.of([3] * 4, partitions=parts, order=order)
    compare(problem, answer, ends, complete)


@pytest.mark.parametrize("batches", [1, 2])
def test_elastic_pieces_overlap(batches: int) -> None:
    """Pieces share nodes, so the conditions are dependent and states are enumerated."""
    pieces = [(0.25, (0, 1, 2)), (0.25, (1, 2, 3)), (0.5, (2, 3, 0))]
    loads = [0.75, 0.5, 1, 0.75]
    problem = CodedProblem(
        task=Elastic(recovery_threshold=2, stragglers=1),
        nodes=draw_nodes(random.Random(batches), 4, speed=2),
        objective=MEAN,
        limits=Limits(batches=batches),
    )
    ends = [[load * j / batches for j in range(1, batches + 1)] for load in loads]

    def complete(sent: Sent) -> bool:
        done, good = [0.0] * 4, True
        for size, members in pieces:
            for i in members:
                done[i] += size
            ready = sum(([0, *ends[i]])[sent[i]] >= done[i] - 1e-12 for i in members)
            good = good and ready >= 2
        return good

    named = [(size, [f"w{i}" for i in members]) for size, members in pieces]
    compare(problem, CodedAnswer.of(loads, pieces=named), ends, complete)


def test_an_encoding_matrix_decodes_early() -> None:
    """With a matrix that is given, fewer than n - s nodes may do: here one of each pair."""
    parts = [[0, 1], [0, 1], [2, 3], [2, 3]]
    rows = tuple(tuple(float(p in mine) for p in range(4)) for mine in parts)
    problem = CodedProblem(
        task=Gradient(partitions=4, stragglers=1),
        nodes=draw_nodes(random.Random(5), 4),
        objective=MEAN,
    )

    def complete(sent: Sent) -> bool:
        return bool((sent[0] or sent[1]) and (sent[2] or sent[3]))

    for code in (Code(matrix=rows), Code(family="fractional_repetition")):
        answer = CodedAnswer.of([2] * 4, partitions=parts, code=code)
        compare(problem, answer, [[2]] * 4, complete)


@pytest.mark.parametrize("seed", range(4))
def test_groups_share_a_uniform_number(seed: int) -> None:
    """Nodes of a group straggle together: conditional on their number they are constant."""
    source = random.Random(seed)
    labels = ["a", "a", "b", "b", None]
    nodes = [
        Node(id=f"w{i}", runtime=source.choice(LAWS), group=label) for i, label in enumerate(labels)
    ]
    problem = CodedProblem(task=MatVec(rows=6), nodes=nodes, limits=Limits(batches=2))
    loads = [3, 2, 4, 1, 2]
    law = completion_law(problem, CodedAnswer.of(loads))
    for t in (0.6, 1.7, 3.1, 5.3):
        shares = [_group_rows(problem, loads, label, t) for label in ("a", "b", None)]
        expected = sum(
            math.prod(share for share, _ in cells)
            for cells in itertools.product(*shares)
            if sum(rows for _, rows in cells) < 6
        )
        assert float(law.survival(np.array([t]))[0]) == pytest.approx(expected, abs=1e-12)


def _group_rows(
    problem: CodedProblem, loads: Sequence[int], label: str | None, t: float
) -> list[tuple[float, int]]:
    """Cells of the uniform number of a group, and the rows that arrive by t in each."""
    steps = []
    for node, runtime, load in zip(problem.nodes, problem.arrays.laws, loads, strict=True):
        ends = ends_of(load, 2) if node.group == label else []
        for before, end in zip([0, *ends], ends, strict=False):
            steps.append((float(runtime.cdf(np.array([t / end]))[0]), end - before))
    edges = sorted({0.0, 1.0, *(chance for chance, _ in steps)})
    return [
        (high - low, sum(rows for chance, rows in steps if chance >= high))
        for low, high in itertools.pairwise(edges)
    ]


@pytest.mark.parametrize("seed", range(6))
def test_mean_and_error_bound(seed: int) -> None:
    """The stated error bound holds against another quadrature of the same survival function."""
    source = random.Random(100 + seed)
    problem = CodedProblem(task=MatVec(rows=8), nodes=draw_nodes(source, 5))
    loads = [source.randint(1, 5) for _ in range(5)]
    loads[0] += max(0, 8 - sum(loads))
    law = completion_law(problem, CodedAnswer.of(loads))
    corners = {
        float(node.startup) + float(node.message) + load * x
        for node, load in zip(problem.nodes, loads, strict=True)
        if node.runtime is not None
        for x in law_from(node.runtime, path="$").breakpoints()
    }
    edges = sorted({0.0, *corners, *(2.0**k for k in range(0, 40, 2))})
    parts = [
        quad(lambda t: float(law.survival(np.array([t]))[0]), a, b, epsabs=1e-13, epsrel=1e-12)[0]
        for a, b in itertools.pairwise(edges)
    ]
    assert law.mean == pytest.approx(math.fsum(parts), rel=1e-9)
    assert law.mean_error < 1e-9 * law.mean


@pytest.mark.parametrize("q", [1e-6, 0.1, 0.5, 0.9, 0.999999])
@pytest.mark.parametrize("seed", range(4))
def test_quantiles_invert_the_law(seed: int, q: float) -> None:
    """A quantile is the least time that reaches the probability, also at jumps."""
    source = random.Random(200 + seed)
    problem = CodedProblem(task=MatVec(rows=6), nodes=draw_nodes(source, 5))
    law = completion_law(problem, CodedAnswer.of([3, 2, 1, 2, 4]))
    t = law.quantile(q)
    before, at = law.survival(np.array([t * (1 - 1e-11), t * (1 + 1e-11)])).tolist()
    assert at <= (1 - q) * (1 + 1e-9)
    assert before >= (1 - q) * (1 - 1e-9)


TASKS: list[tuple[Task, CodedAnswer]] = [
    (MatVec(rows=6), CodedAnswer.of([3, 2, 4, 1], batches=2)),
    (
        Gradient(partitions=4, stragglers=1),
        CodedAnswer.of([2] * 4, partitions=[[i, (i + 1) % 4] for i in range(4)], batches=2),
    ),
]


@pytest.mark.parametrize("scaling", ["load", "additive", "per_row"])
@pytest.mark.parametrize(("task", "answer"), TASKS, ids=["matvec", "gradient"])
def test_samples_follow_the_exact_law(task: Task, answer: CodedAnswer, scaling: Any) -> None:
    """The replay and the law are written apart; their means differ by chance only."""
    laws = [Law(law="gamma", shape=1.5, scale=1), Law(law="shifted_exponential", shift=1, rate=2)]
    problem = CodedProblem(
        task=task,
        nodes=[Node(id=f"w{i}", runtime=laws[i % 2], message=0.25) for i in range(4)],
        scaling=scaling,
        objective=MEAN,
        limits=Limits(batches="free"),
    )
    law = completion_law(problem, answer)
    request = SimulationRequest(replications=40_000, seed=3, keep_samples=True)
    samples = simulate(problem, [answer], request)[0].samples
    assert samples is not None
    deviation = abs(float(samples.mean()) - law.mean) / (law.std / math.sqrt(len(samples)))
    assert deviation < 4.5
    for q in (0.1, 0.5, 0.95):
        share = float((samples <= law.quantile(q)).mean())
        assert share == pytest.approx(q, abs=4.5 * math.sqrt(q * (1 - q) / len(samples)))


def draw_law(source: random.Random) -> Law:
    """A law whose time scale is anything from a millionth to a million."""

    def scale() -> float:
        return float(10 ** source.uniform(-6, 6))

    rows = (
        Law(law="exponential", rate=scale()),
        Law(law="shifted_exponential", shift=scale(), rate=scale()),
        Law(law="weibull", shape=source.choice((0.5, 1, 3)), scale=scale()),
        Law(law="lognormal", log_mean=source.uniform(-5, 5), log_std=source.uniform(0.1, 1)),
        Law(law="gamma", shape=source.choice((0.5, 1, 30)), scale=scale()),
        Law(law="bimodal", base=scale(), slowdown=10, probability=source.choice((0, 0.1, 1))),
        Law(law="deterministic", value=source.choice((0, 1, scale()))),
        Law(law="empirical", samples=[scale() for _ in range(5)]),
    )
    return source.choice(rows)


@pytest.mark.parametrize("seed", range(60))
def test_any_scales_mix(seed: int) -> None:
    """Times of a microsecond beside times of a week: mean and quantiles meet samples."""
    source = random.Random(seed)
    count = source.randint(1, 6)
    nodes = [
        Node(id=f"w{i}", runtime=draw_law(source), startup=source.choice((0, 10.0)))
        for i in range(count)
    ]
    rows = source.randint(1, 6)
    loads = [source.randint(0, 6) for _ in nodes]
    loads[0] += max(0, rows - sum(loads))
    problem = CodedProblem(task=MatVec(rows=rows), nodes=nodes, limits=Limits(batches="free"))
    answer = CodedAnswer.of(loads, batches=source.choice((1, 3)))
    law = completion_law(problem, answer)
    request = SimulationRequest(replications=10_000, keep_samples=True)
    times = simulate(problem, [answer], request)[0].samples
    assert times is not None
    assert law.mean_error <= 1e-8 * law.mean
    for q in (0.1, 0.5, 0.9):
        t = law.quantile(q)
        slack = 4.5 * math.sqrt(q * (1 - q) / len(times))
        assert float((times < t * (1 - 1e-9)).mean()) <= q + slack
        assert float((times <= t * (1 + 1e-9)).mean()) >= q - slack
    spread = float(times.std())
    assert abs(float(times.mean()) - law.mean) <= 6 * spread / 100 + 1e-9 * law.mean
