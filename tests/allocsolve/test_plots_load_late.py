"""A picture loads what it draws with, and nothing of the other pictures."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from allocsolve import plots


@pytest.mark.parametrize("name", plots.__all__)
def test_public_names_are_there(name: str) -> None:
    """A name in the table whose module lacks it would fail only when somebody draws."""
    value = getattr(plots, name)
    assert name == "FORMS" or callable(value)
    assert name in dir(plots)


def test_an_unknown_name_is_an_error() -> None:
    """``hasattr`` and typing errors rely on it."""
    with pytest.raises(AttributeError, match="'pie'"):
        plots.pie  # noqa: B018  # the look-up is the point


@pytest.mark.parametrize("name", ["gantt", "shares", "completion", "replication_gantt"])
def test_a_picture_loads_its_own_module(tmp_path: Path, name: str) -> None:
    """Seven modules for one picture cost time at every call; functions stay functions."""
    code = (
        "import sys, allocsolve.plots as plots;"
        "print([m for m in sys.modules if m.startswith('allocsolve.plots.')]);"
        f"plots.{name};"
        "print('allocsolve.plots.fitted' in sys.modules, callable(plots.gantt))"
    )
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.splitlines() == ["[]", "False True"]
