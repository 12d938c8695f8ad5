"""Runs a convex program of cvxpy quietly under the limits of a control.

Every status is mapped, and nothing is printed. Linear programs of moderate size go to HiGHS,
everything else to Clarabel, unless another solver is asked for.
"""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping
from dataclasses import dataclass
from enum import Enum
from importlib.metadata import PackageNotFoundError
from importlib.metadata import version as version_of
from typing import TYPE_CHECKING, TypeVar

from allocsolve.models.errors import SolverCrash, SolverMissing, UsageError
from allocsolve.solvers.control import ControlOf
from allocsolve.solvers.engines.highs import highs

if TYPE_CHECKING:
    import cvxpy as cp

__all__ = [
    "SOLVERS",
    "ConicRun",
    "ConicStatus",
    "engine_version",
    "load",
    "map_status",
    "solve_program",
]

SOLVERS = ("auto", "clarabel", "highs", "scs", "mosek", "gurobi", "copt", "cplex", "xpress")
"""Names of the solvers that may be asked for; ``auto`` chooses."""

AnswerT = TypeVar("AnswerT")
CostT = TypeVar("CostT", int, float)

_SIMPLEX_SIZE = 20_000
"""Variables up to which a linear program goes to HiGHS."""

_TOLERANCE = 1e-10
_PRECISE: Mapping[str, Mapping[str, object]] = {
    "clarabel": {
        "tol_gap_abs": 1e-11,
        "tol_gap_rel": 1e-11,
        "tol_feas": 1e-11,
        "reduced_tol_gap_abs": 1e-8,
        "reduced_tol_gap_rel": 1e-8,
        "reduced_tol_feas": 1e-8,
        "max_iter": 400,
        "max_threads": 1,
    },
    "highs": {
        "primal_feasibility_tolerance": _TOLERANCE,
        "dual_feasibility_tolerance": _TOLERANCE,
        "parallel": "off",
    },
    "scs": {"eps_abs": 1e-9, "eps_rel": 1e-9, "max_iters": 200_000},
}
"""Options under which the solvers reach the precision of a proof."""


class ConicStatus(Enum):
    """What the solver says about the program."""

    SOLVED = "solved"
    INACCURATE = "inaccurate"
    INFEASIBLE = "infeasible"
    UNBOUNDED = "unbounded"
    STOPPED = "stopped"


@dataclass(frozen=True)
class ConicRun:
    """How a run ended, with the solver that ran."""

    status: ConicStatus
    solver: str
    version: str


def load() -> None:
    """Import cvxpy, so that this time is spent where the caller wants it.

    Raises
    ------
    SolverMissing
        If it is not installed or cannot be loaded.
    """
    try:
        import cvxpy  # noqa: F401
    except ImportError as error:
        raise SolverMissing(f"this method needs cvxpy: pip install cvxpy ({error})") from None


def solve_program(
    program: cp.Problem, control: ControlOf[AnswerT, CostT], wanted: str = "auto"
) -> ConicRun:
    """Solve a program; its variables hold the answer if there is one.

    Parameters
    ----------
    wanted
        One of :data:`SOLVERS`.

    Raises
    ------
    SolverMissing
        If the solver is not installed.
    SolverCrash
        If it ends with an error or with a status that is not known.
    UsageError
        If HiGHS is asked for a program that is not linear.
    """
    import cvxpy as cp

    name = _choice(program) if wanted == "auto" else wanted
    if name.upper() not in cp.installed_solvers():
        raise SolverMissing(f"solver '{name}' is not installed for cvxpy")
    if name == "highs" and not program.is_lp():
        raise UsageError(
            "solver 'highs' takes linear programs only\n  allowed: auto, clarabel, scs"
        )
    if name == "highs":
        highs()  # the first one of a process prints a banner
    if control.stopped() is not None:
        return ConicRun(ConicStatus.STOPPED, name, engine_version(name))
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what they say is in the status
        try:
            program.solve(solver=name.upper(), verbose=False, **_options(name, control.remaining()))
        except cp.error.SolverError as error:
            raise SolverCrash(f"{name} failed: {error}") from None
    return ConicRun(map_status(program.status), name, engine_version(name))


def _choice(program: cp.Problem) -> str:
    small = program.size_metrics.num_scalar_variables <= _SIMPLEX_SIZE
    return "highs" if small and program.is_lp() else "clarabel"


def _options(name: str, seconds: float) -> dict[str, object]:
    options = dict(_PRECISE.get(name, {}))
    if math.isfinite(seconds) and name in ("clarabel", "highs"):
        options["time_limit"] = max(seconds, 0.01)
    return options


def engine_version(name: str) -> str:
    """Return the version of a solver, as its package tells."""
    try:
        return version_of({"highs": "highspy", "gurobi": "gurobipy"}.get(name, name))
    except PackageNotFoundError:
        return "unknown"


def map_status(status: str) -> ConicStatus:
    """Return the meaning of a status of cvxpy.

    Raises
    ------
    SolverCrash
        For every status that is not known here.
    """
    known = {
        "optimal": ConicStatus.SOLVED,
        "optimal_inaccurate": ConicStatus.INACCURATE,
        "infeasible": ConicStatus.INFEASIBLE,
        "infeasible_inaccurate": ConicStatus.STOPPED,
        "unbounded": ConicStatus.UNBOUNDED,
        "unbounded_inaccurate": ConicStatus.STOPPED,
        "infeasible_or_unbounded": ConicStatus.STOPPED,
        "user_limit": ConicStatus.STOPPED,
    }
    if status not in known:
        raise SolverCrash(f"the solver ended with status '{status}'")
    return known[status]
