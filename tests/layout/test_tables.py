"""The tables name what the folders hold and the pages describe what the tables name."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import pytest

from allocsolve.instances.registry import FORMATS, Format
from allocsolve.models.dag.check import RULES
from allocsolve.models.nodes import LAWS
from allocsolve.solvers.routes import METHODS


def _methods(kind: str) -> list[str]:
    return [method.name for method in METHODS if method.kind == kind]


def _defines(path: Path, function: str) -> bool:
    tree = ast.parse(path.read_text(encoding="utf-8"))
    return any(isinstance(node, ast.FunctionDef) and node.name == function for node in tree.body)


def test_every_method_file_has_a_row(checkout: Path) -> None:
    """A method that no row names could not be chosen, and no contract test would run it."""
    files = {
        f"allocsolve.solvers.{path.parent.name}.{path.stem}:solve"
        for path in (checkout / "solvers").glob("*/*.py")
        if path.parent.name != "engines" and _defines(path, "solve")
    }
    targets = {method.target for method in METHODS}
    assert files == {target for target in targets if target.endswith(":solve")}


def test_every_format_file_has_a_row(checkout: Path) -> None:
    """A format that no row names could not be read."""
    files = {
        f"allocsolve.instances.formats.{path.stem}"
        for path in (checkout / "instances/formats").glob("*.py")
        if path.stem != "__init__"
    }
    assert files == {row.target for row in FORMATS}


@pytest.mark.parametrize("row", FORMATS, ids=lambda row: row.name)
def test_formats_offer_the_directions_they_claim(row: Format) -> None:
    """`allocsolve formats` must not promise a direction that is not there."""
    module = importlib.import_module(row.target)
    assert hasattr(module, "parse") == row.can_read
    assert hasattr(module, "render") == row.can_write


def test_rows_have_unique_names() -> None:
    """Two rows of one name would hide each other."""
    names = [(method.kind, method.name) for method in METHODS]
    assert len(names) == len(set(names))
    assert len({row.name for row in FORMATS}) == len(FORMATS)


@pytest.mark.parametrize(
    ("page", "names"),
    [
        pytest.param("methods.md", _methods("dag"), id="methods"),
        pytest.param("methods/coded.md", _methods("coded"), id="methods for coded jobs"),
        pytest.param("methods/fair.md", _methods("fair"), id="methods for fair division"),
        pytest.param("formats.md", [row.name for row in FORMATS], id="formats"),
        pytest.param("checker.md", list(RULES), id="rules"),
        pytest.param("runtime-laws.md", list(LAWS), id="runtime laws"),
    ],
)
def test_pages_describe_exactly_the_rows(checkout: Path, page: str, names: list[str]) -> None:
    """A table in the documentation has a row for each name, in the first column."""
    text = (checkout / "docs" / page).read_text(encoding="utf-8")
    first_table = text[text.index("|---") :].split("\n\n")[0]
    assert re.findall(r"^\| `(\w+)`", first_table, re.MULTILINE) == names


def test_every_benchmark_is_described(checkout: Path) -> None:
    """A script that the page of benchmarks does not name would not be run by anybody."""
    page = (checkout / "benchmarks/README.md").read_text(encoding="utf-8")
    scripts = {path.name for path in (checkout / "benchmarks").glob("*.py")}
    assert scripts == set(re.findall(r"`(\w+\.py)`", page))


def test_every_page_of_a_method_is_in_the_index(checkout: Path) -> None:
    """A page that no other page leads to is not found."""
    index = (checkout / "docs/methods.md").read_text(encoding="utf-8")
    pages = {path.name for path in (checkout / "docs/methods").glob("*.md")}
    assert pages == set(re.findall(r"^\| \[[\w-]+\]\(methods/([\w-]+\.md)\)", index, re.MULTILINE))
