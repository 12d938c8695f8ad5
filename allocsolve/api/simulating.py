"""Replaying answers on drawn nodes: what plans are worth."""

from __future__ import annotations

import importlib
import math
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Literal, Protocol, TypedDict, Unpack, cast, overload

from allocsolve.api.answers import checked_answers
from allocsolve.api.laws import LawLike, law_of, shown_law
from allocsolve.api.machine import physical_cores
from allocsolve.api.policies import PolicyLike, PolicyList, policies_of, policy_name, refuse_idle
from allocsolve.models.arguments import called, choice, numbers, refused, words
from allocsolve.models.errors import UsageError
from allocsolve.models.execution.outcome import Simulation
from allocsolve.models.execution.request import (
    DEFAULT_REPLICATIONS,
    DEFAULT_UNDER_POLICY,
    SimulationRequest,
)
from allocsolve.models.execution.rounds import Cancelled
from allocsolve.models.execution.runs import KERNELS, PLAIN_SECONDS
from allocsolve.models.execution.summary import compare_all
from allocsolve.models.kernels import uncompiled
from allocsolve.models.ports import Dispatcher, SharePolicy
from allocsolve.models.random import GROUP, FloatType
from allocsolve.models.result import InstanceInfo
from allocsolve.solvers.control import Token
from allocsolve.solvers.engines.apart import run_apart

if TYPE_CHECKING:
    from allocsolve.api.given import Answer
    from allocsolve.instances.kinds import Problem
    from allocsolve.models.coded.problem import CodedProblem

__all__ = ["Cancelled", "SimulateOptions", "simulate"]

_HOMES = {
    "dag": "allocsolve.models.execution.dag",
    "coded": "allocsolve.models.execution.coded",
    "fair": "allocsolve.models.execution.fair",
}
"""The module of each kind that replays its answers."""

_WORTH = 0.5
"""Share of the seconds of a compiler up to which plain Python is preferred to it."""

_COMPILES = (
    "compiling {}, which takes about {:.0f} s and is needed once "
    "('allocsolve doctor --compile' does it ahead)"
)


class SimulateOptions(TypedDict, total=False):
    """Keywords of :func:`simulate`."""

    replications: int | None
    precision: float | None
    seed: int
    quantiles: Sequence[float]
    deadline: float | None
    threads: int | None
    law: LawLike | None
    link_law: LawLike | None
    starts: Literal["eager", "planned"]
    dtype: FloatType
    keep_samples: bool
    names: Sequence[str] | None
    on_progress: Callable[[float], object] | None
    on_phase: Callable[[str], object] | None
    token: Token | None


@overload
def simulate(
    problem: Problem,
    answer: Answer,
    /,
    *,
    policy: PolicyLike = None,
    **keywords: Unpack[SimulateOptions],
) -> Simulation: ...


@overload
def simulate(
    problem: Problem,
    answer: Answer,
    /,
    *,
    policy: PolicyList,
    **keywords: Unpack[SimulateOptions],
) -> tuple[Simulation, ...]: ...


@overload
def simulate(
    problem: Problem,
    first: Answer,
    second: Answer,
    /,
    *more: Answer,
    policy: PolicyLike | PolicyList = None,
    **keywords: Unpack[SimulateOptions],
) -> tuple[Simulation, ...]: ...


