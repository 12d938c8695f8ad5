"""What the order of partitions within a node is worth, where nodes send them one by one.

Shifted exponential nodes (shift 1, rate 1), the speed of two neighbours rising by 1; a gradient
of as many partitions as nodes, every node may do all of them. Mean completion times by the exact
law. Columns: the answer of ``auto``; the best rule that waits for whole results; the same loads
with every node in the same order, and each node beginning at its own place around the circle.
Exit code 1 if the answer is worse than one of the others.

    python benchmarks/chunk_orders.py           # half a minute
    python benchmarks/chunk_orders.py --large   # and eight nodes
"""

from __future__ import annotations

import argparse
import sys
import time
from dataclasses import replace

from common import machine

import allocsolve
from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.costs import exact_cost
from allocsolve.models.coded.data import Gradient, Limits, Node, ObjectiveSpec
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.nodes import Law

CASES = [(3, 3, 1), (4, 3, 1), (4, 4, 1), (6, 6, 1)]
LARGE = [(8, 8, 2)]


def problem_of(nodes: int, partitions: int, stragglers: int) -> CodedProblem:
    """Return the instance."""
    law = Law(law="shifted_exponential", shift=1, rate=1)
    return CodedProblem(
        task=Gradient(partitions=partitions, stragglers=stragglers),
        nodes=[Node(id=str(i), speed=1 + i // 2, runtime=law) for i in range(nodes)],
        limits=Limits(batches="free"),
        objective=ObjectiveSpec(name="mean"),
    )


def turned(answer: CodedAnswer) -> CodedAnswer:
    """Return the answer with orders that begin at different places of a circle."""
    parts, count = answer.partitions or (), len(answer.loads)
    order = []
    for i, mine in enumerate(parts):
        ranked, first = sorted(mine), round(i * len(mine) / count)
        order.append((*ranked[first:], *ranked[:first]))
    return replace(answer, order=tuple(order))


def main() -> int:
    """Print the table."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--large", action="store_true")
    arguments = parser.parse_args()
    print(machine())
    print(
        f"{'nodes':>5} {'parts':>5} {'stragglers':>10} {'value':>8} {'orders':>9} "
        f"{'whole results':>14} {'same order':>14} {'turned':>14} {'CPU s':>6}"
    )
    fine = True
    for case in [*CASES, *(LARGE if arguments.large else [])]:
        problem, began = problem_of(*case), time.process_time()
        result = allocsolve.solve(problem, time_limit=None, threads=1)
        spent, value = time.process_time() - began, float(result.objective.value)
        answer = result.assignment
        same = replace(answer, order=tuple(tuple(sorted(m)) for m in answer.partitions or ()))
        others = [min(x for x in result.baselines.values() if x is not None)]
        others += [exact_cost(problem, same), exact_cost(problem, turned(answer))]
        shown = " ".join(f"{x:6.4f} {1 - value / x:7.1%}" for x in others)
        told = str(result.solver.options.get("orders", "none"))
        print(f"{case[0]:5} {case[1]:5} {case[2]:10} {value:8.4f} {told:>9} {shown} {spent:6.1f}")
        fine &= value <= min(others) * (1 + 1e-12)
    return 0 if fine else 1


if __name__ == "__main__":
    sys.exit(main())
