"""Pictures of plans and of what they are worth, through matplotlib (extra ``plot``).

A picture loads its own module only.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from allocsolve.plots.assignments import assignment
    from allocsolve.plots.completion_laws import completion
    from allocsolve.plots.distribution import ecdf
    from allocsolve.plots.fitted import fits
    from allocsolve.plots.frame import FORMS
    from allocsolve.plots.gantt_chart import gantt
    from allocsolve.plots.load_bars import loads
    from allocsolve.plots.replications import replication_gantt
    from allocsolve.plots.share_bars import shares

__all__ = [
    "FORMS",
    "assignment",
    "completion",
    "ecdf",
    "fits",
    "gantt",
    "loads",
    "replication_gantt",
    "shares",
]

# No module may have the name of a function: once loaded it would hide the function.
_HOME_OF = {
    "FORMS": "frame",
    "assignment": "assignments",
    "completion": "completion_laws",
    "ecdf": "distribution",
    "fits": "fitted",
    "gantt": "gantt_chart",
    "loads": "load_bars",
    "replication_gantt": "replications",
    "shares": "share_bars",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name not in _HOME_OF:
        raise AttributeError(f"module 'allocsolve.plots' has no attribute '{name}'")
    from importlib import import_module

    value: object = getattr(import_module(f"allocsolve.plots.{_HOME_OF[name]}"), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__})
