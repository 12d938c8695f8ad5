"""Resource allocation with proofs: a problem comes in, a checked answer goes out.

``import allocsolve`` loads no solver and no array library; each name below is imported
when it is first used.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from allocsolve.api import (
        BoundReport,
        ClaimReport,
        Incumbent,
        Progress,
        bound,
        check,
        convert,
        read,
        solve,
        write,
    )
    from allocsolve.api.fitting import fit
    from allocsolve.api.formulations import export
    from allocsolve.api.simulating import simulate
    from allocsolve.instances.generators.dag import generate
    from allocsolve.instances.objects import from_dict, from_frames, from_networkx
    from allocsolve.models.dag.answer import DagResult, Schedule, ScheduledTask
    from allocsolve.models.dag.data import (
        DefaultLink,
        Edge,
        Link,
        Mode,
        Node,
        Resource,
        Setup,
        Task,
    )
    from allocsolve.models.dag.problem import DagProblem
    from allocsolve.models.errors import (
        AllocsolveError,
        CheckFailed,
        FeatureRefused,
        InputError,
        NoSolution,
        SolverCrash,
        SolverMissing,
        UsageError,
    )
    from allocsolve.models.execution.outcome import Comparison, Simulation
    from allocsolve.models.result import (
        Bound,
        Certificate,
        CheckReport,
        Objective,
        Reason,
        Status,
        Termination,
        Violation,
    )
    from allocsolve.solvers.control import Token

    __version__: str

__all__ = [
    "AllocsolveError",
    "Bound",
    "BoundReport",
    "Certificate",
    "CheckFailed",
    "CheckReport",
    "ClaimReport",
    "Comparison",
    "DagProblem",
    "DagResult",
    "DefaultLink",
    "Edge",
    "FeatureRefused",
    "Incumbent",
    "InputError",
    "Link",
    "Mode",
    "NoSolution",
    "Node",
    "Objective",
    "Progress",
    "Reason",
    "Resource",
    "Schedule",
    "ScheduledTask",
    "Setup",
    "Simulation",
    "SolverCrash",
    "SolverMissing",
    "Status",
    "Task",
    "Termination",
    "Token",
    "UsageError",
    "Violation",
    "__version__",
    "bound",
    "check",
    "convert",
    "export",
    "fit",
    "from_dict",
    "from_frames",
    "from_networkx",
    "generate",
    "read",
    "simulate",
    "solve",
    "write",
]

_HOMES = {
    "allocsolve.api": (
        "BoundReport ClaimReport Incumbent Progress bound check convert read solve write"
    ),
    "allocsolve.api.fitting": "fit",
    "allocsolve.api.formulations": "export",
    "allocsolve.api.simulating": "simulate",
    "allocsolve.instances.generators.dag": "generate",
    "allocsolve.instances.objects": "from_dict from_frames from_networkx",
    "allocsolve.models.dag.answer": "DagResult Schedule ScheduledTask",
    "allocsolve.models.dag.data": "DefaultLink Edge Link Mode Node Resource Setup Task",
    "allocsolve.models.dag.problem": "DagProblem",
    "allocsolve.models.errors": (
        "AllocsolveError CheckFailed FeatureRefused InputError NoSolution SolverCrash "
        "SolverMissing UsageError"
    ),
    "allocsolve.models.execution.outcome": "Comparison Simulation",
    "allocsolve.models.result": (
        "Bound Certificate CheckReport Objective Reason Status Termination Violation"
    ),
    "allocsolve.solvers.control": "Token",
}
_HOME_OF = {name: module for module, names in _HOMES.items() for name in names.split()}


def __getattr__(name: str) -> object:
    """Import a public name when it is first used."""
    if name == "__version__":
        from allocsolve.models.version import installed_version

        value: object = installed_version()
    elif name in _HOME_OF:
        from importlib import import_module

        value = getattr(import_module(_HOME_OF[name]), name)
    else:
        raise AttributeError(f"module 'allocsolve' has no attribute '{name}'")
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted({*globals(), *__all__})
