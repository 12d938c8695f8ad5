"""Time of a replayed task: against SimPy, and against numpy's exponential numbers alone.

    nice -n -15 python benchmarks/replay.py [--billion]

One thread. Processor time, the least of several runs, so that other programs of the machine
disturb little; ratios are between numbers of one run. ``--billion`` replays 10^9 tasks.
"""

from __future__ import annotations

import resource
import sys
import time
from collections.abc import Callable, Iterator
from typing import TYPE_CHECKING

import numpy as np
from common import machine

if TYPE_CHECKING:
    import simpy

from allocsolve.models.dag.answer import Schedule
from allocsolve.models.dag.data import Edge, Node, Task
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.execution.dag import prepare, simulate
from allocsolve.models.execution.request import SimulationRequest
from allocsolve.models.execution.runs import warm
from allocsolve.models.nodes import ShiftedExponential

TASKS, NODES, REPLICATIONS = 1000, 32, 10_000
LAW = ShiftedExponential(0.5, 2.0)


def case() -> tuple[DagProblem, Schedule]:
    """Return 1000 tasks on 32 nodes, with a greedy schedule."""
    r = np.random.default_rng(1)
    tasks = [Task(id=str(i), work=int(r.integers(1, 100))) for i in range(TASKS)]
    edges = [
        Edge(source=str(i), target=str(j))
        for j in range(1, TASKS)
        for i in {int(x) for x in r.integers(max(0, j - 60), j, 2)}
    ]
    problem = DagProblem(tasks=tasks, edges=edges, nodes=[Node(id=f"n{k}") for k in range(NODES)])
    before = predecessors(problem)
    free, start, end, mode = [0] * NODES, [0] * TASKS, [0] * TASKS, [0] * TASKS
    for j in range(TASKS):
        ready = max((end[i] for i in before[j]), default=0)
        node = min(range(NODES), key=lambda k: (max(free[k], ready), k))
        mode[j] = int(problem.arrays.mode_offset[j]) + node
        start[j] = max(free[node], ready)
        end[j] = free[node] = start[j] + int(problem.arrays.mode_duration[mode[j]])
    return problem, Schedule.of(problem, start, mode)


def predecessors(problem: DagProblem) -> list[list[int]]:
    """Return the predecessors of each task."""
    found: list[list[int]] = [[] for _ in problem.tasks]
    for edge in problem.edges:
        found[int(edge.target)].append(int(edge.source))
    return found


def least(work: Callable[[], object], times: int) -> float:
    """Return the least processor time of this thread, seconds."""
    found = []
    for _ in range(times):
        began = time.thread_time()
        work()
        found.append(time.thread_time() - began)
    return min(found)


def exponentials(count: int) -> None:
    """Draw exponential numbers in blocks that stay in the cache."""
    generator, block = np.random.Generator(np.random.SFC64(1)), np.empty(10_000)
    for _ in range(count // len(block)):
        generator.standard_exponential(out=block)


def simpy_run(schedule: Schedule, replications: int, *, resources: bool) -> None:
    """Replay with SimPy: each task a process, in the planned order of its node.

    With ``resources`` a node is a resource that each task requests, as models of machines are
    usually written; without, a task only waits for the one before it.
    """
    import simpy

    before, r = predecessors(schedule.problem), np.random.default_rng(1)
    node = schedule.problem.arrays.mode_node[schedule.mode].tolist()
    planned = schedule.problem.arrays.mode_duration[schedule.mode]
    order = np.argsort(schedule.start, kind="stable").tolist()
    for _ in range(replications):
        env = simpy.Environment()
        took = (planned * (0.5 + r.standard_exponential(TASKS) / 2)).tolist()
        places = [simpy.Resource(env) for _ in range(NODES)]
        done: dict[int, simpy.Event] = {}
        last: dict[int, simpy.Event] = {}
        for i in order:
            waits = [done[j] for j in before[i]]
            waits += [last[node[i]]] if node[i] in last else []
            place = places[node[i]] if resources else None
            done[i] = last[node[i]] = env.process(run_task(env, waits, place, took[i]))
        env.run()


def run_task(
    env: simpy.Environment, waits: list[simpy.Event], place: simpy.Resource | None, took: float
) -> Iterator[simpy.Event]:
    """Wait for other tasks, take the node, and run."""
    if place is None:
        yield from waits
        yield env.timeout(took)
        return
    yield env.all_of(waits)
    with place.request() as request:
        yield request
        yield env.timeout(took)


def report(name: str, seconds: float, tasks: float, reference: float) -> None:
    """Print one line."""
    each = seconds / tasks * 1e9
    print(f"{name:44s} {each:9.2f} ns  {each / reference:8.3f} of SFC64")


def peak() -> float:
    """Return the largest memory so far, MB."""
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def main() -> None:
    """Print the table."""
    print(machine())
    warm()  # imports numba and loads the kernels
    before = peak()
    problem, schedule = case()
    total = TASKS * REPLICATIONS
    reference = least(lambda: exponentials(total), 5) / total * 1e9
    parts = {}
    for dtype in ("float32", "float64"):
        request = SimulationRequest(law=LAW, dtype=dtype, replications=REPLICATIONS)
        parts[dtype] = prepare(problem, schedule, request).replayer
        simulate(problem, [schedule], request)
    print(f"{TASKS} tasks, {len(parts['float32'].plan.arcs.source)} arcs, {REPLICATIONS} times")
    report("SFC64 standard_exponential, float64", reference * total / 1e9, total, reference)
    for dtype, replayer in parts.items():
        seconds = least(lambda replayer=replayer: replayer.sample(0, REPLICATIONS), 7)
        report(f"draws and replay, {dtype}", seconds, total, reference)
        fast = seconds / total * 1e9
        request = SimulationRequest(law=LAW, dtype=dtype, replications=REPLICATIONS)
        whole = least(lambda request=request: simulate(problem, [schedule], request), 3)
        report(f"the whole call with statistics, {dtype}", whole, total, reference)
        if dtype == "float32":
            for name, resources in (("events only", False), ("nodes as resources", True)):
                slow = least(lambda r=resources: simpy_run(schedule, 5, resources=r), 3)
                slow *= 1e9 / (5 * TASKS)
                print(f"{f'SimPy, {name}':44s} {slow:9.0f} ns  {slow / fast:8.0f} times as long")
    if "--billion" in sys.argv:
        seconds = least(lambda: parts["float32"].sample(0, 1_000_000), 1)
        again = least(lambda: exponentials(10**9), 1)
        print(f"10^9 tasks: {seconds:.2f} s, SFC64 {again:.2f} s")
        print(f"{peak() - before:.0f} MB above the imports, with all of the above")


if __name__ == "__main__":
    main()
