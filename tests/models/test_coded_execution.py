"""Replays of coded jobs: exact where possible, the same numbers for every answer elsewhere."""

from __future__ import annotations

import json
import math
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.data import Elastic, Gradient, Limits, MatVec, Node, Scenarios
from allocsolve.models.coded.law import completion_law
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.execution.coded import simulate
from allocsolve.models.execution.coded_runs import CodedReplay
from allocsolve.models.execution.request import SimulationRequest
from allocsolve.models.execution.rounds import Cancelled, Watch
from allocsolve.models.nodes import Deterministic, Law

WEIBULL = Law(law="weibull", shape=0.7, scale=1)


def products(count: int = 4, **fields: Any) -> CodedProblem:
    law = fields.pop("runtime", Law(law="shifted_exponential", shift=1, rate=1))
    rows, group = fields.pop("rows", 6), fields.pop("group", None)
    nodes = [Node(id=f"w{i}", runtime=law, message=0.5, group=group) for i in range(count)]
    return CodedProblem(
        task=MatVec(rows=rows), nodes=nodes, limits=Limits(batches="free"), **fields
    )


EQUAL = CodedAnswer.of([2] * 4)
BATCHED = CodedAnswer.of([2] * 4, batches=2)
ROWS = products(runtime=WEIBULL, scaling="per_row")


def test_independent_nodes_are_exact() -> None:
    """No sample is behind the numbers: generator, replications and intervals are absent."""
    request = SimulationRequest(deadline=4.5, quantiles=(0.25, 0.9))
    found = simulate(products(), [EQUAL], request)[0]
    law = completion_law(products(), EQUAL)
    assert (found.method, found.generator, found.replications) == ("exact", None, None)
    assert (found.mean, found.std) == (law.mean, law.std)
    assert found.quantiles == {0.25: law.quantile(0.25), 0.9: law.quantile(0.9)}
    assert found.deadline_probability == law.deadline_probability(4.5)
    assert found.planned == law.mean
    assert found.mean_ci is None
    assert found.samples is None


def test_sums_of_draws_are_sampled() -> None:
    """Without an exact law the document says how the numbers came about."""
    found = simulate(ROWS, [EQUAL], SimulationRequest(replications=3000, deadline=5))[0]
    assert (found.method, found.replications) == ("monte_carlo", 3000)
    assert found.generator == "philox4x32-10"
    assert found.mean_ci is not None
    assert found.mean_ci[0] < found.mean < found.mean_ci[1]
    assert found.deadline_ci is not None
    assert found.quantile_cis[0.9][0] <= found.quantiles[0.9] <= found.quantile_cis[0.9][1]


def test_samples_do_not_depend_on_blocks_or_on_other_answers() -> None:
    """A replication reads the same numbers whatever is drawn before or beside it."""
    many = CodedReplay(ROWS, [BATCHED, EQUAL], 7).draw(0, 5000, Watch())[1]
    few = CodedReplay(ROWS, [EQUAL], 7).draw(0, 1500, Watch())[0]
    other = CodedReplay(ROWS, [EQUAL], 8).draw(0, 1500, Watch())[0]
    np.testing.assert_array_equal(many[:1500], few)
    assert not np.array_equal(few, other)


def test_batches_are_never_later_on_the_same_numbers() -> None:
    """With free messages each partial result is there before the whole one would be."""
    problem = products().replace(
        nodes=[Node(id=f"w{i}", runtime=WEIBULL) for i in range(4)], scaling="per_row"
    )
    replay = CodedReplay(problem, [EQUAL, BATCHED], 0)
    whole, parts = replay.draw(0, 2000, Watch())
    first, second = replay.counts()
    assert (parts <= whole).all()
    assert parts.mean() < whole.mean()
    assert second.wasted < first.wasted


def test_answers_are_compared_in_pairs() -> None:
    """The difference of exact means is exact; how often one is better is counted."""
    first, second = simulate(
        products(), [EQUAL, CodedAnswer.of([3, 3, 3, 0])], SimulationRequest(), names=["a", "b"]
    )
    assert first.comparison is not None
    assert second.comparison == first.comparison
    (pair,) = first.comparison
    assert (pair.first, pair.second) == ("a", "b")
    assert pair.mean_difference == pytest.approx(first.mean - second.mean)
    assert (pair.ci, pair.probability_first_better > 0.5) == (None, first.mean < second.mean)


def test_precision_decides_how_many_are_drawn() -> None:
    """The interval of the mean is as narrow as was asked for."""
    found = simulate(ROWS, [EQUAL], SimulationRequest(precision=0.02))[0]
    assert found.mean_ci is not None
    assert found.replications is not None
    assert (found.mean_ci[1] - found.mean_ci[0]) / 2 <= 0.021 * found.mean
    assert found.replications > 2048
    capped = simulate(ROWS, [EQUAL], SimulationRequest(precision=0.001, replications=2500))[0]
    assert capped.replications == 2500


def test_scenarios_are_replayed_once_each() -> None:
    """Listed draws are the whole law, so nothing is random."""
    problem = CodedProblem(
        task=MatVec(rows=2),
        nodes=[Node(id=name) for name in "abc"],
        scenarios=Scenarios(samples=[[1, 2, 3], [5, 1, 1], [2, 2, 9]]),
    )
    request = SimulationRequest(keep_samples=True)
    found = simulate(problem, [CodedAnswer.of([1, 1, 1])], request)[0]
    assert found.method == "exact"
    assert found.mean == pytest.approx(5 / 3)
    assert found.samples is not None
    assert found.samples.tolist() == [2, 1, 2]
    assert found.utilisation == pytest.approx({"a": 4 / 5, "b": 1, "c": 1})


