"""What all methods for matrix products share: the run, the loads that are allowed, scores."""

from __future__ import annotations

import math
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.baselines import most_batches
from allocsolve.models.coded.costs import answer_of, exact_cost, values_of
from allocsolve.models.coded.data import OBJECTIVE_SETTINGS
from allocsolve.models.coded.domain import Domain
from allocsolve.models.coded.kernel_sets import COMPLETION
from allocsolve.models.coded.law_arrays import array_seconds
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.scores import DirectScores, QuickScores, Scores
from allocsolve.models.coded.search_sets import BOUNDS, LOADS, PAIRS
from allocsolve.models.errors import UsageError, suggest
from allocsolve.models.kernels import KernelSet, uncompiled
from allocsolve.models.result import Termination
from allocsolve.solvers.control import RealControl
from allocsolve.solvers.loading import make_ready, while_running

__all__ = ["Ground", "read_numbers", "ready_loops"]

_UNCOMPILED = (
    "the loops over loads are not compiled, and compiling does not fit into the time limit; "
    "'allocsolve doctor --compile' does it once"
)


_TIMES, _FOR_EACH = 300, 6
"""Times at which a law is asked for an exact value, about, and for each result for a mean."""
_SMALL = 100
"""Nodes times rows of a job up to which a search is not worth a compiler."""
_HURRIED = 0.03
"""Seconds of an exact value by arrays from which on nothing is searched without a compiler."""
_RULES = (1200, 100)
"""Loads that the rules score by arrays, about, and those of which they ask the exact value."""
_POINTS = 96
"""Times at which a score looks, about."""
_LOADING = 4.0
"""Seconds up to which loops are loaded from the cache rather than compiled."""
_SHARE = 0.7
"""Share of the time left that making loops ready may take."""
_COMPILED = 0.2
"""Share of the time of arrays that compiled loops take."""
_REPORT = (0.05, 3.5, 0.5)
"""Seconds that judging an answer takes, exact values that it asks for, and the largest share of
the time left that is kept for it."""


