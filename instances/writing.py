"""Writing a problem in an instance format, with what the format cannot hold."""

from __future__ import annotations

from allocsolve.instances.kinds import Problem
from allocsolve.instances.registry import FORMATS, format_named
from allocsolve.models.errors import UsageError

__all__ = ["render"]


def render(
    problem: Problem,
    format: str,  # noqa: A002  # --format
    suffix: str = "",
) -> tuple[str, list[str]]:
    """Return the problem as text of a format, and a sentence for everything that is lost.

    Parameters
    ----------
    suffix
        Ending of the file, by which a format of several layouts chooses one.

    Raises
    ------
    UsageError
        If the format is unknown, cannot be written, or cannot express the problem at all;
        the features that it lacks are named.
    """
    row = format_named(format)
    if not row.can_write:
        able = ", ".join(other.name for other in FORMATS if other.can_write)
        raise UsageError(f"format '{row.name}' cannot be written (formats that can: {able})")
    if row.kind not in ("any", problem.kind):
        raise UsageError(
            f"format '{row.name}' holds instances of kind '{row.kind}', not '{problem.kind}'"
            "\n  allowed: native, which holds every kind"
        )
    if row.several_layouts:
        return row.load().render(problem, suffix)
    return row.load().render(problem)
