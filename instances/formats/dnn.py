"""Neural networks to be placed on accelerators and processors (dnn-partitioning).

The nodes are ``maxFPGAs`` accelerators ``fpga0``, ... of type ``fpga`` with ``maxSizePerFPGA``
memory each and ``maxCPUs`` processors ``cpu0``, ... of type ``cpu``. An operator becomes a task
that takes ``fpgaLatency`` or ``cpuLatency``, needs ``size`` memory, and runs on accelerators
only if it is ``supportedOnFpga``. Operators of one ``colorClass`` share a node; a class of one
operator means nothing. The ``cost`` of an edge is the time that its data take between two
different nodes: data = cost, every link has latency 0 and bandwidth 1.

Ids are the numbers ``id`` of the file. Latencies and costs are measurements with all digits of a
double; where they do not fit on a common grid they are rounded, see
:mod:`allocsolve.instances.rounding`.

Source: J. Tarnawski et al., "Efficient algorithms for device placement of DNN graph
operators", NeurIPS 2020.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Sequence
from fractions import Fraction

import msgspec

from allocsolve.instances.draft import Draft
from allocsolve.instances.json_dialects import dialect, records, require_amount, require_known
from allocsolve.instances.machines import MOST_NODES
from allocsolve.instances.rounding import Rounding, rounding
from allocsolve.instances.strict_json import loads
from allocsolve.models.dag.data import DagDocument, DefaultLink, Edge, Node, Task
from allocsolve.models.errors import InputError
from allocsolve.models.exact import Number

__all__ = ["fits", "parse"]


class _Operator(msgspec.Struct, frozen=True, rename="camel"):
    id: int | str
    cpu_latency: Fraction | None = None
    fpga_latency: Fraction | None = None
    supported_on_fpga: bool | int = True
    size: Fraction = Fraction(0)
    color_class: int | str | None = None


class _Arc(msgspec.Struct, frozen=True, rename="camel"):
    source_id: int | str
    dest_id: int | str
    cost: Fraction = Fraction(0)


class _File(msgspec.Struct, frozen=True):
    nodes: list[_Operator]
    accelerators: int = msgspec.field(name="maxFPGAs")
    processors: int = msgspec.field(name="maxCPUs", default=0)
    memory: Fraction | None = msgspec.field(name="maxSizePerFPGA", default=None)
    edges: list[_Arc] = []


def fits(text: str) -> bool:
    """Whether the text is JSON with the field ``maxFPGAs``."""
    return dialect(text) == "dnn"


def parse(text: str) -> Draft:
    """Read a network of operators.

    Raises
    ------
    InputError
        If a field is missing or wrong, or an operator can run nowhere.
    """
    file = records(loads(text), _File, "dnn")
    nodes = _nodes(file)
    for operator in file.nodes:
        _check(operator, nodes)
    known = {str(operator.id) for operator in file.nodes}
    for arc in file.edges:
        for end in (arc.source_id, arc.dest_id):
            require_known(str(end), known, _name(arc), "operator")
    rounded = _rounding(file)
    document = DagDocument(
        schema="allocsolve.instance/1",
        kind="dag",
        tasks=_tasks(file.nodes),
        edges=[
            Edge(source=str(arc.source_id), target=str(arc.dest_id), data=rounded(_cost(arc)))
            for arc in file.edges
        ],
        nodes=nodes,
        durations={str(op.id): _durations(op, nodes, rounded) for op in file.nodes},
        default_link=DefaultLink(),
    )
    return Draft(document, {}, rounded.notes())


def _nodes(file: _File) -> list[Node]:
    counts = {"maxFPGAs": file.accelerators, "maxCPUs": file.processors}
    for name, count in counts.items():
        if not 0 <= count <= MOST_NODES:
            raise InputError(
                f"{name} is {count}", allowed=f"0..{MOST_NODES}", remedy=f"correct {name}"
            )
    memory = None
    if file.memory is not None:
        memory = require_amount(file.memory, "maxSizePerFPGA")
    accelerators = [
        Node(id=f"fpga{k}", type="fpga", memory=memory) for k in range(file.accelerators)
    ]
    return accelerators + [Node(id=f"cpu{k}", type="cpu") for k in range(file.processors)]


def _latency(operator: _Operator, node_type: str | None) -> Fraction | None:
    """Return the time on a node of that type, None if the operator cannot run there."""
    if node_type == "cpu":
        return operator.cpu_latency
    return operator.fpga_latency if operator.supported_on_fpga else None


def _check(operator: _Operator, nodes: Sequence[Node]) -> None:
    for name in ("cpu_latency", "fpga_latency", "size"):
        value = getattr(operator, name)
        if value is not None:
            require_amount(value, f"operator {operator.id}: {name}")
    if all(_latency(operator, node.type) is None for node in nodes):
        raise InputError(
            f"operator {operator.id} has no latency on any of the {len(nodes)} nodes",
            allowed="cpuLatency with maxCPUs, or fpgaLatency with supportedOnFpga and maxFPGAs",
            remedy="give the operator a latency, or the file more nodes",
        )


def _cost(arc: _Arc) -> Fraction:
    return require_amount(arc.cost, f"{_name(arc)}: cost")


def _name(arc: _Arc) -> str:
    return f"edge {arc.source_id} -> {arc.dest_id}"


def _rounding(file: _File) -> Rounding:
    latencies = [
        (operator.cpu_latency or Fraction(0), operator.fpga_latency or Fraction(0))
        for operator in file.nodes
    ]
    costs = [_cost(arc) for arc in file.edges]
    largest = sum(map(max, latencies), Fraction(0)) + len(latencies) * max(costs, default=0)
    return rounding([value for pair in latencies for value in pair] + costs, largest)


def _durations(operator: _Operator, nodes: Sequence[Node], rounded: Rounding) -> dict[str, Number]:
    by_type: dict[str | None, Number] = {}
    for node_type in ("fpga", "cpu"):
        latency = _latency(operator, node_type)
        if latency is not None:
            by_type[node_type] = rounded(latency)
    return {node.id: by_type[node.type] for node in nodes if node.type in by_type}


def _tasks(operators: Sequence[_Operator]) -> list[Task]:
    sizes = Counter(op.color_class for op in operators)
    return [
        Task(
            id=str(op.id),
            memory=op.size or None,
            colocate=_label(op) if sizes[op.color_class] > 1 else None,
        )
        for op in operators
    ]


def _label(operator: _Operator) -> str | None:
    return None if operator.color_class is None else str(operator.color_class)
