"""The independent checker of ``dag`` schedules: exact, and without any solver.

Every rule reads the data of the instance in input units (not the scaled arrays that
solvers read) and compares integers on a grid common to the data and the schedule, so an
error of the scaling or of a solver cannot hide.

What an edge means for time: its target starts no earlier than its minimum lag after the end
(or start) of its source, and ``latency + data / bandwidth`` later than that if it has data
and the two tasks run on different nodes. Of repeated edges the tightest of each value holds.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator, Mapping, Sequence
from fractions import Fraction
from types import MappingProxyType
from typing import NamedTuple

import msgspec

from allocsolve.models.dag.answer import ScheduledTask
from allocsolve.models.dag.claims import check_claims
from allocsolve.models.dag.data import DagData, DefaultLink, Edge, Link
from allocsolve.models.dag.occupancy import Occupant, judge_occupancy
from allocsolve.models.dag.placement import Placed, place
from allocsolve.models.dag.problem import DagProblem, Feature
from allocsolve.models.dag.sharing import judge_sharing
from allocsolve.models.dag.verify import verify_reason
from allocsolve.models.errors import FeatureRefused
from allocsolve.models.exact import exact, plain
from allocsolve.models.result import CheckReport, Violation

__all__ = ["JUDGED", "RULES", "check", "check_claims", "verify_reason"]

RULES: Mapping[str, str] = MappingProxyType(
    {
        "unknown_task": "Every entry names a task of the instance.",
        "missing_task": "Every task of the instance is scheduled.",
        "duplicate_task": "No task is scheduled more than once.",
        "unknown_node": "Every node that an entry names is a node of the instance.",
        "ineligible_node": "A task runs only on a node that it may use and that is alive.",
        "node_missing": "A task that takes its time from nodes runs on one.",
        "node_unexpected": "A task of the project form runs on no node.",
        "unknown_mode": "A task runs in one of its modes; on a node that is mode 0.",
        "duration": "A task ends exactly its duration after it starts.",
        "negative_start": "No task starts before time 0.",
        "release": "No task starts before its release.",
        "deadline": "No task ends after its deadline.",
        "precedence": "A task starts no earlier than each minimum lag allows.",
        "max_lag": "A task starts no later than each maximum lag allows.",
        "communication": "A task starts only when the data from other nodes has arrived.",
        "node_capacity": "A node never runs more tasks at once than it has slots.",
        "resource_capacity": "A renewable resource is never used beyond its capacity.",
        "resource_total": "A non-renewable resource is not used up beyond its capacity.",
        "memory": "The tasks on a node need together no more memory than it has.",
        "colocation": "Tasks of one label share a node.",
        "objective_value": "The claimed objective value is the one of the schedule.",
        "bound": "A bound is not above the value of a right answer; OPTIMAL means they meet.",
        "infeasible_claim": "INFEASIBLE is not claimed when a right answer exists.",
        "reason": "A reason of infeasibility holds.",
        "status": "The status fits to whether there is an answer.",
        "sense": "The claimed sense is the one of the objective: the makespan is minimised.",
        "gap": "A claimed gap is |value - bound| / max(|value|, |bound|), 0 for 0/0.",
    }
)
"""Each rule of the checker with what it asks for."""

JUDGED = frozenset(
    {
        Feature.MODES,
        Feature.NODES,
        Feature.RENEWABLE,
        Feature.NONRENEWABLE,
        Feature.RELEASES,
        Feature.DEADLINES,
        Feature.LAGS,
        Feature.MAX_LAGS,
        Feature.COMMUNICATION,
        Feature.PROJECT,
        Feature.START_LAGS,
        Feature.MEMORY,
        Feature.COLOCATION,
    }
)
"""The features of an instance that the rules cover; any other is refused by name."""

_ZERO = Fraction(0)


def check(problem: DagProblem, entries: Sequence[ScheduledTask]) -> CheckReport:
    """Judge a schedule by every rule of the instance.

    Parameters
    ----------
    entries
        Anything that claims to be a schedule: ids and times may be wrong in every way.

    Returns
    -------
    CheckReport
        All broken rules; ``value`` is the makespan in input units, None unless every
        task is scheduled exactly once.

    Raises
    ------
    FeatureRefused
        If the instance has a feature that no rule covers.
    """
    unjudged = sorted(problem.features - JUDGED)
    if unjudged:
        raise FeatureRefused("check", unjudged, ())
    placed, violations = place(problem, entries)
    complete = not any(v.rule in ("missing_task", "duplicate_task") for v in violations)
    network = _Network(problem)
    clock = _Clock(_denominators(problem, placed, network))
    spans = {item.task.id: _Span(clock.ticks(item.start), clock.ticks(item.end)) for item in placed}
    for item in placed:
        violations.extend(_judge_times(item, spans[item.task.id], clock))
    for arc in _arcs(problem, placed, network):
        violations.extend(_judge_arc(arc, spans, clock))
    violations.extend(judge_occupancy(problem, _occupants(placed, spans), clock.units))
    violations.extend(judge_sharing(problem, placed))
    last = max([0, *(span.end for span in spans.values())])
    return CheckReport(tuple(violations), clock.units(last) if complete else None)


class _Quotient(NamedTuple):
    """A fraction that is not reduced: to reduce the times of all transfers takes long."""

    numerator: int
    denominator: int


_NOTHING = _Quotient(0, 1)


class _Span(NamedTuple):
    """When a task runs, in ticks of the checker's grid."""

    start: int
    end: int


