"""Recorded runs of workflows in WfFormat 1.4 and 1.5 (WfCommons).

* A task takes ``runtimeInSeconds`` of work.
* The data of an edge are the bytes of all files that the parent writes and the child reads.
  Files that no parent writes are there from the beginning and cost nothing.
* A machine becomes a node of speed 1 with one slot for each of its cores (one slot if the
  file does not say). ``speedInMHz`` is not used: it records the clock rate of one moment, and
  recorded machines of one model differ by a factor of two in it. Give ``--nodes FILE`` for
  machines of different speed.
* Every pair of nodes has a link of 125 000 000 bytes a second (1 Gbit/s) without latency.
* Every task takes one slot, however many cores it used in the recorded run.

Runtimes whose digits do not fit on a common grid are rounded, see
:mod:`allocsolve.instances.rounding`.

Source: T. Coleman et al., "WfCommons: a framework for enabling scientific workflow research
and development", Future Generation Computer Systems 128 (2022).
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import msgspec

from allocsolve.instances.draft import Draft
from allocsolve.instances.json_dialects import dialect, records, require_amount
from allocsolve.instances.rounding import Rounding, rounding
from allocsolve.instances.strict_json import is_printable, loads
from allocsolve.instances.text import plural, shorten
from allocsolve.models.dag.data import DagDocument, DefaultLink, Edge, Node, Task
from allocsolve.models.errors import InputError, suggest

__all__ = ["BANDWIDTH", "fits", "parse"]

BANDWIDTH = 125_000_000
"""Bytes a second of every link."""


class _Cpu(msgspec.Struct, frozen=True):
    cores: int | None = msgspec.field(name="coreCount", default=None)
    count: int | None = None


class _Machine(msgspec.Struct, frozen=True):
    name: str = msgspec.field(name="nodeName")
    cpu: _Cpu | None = None


class _File(msgspec.Struct, frozen=True):
    """A file; version 1.4 lists it inside a task with ``link``, version 1.5 once with ``id``."""

    id: str | None = None
    name: str | None = None
    link: str | None = None
    size: Fraction | None = msgspec.field(name="sizeInBytes", default=None)

    @property
    def key(self) -> str:
        """What tells files apart."""
        return self.id or self.name or ""


class _Task(msgspec.Struct, frozen=True):
    """A task; version 1.5 keeps the runtime apart, in the records of the execution."""

    name: str | None = None
    id: str | None = None
    parents: list[str] = []
    children: list[str] = []
    runtime: Fraction | None = msgspec.field(name="runtimeInSeconds", default=None)
    files: list[_File] = []
    inputs: list[str] = msgspec.field(name="inputFiles", default_factory=list)
    outputs: list[str] = msgspec.field(name="outputFiles", default_factory=list)


class _Specification(msgspec.Struct, frozen=True):
    tasks: list[_Task]
    files: list[_File] = []


class _Run(msgspec.Struct, frozen=True):
    id: str
    runtime: Fraction | None = msgspec.field(name="runtimeInSeconds", default=None)


class _Execution(msgspec.Struct, frozen=True):
    tasks: list[_Run] = []
    machines: list[_Machine] = []


class _Workflow(msgspec.Struct, frozen=True):
    specification: _Specification | None = None
    execution: _Execution | None = None
    tasks: list[_Task] | None = None
    machines: list[_Machine] = []


class _Document(msgspec.Struct, frozen=True):
    workflow: _Workflow
    name: str = ""


@dataclass(frozen=True)
class _Log:
    """What both versions say, in one form."""

    tasks: list[_Task]
    ids: list[str]
    runtimes: list[Fraction]
    reads: list[set[str]]
    writes: list[set[str]]
    sizes: Mapping[str, Fraction]
    machines: Sequence[_Machine]


def fits(text: str) -> bool:
    """Whether the text is JSON with the object ``workflow``."""
    return dialect(text) == "wfformat"


def parse(text: str) -> Draft:
    """Read a recorded run.

    Raises
    ------
    InputError
        If a task has no runtime, a parent or a file is unknown, or a field is wrong.
    """
    document = records(loads(text, printable=False), _Document, "wfformat")
    log = _log(document.workflow)
    rounded = _rounding(log)
    tasks = [
        Task(id=key, work=rounded(runtime))
        for key, runtime in zip(log.ids, log.runtimes, strict=True)
    ]
    return Draft(
        DagDocument(
            schema="allocsolve.instance/1",
            kind="dag",
            name=document.name,
            tasks=tasks,
            edges=_edges(log),
            nodes=[_node(machine) for machine in log.machines],
            default_link=DefaultLink(bandwidth=BANDWIDTH),
        ),
        {},
        (*rounded.notes(), *_strangers(log)),
    )


def _log(workflow: _Workflow) -> _Log:
    if workflow.specification is not None:
        return _log_of_1_5(workflow.specification, workflow.execution or _Execution())
    if workflow.tasks is None:
        raise InputError(
            "the workflow has neither a specification (1.5) nor tasks (1.4)",
            allowed="WfFormat 1.4 or 1.5",
            remedy="convert the file to WfFormat 1.5",
            path="$.workflow",
        )
    return _log_of_1_4(workflow.tasks, workflow.machines)


def _log_of_1_5(specification: _Specification, execution: _Execution) -> _Log:
    runs = {run.id: run.runtime for run in execution.tasks}
    ids = _ids(specification.tasks)
    return _Log(
        tasks=specification.tasks,
        ids=ids,
        runtimes=[_runtime(key, runs.get(key)) for key in ids],
        reads=[set(task.inputs) for task in specification.tasks],
        writes=[set(task.outputs) for task in specification.tasks],
        sizes=_sizes(specification.files),
        machines=execution.machines,
    )


def _log_of_1_4(tasks: list[_Task], machines: Sequence[_Machine]) -> _Log:
    ids = _ids(tasks)
    return _Log(
        tasks=tasks,
        ids=ids,
        runtimes=[_runtime(key, task.runtime) for key, task in zip(ids, tasks, strict=True)],
        reads=[{file.key for file in task.files if file.link == "input"} for task in tasks],
        writes=[{file.key for file in task.files if file.link == "output"} for task in tasks],
        sizes=_sizes(file for task in tasks for file in task.files),
        machines=machines,
    )


def _ids(tasks: Sequence[_Task]) -> list[str]:
    """Return the id of each task, its name if it has none."""
    found = []
    for i, task in enumerate(tasks):
        key = task.id or task.name
        if not key or not is_printable(key):
            raise InputError(
                f"task {i} has no id or name of printable characters",
                allowed="an id without control characters",
                remedy="correct the id",
            )
        found.append(key)
    return found


def _runtime(key: str, value: Fraction | None) -> Fraction:
    if value is None:
        raise InputError(
            f"task '{key}' has no runtimeInSeconds",
            allowed="a recorded run: every task with its runtime",
            remedy="take a file with the records of an execution",
        )
    return require_amount(value, f"task '{key}': runtimeInSeconds")


def _sizes(files: Iterable[_File]) -> Mapping[str, Fraction]:
    """Return the size of every file that has one; the largest if it is listed repeatedly."""
    sizes: dict[str, Fraction] = {}
    for file in files:
        if file.size is not None:
            size = require_amount(file.size, f"file '{shorten(file.key)}': sizeInBytes")
            sizes[file.key] = max(size, sizes.get(file.key, Fraction(0)))
    return sizes


def _node(machine: _Machine) -> Node:
    cpu = machine.cpu or _Cpu()
    cores = cpu.cores if cpu.cores is not None else cpu.count
    if not is_printable(machine.name):
        raise InputError(
            f"machine '{shorten(machine.name)}' has a name with control characters",
            allowed="a nodeName of printable characters",
            remedy="correct the name",
        )
    return Node(id=machine.name, slots=1 if cores is None else cores)


def _pairs(log: _Log) -> list[tuple[int, int]]:
    """Return (parent, child) of every edge once, in the order of the file.

    Version 1.4 names parents and children by name or by id.
    """
    index = {task.name: i for i, task in enumerate(log.tasks) if task.name}
    index |= {key: i for i, key in enumerate(log.ids)}
    pairs: dict[tuple[int, int], None] = {}
    for i, task in enumerate(log.tasks):
        for parent in task.parents:
            pairs[_known(parent, i, "parent", log, index), i] = None
        for child in task.children:
            pairs[i, _known(child, i, "child", log, index)] = None
    return list(pairs)


def _known(key: str, i: int, sort: str, log: _Log, index: Mapping[str, int]) -> int:
    if key not in index:
        raise InputError(
            f"task '{log.ids[i]}': unknown {sort} '{shorten(key)}'{suggest(key, list(index))}",
            allowed=f"the id of a task of this file ({plural(len(log.ids), 'task')})",
            remedy="correct the id, or add the task",
        )
    return index[key]


def _edges(log: _Log) -> list[Edge]:
    return [
        Edge(source=log.ids[i], target=log.ids[j], data=_bytes(log, i, j)) for i, j in _pairs(log)
    ]


def _bytes(log: _Log, parent: int, child: int) -> Fraction:
    passed = log.writes[parent] & log.reads[child]
    unknown = sorted(passed - log.sizes.keys())
    if unknown:
        raise InputError(
            f"file '{shorten(unknown[0])}' goes from task '{log.ids[parent]}' to task "
            f"'{log.ids[child]}' but has no size",
            allowed="sizeInBytes for every file that is passed on",
            remedy="add the file with its sizeInBytes",
        )
    return sum((log.sizes[file] for file in passed), Fraction(0))


def _strangers(log: _Log) -> list[str]:
    """Note files that a task reads although they are written by a task that is no parent."""
    writer = {file: i for i, files in enumerate(log.writes) for file in files}
    pairs = set(_pairs(log))
    lost = [
        (writer[file], i, file)
        for i, files in enumerate(log.reads)
        for file in sorted(files)
        if file in writer and writer[file] != i and (writer[file], i) not in pairs
    ]
    if not lost:
        return []
    i, j, file = lost[0]
    return [
        f"{plural(len(lost), 'file')} read from a task that is not a parent, e.g. "
        f"'{shorten(file)}' of '{log.ids[i]}' by '{log.ids[j]}': no edge, no data"
    ]


def _rounding(log: _Log) -> Rounding:
    """Keep the bytes exact, round runtimes if both do not fit on one grid."""
    slowest = max(log.sizes.values(), default=Fraction(0)) / BANDWIDTH
    largest = sum(log.runtimes, Fraction(0)) + len(log.ids) * slowest
    return rounding(log.runtimes, largest, [Fraction(1, BANDWIDTH)])
