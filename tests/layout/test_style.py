"""Size, documentation and small habits that keep the code readable."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOMS = ("allocsolve", "models", "solvers", "instances")
LONGEST_FUNCTION = 50
LONGEST_FILE = 400

Function = ast.FunctionDef | ast.AsyncFunctionDef


@pytest.fixture(scope="module")
def sources(checkout: Path) -> dict[str, str]:
    files = {path.resolve() for room in ROOMS for path in (checkout / room).glob("**/*.py")}
    return {
        str(path.relative_to(checkout)): path.read_text(encoding="utf-8") for path in sorted(files)
    }


def _functions(source: str) -> Iterator[Function]:
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, Function):
            yield node


def _length(function: Function) -> int:
    """Lines of statements; the signature and the docstring are not counted."""
    has_text = ast.get_docstring(function) is not None and len(function.body) > 1
    first = function.body[1 if has_text else 0]
    return (function.end_lineno or first.lineno) - first.lineno + 1


def test_functions_are_short(sources: dict[str, str]) -> None:
    """A function that fits on one screen can be understood at one glance."""
    long = [
        f"{name}:{function.lineno} {function.name}: {_length(function)} lines"
        for name, source in sources.items()
        for function in _functions(source)
        if _length(function) > LONGEST_FUNCTION
    ]
    assert long == []


def test_files_are_short(sources: dict[str, str]) -> None:
    """A file holds one idea."""
    lengths = {name: source.count("\n") for name, source in sources.items()}
    assert {name: n for name, n in lengths.items() if n > LONGEST_FILE} == {}


def _is_overload(node: ast.AST) -> bool:
    """Whether a function is one of several signatures; the text is at the one that works."""
    return isinstance(node, Function) and any(
        isinstance(decorator, ast.Name) and decorator.id == "overload"
        for decorator in node.decorator_list
    )


def _public(body: list[ast.stmt], prefix: str) -> Iterator[tuple[str, ast.AST]]:
    for node in body:
        if isinstance(node, Function | ast.ClassDef) and not node.name.startswith("_"):
            yield f"{prefix}{node.name}", node
            if isinstance(node, ast.ClassDef):
                yield from _public(node.body, f"{prefix}{node.name}.")


def test_everything_public_has_a_docstring(sources: dict[str, str]) -> None:
    """Modules, classes, functions and methods say what they are for."""
    silent = []
    for name, source in sources.items():
        tree = ast.parse(source)
        if source.strip() and ast.get_docstring(tree) is None:
            silent.append(name)
        for label, node in _public(tree.body, f"{name}: "):
            assert isinstance(node, Function | ast.ClassDef)
            if ast.get_docstring(node) is None and not _is_overload(node):
                silent.append(label)
    assert silent == []


def test_ignored_types_say_why(sources: dict[str, str]) -> None:
    """A silenced type error without a code and a reason hides the next one."""
    marker, good = (
        re.compile(r"#\s*type:\s*ignore"),
        re.compile(r"type: ignore\[[\w, -]+\]\s+# \w+"),
    )
    bare = [
        f"{name}:{number}"
        for name, source in sources.items()
        for number, line in enumerate(source.splitlines(), 1)
        if marker.search(line) and not good.search(line)
    ]
    assert bare == []


def test_modules_say_what_they_export(sources: dict[str, str]) -> None:
    """``__all__`` separates what may be relied on from what may change."""
    quiet = [
        name
        for name, source in sources.items()
        if Path(name).name not in ("__init__.py", "__main__.py") and "__all__" not in source
    ]
    assert quiet == []
