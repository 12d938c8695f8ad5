"""Throughput tables: both layouts, their stock, what is lost, and the published table."""

from __future__ import annotations

import csv
import gzip
import io
import json
from fractions import Fraction
from pathlib import Path

import numpy as np
import pytest

import allocsolve
from allocsolve.instances.catalogue import throughput_tables
from allocsolve.instances.reading import read
from allocsolve.instances.stock import MOST_PAIRS
from allocsolve.instances.writing import render
from allocsolve.models.errors import InputError, UsageError
from allocsolve.models.fair.data import Entity, Goal, Job, Pair, ResourceType
from allocsolve.models.fair.problem import FairProblem

STOCK = throughput_tables()["cluster.csv"].with_name("stock.json")
CSV = "job,gang,v100,k80\ntrain,2,20,3.5\ntune,1,6,\n"
JSON = """{"v100": {"('train', 2)": {"null": 20}, "('tune', 1)": {"null": 6}},
           "k80": {"('train', 2)": {"null": 3.5}}}"""


def _table(text: str, nodes: object = 2) -> FairProblem:
    problem = read(io.BytesIO(text.encode()), format="throughput_table", nodes=nodes)  # type: ignore[call-overload]  # any kind
    assert isinstance(problem, FairProblem)
    return problem


def _stock(tmp_path: Path, document: object) -> str:
    path = tmp_path / "stock.json"
    path.write_text(json.dumps(document))
    return str(path)


@pytest.mark.parametrize("text", [CSV, JSON], ids=["csv", "json"])
def test_both_layouts_hold_the_same(text: str) -> None:
    """Rows are jobs and columns are types, whichever of the two comes first in the file."""
    problem = _table(text)
    assert list(problem.job_ids) == ["train", "tune"]
    assert problem.type_ids == ("v100", "k80")
    assert problem.arrays.throughput.tolist() == [[20, 3.5], [6, 0]]
    assert problem.arrays.gang.tolist() == [2, 1]
    assert problem.arrays.capacity.tolist() == [2, 2]
    assert problem.time_cap


@pytest.mark.parametrize(
    "text",
    [
        pytest.param("model,scale_factor,v100,k80\ntrain,2,20,3.5\ntune,1,6,\n", id="flat"),
        pytest.param("# steps a second\nID;V100;gang\n", id="comment"),
        pytest.param('{"v100": {"(\'train\', 2)": 20, "tune": 6}}', id="numbers"),
    ],
)
def test_the_layout_is_found_by_the_content(text: str) -> None:
    """A pipe has no suffix; a table of jobs is no table of edges."""
    if text.startswith("#"):
        with pytest.raises(InputError, match="no row"):
            read(io.BytesIO(text.encode()), nodes=2)
        return
    problem = read(io.BytesIO(text.encode()), nodes=2)
    assert problem.origin.format == "throughput_table"


@pytest.mark.parametrize("name", throughput_tables())
def test_editors_and_packers_change_nothing(name: str, tmp_path: Path) -> None:
    """A byte-order mark, Windows line ends and gzip carry no meaning."""
    data = throughput_tables()[name].read_bytes()
    plain = read(throughput_tables()[name], nodes=str(STOCK))
    packed = tmp_path / f"{name}.gz"
    packed.write_bytes(gzip.compress(b"\xef\xbb\xbf" + data.replace(b"\n", b" \t\r\n")))
    again = read(packed, nodes=str(STOCK))
    assert again.to_document() == plain.to_document()
    assert again.origin.format == "throughput_table"


def test_one_name_with_several_gangs_gives_several_jobs() -> None:
    """The published table measures each model alone and in gangs."""
    text = """{"v100": {"('it\\\\'s', 1)": {"null": 1}, "(\\"it's\\", 4)": {"null": 3}}}"""
    assert list(_table(text).job_ids) == ["it's", "it's x4"]
    rows = _table("job,gang,v\na,4,3\nb,1,1\na,1,1\n")
    assert list(rows.job_ids) == ["a x4", "b", "a"]


def test_all_fields_of_a_job_are_columns() -> None:
    """The table of a whole queue: everything that a job may have, but pairs."""
    text = (
        "job,count,weight,entity,elapsed,remaining,isolated,arrival,deadline,v,demand.net\n"
        "a,2,1.5,team,3,40,50,1,9,10,0.25\nb,,,,,,,,,5,\n"
    )
    problem = _table(text)
    assert [job.id for job in problem.jobs] == ["a.1", "a.2", "b"]
    assert problem.jobs[2] == Job(id="b", throughput={"v": 5})
    assert problem.jobs[0] == Job(
        id="a.1",
        throughput={"v": 10},
        demand={"net": Fraction(1, 4)},
        weight=Fraction(3, 2),
        entity="team",
        elapsed=3,
        remaining=40,
        isolated=50,
        arrival=1,
        deadline=9,
    )
    assert problem.entities == (Entity(id="team"),)


