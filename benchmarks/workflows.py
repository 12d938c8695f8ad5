"""A checked schedule and a certified gap for each public workflow and network of operators.

python benchmarks/workflows.py --limit 5 --threads 2
"""

from __future__ import annotations

import argparse
import os
import sys
import time
from pathlib import Path

from common import data_folder, machine

import allocsolve


def main() -> int:
    """Print one line for each file and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--limit", type=float, default=5.0, help="seconds for each file")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--method", default="auto")
    options = parser.parse_args()
    print(machine())
    print(
        f"# load {os.getloadavg()[0]:.1f}; {options.limit:g} s and {options.threads} threads each"
    )
    failed = 0
    for path in sorted((data_folder() / "dag").glob("*/*.json")):
        failed += not _solved(path, options.method, options.limit, options.threads)
    print(f"# {failed} files without a checked schedule and a gap in time")
    return 1 if failed else 0


def _solved(path: Path, method: str, limit: float, threads: int) -> bool:
    began = time.perf_counter()
    problem = allocsolve.read(path)
    left = limit - (time.perf_counter() - began)
    result = allocsolve.solve(problem, method=method, time_limit=left, threads=threads)
    spent = time.perf_counter() - began
    gap = result.objective.gap
    name = f"{path.parent.name}/{path.stem}"[:56]
    size = f"{len(problem.tasks):5} tasks {len(problem.nodes):3} nodes"
    shown = "no gap" if gap is None else f"gap {100 * gap:6.2f} %"
    print(
        f"{name:56} {size} {result.status:9} {shown} {spent:5.1f} s "
        f"{result.certificate.bound_source or '-'} {' '.join(result.warnings)[:90]}",
        flush=True,
    )
    return result.certificate.checked and gap is not None and spent <= limit + 0.5


if __name__ == "__main__":
    sys.exit(main())