class Ground:
    """A run of a method on a problem of matrix products.

    Attributes
    ----------
    values
        Exact cost of each rule that was compared, None where it gives no answer.
    hurried
        Whether the loops are not compiled and too long for plain Python: then only an answer is
        given, and nothing is searched.
    compiled
        Whether the loops are; otherwise the length of the search, and so its answer, depends on
        what was in the cache.
    warnings
        What a reader should know about the loops.
    unfinished
        Rules whose search was cut short.
    starts
        The answers of rules from which a search may start, with their costs.
    nothing_is_good
        Whether it is proven that no loads reach the confidence that is asked for.
    cut
        Whether a search was ended before its end since this was last made False.
    pause
        Reading of :func:`time.monotonic` at which what is done now has to end.
    """

    def __init__(self, problem: CodedProblem, control: RealControl[CodedAnswer]) -> None:
        self.problem = problem
        self.control = control
        self.domain = Domain.of(problem)
        self.values: dict[str, float | None] = {}
        self.hurried = False
        self.compiled = True
        self.warnings: tuple[str, ...] = ()
        self.starts: list[tuple[CodedAnswer, float]] = []
        self.pause = math.inf
        self.nothing_is_good = False
        self.cut = False
        self.unfinished: list[str] = []
        self._scores: dict[int, Scores] = {}
        self._most_reserved = _REPORT[2] * max(control.remaining(), 0.0)
        self._exact_seconds = self.law_seconds()

    def rule_seconds(self) -> float:
        """Return how long all rules take without a compiler, roughly."""
        scored, exact = _RULES
        if not self.problem.arrays.independent:
            return (scored + exact) * self.law_seconds()
        score = array_seconds(_POINTS, self._results(), len(self.domain.caps), self.domain.need)
        return scored * score + exact * self.law_seconds()

    def _results(self) -> int:
        """Return how many results good loads have, about."""
        need, nodes = self.domain.need, len(self.domain.caps)
        return nodes * min(most_batches(self.problem, need), 1 + 3 * need // nodes)

    def law_seconds(self) -> float:
        """Return how long the exact value of an answer takes, roughly."""
        need, nodes, results = self.domain.need, len(self.domain.caps), self._results()
        times = _TIMES + (_FOR_EACH * results if self.problem.objective_name == "mean" else 0)
        seconds = array_seconds(times, results, nodes, need)
        return seconds * (_COMPILED if COMPLETION.is_loaded() else 1.0)

    def over(self) -> bool:
        """Whether the run has to end; what judging the answer takes is kept for it."""
        stopped = self.control.stopped() is not None or time.monotonic() >= self.pause
        return stopped or self.control.remaining() <= self._reserve()

    def cuts(self) -> bool:
        """Whether the run has to end before something that is left to do; note it then."""
        if self.over():
            self.cut = True
            return True
        return False

    def _reserve(self) -> float:
        """Return the seconds that are kept for judging the answer."""
        return min(_REPORT[0] + _REPORT[1] * self._exact_seconds, self._most_reserved)

    def ended(self) -> Termination:
        """Return why the run ends."""
        late = self.control.remaining() <= self._reserve()
        rest = Termination.TIME_LIMIT if late else Termination.FINISHED
        return self.control.stopped() or rest

    @contextmanager
    def part_of_time(self, share: float) -> Iterator[None]:
        """Let the block end after a share of the time that is left."""
        before, rest = self.pause, self.control.remaining() - self._reserve()
        self.pause = min(before, time.monotonic() + share * max(rest, 0.0))
        try:
            yield
        finally:
            self.pause = before

    def scores(self, batches: int) -> Scores:
        """Return the scores of loads in a number of batches."""
        if batches not in self._scores:
            direct = not self.problem.arrays.independent
            build = DirectScores if direct else QuickScores
            self._scores[batches] = build(self.problem, batches, self.domain)
        return self._scores[batches]

    @property
    def is_whole(self) -> bool:
        """Whether independent nodes send one result each."""
        return self.problem.arrays.independent and self.problem.limits.batches == 1

    def answer(self, loads: Sequence[int], batches: int) -> CodedAnswer:
        """Return loads as an answer."""
        return answer_of(self.problem, loads, batches)

    def cost(self, answer: CodedAnswer) -> float:
        """Return the exact cost of an answer."""
        began = time.monotonic()
        cost = exact_cost(self.problem, answer)
        self._exact_seconds = time.monotonic() - began
        return cost

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
        return values_of(self.problem, self.values)


@contextmanager
def ready_loops(ground: Ground, *, searches: bool = True) -> Iterator[None]:
    """Give the block compiled loops, or what numpy and plain Python do instead; note which.

    Parameters
    ----------
    searches
        Whether more is to come than the answers of rules. Those take about a thousand values,
        which arrays of numpy give at once for small jobs, the same bytes as compiled loops.
    """
    sets = _sets(ground, searches=searches)
    plain = 0.0 if searches else ground.rule_seconds()
    is_quick = not searches and plain <= sum(k.load_seconds() for k in sets if not k.is_loaded())
    if not is_quick and _worth_compiling(ground, sets, plain) and make_ready(ground.control, *sets):
        yield
        return
    ground.compiled = False
    is_done = _is_small(ground) or (not searches and plain < _SHARE * ground.control.remaining())
    ground.warnings = () if is_done else (_UNCOMPILED,)
    ground.hurried = ground.law_seconds() > _HURRIED
    with uncompiled():
        yield


def _sets(ground: Ground, *, searches: bool) -> tuple[KernelSet, ...]:
    """Return the loops that the job needs."""
    if ground.problem.arrays.scenarios is not None:
        return ()
    if not ground.problem.arrays.independent:
        return (COMPLETION,)
    if searches and ground.is_whole:
        return (COMPLETION, LOADS, PAIRS, BOUNDS)
    return (COMPLETION, LOADS)


def _worth_compiling(ground: Ground, sets: Sequence[KernelSet], plain: float) -> bool:
    """Whether making the loops ready takes a small part of the time left, and is of use."""
    control = ground.control
    missing = [kernels for kernels in sets if not kernels.is_loaded()]
    if sum(kernels.load_seconds() for kernels in missing) > _SHARE * control.remaining():
        return False
    seconds = while_running(control, lambda: sum(kernels.seconds() for kernels in missing))
    if seconds is None or seconds > _SHARE * control.remaining():
        return False
    if seconds <= _LOADING:
        return True
    return not _is_small(ground) and not 0 < plain < min(seconds, _SHARE * control.remaining())


def _is_small(ground: Ground) -> bool:
    return len(ground.domain.caps) * ground.domain.need <= _SMALL


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
        if name in OBJECTIVE_SETTINGS:
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
