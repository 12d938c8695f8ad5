"""Arguments and options that several verbs share."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

__all__ = [
    "Format",
    "IndexBase",
    "Instance",
    "Nodes",
    "Quiet",
    "Seed",
    "Settings",
    "Solution",
    "Target",
    "Verbose",
]

Instance: TypeAlias = Annotated[
    str, typer.Argument(metavar="INSTANCE", help="Instance file; - is standard input.")
]
Solution: TypeAlias = Annotated[
    str, typer.Argument(metavar="SOLUTION", help="Solution document; - is standard input.")
]
Format: TypeAlias = Annotated[
    str | None,
    typer.Option("--format", metavar="NAME", help="Format of the instance (default: found out)."),
]
Nodes: TypeAlias = Annotated[
    str | None,
    typer.Option("--nodes", metavar="N|FILE", help="N identical nodes, or a JSON file of them."),
]
IndexBase: TypeAlias = Annotated[
    str | None,
    typer.Option("--index-base", metavar="0|1", help="Number from which the file counts."),
]
Target: TypeAlias = Annotated[
    str | None,
    typer.Option("-o", "--output", metavar="FILE", help="Write to a file instead of stdout."),
]
Settings: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--set", metavar="KEY=VALUE", help="A setting by name; may be repeated."),
]
Seed: TypeAlias = Annotated[
    str, typer.Option("--seed", metavar="N", help="Seed of everything random.")
]
Verbose: TypeAlias = Annotated[
    int, typer.Option("-v", "--verbose", count=True, help="Say what goes on.")
]
Quiet: TypeAlias = Annotated[bool, typer.Option("-q", "--quiet", help="Show errors only.")]
