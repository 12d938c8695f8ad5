"""Task graphs in the Graph eXchange Language.

One ``graph`` of ``node`` and ``edge`` elements. The attribute ``Weight`` (or ``weight``,
``work``) of a node is the work of a task, ``Weight`` (or ``data``) of an edge the data that it
sends; see :func:`allocsolve.instances.task_graph.task_graph_draft` for graphs without weights.

Documents that declare entities are refused, so that a small file cannot expand into a huge one
or name other files; the usual reference to the DTD of GXL is accepted and not followed.

Source: A. Winter, B. Kullbach and V. Riediger, "An overview of the GXL graph exchange
language", Software Visualization (2002).
"""

from __future__ import annotations

import re
from xml.parsers import expat

from allocsolve.instances.draft import Draft
from allocsolve.instances.task_graph import Arc, Graph, Vertex, task_graph_draft
from allocsolve.models.errors import InputError

__all__ = ["fits", "parse"]

_ROOT = re.compile(r"\s*<(?:[?!].*<)?gxl\b", re.DOTALL)
_VALUES = ("int", "float", "string", "bool", "enum")
_HEAD = 4096


def fits(text: str) -> bool:
    """Whether the text is XML with the root element ``gxl``."""
    return _ROOT.match(text[:_HEAD]) is not None


def parse(text: str) -> Draft:
    """Read a directed graph.

    Raises
    ------
    InputError
        If the text is not XML, declares entities, is not a directed graph, or a weight is wrong.
    """
    return task_graph_draft(_Reader().read(text))


class _Element:
    """A node or an edge whose attributes are being read."""

    def __init__(self, tag: str, given: dict[str, str], line: int, column: int) -> None:
        self.tag = tag
        self.given = given
        self.line = line
        self.column = column
        self.attributes: dict[str, str] = {}


class _Reader:
    """Handlers of the XML parser, which tells the place of every element."""

    def __init__(self) -> None:
        self._name = ""
        self._vertices: list[Vertex] = []
        self._arcs: list[Arc] = []
        self._graphs = 0
        self._stack: list[str] = []
        self._element: _Element | None = None
        self._attribute: str | None = None
        self._text: list[str] | None = None
        self._parser = expat.ParserCreate()
        self._parser.StartElementHandler = self._start
        self._parser.EndElementHandler = self._end
        self._parser.CharacterDataHandler = self._characters
        self._parser.StartDoctypeDeclHandler = self._doctype

    def read(self, text: str) -> Graph:
        """Parse the whole text."""
        try:
            self._parser.Parse(text, True)
        except expat.ExpatError as error:
            raise InputError(
                f"this is not XML: {expat.errors.messages[error.code]}",
                allowed="a complete XML document",
                remedy="correct the text at this place",
                line=error.lineno,
                column=error.offset + 1,
            ) from None
        if self._graphs != 1:
            raise InputError(
                f"the document holds {self._graphs} graphs",
                allowed="exactly one graph",
                remedy="give each task graph a file of its own",
                line=1,
            )
        return Graph(self._name, self._vertices, self._arcs)

    def _refusal(self, what: str, allowed: str, remedy: str) -> InputError:
        return InputError(
            what,
            allowed=allowed,
            remedy=remedy,
            line=self._parser.CurrentLineNumber,
            column=self._parser.CurrentColumnNumber + 1,
        )

    def _doctype(self, name: str, system: str | None, public: str | None, internal: bool) -> None:
        del name, system, public
        if internal:
            raise self._refusal(
                "the document declares its own entities or elements",
                "a document type without declarations of its own",
                "delete the part of DOCTYPE between [ and ]",
            )

    def _start(self, tag: str, given: dict[str, str]) -> None:
        if not self._stack and tag != "gxl":
            raise self._refusal(
                f"the root element is '{tag}'", "the root element gxl", "check the file"
            )
        parent = self._stack[-1] if self._stack else ""
        self._stack.append(tag)
        if tag == "graph":
            self._graph(given)
        elif tag in ("node", "edge"):
            line, column = self._parser.CurrentLineNumber, self._parser.CurrentColumnNumber + 1
            self._element = _Element(tag, given, line, column)
        elif tag == "attr" and self._element is not None and parent == self._element.tag:
            self._attribute = given.get("name", "").strip().lower()
        elif tag in _VALUES and self._attribute is not None:
            self._text = []

    def _graph(self, given: dict[str, str]) -> None:
        self._graphs += 1
        self._name = self._name or given.get("id", "")
        if given.get("edgemode", "directed") not in ("directed", "defaultdirected"):
            raise self._refusal(
                f"the graph is {given['edgemode']}",
                'edgemode="directed"',
                "give the direction of precedence",
            )

    def _characters(self, text: str) -> None:
        if self._text is not None:
            self._text.append(text)

    def _end(self, tag: str) -> None:
        self._stack.pop()
        element = self._element
        if tag in _VALUES and self._text is not None:
            if element is not None and self._attribute:
                element.attributes[self._attribute] = "".join(self._text).strip()
            self._text = None
        elif tag == "attr":
            self._attribute = None
        elif element is not None and tag == element.tag:
            self._finish(element)
            self._element = None

    def _finish(self, element: _Element) -> None:
        if element.tag == "node":
            key = self._given(element, "id")
            vertex = Vertex(key, element.line, element.attributes, element.column)
            self._vertices.append(vertex)
            return
        source, target = self._given(element, "from"), self._given(element, "to")
        self._arcs.append(Arc(source, target, element.line, element.attributes, element.column))

    def _given(self, element: _Element, name: str) -> str:
        if not element.given.get(name):
            raise InputError(
                f"an element '{element.tag}' has no attribute '{name}'",
                allowed='<node id="..."> and <edge from="..." to="...">',
                remedy=f"add {name}",
                line=element.line,
                column=element.column,
            )
        return element.given[name]
