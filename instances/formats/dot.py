"""Task graphs in the DOT language of Graphviz.

A ``digraph`` whose vertices are tasks. The attribute ``weight`` (or ``Weight``, ``work``) of a
vertex is its work, the attribute ``weight`` (or ``data``) of an edge the data that it sends;
see :func:`allocsolve.instances.task_graph.task_graph_draft` for graphs without weights.
Subgraphs are flattened; ports, other attributes and the layout are ignored.
"""

from __future__ import annotations

import itertools
import re

from allocsolve.instances.dot_syntax import Token, tokens
from allocsolve.instances.draft import Draft
from allocsolve.instances.numerals import Numerals
from allocsolve.instances.task_graph import (
    Arc,
    Graph,
    Vertex,
    data_texts,
    task_graph_draft,
    task_graph_losses,
    work_texts,
)
from allocsolve.instances.text import plural, shorten
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import InputError

__all__ = ["fits", "parse", "render"]

_OPENING = re.compile(
    r"(?>\s|\ufeff|//[^\n]*\n|/\*.*?\*/|\#[^\n]*\n)*+(?:strict\b\s*)?(?:di)?graph\b",
    re.DOTALL | re.IGNORECASE,
)
_KEYWORDS = ("node", "edge", "graph", "digraph", "subgraph", "strict")
_DEEPEST = 50


def fits(text: str) -> bool:
    """Whether the text begins as a graph of DOT."""
    return _OPENING.match(text) is not None


def parse(text: str) -> Draft:
    """Read a digraph.

    Raises
    ------
    InputError
        If the text is not DOT, not directed, or a weight is wrong.
    """
    return task_graph_draft(_Parser(text).graph())


class _Scope:
    """Default attributes of vertices and edges, and the vertices named in a subgraph."""

    def __init__(self, outer: _Scope | None = None) -> None:
        self.defaults: dict[str, dict[str, str]] = {
            sort: dict(outer.defaults[sort]) if outer else {} for sort in ("node", "edge", "graph")
        }
        self.depth: int = outer.depth + 1 if outer else 0
        self.named: dict[str, None] = {}


