"""The folders, the package list, the links and the tracked files fit together."""

from __future__ import annotations

import re
import subprocess
import tomllib
from pathlib import Path
from typing import Any

import pytest

ROOMS = ("models", "solvers", "instances")
MACHINE_PATHS = re.compile(r"(?:^|[\s\"'=(`])/(?:home|root|work|Users|tmp|mnt|opt|var)/[\w.-]+")
REGISTRY_HOSTS = re.compile(r"(?:pypi\.org|pythonhosted\.org|/simple/|artifactory|index-url)", re.I)


@pytest.fixture(scope="module")
def project(checkout: Path) -> dict[str, Any]:
    return tomllib.loads((checkout / "pyproject.toml").read_text(encoding="utf-8"))


@pytest.fixture(scope="module")
def tracked(checkout: Path) -> list[str]:
    if not (checkout / ".git").exists():
        pytest.skip("not a git checkout: the list of tracked files is not known")
    listing = subprocess.run(
        ["git", "ls-files"], cwd=checkout, capture_output=True, text=True, check=True
    )
    return listing.stdout.splitlines()


def _package(folder: Path, checkout: Path) -> str:
    parts = folder.relative_to(checkout).parts
    return ".".join(parts if parts[0] == "allocsolve" else ("allocsolve", *parts))


def _package_folders(checkout: Path) -> list[Path]:
    rooms = [checkout / room for room in ("allocsolve", *ROOMS)]
    folders = {file.parent for room in rooms for file in room.glob("**/__init__.py")}
    # Newer versions of Python follow links in "**"; the rooms are counted by their real folder.
    return [folder for folder in folders if folder.resolve() == folder]


def test_every_package_folder_is_listed(checkout: Path, project: dict[str, Any]) -> None:
    """A folder that is missing in the list would be missing in the wheel."""
    found = sorted(_package(folder, checkout) for folder in _package_folders(checkout))
    assert sorted(project["tool"]["setuptools"]["packages"]) == found


def test_every_folder_with_modules_is_a_package(checkout: Path) -> None:
    """Modules in a folder without __init__.py would be left out without a word."""
    rooms = [checkout / room for room in ("allocsolve", *ROOMS)]
    folders = {file.parent for room in rooms for file in room.glob("**/*.py")}
    assert [str(folder) for folder in folders if not (folder / "__init__.py").exists()] == []


@pytest.mark.parametrize("room", ROOMS)
def test_rooms_are_linked_into_the_package(checkout: Path, room: str) -> None:
    """Static tools find allocsolve.<room> in a fresh clone only through a relative link."""
    link = checkout / "allocsolve" / room
    if not (checkout / ".git").exists():
        pytest.skip("an unpacked source archive holds no links")
    assert link.is_symlink()
    assert link.readlink() == Path("..") / room


def test_tracked_files_name_no_machine_and_no_registry(checkout: Path, tracked: list[str]) -> None:
    """Paths of one machine and addresses of a package mirror do not belong to a project."""
    guilty = []
    for name in tracked:
        path = checkout / name
        if path.is_symlink() or not path.is_file() or name == "tests/layout/test_packaging.py":
            continue
        text = path.read_bytes().decode("utf-8", errors="replace")
        for number, line in enumerate(text.splitlines(), 1):
            if MACHINE_PATHS.search(line) or REGISTRY_HOSTS.search(line):
                guilty.append(f"{name}:{number}: {line.strip()[:100]}")
    assert guilty == []


def test_test_files_have_unique_names(checkout: Path) -> None:
    """Two test files of one name are hard to tell apart in a report."""
    names = [path.name for path in (checkout / "tests").glob("**/test_*.py")]
    assert sorted(names) == sorted(set(names))
