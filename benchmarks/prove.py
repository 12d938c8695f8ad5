"""Solve the public project and shop files and compare with the published values.

One line a file: status, value, bound, seconds, published values, verdict. The last line
counts the verdicts; the exit code is 1 if any file failed. A file fails if its answer is
below a published lower bound, its bound above a published upper bound, or if it misses
what is asked of it (see ``asked_of``). With ``--limit 0`` files are read and bounded only.

    python benchmarks/prove.py --limit 10 --threads 2
    python benchmarks/prove.py --only ft06 --only j301
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import dataclass

from common import data_folder, machine
from known import Known, known_files

import allocsolve

SMALL_PROJECT, SMALL_SHOP = 32, 60
ALSO_PROVEN = {"ft20", "la16"}
ONLY_AN_ANSWER = {"j3013_3"}
LARGEST_GAP = {"abz5": 0.01, "orb01": 0.02, "mk07": 0.08}
SOON = 2.0
"""Seconds within which infeasible files should be proven; later ones are marked."""
PATIENCE = {"j309_2": 3.0}
"""Files that may take longer than the others, by this factor."""


@dataclass(frozen=True)
class Line:
    """The result of one file."""

    known: Known
    status: str
    value: float | None
    bound: float | None
    seconds: float
    asked: str
    failure: str

    def __str__(self) -> str:
        known = "infeasible" if self.known.infeasible else _span(self.known)
        verdict = f"FAIL {self.failure}" if self.failure else "pass"
        if self.asked == "infeasible" and self.seconds > SOON:
            verdict += f", later than {SOON:g} s"
        return (
            f"{self.known.name:38} {self.status:10} value {_show(self.value):>6} "
            f"bound {_show(self.bound):>6} {self.seconds:6.2f} s  known {known:10} "
            f"asked {self.asked:11} {verdict}"
        )


def _show(number: float | None) -> str:
    return "-" if number is None else f"{number:g}"


def _span(known: Known) -> str:
    if known.optimum is not None:
        return str(known.optimum)
    return f"{_show(known.lower)}..{_show(known.upper)}"


def asked_of(known: Known, tasks: int, *, is_shop: bool) -> str:
    """Return what a file must show: infeasible, proof, gap, or answer."""
    stem = known.path.stem
    if known.infeasible:
        return "infeasible"
    if stem in LARGEST_GAP:
        return f"gap {LARGEST_GAP[stem]:.0%}"
    small = tasks <= (SMALL_SHOP if is_shop else SMALL_PROJECT)
    if known.optimum is not None and (small or stem in ALSO_PROVEN) and stem not in ONLY_AN_ANSWER:
        return "proof"
    return "answer"


def failure_of(known: Known, asked: str, result: allocsolve.DagResult) -> str:
    """Return what is wrong with a result, an empty string if nothing is."""
    value, bound = result.objective.known, result.objective.bound
    if value is not None and (known.infeasible or value < (known.lower or 0)):
        return "value below the known lower bound"
    if bound is not None and known.upper is not None and bound > known.upper:
        return "bound above the known upper bound"
    if result.status == "INFEASIBLE" and not known.infeasible:
        return "called infeasible"
    if value is not None and not allocsolve.check(result.require().problem, result).valid:
        return "answer does not pass the checker"
    return _missed(known, asked, result)


def _missed(known: Known, asked: str, result: allocsolve.DagResult) -> str:
    value = result.objective.known
    if asked == "infeasible":
        return "" if result.status == "INFEASIBLE" else "not proven infeasible"
    if value is None:
        return "no answer"
    if asked == "proof":
        return "" if (result.status, value) == ("OPTIMAL", known.optimum) else "not proven"
    if asked.startswith("gap"):
        largest, best = LARGEST_GAP[known.path.stem], known.upper or 0
        if result.objective.bound is None:
            return "no bound"
        return (
            "" if value <= best * (1 + largest) else f"{value / best - 1:.1%} above the best known"
        )
    return ""


def solve_file(known: Known, limit: float, threads: int) -> Line:
    """Read and solve one file."""
    begin = time.perf_counter()
    problem = allocsolve.read(known.path)
    is_shop = bool(problem.nodes)
    asked = asked_of(known, len(problem.tasks), is_shop=is_shop) if limit else "load"
    seconds = limit * PATIENCE.get(known.path.stem, 1.0)
    result = allocsolve.solve(problem, time_limit=seconds, threads=threads)
    failure = failure_of(known, asked, result) if limit else _contradiction(known, result)
    return Line(
        known,
        str(result.status),
        result.objective.known,
        result.objective.bound,
        time.perf_counter() - begin,
        asked,
        failure,
    )


def _contradiction(known: Known, result: allocsolve.DagResult) -> str:
    """Say whether a run without search claims more than is true."""
    bound = result.objective.bound
    if bound is not None and known.upper is not None and bound > known.upper:
        return "bound above the known upper bound"
    if result.status == "INFEASIBLE" and not known.infeasible:
        return "called infeasible"
    return ""


def main() -> int:
    """Run the table and return the exit code."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--limit", type=float, default=10.0, help="seconds a file (default 10)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--only", action="append", help="files whose name contains this")
    options = parser.parse_args()
    print(machine())
    print(f"# limit {options.limit:g} s, {options.threads} threads", flush=True)
    failed = proven = total = 0
    for known in known_files(data_folder()):
        if options.only and not any(part in known.name for part in options.only):
            continue
        line = solve_file(known, options.limit, options.threads)
        print(line, flush=True)
        total += 1
        failed += bool(line.failure)
        proven += line.status in ("OPTIMAL", "INFEASIBLE")
    print(f"# {total} files, {proven} proven, {failed} failed")
    return 1 if failed or not total else 0


if __name__ == "__main__":
    sys.exit(main())
