"""What the benchmark scripts share: the machine they ran on and where the public files are."""

from __future__ import annotations

import os
import platform
import subprocess
import sys
import time
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path

__all__ = ["TOP", "data_folder", "machine", "run_timed"]

TOP = Path(__file__).resolve().parents[1]
PACKAGES = ("allocsolve", "ortools", "highspy", "numpy", "msgspec", "typer")


def machine() -> str:
    """Return one line with cores and versions, to stand above every table."""
    versions = ", ".join(f"{name} {_version(name)}" for name in PACKAGES)
    load = os.getloadavg()[0]
    return (
        f"# {os.cpu_count()} cores, load {load:.1f} at the start, "
        f"Python {platform.python_version()}, {versions}"
    )


def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "not installed"


def data_folder() -> Path:
    """Return the folder of public benchmark files (ALLOCSOLVE_BENCHMARKS)."""
    folder = Path(os.environ.get("ALLOCSOLVE_BENCHMARKS") or TOP / "../shared/data").resolve()
    if not (folder / "dag").is_dir():
        sys.exit(f"no folder dag in {folder}; set ALLOCSOLVE_BENCHMARKS")
    return folder


def run_timed(command: list[str], **environment: str) -> tuple[float, subprocess.CompletedProcess]:
    """Run a command and return its wall time in seconds with what it printed."""
    begin = time.perf_counter()
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        check=False,
        stdin=subprocess.DEVNULL,
        env=os.environ | environment,
    )
    return time.perf_counter() - begin, done
