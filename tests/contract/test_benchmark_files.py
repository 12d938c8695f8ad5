"""Public benchmark files, through the script that compares them with the published values."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import pytest

SHORT = {
    "project": "psplib/j301_1.sm",
    "project of sixty": "psplib/j601_1.sm",
    "wrapped lines": "patterson/pat1.rcp",
    "several modes": "mm/r54_9.mm",
    "lags": "rcpspmax_sm_j20/PSP7.SCH",
    "infeasible lags, 10 tasks": "rcpspmax_sm_j10/PSP2.SCH",
    "infeasible lags, 20 tasks": "rcpspmax_sm_j20/PSP1.SCH",
    "infeasible lags, ubo20": "rcpspmax_testset_ubo20/psp2.sch",
    "infeasible lags, ubo50": "rcpspmax_testset_ubo50/psp1.sch",
    "job shop": "jobshop/la02.txt",
    "flexible job shop": "fjsp/kacem1.txt",
}


def _prove(checkout: Path, data: Path, folder: Path, *options: str) -> str:
    """Run benchmarks/prove.py, which exits with 1 at any contradiction, and return its table."""
    done = subprocess.run(
        [sys.executable, str(checkout / "benchmarks/prove.py"), "--threads", "2", *options],
        cwd=folder,
        env=os.environ | {"ALLOCSOLVE_BENCHMARKS": str(data)},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
    return done.stdout


def test_every_file_loads_and_no_bound_is_above_a_published_value(
    checkout: Path, benchmarks_dir: Path, tmp_path: Path
) -> None:
    """Readers must take the files as they are in the wild, and bounds must be bounds."""
    table = _prove(checkout, benchmarks_dir, tmp_path, "--limit", "0")
    folders = ("psplib", "jobshop", "fjsp", "rcpsp_other")
    files = [
        path
        for folder in folders
        for path in (benchmarks_dir / "dag" / folder).rglob("*")
        if path.is_file() and path.suffix != ".csv"
    ]
    assert f"# {len(files)} files" in table


@pytest.mark.parametrize("name", SHORT.values(), ids=SHORT.keys())
def test_small_files_are_proven(
    checkout: Path, benchmarks_dir: Path, tmp_path: Path, name: str
) -> None:
    """Each format's small files reach the published optimum, or are proven infeasible."""
    table = _prove(checkout, benchmarks_dir, tmp_path, "--limit", "10", "--only", name)
    assert "# 1 files, 1 proven, 0 failed" in table
