"""Imports go down the floors, problem kinds stay apart, and what is heavy loads late."""

from __future__ import annotations

import ast
import re
import subprocess
import sys
from collections.abc import Iterator
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

KINDS = ("dag", "coded", "fair")
ROOMS = ("models", "solvers", "instances")
ENGINES = {"ortools", "highspy", "cvxpy", "pyomo"}
HEAVY = ["numpy", "scipy", "ortools", "highspy", "pandas", "numba", "cvxpy", "pyomo", "typer"]
HEAVY += ["matplotlib", "networkx", "polars", "msgspec"]

FORMULATION = r"allocsolve\.models\.\w+\.(\w+_)?(cpsat|milp|convex)(_\w+)?"

# First match decides; a module that matches no row fails the test, so that it gets a floor.
FLOORS = [
    (0, r"allocsolve\.models\.(errors|arrays|columns|exact|version|strict_json|fields|arguments)"),
    (0, r"allocsolve\.models\.(kernels|threads)"),
    (1, r"allocsolve\.models\.(result|claims|nodes|random|sampling|elementary|normal|ports)"),
    (1, r"allocsolve\.models\.(laws_\w+|processes|fitting\w*)"),
    (2, r"allocsolve\.models\.(dag|coded|fair)\.(problem|answer|data|validate)"),
    (2, r"allocsolve\.models\.(dag|coded|fair)\.(arrays|ordering|glance|scaling|\w+_table)"),
    (2, r"allocsolve\.models\.fair\.(columns|pairs|settings|utility)"),
    (3, r"allocsolve\.models\.(dag|coded|fair)\.\w+"),
    (4, r"allocsolve\.models\.execution(\.\w+)*"),
    (5, r"allocsolve\.solvers\.(control|ending|loading|executors|engines(\.\w+)*)"),
    (6, r"allocsolve\.solvers\.(dag|coded|fair)\.\w+"),
    (7, r"allocsolve\.solvers\.distributed(\.\w+)*"),
    (8, r"allocsolve\.solvers\.routes"),
    (9, r"allocsolve\.instances\.\w+(\.\w+)*"),
    (10, r"allocsolve\.report(\.\w+)*"),
    (11, r"allocsolve\.api(\.\w+)*"),
    (12, r"allocsolve\.(plots(\.\w+)*|batch)"),
    (13, r"allocsolve\.(cli(\.\w+)*|__main__)"),
]
# What the checker of a kind may reach: data, answers, exact laws of what an answer brings, and
# its own rules. Nothing that finds answers, bounds or reasons; for `fair` also the prices, which
# judge what is claimed.
SHARED = r"arrays|claims|columns|errors|exact|fields|kernels|laws_\w+|nodes|processes|result"
_DATA = "answer|arrays|check|claims|data|problem|reason_types|validate|verify"
CHECKERS = {
    "dag": f"{_DATA}|edge_table|glance|link_table|mode_table|occupancy|ordering|placement|scaling"
    "|sharing",
    "coded": f"{_DATA}|arrivals|completion|deadlines|decoding|facts|judge_code|judge_parts"
    r"|approximate|judge_pieces|law|judge_rounds|kernel_sets|rounds"
    r"|law_\w+|thresholds|value|worst",
    "fair": f"{_DATA}|allocation|certificates|columns|demands|envy|objectives|occupancy"
    "|classes|pair_prices|pairs|response_kernels|responses|settings|split|utility|weighted",
}
# Names of packages; they stand on no floor, so their __init__ may import nothing of ours.
# `allocsolve` itself forwards to the public functions lazily, so it may name them.
PACKAGES = re.compile(
    r"allocsolve|allocsolve\.(plots|report|(models|solvers|instances)"
    r"(\.(dag|coded|fair|execution|engines|formats|generators))?)"
)


def _files(checkout: Path) -> Iterator[tuple[str, Path]]:
    for room in ("allocsolve", *ROOMS):
        for path in sorted((checkout / room).glob("**/*.py")):
            parts = path.relative_to(checkout).with_suffix("").parts
            if parts[0] == "allocsolve" and len(parts) > 1 and parts[1] in ROOMS:
                continue  # the same file is met in its own room
            parts = parts if parts[0] == "allocsolve" else ("allocsolve", *parts)
            yield ".".join(parts[:-1] if parts[-1] == "__init__" else parts), path


@pytest.fixture(scope="module")
def modules(checkout: Path) -> dict[str, ast.Module]:
    return {name: ast.parse(path.read_text(encoding="utf-8")) for name, path in _files(checkout)}


