"""Projects and shops at short limits, side by side with plain CP-SAT and PyJobShop.

Every file is solved by each of them for the same seconds on the same threads, one after the
other, in one run; the mean excess over the best known value (or over the best value of the
run) and the bounds are compared set by set. "cpsat" is a textbook model (intervals, cumulative
and no-overlap constraints, every default of the engine), built here. PyJobShop takes part if it
is installed.

    python benchmarks/short_limits.py --limit 10 --seeds 3
    python benchmarks/short_limits.py --sets shop --limit 1 --peer-limit 10
"""

from __future__ import annotations

import argparse
import statistics
import sys
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from importlib.util import find_spec
from pathlib import Path

from common import data_folder, machine
from known import Known, known_files

import allocsolve
from allocsolve.instances.generators.dag import generate
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.dag.search_kernels import PROJECTS, SHOPS, WINDOWS

SETS = {
    "j60": ("psplib/j60",),
    "j120": ("psplib/j120",),
    "generated": (),
    "jobshop": ("jobshop/",),
    "fjsp": ("fjsp/",),
}
GROUPS = {"project": ("j60", "j120", "generated"), "shop": ("jobshop", "fjsp")}
GENERATED = 10

Answer = tuple[float | None, float | None]
"""Value and bound."""


@dataclass
class Case:
    """One instance, and what everybody found with each seed."""

    name: str
    problem: DagProblem
    best_known: float | None
    found: dict[str, list[Answer]] = field(default_factory=dict)

    @property
    def best(self) -> float:
        """The best value known or found."""
        values = [value for rows in self.found.values() for value, _ in rows if value is not None]
        return min([*values, *([] if self.best_known is None else [self.best_known])])

    def excess(self, who: str) -> float:
        """Mean excess over the best value in percent."""
        values = [value for value, _ in self.found[who]]
        return statistics.mean(
            100 * ((value if value is not None else 2 * self.best) / self.best - 1)
            for value in values
        )

    def bound(self, who: str) -> float:
        """Mean bound as a share of the best value in percent."""
        return statistics.mean(100 * (bound or 0) / self.best for _, bound in self.found[who])


def own(problem: DagProblem, limit: float, threads: int, seed: int) -> Answer:
    """Solve with ``auto``."""
    result = allocsolve.solve(problem, time_limit=limit, threads=threads, seed=seed)
    return result.objective.known, result.objective.bound


def plain_cpsat(problem: DagProblem, limit: float, threads: int, seed: int) -> Answer:
    """Solve a textbook model with every default of the engine."""
    from ortools.sat.python import cp_model

    arrays, model = problem.arrays, cp_model.CpModel()
    horizon = int(arrays.horizon)
    starts, ends = [], []
    on_node: dict[int, list[cp_model.IntervalVar]] = {}
    demands: list[list[tuple[cp_model.IntervalVar, int]]] = [[] for _ in arrays.capacity]
    for task in range(len(problem.tasks)):
        start, end = model.new_int_var(0, horizon, ""), model.new_int_var(0, horizon, "")
        starts.append(start)
        ends.append(end)
        modes, chosen = arrays.modes_of(task), []
        for mode in modes:
            length = int(arrays.mode_duration[mode])
            taken = model.new_bool_var("")
            chosen.append(taken)
            part = model.new_optional_interval_var(start, length, end, taken, "")
            if arrays.mode_node[mode] >= 0:
                on_node.setdefault(int(arrays.mode_node[mode]), []).append(part)
            for line, amount in enumerate(arrays.mode_demand[mode].tolist()):
                if amount:
                    demands[line].append((part, amount))
        model.add_exactly_one(chosen)
    for source, target in zip(arrays.edge_source, arrays.edge_target, strict=True):
        model.add(starts[target] >= ends[source])
    for parts in on_node.values():
        model.add_no_overlap(parts)
    for line, rows in enumerate(demands):
        parts, amounts = [part for part, _ in rows], [amount for _, amount in rows]
        model.add_cumulative(parts, amounts, int(arrays.capacity[line]))
    makespan = model.new_int_var(0, horizon, "")
    model.add_max_equality(makespan, ends)
    model.minimize(makespan)
    solver = cp_model.CpSolver()
    solver.parameters.max_time_in_seconds = limit
    solver.parameters.num_workers = threads
    solver.parameters.random_seed = seed
    status = solver.solve(model)
    has_answer = status in (cp_model.OPTIMAL, cp_model.FEASIBLE)
    tick = float(arrays.tick)
    value = solver.objective_value * tick if has_answer else None
    return value, solver.best_objective_bound * tick


