"""The text of a PSPLIB file."""

from __future__ import annotations

from allocsolve.instances.project import Project

__all__ = ["psplib_text"]


def psplib_text(project: Project) -> str:
    """Return the text of a project, with the sections in the order that every reader expects."""
    stars = "*" * 72
    text = [
        stars,
        "projects                      :  1",
        f"jobs (incl. supersource/sink ):  {len(project.activities)}",
        "RESOURCES",
        f"  - renewable                 :  {project.renewable}   R",
        f"  - nonrenewable              :  {project.nonrenewable}   N",
        "  - doubly constrained        :  0   D",
        stars,
        *_precedence_lines(project),
        stars,
        *_request_lines(project),
        stars,
        "RESOURCEAVAILABILITIES:",
        _column_heads(project),
        " ".join(project.capacities),
        stars,
    ]
    return "\n".join(line for line in text if line) + "\n"


def _column_heads(project: Project) -> str:
    return "  ".join(f"{name[0]} {name[1:]}" for name in project.resource_ids)


def _precedence_lines(project: Project) -> list[str]:
    text = ["PRECEDENCE RELATIONS:", "jobnr.    #modes  #successors   successors"]
    for i, activity in enumerate(project.activities):
        successors = [str(target + 1) for target, _ in activity.successors]
        values = [str(i + 1), str(len(activity.modes)), str(len(successors)), *successors]
        text.append(" ".join(f"{value:>4}" for value in values))
    return text


def _request_lines(project: Project) -> list[str]:
    text = ["REQUESTS/DURATIONS:", f"jobnr. mode duration  {_column_heads(project)}", "-" * 72]
    for i, activity in enumerate(project.activities):
        for k, (duration, demand) in enumerate(activity.modes):
            values = [str(i + 1) if k == 0 else "", str(k + 1), duration, *demand]
            text.append(" ".join(f"{value:>4}" for value in values))
    return text