def test_stock_chooses_types_and_jobs(tmp_path: Path) -> None:
    """Counts and the queue are not in a table of measurements; a file of their own has them."""
    document = {
        "types": [{"id": "k80", "count": 1.5, "cost": 2}],
        "jobs": [
            {"row": "train", "count": 2, "weight": 3},
            {"row": "tune", "id": "mine", "remaining": 7, "entity": "e"},
        ],
        "entities": [{"id": "e", "weight": 2}],
        "time_cap": False,
        "objective": {"name": "nash"},
    }
    problem = _table(CSV, _stock(tmp_path, document))
    assert list(problem.job_ids) == ["train.1", "train.2", "mine"]
    assert problem.type_ids == ("k80",)
    assert problem.arrays.throughput.tolist() == [[3.5], [3.5], [0]]
    assert problem.arrays.jobs.weight.tolist() == [3, 3, 1]
    assert problem.arrays.gang.tolist() == [2, 2, 1]
    assert problem.jobs[2].remaining == 7
    assert problem.arrays.cost.tolist() == [2]
    assert not problem.time_cap
    assert problem.objective == Goal(name="nash")
    assert any("v100" in warning for warning in problem.warnings)


def test_pairs_of_rows_become_pairs_of_jobs() -> None:
    """Two jobs of one row may share units as well as jobs of two rows; misfits share nothing."""
    problem = allocsolve.read(throughput_tables()["cluster.json"], kind="fair", nodes=str(STOCK))
    found = {pair.jobs: pair.throughput for pair in problem.pairs}
    assert set(found) == {
        ("translate.1", "translate.2"),
        ("translate.1", "classify"),
        ("translate.2", "classify"),
        ("classify", "recommend"),
    }
    assert list(problem.arrays.pair_kind) == [0, 1, 1, 2]
    assert found["translate.1", "classify"] == {"large": (30.5, 61)}
    assert found["classify", "recommend"] == {"large": (70, 9), "small": (15, 11)}


def test_pairs_are_left_out_unless_asked_for() -> None:
    """Most policies give a unit to one job at a time; what is not used is said."""
    problem = allocsolve.read(throughput_tables()["cluster.json"], kind="fair", nodes=3)
    assert problem.pairs == ()
    assert any("3 pairs" in w and '"pairs": true' in w for w in problem.warnings)


def test_too_many_pairs_are_refused(tmp_path: Path) -> None:
    """Ten thousand jobs of one row are 50 million pairs: that is seen before memory ends."""
    row = """{"v": {"('a', 1)": {"null": 1, "('a', 1)": [0.5, 0.5]}}}"""
    stock = {"types": [{"id": "v", "count": 1}], "jobs": [{"row": "a", "count": 10_000}]}
    with pytest.raises(UsageError, match=f"at most {MOST_PAIRS}"):
        _table(row, _stock(tmp_path, {**stock, "pairs": True}))


BAD_STOCK: dict[str, tuple[object, str, str]] = {
    "no types": ({}, "$", '"types"'),
    "type": ({"types": [{"id": "v10", "count": 1}]}, "$.types[0].id", "did you mean 'v100'"),
    "count": ({"types": [{"id": "v100", "count": -1}]}, "$.types[0].count", "non-negative"),
    "field": ({"types": [], "job": []}, "$.job", "did you mean 'jobs'"),
    "pairs": ({"types": [], "pairs": "all"}, "$.pairs", "true"),
    "row": ({"types": [], "jobs": [{"row": "trian"}]}, "$.jobs[0].row", "did you mean 'train'"),
    "gang": ({"types": [], "jobs": [{"row": "train", "gang": 3}]}, "$.jobs[0].row", "gangs 2"),
    "no row": ({"types": [], "jobs": [{"id": "a"}]}, "$.jobs[0]", '"row"'),
    "jobs": ({"types": [], "jobs": {}}, "$.jobs", "no array"),
    "job": ({"types": [], "jobs": [3]}, "$.jobs[0]", "object"),
    "copies": ({"types": [], "jobs": [{"row": "tune", "count": 0}]}, "$.jobs[0].count", "1 .."),
    "throughput": (
        {"types": [], "jobs": [{"row": "tune", "throughput": {}}]},
        "$.jobs[0].throughput",
        "comes from the table",
    ),
    "weight": (
        {"types": [], "jobs": [{"row": "tune", "weight": 0}]},
        "$.jobs[0].weight",
        "above 0",
    ),
    "twice": ({"types": [], "jobs": [{"row": "tune"}] * 2}, "$.jobs[1].id", "'tune'"),
}


