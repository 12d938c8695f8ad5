"""Arguments and options that several verbs share."""

from __future__ import annotations

from typing import Annotated, TypeAlias

import typer

__all__ = [
    "Deadline",
    "Format",
    "IndexBase",
    "Instance",
    "Law",
    "LawFile",
    "LinkLaw",
    "Nodes",
    "Policies",
    "Quantiles",
    "Quiet",
    "Replications",
    "Seed",
    "Settings",
    "Solution",
    "Solutions",
    "Starts",
    "Target",
    "Threads",
    "Verbose",
]

Instance: TypeAlias = Annotated[
    str, typer.Argument(metavar="INSTANCE", help="Instance file; - is standard input.")
]
Solution: TypeAlias = Annotated[
    str, typer.Argument(metavar="SOLUTION", help="Solution document; - is standard input.")
]
Solutions: TypeAlias = Annotated[
    list[str],
    typer.Argument(metavar="SOLUTION...", help="Solution documents; - is standard input."),
]
Format: TypeAlias = Annotated[
    str | None,
    typer.Option("--format", metavar="NAME", help="Format of the instance (default: found out)."),
]
Nodes: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--nodes", metavar="N|FILE", help="N nodes (or units of each type), or a JSON file of them."
    ),
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
Law: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--law",
        metavar="NAME:KEY=VALUE,..",
        help="Runtime law of every node; @FILE[:NAME] for one that fit wrote.",
    ),
]
LawFile: TypeAlias = Annotated[
    str | None,
    typer.Option(
        "--law-file",
        metavar="TRACE[:COLUMN]",
        help="Measured durations as the law, as they are (not normalised).",
    ),
]
LinkLaw: TypeAlias = Annotated[
    str | None,
    typer.Option("--link-law", metavar="LAW", help="Law of the factor of every transfer."),
]
Quantiles: TypeAlias = Annotated[
    list[str] | None,
    typer.Option("--quantile", metavar="Q", help="May be repeated (default 0.5, 0.9, 0.99)."),
]
Deadline: TypeAlias = Annotated[
    str | None,
    typer.Option("--deadline", metavar="D", help="Report the probability of being done by D."),
]
Replications: TypeAlias = Annotated[
    str | None,
    typer.Option("--replications", metavar="N", help="Default 10000, under a policy 500."),
]
Starts: TypeAlias = Annotated[
    str, typer.Option("--starts", metavar="WHEN", help="eager, or planned: not before the plan.")
]
Policies: TypeAlias = Annotated[
    list[str] | None,
    typer.Option(
        "--policy",
        metavar="P",
        help="static, redispatch or speculate[:after=2]; several are compared.",
    ),
]
Threads: TypeAlias = Annotated[
    str | None,
    typer.Option("--threads", metavar="N", help="Threads (default: physical cores)."),
]
Verbose: TypeAlias = Annotated[
    int, typer.Option("-v", "--verbose", count=True, help="Say what goes on.")
]
Quiet: TypeAlias = Annotated[bool, typer.Option("-q", "--quiet", help="Show errors only.")]
