"""``allocsolve doctor``: versions, known-bad pairs, and whether each engine really solves."""

from __future__ import annotations

import json
import os
import platform
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from allocsolve.cli.console import Console

if TYPE_CHECKING:
    from allocsolve.models.kernels import KernelSet

__all__ = ["Finding", "doctor"]

_NEEDED = ("numpy", "scipy", "numba", "cvxpy", "pyomo", "highspy", "ortools", "msgspec")
_NEEDED_TOO = ("typer", "tqdm")
_EXTRAS = {"matplotlib": "plot", "pandas": "frames", "polars": "frames", "pyarrow": "frames"}


@dataclass(frozen=True)
class Finding:
    """One thing that was looked at; ``ok`` None: it is optional and absent."""

    name: str
    ok: bool | None
    detail: str
    remedy: str = ""


def doctor(
    ctx: typer.Context,
    compile_kernels: Annotated[
        bool, typer.Option("--compile", help="Build the compiled kernels.")
    ] = False,
    as_json: Annotated[bool, typer.Option("--json", help="One JSON document.")] = False,
) -> int:
    """Tell what is installed, what does not fit together, and whether the engines work.

    Exit 0 if all that is needed works, else 69.

    Example: allocsolve doctor
    """
    console: Console = ctx.obj
    console.begin()
    findings = []
    for finding in _all_findings(compile_kernels=compile_kernels):
        findings.append(finding)
        if not as_json:  # whoever waits for the compiler sees how far it is
            console.emit(_line(finding))
    if as_json:
        console.emit(_as_json(findings))
    return 69 if any(finding.ok is False for finding in findings) else 0


def _all_findings(*, compile_kernels: bool) -> Iterator[Finding]:
    """Look at one thing after another."""
    yield from _versions()
    yield _known_bad_pair()
    yield from _engines()
    yield _cache()
    if compile_kernels:
        yield from _compiled()


def _as_json(findings: list[Finding]) -> str:
    return json.dumps([asdict(finding) for finding in findings], indent=1) + "\n"


def _line(finding: Finding) -> str:
    mark = {True: "ok", False: "BAD", None: "-"}[finding.ok]
    remedy = f" (remedy: {finding.remedy})" if finding.remedy else ""
    return f"{mark:4} {finding.name:14} {finding.detail}{remedy}\n"


def _version(package: str) -> str | None:
    from importlib.metadata import PackageNotFoundError, version

    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _versions() -> list[Finding]:
    from allocsolve import __version__

    findings = [
        Finding("allocsolve", True, __version__),
        Finding("python", True, f"{platform.python_version()} on {platform.platform()}"),
    ]
    for package in (*_NEEDED, *_NEEDED_TOO):
        found = _version(package)
        detail, remedy = found or "not installed", "" if found else f"pip install {package}"
        findings.append(Finding(package, found is not None, detail, remedy))
    for package, extra in _EXTRAS.items():
        found = _version(package)
        detail = found or f"not installed: pip install 'allocsolve[{extra}]'"
        findings.append(Finding(package, True if found else None, detail))
    return findings


def _known_bad_pair() -> Finding:
    highspy, ortools = _version("highspy"), _version("ortools")
    if highspy and ortools and highspy.startswith("1.15."):
        return Finding(
            "known-bad pair",
            False,
            f"highspy {highspy} cannot be imported beside ortools {ortools}",
            "pip install 'highspy>=1.14,!=1.15.*'",
        )
    return Finding("known-bad pair", True, "none (highspy 1.15.x with ortools)")


def _engines() -> list[Finding]:
    tests: dict[str, Callable[[], str]] = {"cpsat solves": _try_cpsat, "highs solves": _try_highs}
    return [_tried(name, test) for name, test in tests.items()]


def _tried(name: str, test: Callable[[], str]) -> Finding:
    try:
        return Finding(name, True, test())
    except Exception as error:  # whatever is wrong with an engine is the finding
        text = f"{type(error).__name__}: {error}".splitlines()[0][:160]
        return Finding(name, False, text, "reinstall the engine; see the pair above")


def _try_cpsat() -> str:
    """Let CP-SAT place two tasks of length 1 and 2 on one node."""
    from allocsolve.api import solve
    from allocsolve.models.dag.data import Node, Task
    from allocsolve.models.dag.problem import DagProblem
    from allocsolve.models.errors import SolverCrash

    tasks = [Task(id="a", work=1), Task(id="b", work=2)]
    toy = DagProblem(tasks=tasks, nodes=[Node(id="n")])
    result = solve(toy, method="cpsat", time_limit=20, threads=1)
    if result.status != "OPTIMAL" or result.objective.known != 3:
        raise SolverCrash(f"{result.status} {result.objective.known} instead of OPTIMAL 3")
    return "the toy schedule: OPTIMAL, makespan 3"


def _try_highs() -> str:
    """Let HiGHS maximise 3x for x <= 4."""
    from allocsolve.models.errors import SolverCrash
    from allocsolve.solvers.engines.highs import highs

    engine = highs()
    engine.setOptionValue("output_flag", False)
    variable = engine.addVariable(lb=0, ub=4)
    engine.maximize(3 * variable)
    value = engine.getObjectiveValue()
    if abs(value - 12) > 1e-6:
        raise SolverCrash(f"optimum {value} instead of 12")
    return "the toy linear program: optimum 12"


def _compiled() -> Iterator[Finding]:
    """Build every set of kernels and tell how long that took."""
    from allocsolve.solvers.routes import kernel_sets

    for kernels in kernel_sets():
        yield _tried(f"kernels: {kernels.name}", partial(_build, kernels))


def _build(kernels: KernelSet) -> str:
    return f"{kernels.build():.1f} s"


def _cache() -> Finding:
    """Ask numba where it keeps compiled kernels: it falls back from one folder to the next."""
    if os.environ.get("NUMBA_DISABLE_JIT", "0") not in {"", "0"}:
        return Finding("numba cache", True, "not used: NUMBA_DISABLE_JIT lets loops run as Python")
    from allocsolve.models.dag.list_kernels import place_in_order
    from allocsolve.models.kernels import cache_folder

    try:
        folder = cache_folder(place_in_order)
    except ImportError:
        return Finding("numba cache", None, "numba cannot be imported")
    if folder is None:
        return Finding(
            "numba cache",
            None,
            "no folder can be written: kernels are compiled anew in each process, and --compile "
            "changes nothing",
            "set NUMBA_CACHE_DIR to a folder that can be written, then allocsolve doctor --compile",
        )
    return Finding("numba cache", True, f"{folder} ({_origin(Path(folder))})")


def _origin(folder: Path) -> str:
    if os.environ.get("NUMBA_CACHE_DIR"):
        return "NUMBA_CACHE_DIR"
    if folder.name == "__pycache__":
        return "beside the sources"
    return "the cache of this user, since nothing can be written beside the sources"