def _imports(tree: ast.AST) -> Iterator[str]:
    """Yield every module imported anywhere in the file, and ``module.name`` of each name."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names)
        elif isinstance(node, ast.ImportFrom) and node.module:
            yield node.module
            yield from (f"{node.module}.{alias.name}" for alias in node.names)


def _own_imports(tree: ast.AST, modules: dict[str, ast.Module]) -> set[str]:
    """Return the modules of the project that a file asks for.

    ``from package import module`` asks for the module; that Python runs the package's
    ``__init__`` on the way is so for every import and no dependency of its own.
    """
    found = {name for name in _imports(tree) if name in modules}
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in found:
            names = {f"{node.module}.{alias.name}" for alias in node.names}
            if names <= found:
                found.discard(node.module)
    return found


def _floor(module: str) -> int | None:
    if module == "allocsolve":
        return 11  # it forwards to the public functions
    rows = [floor for floor, pattern in FLOORS if re.fullmatch(pattern, module)]
    return rows[0] if rows else None


def test_every_module_stands_on_a_floor(modules: dict[str, ast.Module]) -> None:
    """A module without a floor would escape the rule below."""
    lost = [name for name in modules if _floor(name) is None and not PACKAGES.fullmatch(name)]
    assert lost == []


def test_imports_only_go_down(modules: dict[str, ast.Module]) -> None:
    """Also imports inside functions count: a late import upwards is still a dependency."""
    wrong = []
    for name, tree in modules.items():
        here = _floor(name)
        for target in _own_imports(tree, modules):
            there = _floor(target)
            forwards = name == "allocsolve"
            if here is not None and there is not None and there > here and not forwards:
                wrong.append(f"{name} (floor {here}) imports {target} (floor {there})")
    assert wrong == []


def test_packages_import_nothing_of_their_own(modules: dict[str, ast.Module]) -> None:
    """An __init__ that imports would load a whole room for one module, and hide cycles."""
    rooms = [name for name in modules if PACKAGES.fullmatch(name) and name != "allocsolve"]
    assert "allocsolve.plots" in rooms
    assert {name: sorted(_own_imports(_loaded(modules[name]), modules)) for name in rooms} == {
        name: [] for name in rooms
    }


def _loaded(tree: ast.Module) -> ast.Module:
    """Return a file without what only type checkers read."""
    kept = [
        node
        for node in tree.body
        if not (isinstance(node, ast.If) and ast.unparse(node.test) == "TYPE_CHECKING")
    ]
    return ast.Module(kept, [])


def test_there_is_no_import_cycle(modules: dict[str, ast.Module]) -> None:
    """A cycle would make two modules one; `allocsolve` itself only forwards and is left out."""
    graph = {
        name: _own_imports(tree, modules) - {name, "allocsolve"}
        for name, tree in modules.items()
        if name != "allocsolve"
    }
    assert len(list(TopologicalSorter(graph).static_order())) == len(graph)


@pytest.mark.parametrize("kind", KINDS)
def test_kinds_do_not_import_each_other(modules: dict[str, ast.Module], kind: str) -> None:
    """What two kinds share goes one floor down."""
    others = "|".join(other for other in KINDS if other != kind)
    foreign = re.compile(rf"allocsolve\.(models|solvers)\.({others})(\..*)?")
    of_kind = re.compile(rf"allocsolve\.(models|solvers)\.{kind}(\..*)?")
    wrong = [
        f"{name} imports {target}"
        for name, tree in modules.items()
        if of_kind.fullmatch(name)
        for target in _imports(tree)
        if foreign.fullmatch(target)
    ]
    assert wrong == []


def test_imports_are_absolute(modules: dict[str, ast.Module]) -> None:
    """A relative import would mean another module through the links than in the wheel."""
    relative = [
        name
        for name, tree in modules.items()
        for node in ast.walk(tree)
        if isinstance(node, ast.ImportFrom) and node.level
    ]
    assert relative == []


def test_no_engine_below_the_solvers(modules: dict[str, ast.Module]) -> None:
    """Models may build a formulation in an engine's language (F3), but run and load no engine."""
    wrong = []
    for name, tree in modules.items():
        formulation = re.fullmatch(FORMULATION, name)
        if not name.startswith("allocsolve.models") or formulation:
            continue
        wrong += [
            f"{name} imports {target}"
            for target in _imports(tree)
            if target.partition(".")[0] in ENGINES
        ]
    assert wrong == []


def test_formulations_run_nothing(modules: dict[str, ast.Module]) -> None:
    """A formulation that solves would bypass limits, interrupts and the checker."""
    runners = {"CpSolver", "solve", "Solve", "SolverFactory", "Highs"}
    wrong = [
        f"{name}:{node.lineno} calls {node.func.attr}"
        for name, tree in modules.items()
        if re.fullmatch(FORMULATION, name)
        for node in ast.walk(tree)
        if isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in runners
    ]
    assert wrong == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_checker_is_independent(modules: dict[str, ast.Module], kind: str) -> None:
    """The checker may share no reasoning with what it judges: only what is named is reachable."""
    allowed = re.compile(rf"allocsolve\.models\.({SHARED}|{kind}\.({CHECKERS[kind]}))")
    seen = _reachable(f"allocsolve.models.{kind}.check", modules)
    assert sorted(name for name in seen if not allowed.fullmatch(name)) == []


@pytest.mark.parametrize("kind", KINDS)
def test_the_list_of_the_checker_names_no_more_than_it_needs(
    modules: dict[str, ast.Module], kind: str
) -> None:
    """A name that nothing needs would let a finder of that name in unseen."""
    seen = _reachable(f"allocsolve.models.{kind}.check", modules)
    here = {name.rpartition(".")[2] for name in seen if f".{kind}." in name}
    assert {name for name in CHECKERS[kind].split("|") if "\\" not in name} <= here


def test_prices_judge_claims_only(modules: dict[str, ast.Module]) -> None:
    """Certificates judge claims and reasons; whether an answer is right they may not decide."""
    prices = {"allocsolve.models.fair.certificates", "allocsolve.models.fair.weighted"}
    users = {
        name
        for name in _reachable("allocsolve.models.fair.check", modules) - prices
        if _own_imports(modules[name], modules) & prices
    }
    assert users == {"allocsolve.models.fair.claims", "allocsolve.models.fair.verify"}


def _reachable(start: str, modules: dict[str, ast.Module]) -> set[str]:
    """Return a module with all that it imports, directly or not."""
    seen: set[str] = set()
    todo = [start]
    while todo:
        name = todo.pop()
        if name not in seen:
            seen.add(name)
            todo.extend(_own_imports(modules[name], modules) - {"allocsolve"})
    return seen


def test_importing_allocsolve_loads_nothing_heavy(tmp_path: Path) -> None:
    """Start-up time is paid at every call of the command line."""
    code = f"import sys, allocsolve; print([m for m in {HEAVY!r} if m in sys.modules])"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    assert done.stdout.strip() == "[]"
