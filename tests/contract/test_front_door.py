"""Small inputs that make other tools stumble, through the command line, end to end.

The inputs and the right outcomes are read from a file that is not part of the project; each
case says in its `symptom` what goes wrong elsewhere.
"""

from __future__ import annotations

import copy
import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from subprocess import CompletedProcess
from typing import Any

import pytest

import allocsolve
from allocsolve.solvers.routes import METHODS

Command = Callable[..., "CompletedProcess[str]"]
Case = dict[str, Any]

SUFFIX = {"fjsp": ".txt", "jobshop": ".txt", "psplib": ".sm", "native": ".json"}
VALUES = ["H01", "H06", "H07", "H09", "H10", "H11", "H13", "H22"]
ERRORS = ["H02", "H03", "H04", "H12", "H21"]
METHOD_NAMES = [method.name for method in METHODS if method.kind == "dag"]
MODULES = {row.target.partition(":")[0]: row.name for row in METHODS if row.kind == "dag"}
"""One method of each module: those of one module load and print the same."""


@pytest.fixture(scope="module")
def cases(cases_dir: Path) -> dict[str, Case]:
    document = json.loads((cases_dir / "front_door.json").read_text(encoding="utf-8"))
    return {case["id"]: case for case in document["cases"]}


def _files(case: Case, folder: Path) -> list[Path]:
    """Write the inputs of a case and return their paths."""
    paths = []
    for i, content in enumerate(_contents(case["input"])):
        path = folder / f"{case['id']}-{i}{SUFFIX[case['input']['format']]}"
        path.write_bytes(content)
        paths.append(path)
    return paths


def _contents(given: Mapping[str, Any]) -> list[bytes]:
    if "text" in given:
        return [given["text"].encode()]
    if "bytes_hex" in given:
        return [bytes.fromhex(given["bytes_hex"])]
    if "base" in given:
        changes = [given[key] for key in ("change", "second") if key in given]
        return [_project_file(_changed(given["base"], change)).encode() for change in changes]
    documents = given.get("documents") or [given["document"]]
    return [json.dumps(document).encode() for document in documents]


def _changed(base: Mapping[str, Any], change: Mapping[str, Any]) -> dict[str, Any]:
    """Apply changes such as ``{"succ[1]": [0]}`` to a copy of the base."""
    data = copy.deepcopy(dict(base))
    for place, value in change.items():
        match = re.fullmatch(r"(\w+)(?:\[(\d+)\])?", place)
        assert match is not None
        field, position = match.groups()
        if position is None:
            data[field] = value
        else:
            data[field][int(position)] = value
    return data


def _project_file(data: Mapping[str, Any]) -> str:
    """Write a project in the layout of PSPLIB."""
    n, resources = data["tasks"], len(data["cap"])
    rule = "*" * 72
    names = " ".join(f"R {k + 1}" for k in range(resources))
    precedence = [
        f"{j + 1:4} 1 {len(succ)} {' '.join(map(str, succ))}" for j, succ in enumerate(data["succ"])
    ]
    requests = [
        f"{j + 1:4} 1 {data['dur'][j]} {' '.join(map(str, data['req'][j]))}" for j in range(n)
    ]
    lines = [
        rule,
        "file with basedata            : case.bas",
        "initial value random generator: 1",
        rule,
        "projects                      :  1",
        f"jobs (incl. supersource/sink ):  {n}",
        f"horizon                       :  {sum(data['dur'])}",
        "RESOURCES",
        f"  - renewable                 :  {resources}   R",
        "  - nonrenewable              :  0   N",
        "  - doubly constrained        :  0   D",
        rule,
        "PROJECT INFORMATION:",
        "pronr.  #jobs rel.date duedate tardcost  MPM-Time",
        f"    1   {n - 2}      0       10        0       10",
        rule,
        "PRECEDENCE RELATIONS:",
        "jobnr.    #modes  #successors   successors",
        *precedence,
        rule,
        "REQUESTS/DURATIONS:",
        f"jobnr. mode duration  {names}",
        "-" * 72,
        *requests,
        rule,
        "RESOURCEAVAILABILITIES:",
        names,
        " ".join(map(str, data["cap"])),
        rule,
    ]
    return "\n".join(lines) + "\n"


def _solve(command: Command, case: Case, path: Path, *more: str) -> CompletedProcess[str]:
    return command("solve", path, "--format", case["input"]["format"], *more)


@pytest.mark.parametrize("name", VALUES)
def test_right_value(
    cases: dict[str, Case], allocsolve_command: Command, tmp_path: Path, name: str
) -> None:
    """Exact values, statuses and numbers of warnings where other tools give wrong ones."""
    right = cases[name]["right"]
    paths = _files(cases[name], tmp_path)
    expected = right.get("makespan")
    values = expected if isinstance(expected, list) else [expected] * len(paths)
    for path, value in zip(paths, values, strict=True):
        done = _solve(allocsolve_command, cases[name], path)
        assert done.returncode == 0, done.stderr
        document = json.loads(done.stdout)
        assert document["status"] == "OPTIMAL"
        assert value is None or document["objective"]["value"] == value
        if "warnings" in right:
            assert len(document["warnings"]) == right["warnings"]
        if "edges" in right:
            assert len(allocsolve.read(path, kind="dag").arrays.edge_source) == right["edges"]


