"""The table of instance formats; each row loads its module only when it is used."""

from __future__ import annotations

import importlib
from dataclasses import dataclass
from typing import Protocol, cast

from allocsolve.instances.draft import Draft
from allocsolve.instances.kinds import Problem
from allocsolve.models.errors import UsageError, suggest

__all__ = ["FORMATS", "Format", "FormatModule", "format_named"]


class FormatModule(Protocol):
    """What the module of a format offers; writers only where the row says so."""

    def fits(self, text: str) -> bool:
        """Whether the text has the structure of this format; cheap, never raises."""
        ...

    def parse(self, text: str, index_base: int = ...) -> Draft:
        """Read the text; formats without machine or job numbers take no ``index_base``."""
        ...

    def render(self, problem: Problem, suffix: str = ...) -> tuple[str, list[str]]:
        """Write a problem of the format's kind; return the text and what was lost.

        Formats of one layout take no ``suffix``.
        """
        ...


@dataclass(frozen=True)
class Format:
    """An instance format.

    Attributes
    ----------
    name
        Name as ``--format`` takes it.
    kind
        Problem kind that it describes, ``"any"`` for a format that describes every kind.
    suffixes
        Endings of file names, lower case, without ``.gz``; ``.txt`` belongs to several formats.
    description
        One line for ``allocsolve formats``.
    can_read, can_write
        Directions that are there.
    target
        Module that implements it.
    index_base
        Number from which the format counts machines (or jobs); None if it has no such numbers.
    tasks_only
        Whether nodes must come from the option ``nodes``, since the format has none.
    several_layouts
        Whether the layout that is written depends on the ending of the file name.
    """

    name: str
    kind: str
    suffixes: tuple[str, ...]
    description: str
    can_read: bool
    can_write: bool
    target: str
    index_base: int | None = None
    tasks_only: bool = False
    several_layouts: bool = False

    def load(self) -> FormatModule:
        """Import and return the module of this format."""
        return cast(FormatModule, importlib.import_module(self.target))

    def parse(self, text: str, index_base: int | None = None) -> Draft:
        """Read the text of an instance.

        Raises
        ------
        InputError
            If the text breaks a rule of the format.
        UsageError
            If ``index_base`` is given and the format has none.
        """
        if index_base is None:
            return self.load().parse(text)
        if self.index_base is None:
            having = ", ".join(row.name for row in FORMATS if row.index_base is not None)
            raise UsageError(
                f"--index-base has no meaning for format '{self.name}' (formats with it: {having})"
            )
        if index_base not in (0, 1):
            raise UsageError(f"--index-base {index_base} is not allowed (allowed: 0 or 1)")
        return self.load().parse(text, index_base)


_HOME = "allocsolve.instances.formats"

FORMATS: tuple[Format, ...] = (
    Format(
        name="native",
        kind="any",
        suffixes=(".json",),
        description="JSON document allocsolve.instance/1",
        can_read=True,
        can_write=True,
        target=f"{_HOME}.native",
    ),
    Format(
        name="psplib",
        kind="dag",
        suffixes=(".sm", ".mm"),
        description="PSPLIB project, single-mode (.sm) or multi-mode (.mm)",
        can_read=True,
        can_write=True,
        target=f"{_HOME}.psplib",
        index_base=1,
    ),
    Format(
        name="patterson",
        kind="dag",
        suffixes=(".rcp",),
        description="Patterson project, one stream of numbers (.rcp)",
        can_read=True,
        can_write=True,
        target=f"{_HOME}.patterson",
        index_base=1,
    ),
    Format(
        name="progenmax",
        kind="dag",
        suffixes=(".sch",),
        description="ProGen/max project with minimum and maximum lags (.sch)",
        can_read=True,
        can_write=True,
        target=f"{_HOME}.progenmax",
    ),
    Format(
        name="jobshop",
        kind="dag",
        suffixes=(".jsp", ".jss", ".txt"),
        description="job shop, one line of (machine, time) pairs a job (JSPLIB)",
        can_read=True,
        can_write=True,
        target=f"{_HOME}.jobshop",
        index_base=0,
    ),
    Format(
        name="taillard",
        kind="dag",
        suffixes=(".tai", ".txt"),
        description="job shop, a matrix of times and a matrix of machines (Taillard)",
        can_read=True,
        can_write=False,
        target=f"{_HOME}.taillard",
        index_base=1,
    ),
    Format(
        name="fjsp",
        kind="dag",
        suffixes=(".fjs", ".fjsp", ".txt"),
        description="flexible job shop, alternatives a (machine, time) list (FJSPLIB)",
        can_read=True,
        can_write=True,
        target=f"{_HOME}.fjsp",
        index_base=1,
    ),
    Format(
        name="wfformat",
        kind="dag",
        suffixes=(".json",),
        description="WfFormat 1.4 and 1.5, a recorded run of a workflow (WfCommons)",
        can_read=True,
        can_write=False,
        target=f"{_HOME}.wfformat",
    ),
    Format(
        name="stg",
        kind="dag",
        suffixes=(".stg",),
        description="standard task graph, with or without communication times",
        can_read=True,
        can_write=True,
        target=f"{_HOME}.stg",
        tasks_only=True,
    ),
    Format(
        name="dot",
        kind="dag",
        suffixes=(".dot", ".gv"),
        description="Graphviz digraph with weights of tasks and edges",
        can_read=True,
        can_write=True,
        target=f"{_HOME}.dot",
        tasks_only=True,
    ),
    Format(
        name="gxl",
        kind="dag",
        suffixes=(".gxl",),
        description="Graph eXchange Language with weights of tasks and edges",
        can_read=True,
        can_write=False,
        target=f"{_HOME}.gxl",
        tasks_only=True,
    ),
    Format(
        name="dnn",
        kind="dag",
        suffixes=(".json",),
        description="neural network to be placed on accelerators and processors",
        can_read=True,
        can_write=False,
        target=f"{_HOME}.dnn",
    ),
    Format(
        name="csv",
        kind="dag",
        suffixes=(".csv",),
        description="table of edges and tasks: from,to,data,work",
        can_read=True,
        can_write=True,
        target=f"{_HOME}.edge_list",
        tasks_only=True,
    ),
    Format(
        name="saga",
        kind="dag",
        suffixes=(".json",),
        description="task graph and network as SAGA writes them",
        can_read=True,
        can_write=True,
        target=f"{_HOME}.saga",
    ),
    Format(
        name="throughput_table",
        kind="fair",
        suffixes=(".csv", ".json"),
        description="throughput of each job on each type, as CSV or as Gavel has it (JSON)",
        can_read=True,
        can_write=True,
        target=f"{_HOME}.throughput_table",
        tasks_only=True,
        several_layouts=True,
    ),
)


def format_named(name: str) -> Format:
    """Return the format of that name.

    Raises
    ------
    UsageError
        If there is none.
    """
    names = [row.name for row in FORMATS]
    for row in FORMATS:
        if row.name == name:
            return row
    raise UsageError(f"unknown format '{name}'{suggest(name, names)} (formats: {', '.join(names)})")
