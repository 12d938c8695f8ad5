"""What is built and installed is complete and leaks nothing, with and without the links."""

from __future__ import annotations

import os
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

ROOMS = ("models", "solvers", "instances")
# Copies of the project below a temporary folder do not count for its coverage.
UNMEASURED = {name: text for name, text in os.environ.items() if not name.startswith("COVERAGE")}


@pytest.fixture(scope="module", params=["with links", "without links"])
def archives(
    checkout: Path, tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> tuple[Path, Path]:
    """Build the source archive and, from it, the wheel; some systems cannot store links."""
    if not (checkout / ".git").exists():
        pytest.skip("not a git checkout: the list of tracked files is not known")
    source = tmp_path_factory.mktemp("source")
    out = tmp_path_factory.mktemp("dist")
    _copy_sources(checkout, source, links=request.param == "with links")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(out), str(source)]
    done = subprocess.run(
        command, cwd=out, env=UNMEASURED, capture_output=True, text=True, check=False
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return next(out.glob("*.tar.gz")), next(out.glob("*.whl"))


def _copy_sources(checkout: Path, target: Path, *, links: bool) -> None:
    command = ["git", "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
    listing = subprocess.run(command, cwd=checkout, capture_output=True, text=True, check=True)
    for name in filter(None, listing.stdout.split("\0")):
        path = checkout / name
        if path.exists() and (links or not path.is_symlink()):
            (target / name).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy2(path, target / name, follow_symlinks=False)


def _data_files(checkout: Path) -> set[str]:
    """Files that the package needs at run time, by their name in the wheel."""
    schemas = {f"allocsolve/schemas/{p.name}" for p in (checkout / "allocsolve/schemas").iterdir()}
    samples = {
        f"allocsolve/{path.relative_to(checkout)}"
        for path in (checkout / "instances").rglob("*")
        if path.is_file() and "__pycache__" not in path.parts
    }
    return {"allocsolve/py.typed"} | schemas | samples


def test_the_wheel_is_complete(checkout: Path, archives: tuple[Path, Path]) -> None:
    """Modules, schemas, py.typed and bundled instances must all be there."""
    with zipfile.ZipFile(archives[1]) as wheel:
        names = set(wheel.namelist())
    modules = {
        f"allocsolve/{path.relative_to(checkout)}"
        for room in ROOMS
        for path in (checkout / room).rglob("*.py")
    }
    assert (modules | _data_files(checkout)) - names == set()


def test_the_wheel_leaks_no_top_level_names(archives: tuple[Path, Path]) -> None:
    """A top-level package called `models` would clash with everybody's."""
    with zipfile.ZipFile(archives[1]) as wheel:
        tops = {name.partition("/")[0] for name in wheel.namelist()}
    assert {top for top in tops if not top.endswith(".dist-info")} == {"allocsolve"}


def test_the_wheel_holds_each_file_once(archives: tuple[Path, Path]) -> None:
    """Following the links while building would ship the rooms twice."""
    with zipfile.ZipFile(archives[1]) as wheel:
        names = wheel.namelist()
    assert len(names) == len(set(names))
    assert [name for name in names if name.count("/instances/") > 1] == []


def test_the_source_archive_can_be_tested(archives: tuple[Path, Path]) -> None:
    """Whoever packages allocsolve for a system runs the tests from the source archive."""
    with tarfile.open(archives[0]) as source:
        names = {name.partition("/")[2] for name in source.getnames()}
    wanted = {"Makefile", "README.md", "LICENSE", "CHANGELOG.md", "tests/conftest.py"}
    wanted |= {"models/errors.py", "solvers/control.py", "instances/__init__.py"}
    assert wanted - names == set()


def test_the_installed_wheel_imports(archives: tuple[Path, Path], tmp_path: Path) -> None:
    """The three rooms must be importable below allocsolve, from the installed files."""
    site = tmp_path / "site"
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--no-index"]
    command += ["--disable-pip-version-check", "--target", str(site), str(archives[1])]
    subprocess.run(command, cwd=tmp_path, env=UNMEASURED, check=True)
    code = (
        f"import sys; sys.path.insert(0, {str(site)!r})\n"
        "sys.meta_path[:] = [f for f in sys.meta_path if 'editable' not in repr(f).lower()]\n"
        "import allocsolve, allocsolve.models, allocsolve.solvers, allocsolve.instances\n"
        "from allocsolve.instances.catalogue import bundled\n"
        "assert bundled() and all(path.exists() for path in bundled().values())\n"
        "print(allocsolve.__file__, allocsolve.models.__file__)"
    )
    done = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env=UNMEASURED,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    assert all(file.startswith(str(site)) for file in done.stdout.split())
