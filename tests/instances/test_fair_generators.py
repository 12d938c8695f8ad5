"""Random divisions: repeatable, scarce where that is asked for, refused where it makes no sense."""

from __future__ import annotations

import re

import pytest

import allocsolve
from allocsolve.cli.transform import generate
from allocsolve.instances.generators import dag
from allocsolve.instances.generators.coded import CODED_FAMILIES
from allocsolve.instances.generators.fair import FAIR_FAMILIES, generate_fair
from allocsolve.instances.generators.families import draw_family
from allocsolve.models.errors import UsageError
from allocsolve.models.fair.classes import classes_of
from allocsolve.models.fair.problem import FairProblem
from allocsolve.models.fair.split import equal_split


@pytest.mark.parametrize("family", FAIR_FAMILIES)
def test_the_same_seed_gives_the_same_instance(family: str) -> None:
    """An instance is named by its family, size and seed alone."""
    one, two, other = (generate_fair(family, jobs=20, seed=seed) for seed in (1, 1, 2))
    assert one.to_document() == two.to_document() != other.to_document()


def test_types_are_scarce_under_load() -> None:
    """At load 16 some type has a price; at load 0.1 none has."""
    scarce, ample = (
        allocsolve.solve(
            generate_fair("cluster", jobs=30, load=load), objective="nash", threads=1
        ).allocation.prices
        for load in (16, 0.1)
    )
    assert scarce is not None
    assert ample is not None
    assert scarce.max() > 1e-3
    assert ample.max() < 1e-9


def test_jobs_of_a_kind_are_equal() -> None:
    """Few kinds stand for any number of jobs; their stock is scarce like that of a cluster."""
    problem = generate_fair("kinds", jobs=500, seed=4, kinds=7)
    arrays = problem.arrays
    alike = classes_of(arrays.throughput, arrays.weight, arrays.gang, arrays.jobs.remaining)
    assert len(alike.first) == 7
    assert arrays.gang.sum() / arrays.capacity.sum() == pytest.approx(16, rel=0.05)


def test_deadlines_can_be_kept() -> None:
    """The equal split meets every deadline, so that the cheapest allocation exists."""
    problem = generate_fair("deadlines", jobs=25, seed=2)
    needed = problem.arrays.jobs.remaining / problem.arrays.jobs.deadline
    assert (equal_split(problem.arrays) >= needed).all()
    result = allocsolve.solve(problem, threads=1)
    assert (result.status, result.objective.name) == ("OPTIMAL", "cost")


def test_families_of_every_kind_share_one_door() -> None:
    """The command line knows only names."""
    assert isinstance(draw_family("cluster", 5, 0, types=2), FairProblem)


@pytest.mark.parametrize(
    ("arguments", "words"),
    [
        pytest.param({"jobs": 0}, "jobs=0", id="no jobs"),
        pytest.param({"jobs": 5, "load": -1}, "load=-1", id="load below 0"),
        pytest.param({"jobs": 5, "tpyes": 2}, "types", id="misspelt setting"),
    ],
)
def test_wrong_settings_are_refused(arguments: dict[str, int], words: str) -> None:
    """Each refusal names the setting."""
    with pytest.raises(UsageError, match=words):
        generate_fair("cluster", **arguments)


def test_the_help_names_every_family() -> None:
    """A family that the command line does not tell of would be found by nobody."""
    told = " ".join((generate.__doc__ or "").split())
    families = [*dag.FAMILIES, *CODED_FAMILIES, *FAIR_FAMILIES]
    assert [name for name in families if not re.search(rf"\b{name}\b", told)] == []
