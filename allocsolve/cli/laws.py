"""The options ``--law`` and ``--law-file``, which exclude each other."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from allocsolve.models.errors import UsageError

if TYPE_CHECKING:
    from allocsolve.models.nodes import RuntimeLaw

__all__ = ["law_files", "law_option"]


def law_option(law: str | None, law_file: str | None) -> RuntimeLaw | None:
    """Return the law that is asked for, None if none is.

    Raises
    ------
    UsageError
        If both options are given, or the law is unknown or impossible.
    InputError
        If the file cannot be read, or a cell of it is no duration.
    """
    if law is not None and law_file is not None:
        raise UsageError("--law and --law-file exclude each other: leave one out")
    from allocsolve.api.laws import law_of, law_of_file

    return law_of(law) if law_file is None else law_of_file(law_file)


def law_files(*options: str | None) -> list[str]:
    """Return the documents of fitted laws that options ``@FILE`` and ``@FILE:NAME`` name."""
    named = [option[1:] for option in options if option is not None and option.startswith("@")]
    return [name if os.path.exists(name) else name.rpartition(":")[0] or name for name in named]
