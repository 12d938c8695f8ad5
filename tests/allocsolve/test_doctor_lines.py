"""The doctor tells what it found as soon as it has found it."""

from __future__ import annotations

from functools import partial
from types import SimpleNamespace
from typing import TYPE_CHECKING, cast

import pytest

from allocsolve.cli import doctor
from allocsolve.solvers import routes

if TYPE_CHECKING:
    import typer


@pytest.mark.parametrize("as_json", [False, True], ids=["lines", "document"])
def test_what_is_compiled_is_told_before_the_next_is(
    monkeypatch: pytest.MonkeyPatch, as_json: bool
) -> None:
    """Compiling takes minutes, in which silence looks like a hang; a document comes at once."""
    told: list[str] = []

    def build(name: str) -> float:
        told.append(f"compiling {name}")
        return 1.0

    sets = [SimpleNamespace(name=name, build=partial(build, name)) for name in "ab"]
    monkeypatch.setattr(routes, "kernel_sets", lambda: iter(sets))
    for name in ("_versions", "_engines"):
        monkeypatch.setattr(doctor, name, list)
    console = SimpleNamespace(begin=lambda: None, emit=told.append)
    context = cast("typer.Context", SimpleNamespace(obj=console))
    assert doctor.doctor(context, compile_kernels=True, as_json=as_json) == 0
    order = [line for line in told if "compiling" in line or "kernels:" in line]
    words = ["compiling" in line for line in order]
    assert words == ([True, True, False] if as_json else [True, False, True, False])
