"""The pages about coded jobs and fair shares list the families that can be generated."""

from __future__ import annotations

import re
from collections.abc import Iterable
from pathlib import Path

import pytest

from allocsolve.instances.generators.coded import CODED_FAMILIES
from allocsolve.instances.generators.fair import FAIR_FAMILIES


@pytest.mark.parametrize(
    ("page", "families"),
    [
        pytest.param("coded.md", CODED_FAMILIES, id="coded"),
        pytest.param("fair.md", FAIR_FAMILIES, id="fair"),
    ],
)
def test_families_are_those_of_the_generator(
    checkout: Path, page: str, families: Iterable[str]
) -> None:
    """A family that is gone, or one that the page does not tell of, is of no use."""
    text = (checkout / "docs" / page).read_text(encoding="utf-8")
    table = text.partition("| family |")[2].partition("\n\n")[0]
    assert re.findall(r"^\| `(\w+)` \|", table, re.MULTILINE) == list(families)
