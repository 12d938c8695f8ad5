"""Completion laws against closed forms and values that were verified by two other ways."""

from __future__ import annotations

import math
from collections.abc import Sequence
from fractions import Fraction

import pytest

from allocsolve.models.coded.answer import Code, CodedAnswer
from allocsolve.models.coded.data import (
    Elastic,
    Gradient,
    Limits,
    MatVec,
    Node,
    ObjectiveSpec,
    Scaling,
)
from allocsolve.models.coded.decoding import repetition_error
from allocsolve.models.coded.law import CompletionLaw, completion_law
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.value import objective_value
from allocsolve.models.nodes import Law

THIRD = Fraction(1, 3)
Pair = tuple[float | Fraction, float | Fraction]

FOUR: tuple[Pair, ...] = ((1, 1), (1, 1), (THIRD, 3), (THIRD, 3))
TEN: tuple[Pair, ...] = ((1, 1),) * 5 + ((THIRD, 3),) * 5


def exponential(shift: float | Fraction, rate: float | Fraction) -> Law:
    return Law(law="shifted_exponential", shift=shift, rate=rate)


def law_of(
    laws: Sequence[Law], rows: int, loads: Sequence[int], *, scaling: Scaling = "load"
) -> CompletionLaw:
    nodes = [Node(id=f"w{i}", runtime=law) for i, law in enumerate(laws)]
    problem = CodedProblem(task=MatVec(rows=rows), nodes=nodes, scaling=scaling)
    return completion_law(problem, CodedAnswer.of(loads))


def shifted(pairs: Sequence[Pair], rows: int, loads: Sequence[int]) -> CompletionLaw:
    return law_of([exponential(*pair) for pair in pairs], rows, loads)


def harmonic(n: int) -> float:
    return math.fsum(1 / k for k in range(1, n + 1))


@pytest.mark.parametrize(
    ("loads", "mean", "by_six", "q99"),
    [
        pytest.param((3, 3, 7, 7), 5.06084747, 0.75919460, 10.517703, id="load-balanced"),
        pytest.param((1, 1, 5, 5), 4.36529530, 0.84545989, 10.517527, id="optimal"),
        pytest.param((2, 2, 4, 4), 5.34516958, 0.70317299, 12.673646, id="small"),
    ],
)
def test_four_nodes(loads: tuple[int, ...], mean: float, by_six: float, q99: float) -> None:
    """Heterogeneous loads and laws at once; every objective is read from one law."""
    law = shifted(FOUR, 12, loads)
    assert law.mean == pytest.approx(mean, abs=5e-9)
    assert law.deadline_probability(6) == pytest.approx(by_six, abs=5e-9)
    assert law.quantile(0.99) == pytest.approx(q99, abs=5e-7)


@pytest.mark.parametrize(
    ("loads", "mean", "q99"),
    [
        pytest.param([4] * 5 + [11] * 5, 8.209994, 14.289035, id="hcmm"),
        pytest.param([3, 3, 4, 4, 4] + [12] * 5, 7.941017, None, id="searched"),
    ],
)
def test_ten_nodes(loads: list[int], mean: float, q99: float | None) -> None:
    """The instance of the literature with two kinds of nodes and 50 rows."""
    law = shifted(TEN, 50, loads)
    assert law.mean == pytest.approx(mean, abs=5e-7)
    assert q99 is None or law.quantile(0.99) == pytest.approx(q99, abs=5e-7)


def test_seven_of_ten() -> None:
    """The mean of an order statistic of exponentials is a difference of harmonic numbers."""
    law = shifted([(1, 1)] * 10, 7, [1] * 10)
    assert law.mean == pytest.approx(2.0956349206349207, abs=1e-12)
    assert law.std**2 == pytest.approx(math.fsum(1 / k**2 for k in range(4, 11)), abs=1e-12)


def test_seven_of_ten_without_shift() -> None:
    """The 99th percentile of an order statistic is one of a beta law."""
    law = law_of([Law(law="exponential", rate=1)] * 10, 7, [1] * 10)
    assert law.mean == pytest.approx(2761 / 2520, abs=1e-12)
    assert law.quantile(0.99) == pytest.approx(2.3728593346, abs=5e-11)


def test_second_of_three_rates() -> None:
    """Different rates: by inclusion and exclusion 1/3 + 1/4 + 1/5 - 2/6 = 0.45."""
    laws = [Law(law="exponential", rate=rate) for rate in (1, 2, 3)]
    assert law_of(laws, 2, [1, 1, 1]).mean == pytest.approx(0.45, abs=1e-12)


def test_first_of_eight_weibull() -> None:
    """A density that is infinite at 0 must not spoil the quadrature."""
    laws = [Law(law="weibull", shape=0.5, scale=1)] * 8
    assert law_of(laws, 1, [1] * 8).mean == pytest.approx(0.03125, abs=1e-12)