class _Parser:
    """Recursive descent over the grammar of DOT."""

    def __init__(self, text: str) -> None:
        self._tokens = tokens(text)
        self._token = next(self._tokens)
        self._attributes: dict[str, dict[str, str]] = {}
        self._places: dict[str, Token] = {}
        self._arcs: list[Arc] = []
        self._subgraphs = 0

    def graph(self) -> Graph:
        """Read the whole text."""
        strict = self._keyword("strict")
        self._require_digraph()
        name = self._take().text if self._token.sort in ("id", "word") else ""
        self._expect("{")
        self._statements(_Scope())
        self._expect("}")
        if self._token.sort != "end":
            raise self._unexpected("the end of the file: one graph a file")
        vertices = [
            Vertex(key, place.line, self._attributes[key], place.column)
            for key, place in self._places.items()
        ]
        arcs = self._arcs
        if strict:
            arcs = list({(arc.source, arc.target): arc for arc in arcs}.values())
        return Graph(name, vertices, arcs, self._notes())

    def _notes(self) -> list[str]:
        if not self._subgraphs:
            return []
        return [f"{plural(self._subgraphs, 'subgraph')} flattened"]

    def _require_digraph(self) -> None:
        place = self._token
        if self._keyword("digraph"):
            return
        if self._keyword("graph"):
            raise _undirected(place, "the graph is not directed")
        raise self._unexpected("digraph NAME { ... }")

    def _keyword(self, word: str) -> bool:
        found = self._token.sort == "word" and self._token.text.lower() == word
        if found:
            self._take()
        return found

    def _take(self) -> Token:
        token = self._token
        if token.sort != "end":
            self._token = next(self._tokens)
        return token

    def _expect(self, mark: str) -> Token:
        if self._token.sort != mark:
            raise self._unexpected(f"'{mark}'")
        return self._take()

    def _unexpected(self, allowed: str) -> InputError:
        token = self._token
        what = (
            "the text ends too early"
            if token.sort == "end"
            else f"unexpected '{shorten(token.text)}'"
        )
        return InputError(
            what,
            allowed=allowed,
            remedy="complete or correct the text at this place",
            line=token.line,
            column=token.column,
        )

    def _statements(self, scope: _Scope) -> None:
        while self._token.sort not in ("}", "end"):
            self._statement(scope)
            while self._token.sort in (";", ","):
                self._take()

    def _statement(self, scope: _Scope) -> None:
        word = self._token.text.lower() if self._token.sort == "word" else ""
        if word in ("node", "edge", "graph"):
            self._take()
            scope.defaults[word].update(self._attribute_lists())
            return
        ends = [self._end(scope)]
        if self._token.sort == "=":
            self._take()
            self._text()
            return
        while self._token.sort in ("->", "--"):
            arrow = self._take()
            if arrow.sort == "--":
                raise _undirected(arrow, "an edge '--' has no direction")
            ends.append(self._end(scope))
        self._finish(ends, scope)

    def _finish(self, ends: list[list[Token]], scope: _Scope) -> None:
        """Read the attributes of a statement and apply them to its vertex or its edges."""
        given = self._attribute_lists()
        for vertices in ends:
            for vertex in vertices:
                self._name(vertex, scope)
        if len(ends) == 1:
            for vertex in ends[0]:
                self._attributes[vertex.text].update(given)
            return
        attributes = scope.defaults["edge"] | given
        for sources, targets in itertools.pairwise(ends):
            self._arcs.extend(
                Arc(a.text, b.text, a.line, attributes, a.column) for a in sources for b in targets
            )

    def _name(self, vertex: Token, scope: _Scope) -> None:
        scope.named[vertex.text] = None
        if vertex.text not in self._places:
            self._places[vertex.text] = vertex
            self._attributes[vertex.text] = dict(scope.defaults["node"])

    def _end(self, scope: _Scope) -> list[Token]:
        """Read a vertex or a subgraph; return the vertices that an edge meets there."""
        if self._token.sort == "{" or self._is_subgraph():
            return self._subgraph(scope)
        vertex = self._text()
        while self._token.sort == ":":
            self._take()
            self._text()
        return [vertex]

    def _is_subgraph(self) -> bool:
        return self._token.sort == "word" and self._token.text.lower() == "subgraph"

    def _subgraph(self, outer: _Scope) -> list[Token]:
        if self._keyword("subgraph") and self._token.sort != "{":
            self._text()
        opening = self._expect("{")
        scope = _Scope(outer)
        if scope.depth > _DEEPEST:
            raise InputError(
                f"more than {_DEEPEST} subgraphs are nested",
                allowed=f"at most {_DEEPEST} levels",
                remedy="check that this is a task graph",
                line=opening.line,
                column=opening.column,
            )
        self._subgraphs += 1
        self._statements(scope)
        self._expect("}")
        outer.named.update(scope.named)
        return [self._places[key] for key in scope.named]

    def _text(self) -> Token:
        """Read an id; quoted texts may be joined with ``+``."""
        first = self._one_text()
        parts = [first.text]
        while self._token.sort == "+":
            self._take()
            parts.append(self._one_text().text)
        return Token("id", "".join(parts), first.line, first.column)

    def _one_text(self) -> Token:
        if self._token.sort not in ("id", "word") or self._is_keyword():
            raise self._unexpected("a name, a number or quoted text")
        return self._take()

    def _is_keyword(self) -> bool:
        return self._token.sort == "word" and self._token.text.lower() in _KEYWORDS

    def _attribute_lists(self) -> dict[str, str]:
        found: dict[str, str] = {}
        while self._token.sort == "[":
            self._take()
            while self._token.sort != "]":
                name = self._text().text.lower()
                found[name] = self._attribute_value()
                if self._token.sort in (";", ","):
                    self._take()
            self._expect("]")
        return found

    def _attribute_value(self) -> str:
        if self._token.sort != "=":
            return "true"
        self._take()
        return self._text().text.strip()


def _undirected(place: Token, what: str) -> InputError:
    return InputError(
        what,
        allowed="digraph with edges '->'",
        remedy="write digraph instead of graph, and -> instead of --",
        line=place.line,
        column=place.column,
    )


def render(problem: DagProblem) -> tuple[str, list[str]]:
    """Write tasks and edges as a digraph; nodes and links are left out.

    Raises
    ------
    UsageError
        If the problem has features that a graph with weights cannot hold.
    """
    losses = task_graph_losses(problem, "dot")
    numerals = Numerals()
    text = [f"digraph {_quoted(problem.name)} {{"]
    for task, work in zip(problem.tasks, work_texts(problem, numerals), strict=True):
        text.append(f"\t{_quoted(task.id)} [Weight={work}];")
    for source, target, data in data_texts(problem, numerals):
        text.append(f"\t{_quoted(source)} -> {_quoted(target)} [Weight={data}];")
    return "\n".join([*text, "}"]) + "\n", losses + numerals.losses()


def _quoted(name: str) -> str:
    escaped = name.replace("\\", "\\\\").replace('"', '\\"')
    return f'"{escaped}"'
