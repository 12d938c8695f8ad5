"""Deliberately bad files and the errors that they must give."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from allocsolve.instances.reading import read
from allocsolve.instances.registry import FORMATS
from allocsolve.models.errors import InputError

BAD = Path(__file__).resolve().parents[2] / "instances" / "bad"
EXPECTED: dict[str, list[str]] = json.loads((BAD / "expected.json").read_text(encoding="utf-8"))


@pytest.mark.parametrize("name", EXPECTED, ids=str)
def test_bad_file_gives_its_error(name: str) -> None:
    """Each file breaks one rule; the error names file, place, token and remedy."""
    file = BAD / name
    with pytest.raises(InputError) as caught:
        read(file)
    text = str(caught.value)
    assert text.startswith(str(file))
    assert [piece for piece in EXPECTED[name] if piece not in text] == []
    assert caught.value.remedy
    assert text.count("\n") < 5


def test_every_bad_file_has_an_expectation() -> None:
    """A file that the table forgets would never be tested."""
    files = {f"{path.parent.name}/{path.name}" for path in BAD.glob("*/*") if path.is_file()}
    assert files == set(EXPECTED)


@pytest.mark.parametrize("name", [row.name for row in FORMATS])
def test_every_format_has_three_bad_files(name: str) -> None:
    """A new format brings at least three ways to get it wrong."""
    assert len(list((BAD / name).iterdir())) >= 3
