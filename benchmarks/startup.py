"""Start-up time of allocsolve as a multiple of bare Python, median of interleaved runs.

python benchmarks/startup.py --runs 15
"""

from __future__ import annotations

import argparse
import statistics
import sys

from common import machine, run_timed

from allocsolve.instances.catalogue import bundled


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--runs", type=int, default=15)
    options = parser.parse_args()
    small = str(bundled()["ft06"])
    program = [sys.executable, "-m", "allocsolve"]
    commands = {
        "python -c pass": [sys.executable, "-c", "pass"],
        "import allocsolve": [sys.executable, "-c", "import allocsolve"],
        "import numpy": [sys.executable, "-c", "import numpy"],
        "import ortools (CP-SAT)": [
            sys.executable,
            "-c",
            "from ortools.sat.python import cp_model",
        ],
        "allocsolve --help": [*program, "--help"],
        "allocsolve methods": [*program, "methods"],
        "allocsolve solve ft06": [*program, "solve", small, "--threads", "1"],
        "allocsolve bound ft06": [*program, "bound", small],
    }
    times: dict[str, list[float]] = {name: [] for name in commands}
    for _ in range(options.runs + 1):
        for name, command in commands.items():
            seconds, done = run_timed(command)
            if done.returncode:
                sys.exit(f"{name}: exit {done.returncode}\n{done.stderr}")
            times[name].append(seconds)
    print(machine())
    print(f"# median of {options.runs} interleaved runs, the first round left out")
    bare = statistics.median(times["python -c pass"][1:])
    for name, seconds in times.items():
        median = statistics.median(seconds[1:])
        print(f"{name:26} {median * 1000:8.1f} ms  {median / bare:6.1f} x")


if __name__ == "__main__":
    main()
