"""A coded assignment: its completion law beside those of the rules, and its loads."""

from __future__ import annotations

import time
from collections.abc import Mapping
from typing import TYPE_CHECKING, cast

from allocsolve.api.answers import checked_answer
from allocsolve.api.given import Answer
from allocsolve.api.rules import aimed, rule_answers
from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.law import NoExactLaw, completion_law
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.coded.value import objective_value
from allocsolve.plots.curves import mark
from allocsolve.plots.frame import COLOURS, WIDTH, amount, dress, picture
from allocsolve.plots.law_curves import Curve, draw_curves, label_of, mark_goal, tail_of, times_of
from allocsolve.plots.load_bars import draw_loads
from allocsolve.solvers.control import Token

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["assignment"]

_RULE_COLOURS = COLOURS[1:3] + COLOURS[4:]
"""Red marks deadlines and capacities."""


def assignment(
    problem: CodedProblem,
    answer: Answer,
    *,
    name: str = "answer",
    rules: Mapping[str, CodedAnswer] | None = None,
    deadline: float | None = None,
    form: str = "svg",
    title: str | None = None,
    time_limit: float | None = 30.0,
    token: Token | None = None,
) -> bytes:
    """Draw what an assignment is worth, beside the rules of the literature, and what nodes get.

    Above are exact completion laws: of the answer, and of the best answer of every rule for the
    same objective, whose mark (mean, quantile, deadline, confidence) is drawn. Where the
    objective is a quantile or confidence of at least 0.95, the tail P(T > t) is drawn in powers
    of ten. Below is the load of every node, with that of the best rule and with what the node
    can take.

    Parameters
    ----------
    answer
        An answer, a result or a solution document; the checker must accept it. A result or
        document brings the objective it was made for.
    name
        What the legend calls it.
    rules
        Answers to compare with, by name, the best first; by default those of
        :func:`allocsolve.api.rules.rule_answers`.
    deadline
        A time to mark, by default that of the objective.
    form
        ``svg``, ``png`` or ``html``.
    time_limit, token
        Seconds after which, or token by which, no further rule is searched; the title says so.

    Raises
    ------
    NoExactLaw
        If the law of the answer has no exact form; draw samples then.
    UsageError
        If there is no such form, or nothing that can be an answer.
    CheckFailed, NoSolution, InputError
        If the answer breaks a rule, or a result or document holds none or cannot be read.
    SolverMissing
        If matplotlib is not installed.
    """
    held = cast("CodedAnswer", checked_answer(problem, answer))
    problem = aimed(problem, answer)
    value = objective_value(problem, held)
    curves = [Curve(completion_law(problem, held), label_of(problem, name, value), COLOURS[0])]
    shown = {name: (held, COLOURS[0])}
    began = time.monotonic()
    if rules is None:
        rules = rule_answers(problem, time_limit=time_limit, token=token)
    is_cut = time_limit is not None and time.monotonic() - began >= time_limit
    for k, (rule, theirs) in enumerate(rules.items()):
        try:
            law, worth = completion_law(problem, theirs), objective_value(problem, theirs)
        except NoExactLaw:
            continue  # several blocks on nodes that straggle together
        colour = _RULE_COLOURS[k % len(_RULE_COLOURS)]
        curves.append(Curve(law, label_of(problem, rule, worth, value), colour, is_rule=True))
        if len(shown) == 1:
            shown[f"{rule} (rule)" if rule == name else rule] = theirs, colour
    instance = problem.name or problem.origin.name or "coded job"
    cut = f", rules that were found in {time_limit:g} s" if is_cut else ""
    heading = title if title is not None else f"{instance}: completion law and loads{cut}"
    if deadline is None and problem.objective.deadline is not None:
        deadline = float(problem.objective.deadline)
    return picture(lambda: _draw(problem, value, curves, shown, deadline, heading), form, heading)


def _draw(
    problem: CodedProblem,
    value: float,
    curves: list[Curve],
    shown: Mapping[str, tuple[CodedAnswer, str]],
    deadline: float | None,
    heading: str,
) -> Figure:
    from matplotlib.figure import Figure

    figure = Figure(figsize=(WIDTH, 7.4), layout="constrained", facecolor="white")
    above, below = figure.subplots(2, 1, height_ratios=(3, 2))
    tail = tail_of(problem)
    seen = [value] if problem.objective_name == "worst_case" else []
    seen += [] if deadline is None else [deadline]
    draw_curves(above, curves, times_of(curves, seen, tail), tail)
    dress(above, heading, pad=20)
    if deadline is not None:
        mark(above, deadline, f"deadline {amount(deadline)}", COLOURS[3])
    mark_goal(above, problem, curves[0], value, tail)
    draw_loads(below, problem, shown)
    dress(below)
    below.grid(axis="x", visible=False)
    return figure
