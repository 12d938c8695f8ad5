"""Whole loads by a constraint program over listed draws.

One Boolean for each load of each node, of which at most one holds; one for each row (a draw at a
time), which if it holds enforces that the loads which arrive by then add up to the need. All
numbers are whole: weights are counted in units so small that their rounding, always downwards,
is far below any tolerance; so the bound of the engine is a bound.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from allocsolve.models.coded.scenario_programs import ScenarioProgram, whole_terms

if TYPE_CHECKING:
    from ortools.sat.python import cp_model

__all__ = ["ScenarioCpModel", "build"]


@dataclass(frozen=True, eq=False)
class ScenarioCpModel:
    """A model with the way back.

    Attributes
    ----------
    unit, base
        A value of the program is at least ``base + objective / unit``.
    takes
        The Boolean of each node and load above 0.
    """

    model: cp_model.CpModel
    program: ScenarioProgram
    unit: Fraction
    base: Fraction
    takes: dict[tuple[int, int], cp_model.IntVar]
    done: list[cp_model.IntVar]
    brings: dict[tuple[int, int], cp_model.IntVar]

    def decode(self, value_of: Callable[[cp_model.IntVar], int]) -> tuple[int, ...]:
        """Return the loads of a solution."""
        loads = [0] * len(self.program.domain.caps)
        for (i, load), variable in self.takes.items():
            if value_of(variable):
                loads[i] = load
        return tuple(loads)

    def bound(self, objective: int) -> Fraction:
        """Return the bound on the value of the program that one on the objective means."""
        return self.base + Fraction(objective) / self.unit

    def hint(self, loads: Sequence[int]) -> None:
        """Let the engine begin at some loads, or at smaller ones that count in the same rows."""
        chosen = [0] * len(self.program.domain.caps)
        for i, load in self.takes:
            if load <= loads[i]:
                chosen[i] = max(chosen[i], load)
        for (i, load), variable in self.takes.items():
            self.model.add_hint(variable, int(load == chosen[i]))
        for (i, most), variable in self.brings.items():
            self.model.add_hint(variable, chosen[i] if chosen[i] <= most else 0)
        for variable, done in zip(self.done, self.program.done(chosen).tolist(), strict=True):
            self.model.add_hint(variable, int(done))


def build(program: ScenarioProgram) -> ScenarioCpModel:
    """Build the model of a program."""
    from ortools.sat.python import cp_model

    model, choices = cp_model.CpModel(), program.choices()
    takes = {
        (i, load): model.new_bool_var(f"takes_{i}_{load}")
        for i, mine in enumerate(choices)
        for load in mine
    }
    for i, mine in enumerate(choices):
        model.add_at_most_one(takes[i, load] for load in mine)
    brings = _arrived(model, program, choices, takes)
    done = [model.new_bool_var(f"done_{w}") for w in range(len(program.most))]
    for variable, row in zip(done, program.most.tolist(), strict=True):
        arrived = [brings[i, most] for i, most in enumerate(row) if most > 0]
        model.add(sum(arrived) >= program.domain.need).only_enforce_if(variable)
    _limit(model, program, takes)
    if program.enough is not None:
        reached = sum(c * v for c, v in zip(program.count.tolist(), done, strict=True))
        model.add(reached + model.new_constant(0) >= program.enough)
    unit, base = _aim(model, program, takes, done)
    return ScenarioCpModel(model, program, unit, base, takes, done, brings)


def _arrived(
    model: cp_model.CpModel,
    program: ScenarioProgram,
    choices: Sequence[Sequence[int]],
    takes: dict[tuple[int, int], cp_model.IntVar],
) -> dict[tuple[int, int], cp_model.IntVar]:
    """Return for each node and number its load if it is at most that, else 0."""
    found = {}
    for i, mine in enumerate(choices):
        last, before = 0, None
        for most in np.unique(program.most[:, i]).tolist():
            if most == 0:
                continue
            variable = model.new_int_var(0, most, f"brings_{i}_{most}")
            new = sum(load * takes[i, load] for load in mine if last < load <= most)
            model.add(variable == (new if before is None else new + before))
            found[i, most] = before = variable
            last = most
    return found


def _limit(
    model: cp_model.CpModel,
    program: ScenarioProgram,
    takes: dict[tuple[int, int], cp_model.IntVar],
) -> None:
    domain = program.domain
    if takes and domain.total < int(domain.caps.sum()):
        model.add(sum(load * v for (_, load), v in takes.items()) <= domain.total)
    if takes and domain.budget is not None:
        prices, unit = whole_terms(domain.prices, int(domain.caps.sum()))
        spent = sum(prices[i] * load * v for (i, load), v in takes.items())
        model.add(spent <= math.floor(domain.budget * unit))


def _aim(
    model: cp_model.CpModel,
    program: ScenarioProgram,
    takes: dict[tuple[int, int], cp_model.IntVar],
    done: Sequence[cp_model.IntVar],
) -> tuple[Fraction, Fraction]:
    """Set the objective; return its unit and what is added to it."""
    if program.goal == "any":
        return Fraction(1), Fraction(0)
    if program.goal == "price":
        prices, unit = whole_terms(program.domain.prices, int(program.domain.caps.sum()))
        model.minimize(sum(prices[i] * load * v for (i, load), v in takes.items()))
        return unit, Fraction(0)
    weights, unit = whole_terms([Fraction(w) for w in program.weight.tolist()], 1)
    model.minimize(sum(w * (1 - v) for w, v in zip(weights, done, strict=True)))
    return unit, Fraction(program.base)
