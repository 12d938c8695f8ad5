"""Fair shares: the structured methods beside cvxpy with Clarabel, and up to a million jobs.

One thread, CPU seconds of the process, after compilation. Ours: from arrays to shares and
prices; cvxpy: the call of ``solve``. The gap is certified by closed forms that share nothing
with a solver. Memory is the highest of the process so far.

    python benchmarks/fair_speed.py [--objective nash|max_min] [--large]
"""

from __future__ import annotations

import argparse
import sys

from common import machine
from fair_common import draw, ours, peer, show

from allocsolve.solvers.fair.kernel_sets import BOX, INTERIOR

BESIDE = [(100, 3), (1000, 3), (5000, 3), (50_000, 3), (50_000, 8)]
LARGE = [(100_000, 8, ""), (1_000_000, 3, ""), (1_000_000, 8, "")]
NASTY = [(100_000, 8, "ties"), (100_000, 8, "near"), (1_000_000, 3, "classes")]
CLOSE = 1e-8


def main() -> int:
    """Print the table; return 1 if a gap is not certified."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--objective", choices=("nash", "max_min"), default="nash")
    parser.add_argument("--large", action="store_true", help="also up to a million jobs, alone")
    wanted = parser.parse_args()
    name = wanted.objective
    print(machine())
    INTERIOR.build()
    BOX.build()
    print(
        "| set | jobs x types | ours, s | cvxpy, s | ratio | certified gap | values differ "
        "| GiB |\n|---|---|---|---|---|---|---|---|"
    )
    failed = False
    for jobs, types in BESIDE:
        problem = draw(jobs, types)
        own = ours(problem, name, repeats=3)
        show("random", jobs, types, own, peer(problem, name))
        failed |= not own.gap <= CLOSE
    for jobs, types, ties in LARGE + NASTY if wanted.large else []:
        own = ours(draw(jobs, types, ties=ties), name, repeats=2)
        show(ties or "random", jobs, types, own, None)
        failed |= not own.gap <= CLOSE
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