def test_a_law_for_all_nodes() -> None:
    """The law of the request stands in for those of the instance."""
    found = simulate(products(), [EQUAL], SimulationRequest(law=Deterministic(3.0)))[0]
    assert found.mean == pytest.approx(6.5)
    assert found.std == pytest.approx(0, abs=1e-6)


def test_work_that_is_not_used_is_counted() -> None:
    """Three of four equal constant nodes: the fourth one is as fast, so nothing is lost."""
    even = products(runtime=Law(law="deterministic", value=1))
    assert simulate(even, [EQUAL], SimulationRequest())[0].wasted_work == pytest.approx(0)
    slow = even.replace(
        nodes=[*even.nodes[:3], Node(id="s", runtime=Law(law="deterministic", value=9))]
    )
    found = simulate(slow, [EQUAL], SimulationRequest())[0]
    assert found.mean == pytest.approx(2.5)
    assert found.wasted_work == pytest.approx(2.5)
    assert found.utilisation == pytest.approx({"w0": 0.8, "w1": 0.8, "w2": 0.8, "s": 1})


def test_nodes_of_a_group_are_sampled_together() -> None:
    """All of one group are equally slow, so the time is that of one node."""
    problem = products(group="rack", rows=8)
    samples = CodedReplay(problem, [EQUAL], 1).draw(0, 4000, Watch())[0]
    assert samples.mean() == pytest.approx(2 * 2 + 0.5, abs=4 * 2 / math.sqrt(4000))
    assert completion_law(problem, EQUAL).mean == pytest.approx(4.5)


def test_rows_of_a_group_are_sampled() -> None:
    """Sums of different length over shared draws are neither independent nor in step."""
    law = Law(law="exponential", rate=1)
    problem = products(runtime=law, scaling="per_row", group="rack", rows=4)
    answer = CodedAnswer.of([4, 1, 1, 1])
    found = simulate(problem, [answer], SimulationRequest(replications=20_000))[0]
    assert found.method == "monte_carlo"
    assert found.mean == pytest.approx(4.5, abs=4 * 2 / math.sqrt(20_000))


def test_gradients_with_too_many_states_are_sampled() -> None:
    """Thirty nodes in batches have 3^30 states; the samples still lie in the right place."""
    count = 30
    problem = CodedProblem(
        task=Gradient(partitions=count, stragglers=1),
        nodes=[Node(id=f"w{i}", runtime=Law(law="exponential", rate=1)) for i in range(count)],
        limits=Limits(batches=2),
    )
    parts = [[i, (i + 1) % count] for i in range(count)]
    answer = CodedAnswer.of([2] * count, partitions=parts)
    found = simulate(problem, [answer], SimulationRequest(replications=2000))[0]
    whole = simulate(problem.replace(limits=Limits(batches=1)), [answer], SimulationRequest())[0]
    assert found.method == "monte_carlo"
    assert whole.method == "exact"
    assert found.planned == 2
    assert found.mean < whole.mean


def test_elastic_jobs_of_many_nodes_are_sampled() -> None:
    """Overlapping pieces of sixteen nodes: the mean is between the bounds of order statistics."""
    count = 16
    names = [f"w{i}" for i in range(count)]
    problem = CodedProblem(
        task=Elastic(recovery_threshold=2, stragglers=1),
        nodes=[Node(id=name, runtime=Law(law="exponential", rate=1)) for name in names],
    )
    pieces = [
        (1 / count, [names[i], names[(i + 1) % count], names[(i + 2) % count]])
        for i in range(count)
    ]
    answer = CodedAnswer.of([3 / count] * count, pieces=pieces)
    found = simulate(problem, [answer], SimulationRequest(replications=4000))[0]
    slowest = 3 / count * math.fsum(1 / k for k in range(1, count + 1))
    assert found.method == "monte_carlo"
    assert slowest / 3 < found.mean < slowest


def test_cancelling_keeps_what_was_drawn() -> None:
    """An interrupt ends the replay after the block at hand, and the result says so."""
    seen: list[float] = []
    (found,) = simulate(
        ROWS,
        [EQUAL],
        SimulationRequest(replications=2_000_000),
        on_progress=seen.append,
        cancelled=lambda: bool(seen),
    )
    assert found.replications is not None
    assert 2 <= found.replications < 2_000_000
    assert found.warnings
    assert 0 < seen[-1] < 1
    with pytest.raises(Cancelled):
        simulate(ROWS, [EQUAL], SimulationRequest(), cancelled=lambda: True)


@pytest.mark.parametrize("name", ["M10", "M20"])
def test_listed_percentiles(cases_dir: Path, name: str) -> None:
    """The 99th percentiles of the mixed instances, computed before by another program."""
    case = json.loads((cases_dir / "coded_mixed.json").read_text(encoding="utf-8"))[name]
    nodes = [
        Node(id=str(i), runtime=Law(law="shifted_exponential", shift=a, rate=mu))
        for i, (a, mu) in enumerate(zip(case["a"], case["mu"], strict=True))
    ]
    problem = CodedProblem(task=MatVec(rows=case["r"]), nodes=nodes)
    law = completion_law(problem, CodedAnswer.of(case["best_known_loads"]))
    assert law.quantile(0.99) == pytest.approx(case["best_known_q99"], rel=1e-12)