def pyjobshop(problem: DagProblem, limit: float, threads: int, seed: int) -> Answer:
    """Solve with PyJobShop and CP-SAT behind it."""
    from pyjobshop import Model

    arrays, model = problem.arrays, Model()
    machines = [model.add_machine() for _ in arrays.node_slots]
    lines = [model.add_renewable(int(amount)) for amount in arrays.capacity]
    tasks = [model.add_task() for _ in problem.tasks]
    for task, row in enumerate(tasks):
        for mode in arrays.modes_of(task):
            needs = [
                (lines[line], amount)
                for line, amount in enumerate(arrays.mode_demand[mode].tolist())
                if amount
            ]
            if arrays.mode_node[mode] >= 0:
                needs.append((machines[int(arrays.mode_node[mode])], 0))
            model.add_mode(
                row,
                [resource for resource, _ in needs],
                int(arrays.mode_duration[mode]),
                [amount for _, amount in needs],
            )
    for source, target in zip(arrays.edge_source, arrays.edge_target, strict=True):
        model.add_end_before_start(tasks[source], tasks[target])
    result = model.solve(
        solver="ortools", time_limit=limit, display=False, num_workers=threads, random_seed=seed
    )
    tick = float(arrays.tick)
    return result.objective * tick, result.lower_bound * tick


def cases(wanted: list[str], data: Path) -> Iterator[tuple[str, Case]]:
    """Yield every instance with the name of its set."""
    known = list(known_files(data))
    for name in wanted:
        for one in known:
            if any(one.name.startswith(prefix) for prefix in SETS[name]):
                yield name, Case(one.name, allocsolve.read(one.path), _upper(one))
        if name == "generated":
            for seed in range(GENERATED):
                size = 60 if seed % 2 else 120
                problem = generate(
                    "rcpsp",
                    tasks=size,
                    seed=9000 + seed,
                    resource_factor=0.75,
                    resource_strength=0.2,
                )
                yield name, Case(f"generated/{size}/{seed}", problem, None)


def _upper(known: Known) -> float | None:
    return None if known.upper is None else float(known.upper)


def solvers(limit: float, peer_limit: float) -> dict[str, Callable[..., Answer]]:
    """Return who takes part, each with its seconds."""
    found: dict[str, Callable[..., Answer]] = {
        "allocsolve": lambda *a: own(a[0], limit, *a[1:]),
        "cpsat": lambda *a: plain_cpsat(a[0], peer_limit, *a[1:]),
    }
    if find_spec("pyjobshop"):
        found["pyjobshop"] = lambda *a: pyjobshop(a[0], peer_limit, *a[1:])
    return found


def main() -> int:
    """Run the table and return 1 if an answer contradicts a published value."""
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--limit", type=float, default=10.0, help="seconds for allocsolve")
    parser.add_argument("--peer-limit", type=float, help="seconds for the others (as --limit)")
    parser.add_argument("--threads", type=int, default=2)
    parser.add_argument("--seeds", type=int, default=1)
    parser.add_argument("--sets", nargs="+", default=list(GROUPS), choices=[*GROUPS, *SETS])
    parser.add_argument("--only", help="files whose name contains this")
    options = parser.parse_args()
    wanted = [name for group in options.sets for name in GROUPS.get(group, (group,))]
    everybody = solvers(options.limit, options.peer_limit or options.limit)
    print(machine(), flush=True)
    for kernels in (PROJECTS, SHOPS, WINDOWS):  # the process is warm: loops and engine are loaded
        kernels.build()
    plain_cpsat(generate("rcpsp", tasks=10, seed=0), 1.0, 1, 0)
    sets: dict[str, list[Case]] = {}
    for name, case in cases(wanted, data_folder()):
        if options.only and options.only not in case.name:
            continue
        sets.setdefault(name, []).append(case)
        for who, solve in everybody.items():
            case.found[who] = [
                solve(case.problem, options.threads, seed) for seed in range(options.seeds)
            ]
        print(line(case), flush=True)
    for name, members in sets.items():
        print(summary(name, members, list(everybody)), flush=True)
    return 1 if any(contradicts(case) for members in sets.values() for case in members) else 0


def line(case: Case) -> str:
    """Return what everybody found on a case."""
    parts = [
        f"{who} {[value for value, _ in rows]} bound {max(bound or 0 for _, bound in rows):g}"
        for who, rows in case.found.items()
    ]
    return f"{case.name:26} best {case.best:g}  " + "  ".join(parts)


def summary(name: str, members: list[Case], everybody: list[str]) -> str:
    """Return the means of a set."""
    means = {who: statistics.mean(case.excess(who) for case in members) for who in everybody}
    bounds = {who: statistics.mean(case.bound(who) for case in members) for who in everybody}
    worst = max(
        case.excess("allocsolve") - min(case.excess(who) for who in everybody) for case in members
    )
    shares = ", ".join(
        f"{means['allocsolve'] / mean:.0%} of {who}"
        for who, mean in means.items()
        if who != "allocsolve" and mean > 0
    )
    return (
        f"# {name} ({len(members)}): "
        + ", ".join(f"{who} +{means[who]:.2f} % bound {bounds[who]:.1f} %" for who in everybody)
        + f"; {shares}; at most {worst:.2f} points behind on a file"
    )


def contradicts(case: Case) -> bool:
    """Whether an own bound lies above an answer."""
    return any((bound or 0) > case.best for _, bound in case.found["allocsolve"])


if __name__ == "__main__":
    sys.exit(main())