class _Clock:
    """The grid on which all times of an instance and a schedule are integers."""

    def __init__(self, denominators: Iterable[int]) -> None:
        self.ticks_per_unit = math.lcm(*set(denominators))

    def ticks(self, time: Fraction | _Quotient) -> int:
        """Return a time in ticks."""
        return time.numerator * (self.ticks_per_unit // time.denominator)

    def units(self, ticks: int) -> int | float:
        """Return ticks in units of the input."""
        return plain(Fraction(ticks, self.ticks_per_unit))


class _Arc(NamedTuple):
    """An edge between two placed tasks.

    ``transfer`` is the time that its data takes: 0 on the same node, None without a link.
    """

    edge: Edge
    source: Placed
    target: Placed
    min_lag: Fraction
    max_lag: Fraction | None
    transfer: _Quotient | None


def _arcs(data: DagData, placed: Sequence[Placed], network: _Network) -> Iterator[_Arc]:
    """Yield the edges of the data whose two tasks are placed."""
    by_task = {item.task.id: item for item in placed}
    for edge in _merged(data.edges):
        source, target = by_task.get(edge.source), by_task.get(edge.target)
        if source is not None and target is not None:
            yield _Arc(
                edge,
                source,
                target,
                exact(edge.min_lag) if edge.min_lag else _ZERO,
                None if edge.max_lag is None else exact(edge.max_lag),
                network.transfer(edge, source.node, target.node),
            )


def _merged(edges: Iterable[Edge]) -> Iterable[Edge]:
    """Return the edges with repeated ones merged: the tightest of each value."""
    merged: dict[tuple[str, str, str], Edge] = {}
    for edge in edges:
        key = (edge.source, edge.target, edge.lag_from)
        merged[key] = _tightest(merged[key], edge) if key in merged else edge
    return merged.values()


def _tightest(a: Edge, b: Edge) -> Edge:
    maxima = [exact(edge.max_lag) for edge in (a, b) if edge.max_lag is not None]
    return msgspec.structs.replace(
        a,
        data=max(exact(a.data), exact(b.data)),
        min_lag=max(exact(a.min_lag), exact(b.min_lag)),
        max_lag=min(maxima, default=None),
    )


class _Network:
    """The links between nodes: latency and time per unit of data, None without a link."""

    def __init__(self, data: DagData) -> None:
        self._default = _link_times(data.default_link or DefaultLink())
        self._links: dict[tuple[str | None, str | None], _LinkTimes | None] = {}
        for link in data.links:
            a, b = link.between
            self._links[a, b] = self._links[b, a] = _link_times(link)

    def transfer(self, edge: Edge, source: str | None, target: str | None) -> _Quotient | None:
        """Return the time that the data of an edge takes between two nodes."""
        if source == target or source is None or target is None or not edge.data:
            return _NOTHING
        link = self._links.get((source, target), self._default)
        if link is None:
            return None
        data = _amount(edge)
        amount, parts = data.numerator, data.denominator
        return _Quotient(link.latency * parts + link.per_unit * amount, link.denominator * parts)

    @property
    def denominator(self) -> int:
        """A common denominator of all transfers of whole amounts of data."""
        links = [self._default, *self._links.values()]
        return math.lcm(*{link.denominator for link in links if link is not None})


def _amount(edge: Edge) -> int | Fraction:
    """Return the data of an edge; the usual integers are taken as they are."""
    return edge.data if type(edge.data) is int else exact(edge.data)


class _LinkTimes(NamedTuple):
    """Latency and time per unit of data, both over one denominator."""

    latency: int
    per_unit: int
    denominator: int


def _link_times(link: Link | DefaultLink) -> _LinkTimes | None:
    if link.bandwidth == 0:
        return None
    latency = exact(link.latency)
    per_unit = _ZERO if link.bandwidth is None else 1 / exact(link.bandwidth)
    common = math.lcm(latency.denominator, per_unit.denominator)
    return _LinkTimes(int(latency * common), int(per_unit * common), common)


def _denominators(data: DagData, placed: Sequence[Placed], network: _Network) -> Iterator[int]:
    """Yield denominators of all times that are ever compared."""
    for item in placed:
        yield item.start.denominator
        yield item.end.denominator
        if item.task.release:
            yield exact(item.task.release).denominator
        if item.duration is not None:
            yield item.duration.denominator
        if item.task.deadline is not None:
            yield exact(item.task.deadline).denominator
    for edge in data.edges:
        if edge.min_lag:
            yield exact(edge.min_lag).denominator
        if edge.max_lag is not None:
            yield exact(edge.max_lag).denominator
    yield network.denominator * math.lcm(*{_amount(edge).denominator for edge in data.edges})


def _judge_times(item: Placed, span: _Span, clock: _Clock) -> Iterator[Violation]:
    """Judge one task alone."""
    task, start, end = item.task, span.start, span.end
    if item.duration is not None and end - start != clock.ticks(item.duration):
        yield Violation("duration", f"{_text(item)}, but takes {plain(item.duration)}")
    if start < 0:
        yield Violation("negative_start", f"{_text(item)}: it starts before time 0")
    if task.release and start < clock.ticks(exact(task.release)):
        yield Violation(
            "release", f"{_text(item)}, but is released at {plain(exact(task.release))}"
        )
    if task.deadline is not None and end > clock.ticks(exact(task.deadline)):
        message = f"{_text(item)}, but its deadline is {plain(exact(task.deadline))}"
        yield Violation("deadline", message)


def _text(item: Placed) -> str:
    return f"task '{item.task.id}' runs from {plain(item.start)} to {plain(item.end)}"


def _judge_arc(arc: _Arc, spans: Mapping[str, _Span], clock: _Clock) -> Iterator[Violation]:
    """Judge the lags and the transfer of one edge."""
    edge, source, start = arc.edge, spans[arc.edge.source], spans[arc.edge.target].start
    origin = source.start if edge.lag_from == "start" else source.end
    earliest = origin if arc.min_lag is _ZERO else origin + clock.ticks(arc.min_lag)
    if start < earliest:
        yield Violation("precedence", _lag_message(arc, "at least", arc.min_lag))
    if arc.max_lag is not None and start > origin + clock.ticks(arc.max_lag):
        yield Violation("max_lag", _lag_message(arc, "at most", arc.max_lag))
    if arc.transfer is None:
        yield Violation("communication", f"{_route(arc)}, but these nodes have no link")
    elif arc.transfer is not _NOTHING and start < earliest + clock.ticks(arc.transfer):
        arrival = clock.units(earliest + clock.ticks(arc.transfer))
        message = f"{_route(arc)} until {arrival}, but '{edge.target}' starts at "
        yield Violation("communication", f"{message}{clock.units(start)}")


def _lag_message(arc: _Arc, side: str, lag: Fraction) -> str:
    edge = arc.edge
    origin = arc.source.start if edge.lag_from == "start" else arc.source.end
    return (
        f"task '{edge.target}' starts at {plain(arc.target.start)}, "
        f"{plain(arc.target.start - origin)} after the {edge.lag_from} of '{edge.source}' at "
        f"{plain(origin)}; the lag is {side} {plain(lag)}"
    )


def _route(arc: _Arc) -> str:
    return (
        f"the data from '{arc.edge.source}' on node '{arc.source.node}' to "
        f"'{arc.edge.target}' on node '{arc.target.node}' travels"
    )


def _occupants(placed: Sequence[Placed], spans: Mapping[str, _Span]) -> Iterator[Occupant]:
    for item in placed:
        demand = [(name, exact(amount)) for name, amount in item.demand.items()]
        span = spans[item.task.id]
        yield Occupant(item.task.id, span.start, span.end, item.node, demand)