def simulate(
    problem: Problem,
    /,
    *answers: Answer,
    policy: PolicyLike | PolicyList = None,
    **keywords: Unpack[SimulateOptions],
) -> Simulation | tuple[Simulation, ...]:
    """Replay answers on drawn nodes.

    Several answers are replayed on the same random numbers and compared in pairs.

    Parameters
    ----------
    answers
        Results, answers or solution documents (paths, bytes or dicts) of the problem. The
        checker must accept them.
    replications
        Number of replications; None for 10 000 (500 under a policy), or with ``precision`` as
        many as it needs. Where the law is known exactly nothing is drawn for it.
    precision
        Stop when the half width of the 95 % interval of the mean is at most this share of it.
    seed
        Of all random numbers, 0 to 2^64 - 1.
    quantiles
        Each in (0, 1).
    deadline
        Report the probability of being done by then, input units; for kind ``coded`` by default
        that of the objective.
    threads
        None for the number of physical cores; the samples do not depend on it.
    law
        Law of every node, instead of that of the instance. For kind ``dag`` a draw multiplies
        the planned duration of a task; it is not normalised.
    link_law
        Kind ``dag``: law of the factor of every transfer between nodes.
    starts
        Kind ``dag``: ``eager``, or ``planned`` for no start before the planned one.
    dtype
        Kind ``dag``: precision of draws and state.
    keep_samples
        Whether the simulation holds every sample.
    policy
        Kind ``dag``: ``static`` (the plan as it is), ``redispatch``, ``speculate``,
        ``speculate:after=2``, or a :class:`Dispatcher`; kind ``fair``: a :class:`SharePolicy`.
        A list compares several on the same numbers.
    names
        Names of the answers in comparisons.
    on_progress
        Called with the share of the work that is done, 0 to 1.
    on_phase
        Called with a sentence when a compiler is started, which takes half a minute or more.
    token
        ``token.cancel()`` ends the run, which reports what was drawn until then.

    Returns
    -------
    Simulation or tuple of Simulation
        A tuple if there are several answers or a list of policies: for each policy the answers
        in order.

    Raises
    ------
    CheckFailed
        If the checker rejects an answer; nothing is simulated then.
    NoSolution
        If a result holds no answer.
    UsageError
        If an argument is out of range, or has no effect on the kind or under the policy.
    InputError
        If a law or a process of the instance is impossible, or a document cannot be read.
    Cancelled
        If the token was set before anything was drawn.
    """
    if getattr(problem, "kind", None) not in _HOMES:
        raise UsageError(f"simulate takes a problem, not {type(problem).__name__}: read it first")
    if not answers:
        raise UsageError("simulate needs at least one answer")
    _refuse_strange(keywords)
    found = _Run(problem, answers, policy, keywords).result()
    is_one = len(answers) == 1 and not isinstance(policy, list | tuple)
    return found[0] if is_one else tuple(found)


def _refuse_strange(keywords: SimulateOptions) -> None:
    """Refuse keywords that do not exist, or are of another type than is looked at later."""
    known = list(SimulateOptions.__annotations__)
    for name in keywords:
        choice("keyword of simulate", name, [*known, "policy"])
    if keywords.get("quantiles") is not None:
        numbers("quantiles", keywords["quantiles"])
    if keywords.get("names") is not None:
        words("names", keywords["names"])
    called("on_progress", keywords.get("on_progress"))
    called("on_phase", keywords.get("on_phase"))
    token, keep = keywords.get("token"), keywords.get("keep_samples", False)
    if token is not None and not isinstance(token, Token):
        raise refused("token", token, "a Token, or None")
    if not isinstance(keep, bool):
        raise refused("keep_samples", keep, "True or False")


class _Replay(Protocol):
    """The function of a kind that replays answers."""

    def __call__(
        self,
        problem: Problem,
        answers: Sequence[object],
        request: SimulationRequest,
        *,
        names: Sequence[str],
        on_progress: Callable[[float], object] | None,
        cancelled: Callable[[], bool] | None,
    ) -> list[Simulation]: ...


@dataclass
class _Part:
    """Simulations under one policy."""

    policy: Dispatcher | SharePolicy | None
    found: list[Simulation]


