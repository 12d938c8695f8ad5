"""Coded gradients of more heavy nodes than can be searched: no mean is made up."""

from __future__ import annotations

import math

import pytest

from allocsolve.models.coded import law_tails
from allocsolve.models.coded.answer import Code, CodedAnswer
from allocsolve.models.coded.data import Gradient, Node
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.execution.coded import simulate
from allocsolve.models.execution.request import SimulationRequest
from allocsolve.models.nodes import Law

MATRIX = ((0.5, 1, 0), (0, 1, -1), (0.5, 0, 1))
ANSWER = CodedAnswer.of([2] * 3, partitions=[[0, 1], [1, 2], [0, 2]], code=Code(matrix=MATRIX))


@pytest.mark.parametrize(
    ("shape", "infinite"), [(0.4, True), (0.9, True), (1.5, False)], ids=["none", "open", "light"]
)
def test_a_mean_that_is_not_known_is_no_number(
    shape: float, infinite: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Where the search is given up, only nodes that all have a mean prove that the job has one."""
    monkeypatch.setattr(law_tails, "_MOST_HEAVY", 2)
    runtime = Law(law="pareto", shape=shape, scale=1)
    nodes = [Node(id=f"w{i}", runtime=runtime, group="rack") for i in range(3)]
    problem = CodedProblem(task=Gradient(partitions=3, stragglers=1), nodes=nodes)
    found = simulate(problem, [ANSWER], SimulationRequest(replications=100))[0]
    assert found.infinite is infinite
    assert any("to decide" in line for line in found.warnings) is infinite
    assert math.isfinite(found.quantile(0.5))
