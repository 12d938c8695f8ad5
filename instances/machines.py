"""The nodes that the option ``nodes`` gives to an instance: a count or a JSON file."""

from __future__ import annotations

import msgspec

from allocsolve.instances.formats.native import SCHEMA, decode
from allocsolve.instances.source import load
from allocsolve.instances.strict_json import loads
from allocsolve.models.dag.data import DagDocument, DefaultLink, Node
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import InputError, UsageError

__all__ = ["MOST_NODES", "identical_nodes", "with_nodes"]

MOST_NODES = 10_000
"""Largest number of nodes of an instance that a count asks for."""
_MOST_DIGITS = 20
"""Digits beyond which a count is not read as a number."""
_TABLES = ("nodes", "links", "default_link")


def identical_nodes(count: int) -> list[Node]:
    """Return that many nodes ``n0``, ``n1``, ... of speed 1 with one slot.

    Raises
    ------
    UsageError
        If the count is not within 1..10000.
    """
    if not 1 <= count <= MOST_NODES:
        raise _not_a_count(str(count))
    return [Node(id=f"n{k}") for k in range(count)]


def with_nodes(document: DagDocument, nodes: str | int) -> DagDocument:
    """Return the document with its nodes and links replaced.

    Parameters
    ----------
    nodes
        A count, also as digits, or the path of a JSON file with ``nodes``, and optionally
        ``links`` and ``default_link``. Pairs of nodes of which nothing is said get the default
        link of the instance, which most formats have of their own, unless that one connects
        nothing.

    Raises
    ------
    UsageError
        If no task runs on a node, or the tasks name nodes that are no longer there.
    InputError
        If the file is wrong.
    """
    new = _machines(nodes, _usable(document.default_link))
    if document.tasks and all(task.modes is not None for task in document.tasks):
        raise UsageError("--nodes has no meaning here: every task has modes, none runs on a node")
    _keep_references(document, new.nodes)
    return msgspec.structs.replace(
        document, nodes=new.nodes, links=new.links, default_link=new.default_link
    )


def _usable(link: DefaultLink | None) -> DefaultLink | None:
    """Return a default link that connects nodes: pairs of new nodes are not just unlisted."""
    return None if link is None or (link.bandwidth is not None and not link.bandwidth) else link


def _machines(nodes: str | int, default_link: DefaultLink | None) -> DagDocument:
    text = str(nodes)
    digits = text[1:] if text.startswith("-") else text
    if digits.isascii() and digits.isdigit():
        if len(text) > _MOST_DIGITS:
            raise _not_a_count(text)
        return msgspec.structs.replace(
            _document({"nodes": []}), nodes=identical_nodes(int(text)), default_link=default_link
        )
    if not text.strip():
        raise _not_a_count(f"'{text}'")
    source = load(text)
    try:
        raw = loads(source.text)
        if not isinstance(raw, dict) or "nodes" not in raw:
            raise InputError(
                'a file of nodes must be an object with "nodes"',
                allowed='{"nodes": [...], "links": [...], "default_link": {...}}',
                remedy="correct the file, or give a number of identical nodes",
                path="$",
            )
        document = _document(raw)
        if "default_link" not in raw:
            document = msgspec.structs.replace(document, default_link=default_link)
        _validate(document)
    except InputError as error:
        raise error.located(source.label) from None
    return document


def _not_a_count(text: str) -> UsageError:
    return UsageError(f"--nodes {text} is not allowed (allowed: 1..{MOST_NODES}, or a JSON file)")


def _validate(document: DagDocument) -> None:
    """Find what is wrong with nodes and links while it is known which file they are from."""
    if not document.nodes:
        raise InputError(
            "there are no nodes",
            allowed="at least one node",
            remedy="add nodes to the file, or give a number of identical nodes",
            path="$.nodes",
        )
    DagProblem(
        tasks=[],
        nodes=document.nodes,
        links=document.links,
        default_link=document.default_link,
    )


def _document(raw: dict[str, object]) -> DagDocument:
    tables = {key: value for key, value in raw.items() if key not in ("schema", "kind", "tasks")}
    unknown = [key for key in tables if key not in _TABLES]
    if unknown:
        raise InputError(
            f"a file of nodes has no field '{unknown[0]}'",
            allowed=f"the fields {', '.join(_TABLES)}",
            remedy="delete the field",
            path=f"$.{unknown[0]}",
        )
    document = decode({"schema": SCHEMA, "kind": "dag", "tasks": [], **tables})
    assert isinstance(document, DagDocument)
    return document


def _keep_references(document: DagDocument, nodes: list[Node]) -> None:
    known = {node.id for node in nodes} | {node.type for node in nodes}
    named = [node for row in document.durations.values() for node in row]
    named += [node for task in document.tasks for node in task.eligible or ()]
    named += [setup.node for setup in document.setups if setup.node is not None]
    lost = next((node for node in named if node not in known), None)
    if lost is not None:
        raise UsageError(
            f"--nodes cannot replace the nodes of this instance: its tasks name node '{lost}'"
        )
