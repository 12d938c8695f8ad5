"""The search for placements of a gradient in whole results, by exact value.

Small jobs are enumerated; what cannot be better is seen without its exact value: a lower sum of
P(T > t) is below the mean, and a quantile is later than a time by which the job is complete too
seldom. Otherwise there are descents from several starts, among them placements that leave nodes
out, and from random changes of the best one, by P(T > t) at some times; exact values decide.
"""

from __future__ import annotations

import itertools
import math
from typing import TypeAlias, TypeVar

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.baselines_gradient import GradientJob
from allocsolve.models.coded.costs import exact_cost
from allocsolve.models.coded.law import CompletionLaw, completion_law
from allocsolve.models.coded.value import load_cost
from allocsolve.solvers.coded.part_moves import Groups, Loads, Moves
from allocsolve.solvers.control import RealControl

__all__ = ["PartSearch"]

Score: TypeAlias = tuple[int, float]
"""0 and the cost; 1 and how much is missing from the confidence; 2 and a price over the budget."""

StateT = TypeVar("StateT")

_ALL = 1500
"""Placements of a family up to which all are looked at."""

_MOST_SCORES = 800
"""Placements of a family that a search looks at, at most."""

_DESCENTS = 3
"""Starts from which a search descends; a part of what it looks at is left for random changes."""

_POINTS = 64
"""Times of the lower sum of a mean."""

_NEAR, _FINALISTS = 2e-3, 24
"""States with quick scores this close to the best one, so many at most, are decided exactly."""

_CLOSE = 0.03
"""Relative improvement from which on these times are chosen anew."""

_WORST: Score = (3, math.inf)


