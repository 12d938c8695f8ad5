"""Threads of a pool see what the caller's context says."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import time
from pathlib import Path

import allocsolve
from allocsolve.models import kernels
from allocsolve.models.kernels import uncompiled
from allocsolve.models.threads import ContextPool

ROOT = Path(allocsolve.__file__).parent


def test_jobs_of_a_pool_know_that_kernels_run_plain() -> None:
    """Otherwise every thread compiles what its caller has no time to compile."""
    with uncompiled(), ContextPool(2) as pool:
        mapped = list(pool.map(lambda _: kernels._wants_plain.get(), range(8)))
        handed_in = pool.submit(kernels._wants_plain.get).result()
    assert mapped == [True] * 8
    assert handed_in is True


def test_no_other_pool_of_threads_is_used() -> None:
    """A new pool of the plain sort would forget the context again."""
    plain = re.compile(r"\bThreadPoolExecutor\b")
    folders = [ROOT, *(ROOT / name for name in ("models", "solvers", "instances", "report"))]
    found = {
        path.resolve().name
        for folder in folders
        for path in folder.resolve().rglob("*.py")
        if "tests" not in path.parts and plain.search(path.read_text(encoding="utf-8"))
    }
    assert found == {"threads.py"}


CHOOSE = """
import sys
import allocsolve
from allocsolve.models.dag.data import Node, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.execution.runs import KERNELS
from allocsolve.models.nodes import Law

heavy = Law(law="pareto", shape=1.2, scale=0.5)
problem = DagProblem(
    tasks=[Task(id="a", work=4)], nodes=[Node(id="spot", speed=2, runtime=heavy), Node(id="x")]
)
result = allocsolve.solve(problem, method="heft", robust=0.95, threads=2, time_limit=10)
print(result.robust is not None and result.robust.candidates > 1, KERNELS.is_loaded())
"""


def test_a_robust_choice_with_threads_does_not_compile(tmp_path: Path) -> None:
    """Two threads and an empty cache: compiling takes longer than the limit allows."""
    environment = {k: v for k, v in os.environ.items() if k != "NUMBA_DISABLE_JIT"}
    environment["NUMBA_CACHE_DIR"] = str(tmp_path)
    began = time.monotonic()
    done = subprocess.run(
        [sys.executable, "-c", CHOOSE],
        env=environment,
        capture_output=True,
        text=True,
        check=False,
        timeout=120,
    )
    assert done.stdout.split() == ["True", "False"], done.stderr
    assert time.monotonic() - began < 20
    assert not list(tmp_path.rglob("*.nbc"))
