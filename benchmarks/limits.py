"""Wall time of whole runs against their time limit, from small to thousand-task instances.

The wall time is that of the process, start of Python included. Promised is an answer
document within limit + max(0.5 s, 5 %) for limits of at least 0.1 s.

    python benchmarks/limits.py --limits 0.05 0.1 1 5
    python benchmarks/limits.py --limits 1 60 --cold      # nothing compiled before
"""

from __future__ import annotations

import argparse
import json
import os
import sys
import tempfile
from pathlib import Path

from common import data_folder, machine, run_timed

import allocsolve
from allocsolve.instances.generators.dag import generate

PUBLIC = ("psplib/j3013_3.sm", "psplib/j12016_1.sm", "jobshop/swv06.txt", "fjsp/mk13.txt")
GENERATED = (
    ("rcpsp", 1000),
    ("jobshop", 1000),
    ("flexible", 1000),
    ("multimode", 200),
    ("layered", 12),
    ("layered", 40),
    ("layered", 1000),
)


def instances(folder: Path) -> list[Path]:
    """Return public files and freshly generated large ones."""
    paths = [data_folder() / "dag" / name for name in PUBLIC]
    for family, tasks in GENERATED:
        path = folder / f"{family}-{tasks}.json"
        allocsolve.write(generate(family, tasks=tasks, seed=1), path)
        paths.append(path)
    return paths


def main() -> None:
    """Print one line for each instance and limit."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--limits", type=float, nargs="+", default=[0.05, 0.1, 1.0, 5.0])
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--cold", action="store_true", help="empty the cache before each run")
    options = parser.parse_args()
    print(machine())
    late = 0
    with tempfile.TemporaryDirectory() as folder:
        for path in instances(Path(folder)):
            for limit in options.limits:
                late += one(path, limit, options.threads, cold=options.cold)
    print(f"# {late} runs later than limit + max(0.5 s, 5 %)")


def one(path: Path, limit: float, threads: int, *, cold: bool) -> bool:
    """Run one instance under one limit, print its line and tell whether it was late."""
    if cold:
        with tempfile.TemporaryDirectory() as folder:
            os.environ["NUMBA_CACHE_DIR"] = folder
            return one(path, limit, threads, cold=False)
    command = [sys.executable, "-m", "allocsolve", "solve", str(path)]
    command += ["--time-limit", str(limit), "--threads", str(threads), "--progress", "none"]
    seconds, done = run_timed(command)
    document = json.loads(done.stdout) if done.stdout else {"status": done.stderr.strip()}
    objective = document.get("objective") or {}
    over = seconds - limit
    late = over > max(0.5, 0.05 * limit)
    print(
        f"{path.name:22} limit {limit:5g} s  wall {seconds:6.2f} s  over {over:+6.2f} s "
        f"{'LATE' if late else 'ok':4}  exit {done.returncode}  {document['status']:9} "
        f"value {objective.get('value')}  bound {objective.get('bound')}",
        flush=True,
    )
    return late


if __name__ == "__main__":
    main()
