"""The version of the installed package, for the provenance of answers."""

from __future__ import annotations

from functools import cache
from importlib.metadata import PackageNotFoundError, version

__all__ = ["installed_version"]


@cache
def installed_version() -> str:
    """Return the version of the installed distribution; ``0+unknown`` for bare sources."""
    try:
        return version("allocsolve")
    except PackageNotFoundError:
        return "0+unknown"
