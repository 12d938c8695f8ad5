"""Random divisions: repeatable, scarce where that is asked for, refused where it makes no sense."""

from __future__ import annotations

import pytest

import allocsolve
from allocsolve.instances.generators.fair import generate_fair
from allocsolve.instances.generators.families import draw_family
from allocsolve.models.errors import UsageError
from allocsolve.models.fair.problem import FairProblem


def test_the_same_seed_gives_the_same_instance() -> None:
    """An instance is named by its family, size and seed alone."""
    one, two, other = (generate_fair("cluster", jobs=20, seed=seed) for seed in (1, 1, 2))
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
