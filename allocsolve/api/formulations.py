"""Mixed-integer programs as files that any solver reads: MPS and LP."""

from __future__ import annotations

import os
import tempfile
from pathlib import Path
from typing import TYPE_CHECKING

from allocsolve.api.files import replace_file
from allocsolve.models.dag.bounds import lower_bounds
from allocsolve.models.dag.dispatch import serial_schedule
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import SolverMissing, UsageError, suggest
from allocsolve.solvers.dag.milp import SETTINGS, choose, formulation_module
from allocsolve.solvers.routes import method_named, refuse_unsupported

if TYPE_CHECKING:
    import pyomo.environ as pyo

    from allocsolve.models.coded.problem import CodedProblem

__all__ = ["MODEL_FORMATS", "export", "model_bytes"]

MODEL_FORMATS = ("mps", "lp")
"""Names of the file formats of a mixed-integer program, also their suffixes."""


def export(
    problem: DagProblem | CodedProblem,
    target: str | os.PathLike[str],
    *,
    formulation: str = "auto",
    draws: int = 2000,
) -> None:
    """Write the mixed-integer program of a problem to a ``.mps`` or ``.lp`` file.

    Of a task graph it minimises the makespan in ticks of the problem's time grid over all
    schedules that are no longer than a list schedule. Of a coded job it minimises the objective
    over joint draws; for a deadline probability the number of draws that are late. No engine is
    needed.

    Parameters
    ----------
    formulation
        ``disjunctive``, ``time_indexed``, or ``auto`` for what method ``milp`` would take.
        Coded jobs have one only.
    draws
        Size of the sample of a coded job with runtime laws; listed draws are all taken.

    Raises
    ------
    FeatureRefused
        If no mixed-integer program honours a feature of the instance.
    UsageError
        If the suffix or the formulation is unknown, or the program would be too large.
    """
    path = Path(target)
    form = path.suffix.lower().lstrip(".")
    replace_file(path, model_bytes(problem, form, formulation, draws=draws))


def model_bytes(
    problem: DagProblem | CodedProblem, form: str, formulation: str = "auto", *, draws: int = 2000
) -> bytes:
    """Return the text of a program in a format of :data:`MODEL_FORMATS`; see :func:`export`."""
    for token, allowed in ((form, MODEL_FORMATS), (formulation, SETTINGS["formulation"])):
        if token not in allowed:
            hint = suggest(token, allowed)
            raise UsageError(f"unknown '{token}'{hint}\n  allowed: {', '.join(allowed)}")
    if not isinstance(problem, DagProblem):
        return _coded_text(problem, form, formulation, draws)
    refuse_unsupported(method_named("dag", "milp"), problem, "makespan")
    schedule = serial_schedule(problem)
    horizon = problem.arrays.horizon
    horizon = horizon if schedule is None else min(schedule.makespan, horizon)
    lower = max((bound.value for bound in lower_bounds(problem)), default=0)
    module = formulation_module(choose(problem, horizon, lower, formulation))
    return _text(module.build(problem, horizon, lower=lower).model, form)


def _coded_text(problem: CodedProblem, form: str, formulation: str, draws: int) -> bytes:
    from allocsolve.solvers.coded.milp_program import whole_program

    if formulation != "auto":
        raise UsageError(
            f"coded jobs have no formulation '{formulation}'\n  allowed: auto, the only one"
        )
    refuse_unsupported(method_named("coded", "milp"), problem, problem.objective_name)
    return _text(whole_program(problem, draws), form)


def _text(model: pyo.ConcreteModel, form: str) -> bytes:
    """Return what the writers of Pyomo write; they write to named files only."""
    try:
        import pyomo.environ  # noqa: F401  # registers the writers
    except ImportError as error:
        raise SolverMissing(f"export needs pyomo: pip install pyomo ({error})") from None
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / f"model.{form}"
        model.write(str(path), io_options={"symbolic_solver_labels": True})
        return path.read_bytes()