class PartSearch:
    """A search over the placements of a gradient job that are sent in one result."""

    def __init__(self, job: GradientJob, control: RealControl[CodedAnswer]) -> None:
        self._job, self._problem, self._control = job, job.problem, control
        self._draw = np.random.Generator(np.random.PCG64(control.limits.seed))
        self._left, self._least_left = 0, 0
        self._focus = math.inf
        self._times: FloatArray = np.zeros(0)
        self._measure: FloatArray | None = None

    def run(self) -> str:
        """Search both families of codes.

        Returns
        -------
        str
            ``"all"`` if all placements were looked at, else ``"searched"``.
        """
        ended = [self._search(Loads(self._job))]
        if self._job.task.messages == 1:
            ended.append(self._search(Groups(self._job)))
        return "all" if all(ended) and not self._over() else "searched"

    def _search(self, moves: Moves[StateT]) -> bool:
        """Look at all states of a family if they are few, else at good ones; tell which."""
        self._left, self._measure, self._focus = _MOST_SCORES, None, math.inf
        every = moves.every()
        states = None if every is None else list(itertools.islice(every, _ALL + 1))
        if states is not None and len(states) <= _ALL:
            best = _WORST
            for state in states:
                best = min(best, self._score(moves, state, best))
                if self._over():
                    return False
            return True
        self._descend(moves)
        return False

    def _descend(self, moves: Moves[StateT]) -> None:
        """Descend from the best starts, then from random changes of the best state."""
        starts: dict[StateT, Score] = {}
        self._aim()
        for start in moves.starts(self._control.answer):
            if not self._tired():
                starts[start] = self._score(moves, start, _WORST)
        rest, seen = self._left, dict(starts)
        for k, start in enumerate(sorted(starts, key=lambda state: starts[state])[:_DESCENTS]):
            self._least_left = rest - (k + 1) * rest // (_DESCENTS + 1)
            self._descended(moves, start, seen)
        self._least_left = 0
        self._decide(moves, seen)
        self._aim()
        seen = {state: self._score(moves, state, _WORST) for state in self._best(seen)}
        while seen and not self._tired():
            state = min(seen, key=lambda state: seen[state])
            self._descended(moves, self._kicked(moves, state), seen)
        self._decide(moves, seen)

    def _best(self, seen: dict[StateT, Score]) -> list[StateT]:
        return sorted(seen, key=lambda state: seen[state])[:_DESCENTS]

    def _decide(self, moves: Moves[StateT], seen: dict[StateT, Score]) -> None:
        """Offer the states of the best quick scores at their exact values."""
        if self._problem.objective_name == "cost" or not seen:
            return
        best = min(seen.values())
        near = [state for state, score in seen.items() if score <= _raised(best)]
        for state in sorted(near, key=lambda state: seen[state])[:_FINALISTS]:
            answer = moves.answer(state)
            if answer is not None and self._job.allows(answer) and not self._over():
                self._offer(answer)

    def _descended(self, moves: Moves[StateT], state: StateT, seen: dict[StateT, Score]) -> None:
        """Take moves that help, in steps that are halved; note what was looked at."""
        best, step = self._score(moves, state, _WORST), moves.largest(state)
        seen[state] = best
        while step >= 1 and not self._tired():
            found = False
            for trial in moves.near(state, step, self._draw):
                if trial not in seen:
                    seen[trial] = self._score(moves, trial, best)
                if _is_better(seen[trial], best):
                    state, best, found = trial, seen[trial], True
                    break
                if self._tired():
                    break
            step = step if found else step // 2

    def _kicked(self, moves: Moves[StateT], state: StateT) -> StateT:
        for _ in range(int(self._draw.integers(1, 4))):
            step = int(self._draw.integers(1, moves.largest(state) + 1))
            state = next(moves.near(state, step, self._draw), state)
        return state

    def _score(self, moves: Moves[StateT], state: StateT, level: Score) -> Score:
        """Return how good a state is, or something worse if it is not better than a level."""
        self._left -= 1
        answer = moves.answer(state)
        if answer is None:
            return _WORST
        if not self._job.allows(answer):
            return 2, float(load_cost(self._problem, answer))
        law = completion_law(self._problem, answer)
        if self._problem.objective_name == "cost":
            return self._price(answer, law, level)
        if self._measure is not None:
            return 0, float(self._measure @ law.survival(self._times))
        if level[0] == 0 and self._is_late(law, level[1]):
            return _WORST
        return 0, self._offer(answer)

    def _offer(self, answer: CodedAnswer) -> float:
        cost = exact_cost(self._problem, answer)
        self._control.offer(answer, cost, "placements")
        return cost

    def _aim(self) -> None:
        """Choose the times by which states are compared, from the law of the best answer.

        Without an answer they are compared by exact values.
        """
        best, name, goal = (
            self._control.answer,
            self._problem.objective_name,
            self._problem.objective,
        )
        if best is None or name == "cost":
            return
        if name == "mean":
            edges = np.concatenate([[0.0], self._marks()])
            edges = np.concatenate([edges, edges[-1:] * 1.3])
            self._times, self._measure = edges[1:-1], (edges[2:] - edges[:-2]) / 2
            return
        if name == "quantile":
            assert goal.q is not None
            time = completion_law(self._problem, best).quantile(float(goal.q)) * (1 - 1e-9)
        else:
            assert goal.deadline is not None
            time = float(goal.deadline)
        self._times, self._measure = np.array([time]), np.ones(1)

    def _price(self, answer: CodedAnswer, law: CompletionLaw, level: Score) -> Score:
        """Return the price of what is complete in time surely enough, else what is missing."""
        goal, price = self._problem.objective, float(load_cost(self._problem, answer))
        assert goal.deadline is not None
        assert goal.confidence is not None
        if level[0] == 0 and price >= level[1]:
            return _WORST
        missing = float(goal.confidence) - law.deadline_probability(float(goal.deadline))
        if missing > 1e-12:
            return 1, missing
        self._offer(answer)
        return 0, price

    def _is_late(self, law: CompletionLaw, level: float) -> bool:
        """Whether the cost under a law is surely not less."""
        name, goal = self._problem.objective_name, self._problem.objective
        if not math.isfinite(level):
            return False
        if name == "quantile":
            assert goal.q is not None
            reached = law.deadline_probability(level)
            return reached < float(goal.q) * (1 - 1e-12) - 1e-12
        if name == "mean":
            times = self._marks()
            if not len(times):
                return False
            widths = np.diff(np.concatenate([[0.0], times]))
            return float(widths @ law.survival(times)) > level * (1 + 1e-12)
        return False

    def _marks(self) -> FloatArray:
        """Return times at which the law of the best answer falls, or that of one about as good."""
        best, value = self._control.answer, self._control.value
        if best is not None and value is not None and value < self._focus * (1 - _CLOSE):
            self._focus = value
            found = completion_law(self._problem, best).quantiles(
                np.linspace(0.005, 0.999, _POINTS).tolist()
            )
            self._times = np.unique([0.0, *(x for x in found if math.isfinite(x))])[1:]
        return self._times

    def _tired(self) -> bool:
        return self._left <= self._least_left or self._over()

    def _over(self) -> bool:
        return self._control.stopped() is not None


def _is_better(score: Score, than: Score) -> bool:
    if score[0] != than[0] or math.isinf(than[1]):
        return score < than
    return score[1] < than[1] - 1e-10 * abs(than[1])


def _raised(score: Score) -> Score:
    return score[0], score[1] + _NEAR * abs(score[1])
