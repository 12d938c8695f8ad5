"""The exceptions of allocsolve, each with the exit code of the command line."""

from __future__ import annotations

from collections.abc import Sequence

__all__ = [
    "AllocsolveError",
    "CheckFailed",
    "FeatureRefused",
    "InputError",
    "NoSolution",
    "SolverCrash",
    "SolverMissing",
    "UsageError",
    "suggest",
]


class AllocsolveError(Exception):
    """Base of every exception that allocsolve raises on purpose."""

    exit_code = 1


class InputError(AllocsolveError, ValueError):
    """The data of an instance or a solution is wrong.

    Parameters
    ----------
    what
        What is wrong, with the offending token and the ids concerned.
    allowed
        What would have been allowed.
    remedy
        How to mend it.
    source
        File name, ``"<stdin>"`` or None for objects built in Python.
    line, column
        Place in a text file, counted from 1.
    path
        Place in a JSON document, e.g. ``"$.tasks[3].work"``.
    """

    exit_code = 65

    def __init__(
        self,
        what: str,
        *,
        allowed: str | None = None,
        remedy: str | None = None,
        source: str | None = None,
        line: int | None = None,
        column: int | None = None,
        path: str | None = None,
    ) -> None:
        self.what = what
        self.allowed = allowed
        self.remedy = remedy
        self.source = source
        self.line = line
        self.column = column
        self.path = path
        super().__init__(what)

    def located(self, source: str) -> InputError:
        """Return this error with its file name filled in, unless it has one."""
        return InputError(
            self.what,
            allowed=self.allowed,
            remedy=self.remedy,
            source=self.source or source,
            line=self.line,
            column=self.column,
            path=self.path,
        )

    def __str__(self) -> str:
        place = [str(part) for part in (self.source, self.line, self.column) if part is not None]
        if self.path is not None:
            place.append(self.path)
        text = ": ".join([":".join(place), self.what] if place else [self.what])
        if self.allowed:
            text += f"\n  allowed: {self.allowed}"
        if self.remedy:
            text += f"\n  remedy: {self.remedy}"
        return text


class UsageError(AllocsolveError, ValueError):
    """An option or an argument is wrong."""

    exit_code = 2


class FeatureRefused(UsageError):
    """The chosen method cannot honour a feature of the instance.

    Parameters
    ----------
    method
        The method asked for.
    features
        What it cannot honour, by name.
    alternatives
        The methods that can.
    sort, sorts
        What ``method`` and ``alternatives`` name.
    """

    def __init__(
        self,
        method: str,
        features: Sequence[str],
        alternatives: Sequence[str],
        *,
        sort: str = "method",
        sorts: str = "methods",
    ) -> None:
        self.method = method
        self.features = tuple(features)
        self.alternatives = tuple(alternatives)
        can = ", ".join(alternatives) if alternatives else "none yet"
        super().__init__(
            f"{sort} '{method}' does not honour: {', '.join(features)} ({sorts} that do: {can})"
        )


class NoSolution(AllocsolveError, LookupError):
    """An answer was read from a result that has none."""

    exit_code = 5


class CheckFailed(AllocsolveError):
    """An answer breaks a rule of its instance."""

    exit_code = 6


class SolverMissing(AllocsolveError, ImportError):
    """A solver or an optional extra is not installed."""

    exit_code = 69


class SolverCrash(AllocsolveError, RuntimeError):
    """A solver failed, or an answer of a method did not pass the checker."""


def suggest(token: str, known: Sequence[str]) -> str:
    """Return ``", did you mean 'x'?"`` for the closest known id, or an empty string."""
    import difflib

    close = difflib.get_close_matches(token, known, n=1, cutoff=0.6)
    return f", did you mean '{close[0]}'?" if close else ""