@pytest.mark.parametrize(
    ("nodes", "best", "value"),
    [(10, 7, 0.29937642), (20, 14, 0.15340998), (50, 34, 0.06230813), (100, 69, 0.03130627)],
)
def test_best_number_of_rows(nodes: int, best: int, value: float) -> None:
    """The mean over k of (n, k) codes has its least value where the literature says."""
    means = {
        k: shifted([(1, 1)] * nodes, k, [1] * nodes).mean / k for k in range(best - 2, best + 3)
    }
    assert min(means, key=lambda k: means[k]) == best
    assert means[best] == pytest.approx(value, abs=5e-9)
    formula = (1 + harmonic(nodes) - harmonic(nodes - best)) / best
    assert means[best] == pytest.approx(formula, rel=1e-12)


@pytest.mark.parametrize(
    ("shift", "blocks", "mean"),
    [(0.05, 1, 1.6), (1, 12, 4.103211), (0.3, 4, 0.3 * 3 + 25 / 12), (0.3, 3, 0.3 * 4 + 11 / 6)],
)
def test_replication(shift: float, blocks: int, mean: float) -> None:
    """Replicated blocks wait for the slowest block, each for its fastest copy."""
    nodes = [Node(id=f"w{i}", runtime=exponential(shift, 1)) for i in range(12)]
    problem = CodedProblem(task=MatVec(rows=12), nodes=nodes)
    answer = CodedAnswer.of(
        [12 // blocks] * 12,
        code=Code(family="replication"),
        partitions=[[i % blocks] for i in range(12)],
    )
    law = completion_law(problem, answer)
    assert law.mean == pytest.approx(mean, abs=5e-7)
    assert law.mean == pytest.approx(12 * shift / blocks + harmonic(blocks), rel=1e-12)
    assert law.std**2 == pytest.approx(sum(1 / k**2 for k in range(1, blocks + 1)), rel=1e-10)


def test_repetition_error() -> None:
    """Half of six nodes answer; each partition is on two of them."""
    assert repetition_error(6, 2, 3) == pytest.approx(1.2, abs=1e-15)


@pytest.mark.parametrize(
    ("law", "mean"),
    [
        pytest.param(Law(law="exponential", rate=2), 3.5, id="erlang"),
        pytest.param(exponential(1, 2), 7 * 1.5, id="shifted erlang"),
        pytest.param(Law(law="gamma", shape=0.3, scale=2), 7 * 0.6, id="gamma"),
        pytest.param(Law(law="deterministic", value=3), 21, id="constant"),
        pytest.param(
            Law(law="bimodal", base=1, slowdown=3, probability=0.25), 7 * 1.5, id="binomial"
        ),
        pytest.param(
            Law(law="bimodal", base=2, slowdown=0.5, probability=0.25), 7 * 1.75, id="faster"
        ),
    ],
)
def test_sums_of_rows(law: Law, mean: float) -> None:
    """One node alone needs the sum of its rows, whose mean is known."""
    assert law_of([law], 7, [7], scaling="per_row").mean == pytest.approx(mean, rel=1e-12)


@pytest.mark.parametrize("shape", [1.05, 1.2, 1.5, 2.5, 6])
def test_heavy_tails(shape: float) -> None:
    """Closed forms of the first and last of two Pareto times; the tail is most of the mean."""
    laws = [Law(law="pareto", shape=shape, scale=1)] * 2
    first, both = law_of(laws, 1, [1, 1]), law_of(laws, 2, [1, 1])
    least = 2 * shape / (2 * shape - 1)
    assert first.mean == pytest.approx(least, rel=1e-11)
    assert both.mean == pytest.approx(2 * shape / (shape - 1) - least, rel=1e-9)
    assert abs(both.mean - 2 * shape / (shape - 1) + least) <= both.mean_error * 1.01


@pytest.mark.parametrize("shape", [2.05, 2.5, 4, 20])
def test_heavy_tails_have_their_variance(shape: float) -> None:
    """Second moments in closed form, taken about the median although the tail is not."""
    laws = [Law(law="pareto", shape=shape, scale=1)] * 2
    first, both = law_of(laws, 1, [1, 1]), law_of(laws, 2, [1, 1])
    least, square = 2 * shape / (2 * shape - 1), 2 * shape / (2 * shape - 2)
    most, other = 2 * shape / (shape - 1) - least, 2 * shape / (shape - 2) - square
    assert first.std**2 == pytest.approx(square - least**2, rel=1e-9)
    assert both.std**2 == pytest.approx(other - most**2, rel=1e-7)


@pytest.mark.parametrize(
    ("law", "mean", "variance"),
    [
        pytest.param(
            Law(law="lognormal", log_mean=0, log_std=3),
            math.exp(4.5),
            math.expm1(9) * math.exp(9),
            id="lognormal",
        ),
        pytest.param(
            Law(law="weibull", shape=0.2, scale=1),
            120,
            math.gamma(11) - 120**2,
            id="weibull",
        ),
        pytest.param(Law(law="gamma", shape=0.1, scale=2), 0.2, 0.4, id="gamma"),
        pytest.param(Law(law="exponential", rate=1e-9), 1e9, 1e18, id="slow"),
        pytest.param(Law(law="exponential", rate=1e9), 1e-9, 1e-18, id="fast"),
    ],
)
def test_one_node(law: Law, mean: float, variance: float) -> None:
    """Quadrature over many orders of magnitude gives the moments of the law itself."""
    found = law_of([law], 1, [1])
    assert found.mean == pytest.approx(mean, rel=1e-10, abs=0)
    assert found.std**2 == pytest.approx(variance, rel=1e-8, abs=0)


@pytest.mark.parametrize("late", [1e-3, 30.0, 1e7])
@pytest.mark.parametrize("rate", [1.0, 1e6, 1e12])
def test_scales_far_apart(rate: float, late: float) -> None:
    """A kink of a slow node far beyond a fast one leaves a layer that no rule would see."""
    laws = [exponential(Fraction(1, 1000), rate), exponential(late + 1, 1e-9)]
    found = law_of(laws, 3, [3, 1])
    share = math.exp(-rate / 3 * (late + 1 - 0.003))
    expected = 0.003 + 3 / rate
    assert found.mean == pytest.approx(expected, rel=1e-9, abs=share)
    assert found.std == pytest.approx(3 / rate, rel=1e-4, abs=share * (late + 1))


def test_atoms_are_exact() -> None:
    """Two of three bimodal nodes: the law has two atoms, and its quantile jumps exactly there."""
    law = law_of([Law(law="bimodal", base=1, slowdown=10, probability=0.1)] * 3, 2, [1] * 3)
    fast = 0.9**3 + 3 * 0.9**2 * 0.1
    assert law.mean == pytest.approx(fast + 10 * (1 - fast), rel=1e-13)
    assert law.quantiles([fast - 1e-9, fast + 1e-9]) == (1, 10)
    assert law.deadline_probability(1) == pytest.approx(fast, rel=1e-13)
    assert law.deadline_probability(0.999999) == 0


def test_deterministic_nodes_are_sorted() -> None:
    """Constant times: the time is the one at which enough rows are done, without error."""
    laws = [Law(law="deterministic", value=value) for value in (0.1, 0.2, 0.7)]
    law = law_of(laws, 5, [3, 2, 4])
    assert law.mean == pytest.approx(0.4, rel=1e-14)
    assert law.std == pytest.approx(0, abs=1e-7)
    assert law.quantiles([0.001, 0.999]) == pytest.approx((0.4, 0.4), rel=1e-14)


@pytest.mark.parametrize("q", [1e-14, 1e-17, 1e-300])
def test_no_job_is_complete_before_it_can_be(q: float) -> None:
    """A probability below all rounding still does not lie at time 0, where nothing has begun."""
    assert shifted(FOUR, 12, [1, 1, 5, 5]).quantile(q) == pytest.approx(5 / 3, rel=1e-6)
    sure = Law(law="deterministic", value=2)
    assert law_of([sure] * 3, 2, [1, 1, 1]).quantile(q) == 2


def test_elastic_jobs_wait_for_all_of_a_piece() -> None:
    """Without stragglers to tolerate every node must answer: the largest of exponentials."""
    nodes = [Node(id=f"w{i}", speed=2, runtime=Law(law="exponential", rate=1)) for i in range(3)]
    problem = CodedProblem(
        task=Elastic(recovery_threshold=3), nodes=nodes, objective=ObjectiveSpec(name="mean")
    )
    answer = CodedAnswer.of([1] * 3, pieces=[(1, ["w0", "w1", "w2"])])
    assert completion_law(problem, answer).mean == pytest.approx(harmonic(3) / 2, rel=1e-12)


def test_gradients_wait_for_all_but_the_stragglers() -> None:
    """Cyclic placement on four nodes with one straggler: the third of four exponentials."""
    nodes = [Node(id=f"w{i}", runtime=Law(law="exponential", rate=1)) for i in range(4)]
    problem = CodedProblem(
        task=Gradient(partitions=4, stragglers=1),
        nodes=nodes,
        objective=ObjectiveSpec(name="mean"),
    )
    answer = CodedAnswer.of([2] * 4, partitions=[[i, (i + 1) % 4] for i in range(4)])
    expected = 2 * (harmonic(4) - harmonic(1))
    assert objective_value(problem, answer) == pytest.approx(expected, rel=1e-12)


def test_more_batches_help() -> None:
    """Partial work of slow nodes counts: the mean falls with the number of batches."""
    nodes = [Node(id=f"w{i}", runtime=exponential(*pair)) for i, pair in enumerate(TEN)]
    problem = CodedProblem(task=MatVec(rows=50), nodes=nodes, limits=Limits(batches="free"))
    means = [
        completion_law(problem, CodedAnswer.of([4] * 5 + [11] * 5, batches=b)).mean
        for b in (1, 2, 4, 8, 50)
    ]
    assert means[0] == pytest.approx(8.209994, abs=5e-7)
    assert means == sorted(means, reverse=True)
    assert means[-1] < 0.6 * means[0]
