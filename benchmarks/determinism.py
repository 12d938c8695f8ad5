"""Whether documents are byte-identical over hash seeds, with one thread and without timing.

python benchmarks/determinism.py --seeds 10
"""

from __future__ import annotations

import argparse
import re
import sys

from common import machine, run_timed

from allocsolve.instances.catalogue import bundled

TIMING = re.compile(r'"timing": ?\{[^}]*\},?')


def main() -> int:
    """Print one line for each bundled instance and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seeds", type=int, default=10)
    options = parser.parse_args()
    print(machine())
    different = 0
    for name, path in bundled().items():
        command = [sys.executable, "-m", "allocsolve", "solve", str(path)]
        command += ["--threads", "1", "--time-limit", "none"]
        documents = set()
        for seed in range(options.seeds):
            _, done = run_timed(command, PYTHONHASHSEED=str(seed))
            documents.add(TIMING.sub("", done.stdout))
        different += len(documents) > 1
        print(f"{name:24} {options.seeds} hash seeds, {len(documents)} different document(s)")
    print(f"# {different} instances with differences")
    return 1 if different else 0


if __name__ == "__main__":
    sys.exit(main())
