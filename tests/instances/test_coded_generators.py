"""Random coded jobs: seeded, of the populations that they are named after, and read back."""

from __future__ import annotations

from pathlib import Path

import pytest

import allocsolve
from allocsolve.instances.generators.coded import CODED_FAMILIES, generate_coded
from allocsolve.instances.generators.families import draw_family
from allocsolve.instances.writing import render
from allocsolve.models.errors import UsageError
from allocsolve.models.nodes import ShiftedExponential, Weibull


@pytest.mark.parametrize("family", CODED_FAMILIES)
def test_instances_come_from_their_seed_and_can_be_read(family: str, tmp_path: Path) -> None:
    """The same seed gives the same file, another one another, and files are instances."""
    settings = {"draws": 20} if family == "racks" else {}
    texts = [render(draw_family(family, 6, seed, **settings), "native")[0] for seed in (1, 1, 2)]
    assert texts[0] == texts[1]
    assert texts[0].replace("_1", "_2") != texts[2] or family == "two_types"
    path = tmp_path / "job.json"
    path.write_text(texts[0], encoding="utf-8")
    problem = allocsolve.read(path, kind="coded")
    assert len(problem.nodes) == 6
    assert problem.name == f"{family}_6_1"


def test_two_types_are_as_published() -> None:
    """Half of the nodes are slow, and a fast node takes a third of their time."""
    means = [law.mean() for law in generate_coded("two_types", nodes=4, seed=0).arrays.laws]
    assert means == pytest.approx([2, 2, 2 / 3, 2 / 3])


def test_rented_machines_are_mostly_steady() -> None:
    """The constant part of the mean is as set, sizes and prices agree, crowded hosts are slow."""
    calm = generate_coded("rented", nodes=200, seed=3, steady=0.9, probability=0)
    for node, law in zip(calm.nodes, calm.arrays.laws, strict=True):
        assert isinstance(law, ShiftedExponential)
        assert law.shift == pytest.approx(0.9 * law.mean())
        assert 0.75 <= law.mean() * float(node.cost) <= 1.25
    crowded = generate_coded("rented", nodes=200, seed=3, probability=1, slowdown=5)
    pairs = zip(crowded.nodes, crowded.arrays.laws, strict=True)
    assert min(law.mean() * float(node.cost) for node, law in pairs) > 3


def test_weibull_nodes_have_heavy_tails() -> None:
    """Below shape 1 the hazard falls: whoever is late will be later still."""
    for law in generate_coded("weibull", nodes=20, seed=1).arrays.laws:
        assert isinstance(law, Weibull)
        assert law.shape == 0.7
        assert 0 <= law.shift <= 0.5


def test_storage_is_a_multiple_of_the_equal_share() -> None:
    """A storage of 1.5 lets every node hold half more than its share of the rows."""
    problem = generate_coded("mixed_rates", nodes=5, seed=0, rows=100, storage=1.5)
    assert problem.arrays.capacity.tolist() == [30] * 5


@pytest.mark.parametrize(
    ("family", "size", "settings", "message"),
    [
        pytest.param("two_type", 3, {}, "did you mean 'two_types'", id="family"),
        pytest.param("two_types", 0, {}, "nodes=0", id="no nodes"),
        pytest.param("two_types", 3, {"row": 5}, "has no setting 'row'", id="setting"),
        pytest.param("bimodal", 3, {"slowdown": 0.5}, "slowdown=0.5", id="range"),
    ],
)
def test_wrong_settings_are_refused(
    family: str, size: int, settings: dict[str, float], message: str
) -> None:
    """A typing error must not give another instance than was meant."""
    with pytest.raises(UsageError, match=message):
        draw_family(family, size, 0, **settings)
