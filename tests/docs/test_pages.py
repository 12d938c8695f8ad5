"""The examples of README and documentation run and print what the pages say.

A page is worked through from top to bottom in an empty folder that holds ``instances/``:

* ``console`` blocks: every line after ``$`` is run and must end with exit code 0; the lines
  below it must occur in its output in this order, ``...`` stands for anything.
* ``python`` blocks share one namespace; an ``output`` block after one is what it prints.
* ``json FILE`` blocks are written to that file for the commands below.
"""

from __future__ import annotations

import contextlib
import io
import os
import re
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

TOP = Path(__file__).resolve().parents[2]
PAGES = sorted([TOP / "README.md", *(TOP / "docs").rglob("*.md")])
FENCE = re.compile(r"^```(?P<info>[^\n`]+)\n(?P<text>.*?)^```$", re.MULTILINE | re.DOTALL)
SET_UP = re.compile(r"^(make|git clone|cd|pip|python3? -m (pip|venv)|source|\.venv)\b")
"""Commands that set up an environment are tested by running the tests at all."""


@dataclass(frozen=True)
class Block:
    """A fenced block of a page: its language, the file it stands for, its text, its line."""

    language: str
    file: str
    text: str
    line: int


def _blocks(page: Path) -> Iterator[Block]:
    text = page.read_text(encoding="utf-8")
    for match in FENCE.finditer(text):
        language, _, file = match["info"].strip().partition(" ")
        yield Block(language, file, match["text"], text.count("\n", 0, match.start()) + 1)


def _commands(block: Block) -> Iterator[tuple[str, list[str]]]:
    """Yield each command with the lines that it is said to print."""
    joined = block.text.replace("\\\n", " ")
    for part in re.split(r"^\$ ", joined, flags=re.MULTILINE)[1:]:
        command, *expected = part.splitlines()
        yield re.sub(r"\s+#\s.*$", "", command), [line for line in expected if line.strip()]


def _run(command: str, folder: Path) -> tuple[int, str]:
    """Run a command of a page with this environment's programs; return exit code and output."""
    path = os.pathsep.join([str(Path(sys.executable).parent), os.environ.get("PATH", "")])
    done = subprocess.run(
        ["bash", "-c", command],
        cwd=folder,
        env=os.environ | {"PATH": path, "COLUMNS": "100", "TERM": "dumb"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=120,
        check=False,
    )
    return done.returncode, done.stdout


def _missing(expected: list[str], printed: str) -> list[str]:
    """Return the expected lines that do not occur in this order."""
    lines = iter(printed.splitlines())
    missing = []
    for line in expected:
        parts = [re.escape(part) for part in line.strip().split("...")]
        pattern = re.compile(".*".join(parts))
        if line.strip() != "..." and not any(pattern.fullmatch(found.strip()) for found in lines):
            missing.append(line)
            lines = iter(printed.splitlines())
    return missing


def _check_console(block: Block, page: Path, folder: Path) -> None:
    for command, expected in _commands(block):
        if SET_UP.match(command):
            continue
        code, printed = _run(command, folder)
        place = f"{page.name}:{block.line}: {command}"
        assert (code, _missing(expected, printed)) == (0, []), f"{place}\n{printed}"


def _run_python(block: Block, page: Path, namespace: dict[str, object]) -> str:
    with contextlib.redirect_stdout(io.StringIO()) as printed:
        exec(compile("\n" * block.line + block.text, str(page), "exec"), namespace)
    return printed.getvalue()


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_examples_of_the_page(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """An example that no longer runs is worse than none."""
    (tmp_path / "instances").symlink_to(TOP / "instances")
    monkeypatch.chdir(tmp_path)
    namespace: dict[str, object] = {"__name__": "__main__"}
    printed = ""
    for block in _blocks(page):
        if block.language == "console":
            _check_console(block, page, tmp_path)
        elif block.language == "python":
            printed = _run_python(block, page, namespace)
        elif block.language == "output":
            expected = [line for line in block.text.splitlines() if line.strip()]
            assert _missing(expected, printed) == [], f"{page.name}:{block.line}\n{printed}"
        elif block.file:
            Path(block.file).write_text(block.text, encoding="utf-8")


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_links_of_the_page_lead_somewhere(page: Path) -> None:
    """Links and pictures inside the project must exist."""
    text = FENCE.sub("", page.read_text(encoding="utf-8"))
    targets = [target.partition("#")[0] for target in re.findall(r"\]\(([^)\s]+)\)", text)]
    local = [target for target in targets if target and "://" not in target]
    assert [target for target in local if not (page.parent / target).exists()] == []
