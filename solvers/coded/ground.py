"""What all methods for matrix products share: the run, the loads that are allowed, scores."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.domain import Domain
from allocsolve.models.coded.kernel_sets import COMPLETION
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.scores import (
    DirectScores,
    QuickScores,
    Scores,
    answer_of,
    exact_cost,
)
from allocsolve.models.coded.search_sets import BOUNDS, LOADS
from allocsolve.models.errors import UsageError, suggest
from allocsolve.models.kernels import PLAIN_AT_ONCE, uncompiled
from allocsolve.models.result import Termination
from allocsolve.solvers.control import RealControl
from allocsolve.solvers.loading import make_ready

__all__ = ["Ground", "read_numbers", "ready_loops"]

UNCOMPILED = (
    "the loops over loads are not compiled, and compiling does not fit into the time limit; "
    "'allocsolve doctor --compile' does it once"
)


_PLAIN_STEP = 2e-7
"""Seconds of a step in plain Python."""
_SMALL = 0.03
"""Seconds of an exact value in plain Python up to which a search is not worth a compiler."""
_LOADING = 4.0
"""Seconds up to which loops are loaded from the cache rather than compiled."""


class Ground:
    """A run of a method on a problem of matrix products.

    Attributes
    ----------
    values
        Exact value of each rule that was compared, None where it gives no answer.
    hurried
        Whether the loops are not compiled and too long for plain Python: then only an answer is
        given, and nothing is searched.
    compiled
        Whether the loops are; otherwise the length of the search, and so its answer, depends on
        what was in the cache.
    warnings
        What a reader should know about the loops.
    """

    def __init__(self, problem: CodedProblem, control: RealControl[CodedAnswer]) -> None:
        self.problem = problem
        self.control = control
        self.domain = Domain.of(problem)
        self.values: dict[str, float | None] = {}
        self.hurried = False
        self.compiled = True
        self.warnings: tuple[str, ...] = ()
        self._scores: dict[int, Scores] = {}

    def over(self) -> bool:
        """Whether the run has to end."""
        return self.control.stopped() is not None

    def ended(self) -> Termination:
        """Return why the run ends."""
        return self.control.stopped() or Termination.FINISHED

    def scores(self, batches: int) -> Scores:
        """Return the scores of loads in a number of batches."""
        if batches not in self._scores:
            direct = not self.problem.arrays.independent
            build = DirectScores if direct else QuickScores
            self._scores[batches] = build(self.problem, batches, self.domain)
        return self._scores[batches]

    def answer(self, loads: Sequence[int], batches: int) -> CodedAnswer:
        """Return loads as an answer."""
        return answer_of(self.problem, loads, batches)

    def cost(self, answer: CodedAnswer) -> float:
        """Return the exact cost of an answer."""
        return exact_cost(self.problem, answer)

    def offer(self, answer: CodedAnswer, source: str) -> float:
        """Offer an answer at its exact cost; return that, infinite below the confidence."""
        cost = self.cost(answer)
        if cost < float("inf") or self.problem.objective_name != "cost":
            self.control.offer(answer, cost, source)
        return cost

    def exact_work(self, loads: Sequence[int], batches: int) -> float:
        """Return the steps that the exact value of loads takes, roughly."""
        results = sum(min(load, batches) for load in loads)
        return 1e5 + 600.0 * self.domain.need * results

    def named_values(self) -> Mapping[str, float | None]:
        """Return the values of the rules in units of the objective."""
        sign = -1.0 if self.problem.objective_name == "deadline_probability" else 1.0
        return {
            name: None if cost is None else sign * cost + 0.0 for name, cost in self.values.items()
        }


@contextmanager
def ready_loops(ground: Ground) -> Iterator[None]:
    """Give the block compiled loops, or the same loops as plain Python, and note which."""
    control, sets = ground.control, (COMPLETION, LOADS, BOUNDS)
    loads = [1] * len(ground.domain.caps)
    is_small = ground.exact_work(loads, 1) * _PLAIN_STEP <= _SMALL
    seconds = sum(kernels.seconds() for kernels in sets)
    is_better = seconds <= 0.7 * control.remaining() and not (is_small and seconds > _LOADING)
    if is_better and make_ready(control, *sets):
        yield
    else:
        ground.compiled = False
        ground.warnings = () if is_small else (UNCOMPILED,)
        ground.hurried = ground.exact_work(loads, 1) * _PLAIN_STEP > PLAIN_AT_ONCE
        with uncompiled(when=not ground.hurried):
            yield


def read_numbers(
    method: str, options: Mapping[str, str], known: Mapping[str, tuple[int, int, int]]
) -> dict[str, int]:
    """Return the settings of a method: name to (default, least, most).

    Settings of the objective are left to the problem.

    Raises
    ------
    UsageError
        If a setting is unknown or no whole number of its range.
    """
    values = {name: default for name, (default, _, _) in known.items()}
    for name, text in options.items():
        if name in ("q", "deadline", "confidence"):
            continue
        if name not in known:
            allowed = ", ".join(known) or "none"
            raise UsageError(
                f"method '{method}' has no setting '{name}'{suggest(name, list(known))} "
                f"(allowed: {allowed})"
            )
        _, least, most = known[name]
        if not text.isdecimal() or not least <= int(text) <= most:
            raise UsageError(f"setting {name} = {text!r}: an integer {least}..{most} is allowed")
        values[name] = int(text)
    return values
