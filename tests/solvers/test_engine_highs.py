"""HiGHS starts without a word on descriptor 1."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from allocsolve.models.errors import SolverCrash
from allocsolve.solvers.engines.highs import require

CODE = """
import sys
from allocsolve.solvers.engines.highs import highs
first, second = highs(), highs()
for solver in (first, second):
    solver.addVar(1.0, 2.0)
    solver.run()
    assert solver.getInfo().objective_function_value == 0
print("end")
"""


def _run(code: str, tmp_path: Path) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )


def test_no_banner_on_descriptor_1(tmp_path: Path) -> None:
    """The banner would break the JSON document on stdout; our own output must survive."""
    done = _run(CODE, tmp_path)
    assert (done.stdout, done.stderr, done.returncode) == ("end\n", "", 0)


def test_a_closed_stdout_is_no_obstacle(tmp_path: Path) -> None:
    """A daemon may have closed descriptor 1 before the library is used."""
    code = "import os; os.close(1)\n" + CODE.replace('print("end")', 'sys.stderr.write("end")')
    assert _run(code, tmp_path).stderr.startswith("end")


def test_a_failed_call_is_told() -> None:
    """HiGHS goes on after an error; a program that lacks a row would prove too much."""
    import highspy

    require(highspy.HighsStatus.kOk, "nothing")
    require(highspy.HighsStatus.kWarning, "stopping early")
    with pytest.raises(SolverCrash, match="adding a row"):
        require(highspy.HighsStatus.kError, "adding a row")
