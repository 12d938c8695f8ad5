"""Methods for gradients: which partitions each node takes, and in which order.

The rules stand in :mod:`allocsolve.models.coded.baselines_gradient`; ``partitions`` starts from
all of them. Time by which a decodable set has answered in the worst case: the bisection of
``heterogeneity_aware`` is optimal, for every code, since by that time every partition has been
completed on s + m nodes. For the other objectives placements in whole results are enumerated if
they are few and searched otherwise, and where results may come in batches, partitions are
exchanged in the orders of nodes, all by exact value.
"""

from __future__ import annotations

import math
from functools import partial

from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.baselines_gradient import GRADIENT_RULES, GradientJob
from allocsolve.models.coded.costs import exact_cost, values_of
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.result import RealBound, Scalar, Termination
from allocsolve.solvers.coded import placement
from allocsolve.solvers.coded.ground import read_numbers
from allocsolve.solvers.coded.orders import OrderSearch
from allocsolve.solvers.coded.part_search import PartSearch
from allocsolve.solvers.control import Outcome, RealControl
from allocsolve.solvers.ending import finished, infeasible, own_solver

__all__ = ["cyclic", "fractional_repetition", "heterogeneity_aware", "solve"]


def solve(problem: CodedProblem, control: RealControl[CodedAnswer]) -> Outcome:
    """Place the partitions of a gradient.

    Rules, a maximum flow and exchanges; where a budget and data locality meet, a flow does not
    see the price, and constraint programs decide.
    """
    both = problem.arrays.holds is not None and problem.limits.budget is not None
    if both and problem.objective_name == "worst_case":
        return placement.solve(problem, control)
    return _solve("partitions", problem, control)


def _solve(name: str, problem: CodedProblem, control: RealControl[CodedAnswer]) -> Outcome:
    """Offer the rule of that name, or all rules and what a search finds beside them."""
    read_numbers(name, control.limits.options, {})
    run, solver = _Run(problem, control), own_solver(control, {})
    run.compare(None if name == "partitions" else name)
    whole = run.bound()
    if whole and control.answer is None and name in ("partitions", "heterogeneity_aware"):
        return infeasible(solver, None)
    if name == "partitions" and problem.objective_name != "worst_case":
        options: dict[str, Scalar] = {"placements": run.improve_parts()}
        told = run.improve_orders()
        solver = own_solver(control, options if told is None else {**options, "orders": told})
    ended = control.stopped() or Termination.FINISHED
    return finished(control, solver, ended, baselines=values_of(problem, run.values))


class _Run:
    """A run on a gradient.

    Attributes
    ----------
    values
        Cost of each rule, None where it gives no answer.
    """

    def __init__(self, problem: CodedProblem, control: RealControl[CodedAnswer]) -> None:
        self.problem = problem
        self.control = control
        self.job = GradientJob(problem)
        self.values: dict[str, float | None] = {}

    def compare(self, only: str | None) -> None:
        """Find the best answer of every rule; offer it, or only that of one."""
        for name, rule in GRADIENT_RULES.items():
            costs = [
                self._cost(answer, name if only in (None, name) else None)
                for answer in rule(self.job)
                if self.job.allows(answer)
            ]
            self.values[name] = min(costs, default=None)

    def _cost(self, answer: CodedAnswer, source: str | None) -> float:
        """Return the exact cost; offer the answer if a source is given."""
        cost = exact_cost(self.problem, answer)
        if source is not None and (math.isfinite(cost) or self.problem.objective_name != "cost"):
            self.control.offer(answer, cost, source)
        return cost

    def bound(self) -> bool:
        """Raise the bound of the worst case; tell whether no answer means that there is none.

        Without data locality the cheapest loads by a time are known; a flow does not see prices.
        """
        aware = self.values["heterogeneity_aware"]
        limits, holds = self.problem.limits, self.problem.arrays.holds
        if self.problem.objective_name != "worst_case":
            return False
        if limits.budget is not None and holds is not None:
            return False
        if aware is not None and math.isfinite(aware):
            detail = "no partition can be completed on enough nodes before"
            self.control.raise_bound(RealBound(aware, "bisection over loads", detail))
        return True

    def improve_parts(self) -> str:
        """Look for better placements in whole results; say whether all were looked at."""
        self.control.phase("placements of partitions")
        return PartSearch(self.job, self.control).run()

    def improve_orders(self) -> str | None:
        """Let nodes send partitions one by one in good orders; say how they were chosen."""
        search = OrderSearch(self.job, self.control)
        self.control.phase("orders of partitions")
        return search.run()


heterogeneity_aware = partial(_solve, "heterogeneity_aware")
cyclic = partial(_solve, "cyclic")
fractional_repetition = partial(_solve, "fractional_repetition")
