"""The public functions: read, write, solve, check, bound, convert."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from typing import TYPE_CHECKING, TypedDict, Unpack, overload

from allocsolve.api.bounding import bound
from allocsolve.api.cases import CASES
from allocsolve.api.files import convert, read, write
from allocsolve.api.judging import check
from allocsolve.api.progress import Incumbent, Progress
from allocsolve.api.request import Request
from allocsolve.api.solving import Callbacks, run
from allocsolve.models.arguments import called, refused
from allocsolve.models.errors import UsageError
from allocsolve.report.bounds import BoundReport
from allocsolve.report.checks import ClaimReport
from allocsolve.solvers.control import Token

if TYPE_CHECKING:
    from allocsolve.api.laws import LawLike
    from allocsolve.instances.kinds import Problem
    from allocsolve.models.coded.answer import CodedResult
    from allocsolve.models.coded.problem import CodedProblem
    from allocsolve.models.dag.answer import DagResult
    from allocsolve.models.dag.problem import DagProblem
    from allocsolve.models.fair.answer import FairResult
    from allocsolve.models.fair.problem import FairProblem
    from allocsolve.models.result import Result
    from allocsolve.solvers.dag.robust import RobustRequest

__all__ = [
    "BoundReport",
    "ClaimReport",
    "Incumbent",
    "Progress",
    "bound",
    "check",
    "convert",
    "read",
    "solve",
    "write",
]


class SolveOptions(TypedDict, total=False):
    """Keywords of :func:`solve`."""

    method: str
    objective: str | None
    time_limit: float | None
    gap: float
    threads: int | None
    seed: int
    warm_start: object | None
    on_incumbent: Callable[[Incumbent], object] | None
    on_event: Callable[[Progress], object] | None
    token: Token | None
    options: Mapping[str, str] | None
    robust: float | str | None
    law: LawLike | None


@overload
def solve(problem: DagProblem, **keywords: Unpack[SolveOptions]) -> DagResult: ...


@overload
def solve(problem: CodedProblem, **keywords: Unpack[SolveOptions]) -> CodedResult: ...


@overload
def solve(problem: FairProblem, **keywords: Unpack[SolveOptions]) -> FairResult: ...


def solve(  # noqa: PLR0913  # one keyword for each option of the command line
    problem: Problem,
    *,
    method: str = "auto",
    objective: str | None = None,
    time_limit: float | None = 60.0,
    gap: float = 0.0,
    threads: int | None = None,
    seed: int = 0,
    warm_start: object | None = None,
    on_incumbent: Callable[[Incumbent], object] | None = None,
    on_event: Callable[[Progress], object] | None = None,
    token: Token | None = None,
    options: Mapping[str, str] | None = None,
    robust: float | str | None = None,
    law: LawLike | None = None,
) -> Result[object]:
    """Find an answer, prove what can be proved, and check it.

    Parameters
    ----------
    objective
        None for the default of the problem's kind, or what the instance says.
    method
        A name that ``allocsolve methods`` lists; ``auto`` chooses.
    time_limit
        Seconds; None for no limit, 0 for a check and bounds only.
    gap
        Relative gap at which an answer is good enough; 0 asks for a proof.
    threads
        None for the number of physical cores.
    warm_start
        An earlier result, its answer, a solution document or its file; for kind ``dag`` also
        the entries of a schedule. A wrong one is mended or dropped, with a warning.
    on_incumbent
        Called with each better :class:`Incumbent`, maybe from another thread.
    on_event
        Called with each :class:`Progress`: incumbents, bounds and changes of phase.
    token
        ``token.cancel()`` ends the run, which keeps its best answer.
    options
        Settings of the method, as ``--set key=value`` gives them.
    robust
        A quantile, 0 to 1 (or ``"q=0.95"``): of all schedules at hand choose the one whose
        makespan has the least such quantile on drawn nodes. Kind ``dag``.
    law
        With ``robust``, the law of every node, instead of those of the instance.

    Returns
    -------
    DagResult, CodedResult or FairResult
        With an answer exactly if the status is ``OPTIMAL`` or ``FEASIBLE``. The answer
        has passed the independent checker.

    Raises
    ------
    UsageError
        If an argument is out of range or names something unknown.
    FeatureRefused
        If the method cannot honour a feature of the instance or the objective.
    SolverMissing
        If the method needs an engine that is not installed.
    """
    if getattr(problem, "kind", None) not in CASES:
        raise UsageError(f"solve takes a problem, not {type(problem).__name__}: read it first")
    _refuse_strange(token, options, on_incumbent=on_incumbent, on_event=on_event)
    request = Request(
        method=method,
        objective=objective,
        time_limit=time_limit,
        gap=gap,
        threads=threads,
        seed=seed,
        options=dict(options or {}),
        started=time.monotonic(),
        robust=_robust(robust, law),
    )
    callbacks = Callbacks(on_incumbent, on_event, token or Token())
    return run(problem, request, callbacks, warm_start)


def _refuse_strange(token: object, options: object, **functions: object) -> None:
    """Refuse arguments of another type than is looked at later."""
    for name, function in functions.items():
        called(name, function)
    if token is not None and not isinstance(token, Token):
        raise refused("token", token, "a Token, or None")
    if options is not None and not isinstance(options, Mapping):
        raise refused("options", options, "a dict of settings by name, or None")


def _robust(robust: float | str | None, law: LawLike | None) -> RobustRequest | None:
    """Return what is asked of a robust choice; it loads nothing if that is nothing."""
    if robust is None and law is None:
        return None
    from allocsolve.api.robust import robust_request

    return robust_request(robust, law)
