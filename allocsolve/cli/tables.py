"""``allocsolve formats``, ``methods`` and ``schema``: what is there."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Annotated

import typer

from allocsolve.cli.console import Console

__all__ = ["formats", "methods", "schema"]

Json = Annotated[bool, typer.Option("--json", help="One JSON document instead of a table.")]


def formats(ctx: typer.Context, as_json: Json = False) -> int:
    """List the instance formats that can be read and written.

    Example: allocsolve formats
    """
    console: Console = ctx.obj
    console.begin()
    from allocsolve.instances.registry import FORMATS

    rows = [
        {
            "name": row.name,
            "kind": row.kind,
            "suffixes": list(row.suffixes),
            "read": row.can_read,
            "write": row.can_write,
            "description": row.description,
        }
        for row in FORMATS
    ]
    console.emit(_shown(rows, as_json=as_json))
    return 0


def methods(ctx: typer.Context, as_json: Json = False) -> int:
    """List the methods of `solve`; --json also says what they honour.

    Example: allocsolve methods
    """
    console: Console = ctx.obj
    console.begin()
    from allocsolve.solvers.routes import METHODS

    rows = [
        {
            "name": row.name,
            "kind": row.kind,
            "exact": row.exact,
            "objectives": sorted(row.objectives),
            "honours": sorted(row.honours),
            "description": row.description,
        }
        for row in METHODS
    ]
    hidden = () if as_json else ("honours",)
    console.emit(_shown(rows, as_json=as_json, hidden=hidden))
    return 0


def schema(
    ctx: typer.Context,
    name: Annotated[
        str | None,
        typer.Argument(metavar="NAME", help="instance, solution, bound, check, simulation or fit."),
    ] = None,
) -> int:
    """Print the JSON Schema of a document, or the names of all documents.

    Example: allocsolve schema solution
    """
    console: Console = ctx.obj
    console.begin()
    from allocsolve.report.schemas import RECORDS, schema_text

    console.emit("".join(f"{key}\n" for key in RECORDS) if name is None else schema_text(name))
    return 0


def _shown(rows: Sequence[dict[str, object]], *, as_json: bool, hidden: Sequence[str] = ()) -> str:
    if as_json:
        return json.dumps(rows, indent=1, ensure_ascii=False) + "\n"
    columns = [column for column in rows[0] if column not in hidden] if rows else []
    table = [columns, *([_cell(row[column]) for column in columns] for row in rows)]
    widths = [max(len(line[k]) for line in table) for k in range(len(columns))]
    lines = (
        "  ".join(text.ljust(width) for text, width in zip(line, widths, strict=True)).rstrip()
        for line in table
    )
    return "".join(f"{line}\n" for line in lines)


def _cell(value: object) -> str:
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, list):
        return " ".join(map(str, value))
    return str(value)
