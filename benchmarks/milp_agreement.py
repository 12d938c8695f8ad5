"""Both mixed-integer programs, the constraint program and enumeration on random instances.

    python benchmarks/milp_agreement.py --count 1000 --first 0

prints, for each family of nodes, how often the values differ and what each solver took. The
instances are those of the tests, with other seeds.
"""

from __future__ import annotations

import argparse
import importlib.util
import sys
import time
from collections import defaultdict
from types import ModuleType

from common import TOP, machine

FAMILIES = ("identical", "related", "unrelated", "eligible", "communication", "project")


def _load(name: str, path: str) -> ModuleType:
    spec = importlib.util.spec_from_file_location(name, TOP / path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def main() -> None:
    """Print one line for each family."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("--count", type=int, default=200, help="instances of each family")
    parser.add_argument("--first", type=int, default=0, help="first seed")
    chosen = parser.parse_args()
    oracle = _load("brute_force", "tests/oracle/brute_force.py")
    drawn = _load("agreement", "tests/solvers/test_agreement.py")

    def by_enumeration(problem: object) -> int | None:
        schedule = oracle.best_schedule(problem)
        return None if schedule is None else schedule.makespan

    solvers = {
        "enumeration": by_enumeration,
        "cpsat": drawn.by_cpsat,
        "disjunctive": lambda problem: drawn.by_milp(problem, drawn.milp_disjunctive),
        "time_indexed": lambda problem: drawn.by_milp(problem, drawn.milp_time_indexed),
    }
    print(machine())
    print("family instances infeasible different", *(f"{name}_cpu_s" for name in solvers))
    for family in FAMILIES:
        seconds: dict[str, float] = defaultdict(float)
        infeasible = different = 0
        for seed in range(chosen.first, chosen.first + chosen.count):
            draw = (
                drawn.project if family == "project" else lambda s, f=family: drawn.on_nodes(f, s)
            )
            problem = draw(seed)
            values = []
            for name, solve in solvers.items():
                begin = time.process_time()
                values.append(solve(problem))
                seconds[name] += time.process_time() - begin
            infeasible += values[0] is None
            different += len(set(values)) > 1
        spent = (f"{seconds[name]:.1f}" for name in solvers)
        print(family, chosen.count, infeasible, different, *spent, flush=True)


if __name__ == "__main__":
    main()
