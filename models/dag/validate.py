"""Checks of the data of a ``dag`` instance: one message per rule, the id and field named."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from fractions import Fraction
from typing import cast

from allocsolve.models.columns import are_finite
from allocsolve.models.dag.data import DagData, DefaultLink, Edge, Link, Node, Profiles, Task
from allocsolve.models.dag.glance import are_unique, suspicious_edges, suspicious_tasks
from allocsolve.models.errors import InputError, suggest
from allocsolve.models.exact import LARGEST, Number, exact
from allocsolve.models.nodes import law_from
from allocsolve.models.processes import process_from

__all__ = ["UNPRINTABLE", "validate"]

UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")
"""Control characters and halves of surrogate pairs: no message or document could show them."""

_MOST_SLOTS = 2**31 - 1
_MAY_BE_NONE = (
    *(".work", ".deadline", ".due", ".memory"),
    *(".bandwidth", ".price", ".power_busy", ".power_idle"),
)


def validate(data: DagData) -> None:
    """Check ids, references and ranges.

    Raises
    ------
    InputError
        At the first broken rule, with the JSON path of the field.
    """
    _unique("tasks", "task", [task.id for task in data.tasks])
    _unique("nodes", "node", [node.id for node in data.nodes])
    _unique("resources", "resource", [resource.id for resource in data.resources])
    nodes = _Known("node", [node.id for node in data.nodes])
    tasks = _Known("task", [task.id for task in data.tasks])
    resources = _Known("resource", [resource.id for resource in data.resources])
    node_types = [node.type for node in data.nodes if node.type is not None]
    hosts = _Known("node or node type", [*nodes.ids, *node_types])
    for i, node in enumerate(data.nodes):
        _node(node, f"$.nodes[{i}]")
    for i, resource in enumerate(data.resources):
        _amount(resource.capacity, f"resource '{resource.id}'", f"$.resources[{i}].capacity")
    for i in suspicious_tasks(data):
        _task(data.tasks[i], f"$.tasks[{i}]", data, resources, hosts)
    _durations(data.durations, tasks, nodes)
    for i in suspicious_edges(data, tasks.known):
        _edge(data.edges[i], f"$.edges[{i}]", tasks)
    _links(data.links, nodes)
    if data.default_link is not None:
        _link(data.default_link, "default link", "$.default_link")
    for i, setup in enumerate(data.setups):
        if setup.node is not None:
            nodes.require(setup.node, f"$.setups[{i}].node")
        _amount(setup.time, f"setup {setup.before}-{setup.after}", f"$.setups[{i}].time")
    if data.profiles is not None:
        _profiles(data.profiles)


class _Known:
    """The ids of one sort, for look-ups that end in a helpful error."""

    def __init__(self, sort: str, ids: Sequence[str]) -> None:
        self.sort = sort
        self.ids = ids
        self.known = frozenset(ids)

    def require(self, token: str, path: str) -> None:
        """Refuse an id that is not known, with the nearest that is."""
        if token not in self.known:
            raise InputError(
                f"unknown {self.sort} '{token}'{suggest(token, self.ids)}",
                allowed=f"the id of a {self.sort} of this instance ({len(self.ids)} known)",
                remedy=f"correct the id, or add the {self.sort}",
                path=path,
            )


def _unique(table: str, sort: str, ids: Sequence[str]) -> None:
    if are_unique(ids) and not UNPRINTABLE.search("".join(ids)):
        return
    first: dict[str, int] = {}
    for i, token in enumerate(ids):
        if not isinstance(token, str) or UNPRINTABLE.search(token):
            raise InputError(
                f"{sort} id {token!a} is not a text that can be shown",
                allowed="text without control characters, in valid Unicode",
                remedy=f"rename the {sort}",
                path=f"$.{table}[{i}].id",
            )
        if token in first:
            raise InputError(
                f"duplicate {sort} id '{token}' (first at {table}[{first[token]}])",
                allowed=f"each {sort} id once",
                remedy="rename one of them or delete it",
                path=f"$.{table}[{i}].id",
            )
        first[token] = i


def _finite(value: Number | None, owner: str, path: str, range_: str = "finite") -> Fraction:
    """Return the number exactly, or say which field of whom is not one."""
    field = path.rpartition(".")[2]
    try:
        return exact(cast(Number, value))  # None is refused as every other non-number
    except ValueError as error:
        raise InputError(
            f"{owner}: {field} {value} is not a {range_} number ({error})",
            allowed=f"a {range_} number",
            remedy=f"correct {field}",
            path=path,
        ) from None


def _amount(value: Number | None, owner: str, path: str) -> None:
    if type(value) is int and 0 <= value <= LARGEST:
        return
    if value is None and path.endswith(_MAY_BE_NONE):
        return
    if _finite(value, owner, path, "finite, non-negative") < 0:
        field = path.rpartition(".")[2]
        raise InputError(
            f"{owner}: {field} is {value}, it must be finite and non-negative",
            allowed="a finite, non-negative number",
            remedy=f"correct {field}",
            path=path,
        )


def _positive(value: int, owner: str, path: str) -> None:
    if type(value) is not int or not 1 <= value <= _MOST_SLOTS:
        field = path.rpartition(".")[2]
        raise InputError(
            f"{owner}: {field} is {value}, it must be a whole number of at least 1",
            allowed=f"a whole number, 1 .. {_MOST_SLOTS}",
            remedy=f"correct {field}",
            path=path,
        )


def _node(node: Node, path: str) -> None:
    owner = f"node '{node.id}'"
    _positive(node.slots, owner, f"{path}.slots")
    for field in ("speed", "memory", "price", "power_busy", "power_idle"):
        _amount(getattr(node, field), owner, f"{path}.{field}")
    if node.runtime is not None:
        law_from(node.runtime, path=f"{path}.runtime")
    if node.process is not None:
        process_from(node.process, path=f"{path}.process")
    for i, (begin, end) in enumerate(node.unavailable):
        at = f"{path}.unavailable[{i}]"
        _amount(begin, owner, at)
        _amount(end, owner, at)
        if exact(end) <= exact(begin):
            raise InputError(
                f"{owner}: unavailable [{begin}, {end}] ends before it begins",
                allowed="[from, to] with from < to",
                remedy="exchange or correct the two times",
                path=at,
            )


def _task(task: Task, path: str, data: DagData, resources: _Known, hosts: _Known) -> None:
    owner = f"task '{task.id}'"
    for field in ("work", "release", "deadline", "due", "weight", "memory"):
        _amount(getattr(task, field), owner, f"{path}.{field}")
    if task.width is not None:
        _positive(task.width, owner, f"{path}.width")
    for width, factor in (task.speedup or {}).items():
        _speedup(width, factor, owner, f"{path}.speedup")
    _demand(task.demand, owner, f"{path}.demand", resources)
    for i, host in enumerate(task.eligible or []):
        hosts.require(host, f"{path}.eligible[{i}]")
    _one_source_of_time(task, path, data)
    for i, mode in enumerate(task.modes or []):
        _amount(mode.duration, owner, f"{path}.modes[{i}].duration")
        _demand(mode.demand, owner, f"{path}.modes[{i}].demand", resources)


def _speedup(width: str, factor: Number, owner: str, path: str) -> None:
    _amount(factor, owner, path)
    if not (width.isascii() and width.isdigit() and int(width) >= 1 and exact(factor) > 0):
        raise InputError(
            f"{owner}: speedup entry '{width}': {factor} is not allowed",
            allowed='widths "1", "2", ... with positive factors',
            remedy="correct the table",
            path=path,
        )


def _demand(demand: Mapping[str, Number], owner: str, path: str, resources: _Known) -> None:
    for resource, amount in demand.items():
        resources.require(resource, path)
        _amount(amount, f"{owner}, resource '{resource}'", path)


def _one_source_of_time(task: Task, path: str, data: DagData) -> None:
    given = [
        name
        for name, there in (
            ("modes", task.modes is not None),
            ("durations", task.id in data.durations),
            ("work", task.work is not None),
        )
        if there
    ]
    if len(given) != 1 or task.modes == []:
        found = "an empty list of modes" if task.modes == [] else " and ".join(given) or "none"
        raise InputError(
            f"task '{task.id}': it must take its time from exactly one of modes, durations, "
            f"work; found {found}",
            allowed="one of modes (project form), durations (unrelated nodes), work (speed)",
            remedy="keep or add exactly one of them",
            path=path,
        )
    on_node = task.eligible is not None or task.demand or task.memory or task.colocate is not None
    if task.modes is not None and on_node:
        raise InputError(
            f"task '{task.id}': it has modes and so runs on no node; eligible, demand, memory "
            "and colocate have no meaning beside modes",
            allowed="demand within each mode",
            remedy="move demand into the modes, or give work or durations instead of modes",
            path=path,
        )
    if task.modes is None and not data.nodes:
        raise InputError(
            f"task '{task.id}' runs on nodes, but the instance has no nodes",
            allowed="at least one node",
            remedy="add nodes to the instance or give --nodes N",
            path=path,
        )


def _durations(durations: Mapping[str, Mapping[str, Number]], tasks: _Known, nodes: _Known) -> None:
    for task, row in durations.items():
        tasks.require(task, "$.durations")
        if row.keys() <= nodes.known and are_finite(list(row.values()), least=0):
            continue
        for node, duration in row.items():
            path = f"$.durations.{task}"
            nodes.require(node, path)
            _amount(duration, f"duration of task '{task}' on node '{node}'", path)


def _edge(edge: Edge, path: str, tasks: _Known) -> None:
    owner = f"edge '{edge.source}' -> '{edge.target}'"
    tasks.require(edge.source, f"{path}.from")
    tasks.require(edge.target, f"{path}.to")
    if edge.lag_from not in ("start", "end"):
        raise InputError(
            f"{owner}: lag_from is {edge.lag_from!r}",
            allowed='"start" or "end"',
            remedy="correct lag_from",
            path=f"{path}.lag_from",
        )
    _amount(edge.data, owner, f"{path}.data")
    _finite(edge.min_lag, owner, f"{path}.min_lag")
    if edge.max_lag is not None:
        _finite(edge.max_lag, owner, f"{path}.max_lag")


def _links(links: Sequence[Link], nodes: _Known) -> None:
    seen: dict[frozenset[str], Link] = {}
    for i, link in enumerate(links):
        for end in link.between:
            nodes.require(end, f"$.links[{i}].between")
        owner = "link " + "-".join(link.between)
        if link.between[0] == link.between[1]:
            raise InputError(
                f"{owner} joins a node to itself; within a node data pass at once and free, so "
                "that its latency and bandwidth would never be paid",
                allowed="links between two different nodes",
                remedy="delete the link",
                path=f"$.links[{i}].between",
            )
        _link(link, owner, f"$.links[{i}]")
        other = seen.setdefault(frozenset(link.between), link)
        if (other.latency, other.bandwidth) != (link.latency, link.bandwidth):
            raise InputError(
                f"{owner} comes twice with different values",
                allowed="one link between two nodes; it holds both ways",
                remedy="delete one of the two",
                path=f"$.links[{i}]",
            )


def _link(link: Link | DefaultLink, owner: str, path: str) -> None:
    _amount(link.latency, owner, f"{path}.latency")
    _amount(link.bandwidth, owner, f"{path}.bandwidth")


def _profiles(profiles: Profiles) -> None:
    for name in ("price", "carbon"):
        profile = getattr(profiles, name)
        if profile is None:
            continue
        path = f"$.profiles.{name}"
        _amounts(profile.values, f"profile '{name}'", f"{path}.values")
        _amount(profile.period, f"profile '{name}'", f"{path}.period")
        if not profile.values or exact(profile.period) == 0:
            raise InputError(
                f"profile '{name}' needs a positive period and at least one value",
                path=path,
            )


def _amounts(values: Iterable[Number], owner: str, path: str) -> None:
    for value in values:
        _amount(value, owner, path)