@pytest.mark.parametrize(("document", "path", "words"), BAD_STOCK.values(), ids=BAD_STOCK)
def test_errors_in_the_stock_are_located_there(
    tmp_path: Path, document: object, path: str, words: str
) -> None:
    """The table is right: whoever reads the error has to look into the other file."""
    nodes = _stock(tmp_path, document)
    with pytest.raises(InputError) as caught:
        _table(CSV, nodes)
    assert str(caught.value).startswith(f"{nodes}:{path}: ")
    assert words in str(caught.value)


@pytest.mark.parametrize("nodes", ["-1", "", " ", "9" * 40])
def test_a_wrong_count_is_refused(nodes: str) -> None:
    """As for nodes, what is no count and no file is an error of use."""
    with pytest.raises(UsageError, match="--nodes"):
        _table(CSV, nodes)


def test_a_table_alone_is_no_instance() -> None:
    """The remedy is the option that gives the counts."""
    with pytest.raises(InputError, match="how many units") as caught:
        read(io.BytesIO(CSV.encode()), format="throughput_table")
    assert "--nodes N" in str(caught.value)


def test_errors_of_the_whole_name_the_row() -> None:
    """Ids are compared only when the rows have become jobs; the line must not be lost."""
    with pytest.raises(InputError, match=r"'a\.1'") as caught:
        _table("job,count,v\na,2,1\na.1,1,1\n")
    assert caught.value.line == 3


def _full() -> FairProblem:
    return FairProblem(
        types=[ResourceType(id="v, 100", count=2), ResourceType(id='k"80', count=2)],
        jobs=[
            Job(id="it's", throughput={"v, 100": Fraction(41, 4), 'k"80': 1}),
            Job(id='say "hi"\\', throughput={"v, 100": 6}, gang=2, weight=2, remaining=5),
            Job(
                id=" # ", throughput={'k"80': Fraction(1, 10**7)}, deadline=3, arrival=1, entity="e"
            ),
            Job(id="'\"", throughput={"v, 100": 1}),
        ],
        entities=[Entity(id="e")],
    )


def test_csv_loses_nothing_of_jobs() -> None:
    """Every id and number comes back, whatever characters are in it."""
    problem = _full()
    text, losses = render(problem, "throughput_table", ".csv")
    again = _table(text)
    assert losses == ["counts of types left out: give them by --nodes"]
    assert again.to_document().jobs == problem.to_document().jobs
    assert again.to_document().types == problem.to_document().types


def test_json_keeps_throughputs_gangs_and_pairs(tmp_path: Path) -> None:
    """The layout of Gavel has no weights and no times; that is said."""
    problem = _full().replace(pairs=[Pair(jobs=("it's", " # "), throughput={'k"80': (0.5, 1e-8)})])
    text, losses = render(problem, "throughput_table", ".json")
    types = [{"id": token, "count": 2} for token in problem.type_ids]
    again = _table(text, _stock(tmp_path, {"types": types, "pairs": True}))
    assert list(again.job_ids) == list(problem.job_ids)
    for name in ("throughput", "gang", "pair_throughput", "pair_jobs"):
        assert np.array_equal(getattr(again.arrays, name), getattr(problem.arrays, name)), name
    for words in ("counts", "weights of jobs", "entities", "arrivals", "remaining", "deadlines"):
        assert any(words in sentence for sentence in losses), words


def test_what_a_table_cannot_say_is_said_or_refused() -> None:
    """Half an instance must not pass for a whole one."""
    problem = _full().replace(
        time_cap=False, objective=Goal(name="nash"), entities=[Entity(id="e", weight=2)]
    )
    problem = problem.replace(pairs=[Pair(jobs=("it's", " # "), throughput={})])
    _, losses = render(problem, "throughput_table", ".csv")
    for words in ("time cap", "objective", "entities", "1 pair"):
        assert any(words in sentence for sentence in losses), words
    net = FairProblem(
        types=[ResourceType(id="weight", count=1)], jobs=[Job(id="a", demand={"weight": 1})]
    )
    with pytest.raises(UsageError, match="demands"):
        render(net, "throughput_table", ".json")
    with pytest.raises(UsageError, match="a type 'weight'"):
        render(net, "throughput_table", ".csv")


