"""Programs of coded jobs as MPS and LP files, as another program reads them."""

from __future__ import annotations

import itertools
from collections.abc import Callable
from fractions import Fraction
from pathlib import Path
from subprocess import CompletedProcess

import numpy as np
import pytest

import allocsolve
from allocsolve.models.coded.costs import answer_of, exact_cost
from allocsolve.models.coded.data import (
    Gradient,
    Limits,
    MatVec,
    Node,
    ObjectiveSpec,
    Scenarios,
)
from allocsolve.models.coded.domain import Domain
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.errors import FeatureRefused, UsageError
from allocsolve.models.nodes import Law

Command = Callable[..., CompletedProcess[str]]

GOALS = [
    pytest.param(ObjectiveSpec(name="mean"), id="mean"),
    pytest.param(ObjectiveSpec(name="quantile", q=Fraction(7, 10)), id="quantile"),
    pytest.param(ObjectiveSpec(name="deadline_probability", deadline=2), id="deadline"),
    pytest.param(ObjectiveSpec(name="cost", deadline=4, confidence=Fraction(3, 5)), id="cost"),
]


def _job(goal: ObjectiveSpec) -> CodedProblem:
    draws = np.round(np.random.default_rng(3).exponential(1, (9, 3)), 2)
    nodes = [Node(id=c, cost=i + 1, storage=4, message=0.1) for i, c in enumerate("abc")]
    return CodedProblem(
        task=MatVec(rows=5),
        nodes=nodes,
        scenarios=Scenarios(samples=draws.tolist()),
        limits=Limits(total_load=9, budget=20),
        objective=goal,
    )


def _minimum(path: Path) -> float:
    """Return the optimum of a file as HiGHS reads it, without any of our model code."""
    from allocsolve.solvers.engines.highs import highs

    solver = highs()
    solver.readModel(str(path))
    solver.setOptionValue("mip_rel_gap", 1e-9)
    solver.run()
    assert solver.modelStatusToString(solver.getModelStatus()) == "Optimal"
    return float(solver.getInfo().objective_function_value)


@pytest.mark.parametrize("suffix", [".mps", ".lp"])
@pytest.mark.parametrize("goal", GOALS)
def test_files_hold_the_optimum(tmp_path: Path, goal: ObjectiveSpec, suffix: str) -> None:
    """What another solver reads has the optimum that enumeration finds."""
    problem, target = _job(goal), tmp_path / f"job{suffix}"
    allocsolve.export(problem, target)
    domain = Domain.of(problem)
    best = min(
        exact_cost(problem, answer_of(problem, loads, 1))
        for loads in itertools.product(range(5), repeat=3)
        if domain.allows(loads)
    )
    found = _minimum(target)
    if goal.name == "deadline_probability":
        found = found / 9 - 1  # late draws
    assert found == pytest.approx(best, abs=1e-6)


def test_laws_are_sampled(tmp_path: Path) -> None:
    """The number of draws is said; the same call gives the same bytes."""
    laws = [Law(law="exponential", rate=rate) for rate in (1, 2, 3)]
    problem = CodedProblem(
        task=MatVec(rows=4),
        nodes=[Node(id=str(i), runtime=law) for i, law in enumerate(laws)],
        objective=ObjectiveSpec(name="deadline_probability", deadline=1),
    )
    texts = []
    for name in ("a.lp", "b.lp"):
        allocsolve.export(problem, tmp_path / name, draws=40)
        texts.append((tmp_path / name).read_bytes())
    assert texts[0] == texts[1]
    assert 0 < _minimum(tmp_path / "a.lp") < 40


def test_what_has_no_program_is_refused(tmp_path: Path) -> None:
    """Gradients, formulations of task graphs, and sizes that nobody reads."""
    gradient = CodedProblem(task=Gradient(partitions=2, stragglers=0), nodes=[Node(id="a")])
    with pytest.raises(FeatureRefused):
        allocsolve.export(gradient, tmp_path / "m.lp")
    job = _job(ObjectiveSpec(name="mean"))
    with pytest.raises(UsageError, match="auto, the only one"):
        allocsolve.export(job, tmp_path / "m.lp", formulation="disjunctive")
    draws = np.random.default_rng(0).exponential(1, (30_000, 3)).tolist()
    large = job.replace(scenarios=Scenarios(samples=draws), objective=GOALS[1].values[0])
    with pytest.raises(UsageError, match="rows"):
        allocsolve.export(large, tmp_path / "m.lp")
    assert list(tmp_path.iterdir()) == []


def test_the_command_line_writes_coded_programs(
    allocsolve_command: Command, tmp_path: Path
) -> None:
    """``export INSTANCE -o job.mps`` takes coded jobs as it takes task graphs."""
    job = tmp_path / "job.json"
    allocsolve.write(_job(ObjectiveSpec(name="mean")), job)
    done = allocsolve_command("export", job, "-o", "job.mps")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    assert _minimum(tmp_path / "job.mps") > 0