class _Run:
    """One call of :func:`simulate`."""

    def __init__(
        self,
        problem: Problem,
        answers: Sequence[Answer],
        policy: PolicyLike | PolicyList,
        keywords: SimulateOptions,
    ) -> None:
        self._problem = problem
        self._keywords = keywords
        self._token = keywords.get("token") or Token()
        self._law, self._link_law = law_of(keywords.get("law")), law_of(keywords.get("link_law"))
        self._policies = policies_of(policy, problem, self._law)
        self._request = self._asked()
        refuse_idle(problem.kind, self._request, self._policies)
        self._answers, self._names, self._foreign = checked_answers(
            problem, answers, keywords.get("names")
        )

    def _asked(self) -> SimulationRequest:
        """Return the request without its policy."""
        given = self._keywords
        several = len(self._policies) > 1
        replications = given.get("replications")
        if several and replications is None and given.get("precision") is None:
            replications = DEFAULT_UNDER_POLICY
        threads, quantiles = given.get("threads"), given.get("quantiles")
        return SimulationRequest(
            replications=replications,
            precision=given.get("precision"),
            seed=given.get("seed", 0),
            quantiles=SimulationRequest.quantiles if quantiles is None else tuple(quantiles),
            deadline=_deadline(self._problem, given.get("deadline")),
            threads=physical_cores() if threads is None else threads,
            law=self._law,
            link_law=self._link_law,
            starts=given.get("starts", "eager"),
            dtype=given.get("dtype", "float64"),
            keep_samples=given.get("keep_samples", False) or several,
        )

    def result(self) -> list[Simulation]:
        """Replay all answers under all policies."""
        parts: list[_Part] = []
        for k, policy in enumerate(self._policies):
            found = self._replay(policy, k)
            if not found:
                break
            parts.append(_Part(policy, found))
        if not parts:
            raise Cancelled("interrupted before anything was drawn")
        together = [one for part in parts for one in self._named(part)]
        pairs = together[0].comparison
        if len(parts) > 1:
            pairs = compare_all(together, [one.samples for one in together])
        return [one.replace(comparison=pairs) for one in self._without_samples(together)]

    def _replay(self, policy: Dispatcher | SharePolicy | None, number: int) -> list[Simulation]:
        call = cast("_Replay", importlib.import_module(_HOMES[self._problem.kind]).simulate)
        request, more = self._request, {}
        if self._problem.kind == "fair":
            more = {"policy": policy}
        else:
            request = replace(request, policy=cast("Dispatcher | None", policy))
        try:
            with self._ready(request) as threads:
                return call(
                    self._problem,
                    self._answers,
                    replace(request, threads=threads),
                    names=self._names,
                    on_progress=self._progress(number),
                    cancelled=lambda: self._token.cancelled,
                    **more,
                )
        except Cancelled:
            return []

    @contextmanager
    def _ready(self, request: SimulationRequest) -> Iterator[int]:
        """Give a block its compiled loops, or plain ones where there is little to do."""
        if self._problem.kind != "dag" or KERNELS.is_loaded():
            yield request.threads
            return
        if self._plain_seconds(request) < KERNELS.load_seconds():
            plain = True
        elif KERNELS.is_ready():
            plain = False
        else:
            plain = self._plain_seconds(request) < _WORTH * KERNELS.compiling
            if not plain:
                self._tell(_COMPILES.format(KERNELS.name, KERNELS.compiling))
        if plain:
            with uncompiled():
                yield request.threads
            return
        run_apart(KERNELS.build, lambda: self._token.cancelled, "numba", 0.0)
        yield request.threads

    def _plain_seconds(self, request: SimulationRequest) -> float:
        """Return how long the replay takes in plain Python, roughly."""
        count = float(request.replications or DEFAULT_REPLICATIONS)
        if request.replications is None and request.precision is not None:
            count = max(GROUP, request.precision**-2)  # where mean and deviation are about equal
        tasks = len(getattr(self._problem, "tasks", ())) * len(self._answers)
        return tasks * (math.ceil(count / GROUP) + 1) * GROUP * PLAIN_SECONDS

    def _tell(self, what: str) -> None:
        tell = self._keywords.get("on_phase")
        if tell is not None:
            tell(what)

    def _progress(self, number: int) -> Callable[[float], object] | None:
        tell = self._keywords.get("on_progress")
        if tell is None:
            return None
        total = len(self._policies)
        return lambda share: tell((number + share) / total)

    def _named(self, part: _Part) -> list[Simulation]:
        """Add instance, request and the name of the policy to simulations."""
        name = policy_name(part.policy)
        several = len(self._policies) > 1
        asked = {
            "law": shown_law(self._law),
            "link_law": shown_law(self._link_law),
            "starts": self._request.starts,
            "precision": self._request.precision,
            "policy": name,
        }
        return [
            one.replace(
                name=f"{one.name} ({name})" if several else one.name,
                instance=self._origin(),
                warnings=(*self._foreign, *one.warnings),
                extra={**one.extra, "asked": asked},
            )
            for one in part.found
        ]

    def _origin(self) -> InstanceInfo:
        origin = self._problem.origin
        return origin if origin.name else replace(origin, name=self._problem.name)

    def _without_samples(self, found: list[Simulation]) -> list[Simulation]:
        if self._keywords.get("keep_samples", False):
            return found
        return [one.replace(samples=None) for one in found]


def _deadline(problem: Problem, given: float | None) -> float | None:
    if given is not None or problem.kind != "coded":
        return given
    known = cast("CodedProblem", problem).objective.deadline
    return None if known is None else float(known)
