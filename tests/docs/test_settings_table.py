"""The table of settings in the page about methods is the one that the methods read."""

from __future__ import annotations

import importlib
import re
from pathlib import Path

import pytest

from allocsolve.solvers.dag.settings import Choice
from allocsolve.solvers.routes import METHODS, Method

_ROW = re.compile(r"\| (`\w+`(?:, `\w+`)*) \| `(\w+)` \| (\d+) \| (\d+)\.\.(\d+) \|")


@pytest.mark.parametrize("method", METHODS, ids=lambda row: row.name)
def test_settings_are_documented_with_their_defaults(method: Method, checkout: Path) -> None:
    """A wrong default misleads whoever compares runs."""
    page = (checkout / "docs" / "methods.md").read_text(encoding="utf-8")
    documented = {
        key: tuple(map(int, numbers))
        for methods, key, *numbers in _ROW.findall(page)
        if f"`{method.name}`" in methods
    }
    module = importlib.import_module(method.target.partition(":")[0])
    settings: dict[str, Choice] = module.SETTINGS
    assert documented == {
        key: (choice.default, choice.least, choice.most) for key, choice in settings.items()
    }