@pytest.mark.parametrize("name", ERRORS)
def test_right_input_error(
    cases: dict[str, Case], allocsolve_command: Command, tmp_path: Path, name: str
) -> None:
    """The message names place, token and remedy; nothing is written to stdout."""
    right = cases[name]["right"]
    for i, path in enumerate(_files(cases[name], tmp_path)):
        done = _solve(allocsolve_command, cases[name], path)
        assert done.returncode == 65, done.stderr
        assert done.stdout == ""
        assert "Traceback" not in done.stderr
        assert len(done.stderr.splitlines()) <= 5
        assert path.name in done.stderr
        if "line" in right:
            assert re.search(rf"{re.escape(path.name)}:{right['line']}(:\d+)?:", done.stderr)
        mentions = right["mentions"]
        if i == 1 and name == "H04":
            mentions = [token.replace("successor 0", "successor 9") for token in mentions]
        assert [token for token in mentions if token not in done.stderr] == []


def test_index_base_makes_zero_based_machines_right(
    cases: dict[str, Case], allocsolve_command: Command, tmp_path: Path
) -> None:
    """The remedy that the error of H03 offers must work."""
    case = cases["H03"]
    (path,) = _files(case, tmp_path)
    done = _solve(allocsolve_command, case, path, "--index-base", "0")
    assert done.returncode == 0, done.stderr
    right = case["right"]["with_index_base_0"]["makespan"]
    assert json.loads(done.stdout)["objective"]["value"] == right


def test_a_cycle_is_printed_as_a_path(
    cases: dict[str, Case], allocsolve_command: Command, tmp_path: Path
) -> None:
    """A cycle of plain precedence can only be mended by somebody who sees its ids (H05)."""
    case = cases["H05"]
    (path,) = _files(case, tmp_path)
    done = _solve(allocsolve_command, case, path)
    assert (done.returncode, done.stdout) == (65, "")
    rotations = [
        cycle[k:] + cycle[:k]
        for cycle in case["right"]["path_any_rotation"]
        for k in range(len(cycle))
    ]
    assert any(" -> ".join([*cycle, cycle[0]]) in done.stderr for cycle in rotations)


def test_infeasible_demand_is_explained(
    cases: dict[str, Case], allocsolve_command: Command, tmp_path: Path
) -> None:
    """The reason names task, resource and amounts as the file does (H08)."""
    case = cases["H08"]
    (path,) = _files(case, tmp_path)
    done = _solve(allocsolve_command, case, path)
    document = json.loads(done.stdout)
    assert (done.returncode, document["status"]) == (3, "INFEASIBLE")
    reason = document["certificate"]["reason"]
    assert {key: reason[key] for key in case["right"]["reason"]} == case["right"]["reason"]


def test_dead_nodes_and_links_are_named(
    cases: dict[str, Case], allocsolve_command: Command, tmp_path: Path
) -> None:
    """What is left out of an instance must be said (H13)."""
    case = cases["H13"]
    for path, name in zip(_files(case, tmp_path), ["a", "a-b"], strict=True):
        document = json.loads(_solve(allocsolve_command, case, path).stdout)
        assert any(re.search(rf"\b{name}\b", warning) for warning in document["warnings"])


@pytest.mark.parametrize(
    ("method", "verbose"), [*((method, ("-v",)) for method in MODULES.values()), ("auto", ())]
)
def test_stdout_is_one_document(
    cases: dict[str, Case],
    allocsolve_command: Command,
    tmp_path: Path,
    method: str,
    verbose: tuple[str, ...],
) -> None:
    """Banners and logs of engines belong to stderr (H19)."""
    case = cases["H10"]
    (path,) = _files(case, tmp_path)
    done = _solve(allocsolve_command, case, path, "--method", method, *verbose)
    assert done.returncode == 0, done.stderr
    assert json.loads(done.stdout)["schema"] == "allocsolve.solution/1"


def test_nothing_found_is_not_zero(
    cases: dict[str, Case], allocsolve_command: Command, tmp_path: Path
) -> None:
    """An unknown value is null; a 0 would be read as an answer (H20)."""
    case, right = cases["H10"], cases["H20"]["right"]
    (path,) = _files(case, tmp_path)
    done = _solve(allocsolve_command, case, path, "--time-limit", "0")
    document = json.loads(done.stdout)
    assert (done.returncode, document["status"]) == (right["exit"], right["status"])
    assert document["objective"]["value"] is None
    assert document["schedule"] is None


@pytest.mark.parametrize("method", METHOD_NAMES)
def test_a_milestone_fits_into_a_busy_machine(
    cases: dict[str, Case], tmp_path: Path, method: str
) -> None:
    """A zero-length task occupies nothing, whatever the formulation (H22)."""
    (path,) = _files(cases["H22"], tmp_path)
    problem = allocsolve.read(path, kind="dag")
    row = next(row for row in METHODS if (row.kind, row.name) == ("dag", method))
    if not problem.features <= row.honours:
        pytest.skip(f"{method} refuses an instance with deadlines")
    result = allocsolve.solve(problem, method=method, threads=1, time_limit=10)
    assert result.status in ("OPTIMAL", "FEASIBLE")
    assert allocsolve.check(problem, result).valid