def test_the_suffix_chooses_format_and_layout(tmp_path: Path) -> None:
    """A .csv of a fair division is a throughput table, not a table of edges."""
    problem = _full()
    for name, form, mark in [
        ("a.csv", None, "job,"),
        ("a.json", None, '{\n "schema"'),
        ("b.json", "throughput_table", '{\n "v, 100"'),
        ("c.csv", "throughput_table", "job,"),
    ]:
        allocsolve.write(problem, tmp_path / name, format=form)
        assert (tmp_path / name).read_text().startswith(mark), name


def test_nodes_mean_nothing_for_a_complete_instance(tmp_path: Path) -> None:
    """A native document has its counts; the refusal says where the option belongs."""
    allocsolve.write(_full(), tmp_path / "a.json")
    with pytest.raises(UsageError, match="throughput tables"):
        read(tmp_path / "a.json", nodes=2)


@pytest.fixture(scope="module")
def gavel(benchmarks_dir: Path) -> Path:
    """Folder of the published table, which is not part of the project."""
    folder = benchmarks_dir / "fair" / "gavel"
    if not folder.exists():
        pytest.skip(f"no fair/gavel in {benchmarks_dir}")
    return folder


def test_the_published_table_agrees_with_its_flat_copy(gavel: Path) -> None:
    """Both files hold the throughput alone of 83 models and gangs, 6 of them not on all types."""
    nested = allocsolve.read(gavel / "simulation_throughputs.json", kind="fair", nodes=4)
    flat = allocsolve.read(gavel / "throughputs_flat.csv", kind="fair", nodes=4)
    assert list(nested.job_ids) == list(flat.job_ids)
    assert len(nested.jobs) == 83
    order = [nested.type_index[token] for token in flat.type_ids]
    assert np.array_equal(nested.arrays.throughput[:, order], flat.arrays.throughput)
    with (gavel / "throughputs_flat.csv").open(newline="") as file:
        rows = list(csv.DictReader(file))
    assert flat.arrays.gang.tolist() == [int(row["scale_factor"]) for row in rows]


def test_the_published_table_with_a_stock_is_a_cluster(gavel: Path, tmp_path: Path) -> None:
    """A queue of models on three types, with all pairs that share units, is solved and checked."""
    raw = json.loads((gavel / "simulation_throughputs.json").read_text())
    names = [
        "ResNet-18 (batch size 16)",
        "ResNet-50 (batch size 64)",
        "Transformer (batch size 64)",
    ]
    stock = {
        "types": [{"id": token, "count": 2} for token in ("v100", "p100", "k80")],
        "jobs": [{"row": names[0], "count": 2}, {"row": names[1]}, {"row": names[2], "gang": 2}],
        "pairs": True,
    }
    path = gavel / "simulation_throughputs.json"
    problem = allocsolve.read(path, kind="fair", nodes=_stock(tmp_path, stock))
    keys = [f"('{names[0]}', 1)", f"('{names[1]}', 1)"]
    assert problem.jobs[0].throughput["v100"] == problem.jobs[1].throughput["v100"]
    assert float(problem.jobs[0].throughput["v100"]) == raw["v100"][keys[0]]["null"]
    shared = {pair.jobs: pair.throughput for pair in problem.pairs}
    both = [float(value) for value in shared[f"{names[0]}.1", names[1]]["v100"]]
    assert both == raw["v100"][keys[0]][keys[1]]
    result = allocsolve.solve(problem.replace(pairs=()), objective="max_min", threads=1)
    assert result.status == "OPTIMAL"
    assert allocsolve.check(problem.replace(pairs=()), result).valid


def test_solving_a_table_on_the_command_line(allocsolve_command: object, tmp_path: Path) -> None:
    """The option works with every verb that reads an instance."""
    run = allocsolve_command
    assert callable(run)
    table = throughput_tables()["cluster.csv"]
    done = run("solve", table, "--nodes", STOCK, "--objective", "max_min", "-o", "plan.json")
    assert done.returncode == 0, done.stderr
    assert run("check", table, "plan.json", "--nodes", STOCK).returncode == 0
    assert run("convert", table, "again.csv", "--nodes", "2").returncode == 0
    assert (tmp_path / "again.csv").read_text().startswith("job,gang,entity,weight,large,")
    done = run("solve", table)
    assert (done.returncode, done.stdout) == (65, "")
    assert "--nodes N" in done.stderr
