"""Reading the files that a verb names."""

from __future__ import annotations

import os
import sys
from pathlib import Path
from typing import TYPE_CHECKING

from allocsolve.models.errors import InputError, UsageError

if TYPE_CHECKING:
    from allocsolve.instances.kinds import Problem
    from allocsolve.models.coded.problem import CodedProblem
    from allocsolve.models.dag.problem import DagProblem

__all__ = [
    "one_stdin",
    "output_path",
    "read_answer",
    "read_dag",
    "read_document",
    "read_instance",
    "read_program",
    "spare",
]


def one_stdin(*arguments: str | None) -> None:
    """Refuse standard input for more than one argument.

    Raises
    ------
    UsageError
        If ``-`` stands in two places.
    """
    if sum(argument == "-" for argument in arguments) > 1:
        raise UsageError("'-' (standard input) can stand for one argument only")


def read_instance(
    name: str, format_name: str | None, nodes: str | None, base: str | None
) -> Problem:
    """Read an instance with the options that every verb has for it.

    Raises
    ------
    InputError
        If the file cannot be opened or its data are wrong.
    """
    from allocsolve.cli.values import index_base
    from allocsolve.instances.reading import read

    return read(name, format=format_name, nodes=nodes, index_base=index_base(base))


def read_dag(name: str, format_name: str | None, nodes: str | None, base: str | None) -> DagProblem:
    """Read an instance for a verb that is there for kind ``dag`` only.

    Raises
    ------
    InputError
        If the file cannot be opened or its data are wrong.
    UsageError
        If the instance is of another kind.
    """
    from allocsolve.models.dag.problem import DagProblem

    problem = read_instance(name, format_name, nodes, base)
    if not isinstance(problem, DagProblem):
        raise UsageError(
            f"this verb has nothing to do for an instance of kind '{problem.kind}'"
            "\n  allowed: kind dag"
        )
    return problem


def read_program(
    name: str, format_name: str | None, nodes: str | None, base: str | None
) -> DagProblem | CodedProblem:
    """Read an instance of a kind that can be written as a mixed-integer program.

    Raises
    ------
    InputError
        If the file cannot be opened or its data are wrong.
    UsageError
        If the instance is of another kind.
    """
    from allocsolve.models.coded.problem import CodedProblem
    from allocsolve.models.dag.problem import DagProblem

    problem = read_instance(name, format_name, nodes, base)
    if not isinstance(problem, DagProblem | CodedProblem):
        raise UsageError(
            f"this verb has nothing to do for an instance of kind '{problem.kind}'"
            "\n  allowed: kinds dag and coded"
        )
    return problem


def read_document(name: str) -> bytes:
    """Return the bytes of a solution document.

    Raises
    ------
    InputError
        If the file cannot be opened.
    """
    try:
        if name == "-":
            return sys.stdin.buffer.read() if sys.stdin else b""
        return Path(name).read_bytes()
    except OSError as error:
        raise InputError(
            f"cannot be read: {error.strerror}",
            allowed="a solution document",
            source=name,
        ) from None


def read_answer(problem: Problem, name: str, strange: list[str] | None = None) -> bytes:
    """Return a solution document that can be read and holds an answer to the problem.

    Parameters
    ----------
    strange
        Gets a warning if the document was made for another instance.

    Raises
    ------
    InputError
        With the name of the file, if it cannot be opened or read, or holds no answer.
    """
    from allocsolve.api.given import claim_of, foreign

    label = "<stdin>" if name == "-" else name
    data = read_document(name)
    try:
        claim = claim_of(problem, data)
    except InputError as error:
        raise error.located(label) from None
    if claim.answer is None:
        raise InputError(
            "the document holds no answer", allowed="a document with an answer", source=label
        )
    if strange is not None:
        strange += [f"{label}: {warning}" for warning in foreign(problem, claim)]
    return data


def output_path(target: str | None) -> Path | None:
    """Return the file to write, None for standard output (also written as ``-``)."""
    return None if target in (None, "-", "/dev/stdout") else Path(target)


def spare(target: Path | None, *others: str | None) -> None:
    """Refuse to write onto a file that the verb reads or writes too.

    Raises
    ------
    UsageError
        If the target is one of the other files, also under another name.
    """
    for other in others:
        if target is not None and other not in (None, "-") and _same_file(target, other):
            raise UsageError(
                f"'{target}' would be overwritten, but it is '{other}' of the same call"
                "\n  allowed: another file to write"
            )


def _same_file(target: Path, other: str) -> bool:
    try:
        if target.exists() and not target.is_file():  # a device or a pipe
            return False
        return os.path.realpath(target) == os.path.realpath(other) or os.path.samefile(
            target, other
        )
    except OSError:
        return False
