"""The table of settings in the page about methods is the one that the methods read."""

from __future__ import annotations

import importlib
import re
from collections.abc import Mapping, Sequence
from pathlib import Path

import pytest

from allocsolve.solvers.dag.settings import Choice
from allocsolve.solvers.routes import METHODS, Method

_ROW = re.compile(r"^\| (`\w+`(?:, `\w+`)*) \| `(\w+)` \| ([^|]+) \| ([^|]+) \|", re.MULTILINE)

Setting = Choice | Sequence[str]


def _described(setting: Setting) -> tuple[str, str]:
    """Return default and allowed values as the page gives them."""
    if isinstance(setting, Choice):
        return str(setting.default), f"{setting.least}..{setting.most}"
    return setting[0], ", ".join(setting)


def _settings(method: Method) -> Mapping[str, Setting]:
    """Return what a method reads: the settings of its name, or those of its module."""
    module = importlib.import_module(method.target.partition(":")[0])
    found: Mapping[str, Setting] = vars(module).get(
        f"{method.name.upper()}_SETTINGS", module.SETTINGS
    )
    return found


@pytest.mark.parametrize(
    "method", [row for row in METHODS if row.kind == "dag"], ids=lambda row: row.name
)
def test_settings_are_documented_with_their_defaults(method: Method, checkout: Path) -> None:
    """A wrong default misleads whoever compares runs."""
    page = (checkout / "docs" / "methods.md").read_text(encoding="utf-8")
    documented = {
        key: (default.strip(), allowed.strip())
        for methods, key, default, allowed in _ROW.findall(page)
        if f"`{method.name}`" in methods
    }
    assert documented == {key: _described(setting) for key, setting in _settings(method).items()}
