"""The page about coded jobs lists the rules and the reasons as the checker has them."""

from __future__ import annotations

import re
from pathlib import Path

import msgspec

from allocsolve.models.coded import reason_types
from allocsolve.models.coded.check import RULES


def _rows(checkout: Path, head: str) -> dict[str, str]:
    text = (checkout / "docs" / "coded.md").read_text(encoding="utf-8")
    table = text.partition(head)[2].partition("\n\n")[0]
    return dict(re.findall(r"^\| `(\w+)` \| (.+) \|$", table, re.MULTILINE))


def test_rules_are_those_of_the_checker(checkout: Path) -> None:
    """A rule that the page does not explain cannot be understood from a violation."""
    assert _rows(checkout, "| rule | what it asks for |") == dict(RULES)


def test_reasons_are_those_of_the_checker(checkout: Path) -> None:
    """Each typed reason has a row by its tag."""
    types = [getattr(reason_types, name) for name in reason_types.__all__]
    tags = {msgspec.inspect.type_info(kind).tag for kind in types}  # type: ignore[attr-defined]  # a struct has a tag
    assert set(_rows(checkout, "| reason | verified by |")) == tags
