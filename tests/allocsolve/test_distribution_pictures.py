"""Pictures of distributions: several plans, fits, completion laws, replications."""

from __future__ import annotations

import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import allocsolve
from allocsolve.models.coded.answer import CodedAnswer
from allocsolve.models.coded.data import MatVec
from allocsolve.models.coded.data import Node as Worker
from allocsolve.models.coded.law import NoExactLaw
from allocsolve.models.coded.problem import CodedProblem
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.errors import UsageError
from allocsolve.models.nodes import Law, Lognormal
from allocsolve.plots import completion, ecdf, fits, replication_gantt
from allocsolve.plots.curves import confidence, span, steps
from allocsolve.report.fit import decode_fit, encode_fit, fit_document, fit_report

pytest.importorskip("matplotlib")

Run = Callable[..., "subprocess.CompletedProcess[str]"]
EXPONENTIAL = Law(law="exponential", rate=1)


@pytest.fixture(scope="module")
def pipeline() -> DagProblem:
    """The bundled instance of communicating tasks."""
    problem = allocsolve.read(allocsolve_bundled("pipeline"))
    assert isinstance(problem, DagProblem)
    return problem


def allocsolve_bundled(name: str) -> Path:
    """Return a bundled instance."""
    from allocsolve.instances.catalogue import bundled

    return bundled()[name]


@pytest.fixture(scope="module")
def drawn(pipeline: DagProblem) -> tuple[allocsolve.Simulation, ...]:
    """Two plans of it on straggling nodes."""
    plans = [allocsolve.solve(pipeline, method=m, threads=1) for m in ("heft", "one_node")]
    return allocsolve.simulate(
        pipeline,
        *(plans[0], plans[1]),
        law="pareto:shape=1.1,scale=0.8",
        replications=3000,
        deadline=40,
        keep_samples=True,
    )


def _texts(image: bytes) -> bytes:
    assert ElementTree.fromstring(image).tag == "{http://www.w3.org/2000/svg}svg"
    return image


def test_plans_are_drawn_together(drawn: tuple[allocsolve.Simulation, ...]) -> None:
    """Each plan is named with its mean; the deadline is marked; heavy tails get decades."""
    image = _texts(ecdf(drawn, time_unit="s"))
    for text in (b"pipeline: completion time of 2 plans", b"heft: mean", b"deadline", b"time (s)"):
        assert b"<!-- " + text in image
    assert b"mathdefault" not in image
    assert ecdf(drawn, time_unit="s") == image
    assert b"<title>mine</title>" in ecdf(drawn[0], form="html", title="mine")


def test_an_infinite_mean_is_named(drawn: tuple[allocsolve.Simulation, ...]) -> None:
    """No number stands where there is none."""
    endless = drawn[0].replace(mean=float("inf"), samples=np.array([1.0, 2.0, np.inf]))
    assert b"mean infinite" in _texts(ecdf(endless))


def test_samples_are_needed(drawn: tuple[allocsolve.Simulation, ...]) -> None:
    """The remedy is named."""
    with pytest.raises(UsageError, match="keep_samples=True"):
        ecdf(drawn[0].replace(samples=None))
    with pytest.raises(UsageError, match="no simulation"):
        ecdf([])
    with pytest.raises(UsageError, match="svg, png, html"):
        ecdf(drawn, form="gif")


def test_curves_are_thinned_but_right() -> None:
    """Every drawn point lies on the distribution function; infinite samples count."""
    samples = np.random.default_rng(0).random(50_000)
    times, values = steps(samples)
    assert len(times) < 2000
    assert values == pytest.approx(np.searchsorted(np.sort(samples), times, side="right") / 50_000)
    times, values = steps(np.array([3.0, np.inf, 1.0, np.inf]))
    assert (times.tolist(), values.tolist()) == ([1.0, 3.0], [0.25, 0.5])
    assert span([np.array([np.inf])]) == (0.0, 1.0)
    assert span([np.array([2.0, 2.0])], None, 4.0)[1] > 4.0


def test_the_band_covers_the_law() -> None:
    """In 95 % of the samples the whole law lies within the band (Massart)."""
    random = np.random.default_rng(1)
    rank = np.arange(1, 201) / 200
    covered = 0
    for _ in range(400):
        ordered = np.sort(random.random(200))
        gap = max(np.abs(rank - ordered).max(), np.abs(rank - 1 / 200 - ordered).max())
        covered += gap <= confidence(200)
    assert covered >= 0.93 * 400


def test_fits_are_drawn_with_their_tails() -> None:
    """The best laws by name; a report without its durations cannot be drawn."""
    durations = Lognormal(0.0, 1.5).sample(np.random.default_rng(3).random(300))
    report = allocsolve.fit(durations, resamples=0)
    image = _texts(fits(report))
    assert b"lognormal (BIC" in image
    assert b"300 durations" in image
    assert fits(report, form="png").startswith(b"\x89PNG")
    read = fit_report(decode_fit(encode_fit(fit_document(report))))
    with pytest.raises(UsageError, match="no durations"):
        fits(read)


def test_replications_are_drawn(
    pipeline: DagProblem, drawn: tuple[allocsolve.Simulation, ...]
) -> None:
    """A median and a bad one; what is not there is refused."""
    assert b"bad replication: makespan" in _texts(replication_gantt(pipeline, drawn[0], "bad"))
    assert b"median replication" in _texts(replication_gantt(pipeline, drawn[0]))
    with pytest.raises(UsageError, match="median, bad"):
        replication_gantt(pipeline, drawn[0], "worst")
    plan = allocsolve.solve(pipeline, method="heft", threads=1)
    with pytest.raises(UsageError, match="nothing is random"):
        replication_gantt(pipeline, allocsolve.simulate(pipeline, plan))


@pytest.fixture(scope="module")
def coded() -> CodedProblem:
    """Four nodes, twelve rows."""
    nodes = [Worker(id=f"w{i}", runtime=EXPONENTIAL) for i in range(4)]
    return CodedProblem(name="four", task=MatVec(rows=12), nodes=nodes)


def test_completion_laws_are_drawn(coded: CodedProblem) -> None:
    """Exact curves, with mean and quantiles in the legend."""
    answers = {"even": CodedAnswer.of([4] * 4), "all": CodedAnswer.of([12] * 4)}
    image = _texts(completion(coded, answers, deadline=20))
    for text in (b"four: completion law", b"even: mean", b"all: mean 3", b"deadline"):
        assert b"<!-- " + text in image
    weibull = Law(law="weibull", shape=0.5, scale=1)
    nodes = [Worker(id=f"w{i}", runtime=weibull) for i in range(4)]
    with pytest.raises(NoExactLaw):
        completion(coded.replace(scaling="per_row", nodes=nodes), answers)


PLAN = {"schema": "allocsolve.solution/1"}
CODED = {
    "schema": "allocsolve.instance/1",
    "kind": "coded",
    "task": {"type": "matvec", "rows": 4},
    "nodes": [{"id": i, "runtime": {"law": "exponential", "rate": 1}} for i in "abc"],
}
FAIR = {
    "schema": "allocsolve.instance/1",
    "kind": "fair",
    "types": [{"id": "v", "count": 1}],
    "jobs": [{"id": "a", "throughput": {"v": 2}, "remaining": 5}],
}


@pytest.fixture
def folder(tmp_path: Path, pipeline: DagProblem) -> Path:
    """An instance and a plan of each kind."""
    allocsolve.write(pipeline, tmp_path / "dag.json")
    plan = allocsolve.solve(pipeline, method="heft", threads=1)
    allocsolve.write(plan, tmp_path / "dag-plan.json")
    documents = {
        "coded.json": CODED,
        "coded-plan.json": PLAN | {"kind": "coded", "assignment": {"loads": [2, 2, 2]}},
        "fair.json": FAIR,
        "fair-plan.json": PLAN
        | {"kind": "fair", "allocation": {"jobs": [{"id": "a", "shares": {"v": 0.5}}]}},
    }
    for name, document in documents.items():
        (tmp_path / name).write_text(json.dumps(document), encoding="utf-8")
    return tmp_path


@pytest.mark.parametrize(
    ("words", "text"),
    [
        pytest.param("dag.json dag-plan.json", b"makespan", id="gantt"),
        pytest.param(
            "dag.json dag-plan.json --replication bad --law exponential:rate=1",
            b"bad replication",
            id="bad replication",
        ),
        pytest.param(
            "dag.json dag-plan.json dag-plan.json --law exponential:rate=1 --replications 99",
            b"completion time of 2 plans",
            id="two plans",
        ),
        pytest.param(
            "dag.json dag-plan.json --what ecdf --law exponential:rate=1 --policy static "
            "--policy redispatch --replications 30",
            b"list dispatch",
            id="policies",
        ),
        pytest.param(
            "dag.json dag-plan.json --what ecdf --starts planned --link-law exponential:rate=1 "
            "--replications 50",
            b"completion time",
            id="links",
        ),
        pytest.param("coded.json coded-plan.json", b"completion law and loads", id="assignment"),
        pytest.param("coded.json coded-plan.json --what law", b"coded-plan: mean", id="law"),
        pytest.param("coded.json coded-plan.json --what loads", b"load of each node", id="loads"),
        pytest.param("coded.json coded-plan.json --what ecdf", b"completion time", id="coded ecdf"),
        pytest.param(
            "coded.json coded-plan.json --law exponential:rate=2",
            b"completion time",
            id="law given",
        ),
        pytest.param("fair.json fair-plan.json", b"shares of 1 jobs", id="shares"),
        pytest.param(
            "fair.json fair-plan.json --what ecdf --law exponential:rate=2",
            b"completion time",
            id="fair ecdf",
        ),
    ],
)
def test_every_kind_has_its_pictures(
    allocsolve_command: Run, folder: Path, words: str, text: bytes
) -> None:
    """The default suits the kind; --what chooses another one."""
    done = allocsolve_command("plot", *words.split(), "-o", "out.svg")
    assert (done.returncode, done.stdout) == (0, ""), done.stderr
    assert text in _texts((folder / "out.svg").read_bytes())


@pytest.mark.parametrize(
    ("words", "code", "message"),
    [
        pytest.param("fair.json fair-plan.json --what gantt", 2, "shares, ecdf", id="kind"),
        pytest.param("dag.json dag-plan.json --what law", 2, "gantt, ecdf", id="law of dag"),
        pytest.param(
            "coded.json coded-plan.json coded-plan.json --what assignment",
            2,
            "draws one solution\n  allowed: one SOLUTION, or --what law or loads or ecdf",
            id="two assignments",
        ),
        pytest.param(
            "coded.json coded-plan.json --what loads --law exponential:rate=1",
            2,
            "--law has no effect on --what loads\n  allowed: --law with --what ecdf",
            id="law of loads",
        ),
        pytest.param(
            "dag.json dag-plan.json dag-plan.json --what gantt", 2, "one solution", id="two"
        ),
        pytest.param(
            "dag.json dag-plan.json --what ecdf --replications 1", 2, "8589934592", id="few"
        ),
        pytest.param("dag.json dag-plan.json --replication worst", 2, "median, bad", id="which"),
        pytest.param("dag.json dag-plan.json --replication bad", 2, "nothing is random", id="none"),
        pytest.param(
            "coded.json coded-plan.json --replication bad",
            2,
            "--replication bad has no effect on --what assignment\n  allowed: ",
            id="replication of coded",
        ),
        pytest.param(
            "dag.json dag-plan.json --what ecdf --replication bad --law exponential:rate=1",
            2,
            "no effect on --what ecdf",
            id="replication of ecdf",
        ),
        pytest.param(
            "fair.json fair-plan.json --what shares --law exponential:rate=1",
            2,
            "--law has no effect on --what shares\n  allowed: --law with --what ecdf",
            id="law of shares",
        ),
        pytest.param(
            "dag.json dag-plan.json --link-law exponential:rate=1",
            2,
            "--link-law has no effect on --what gantt",
            id="law of a plan",
        ),
        pytest.param(
            "dag.json dag-plan.json --replication bad --law exponential:rate=1 --deadline 3",
            2,
            "--deadline has no effect",
            id="deadline of a replication",
        ),
        pytest.param(
            "dag.json dag-plan.json --replication bad --law exponential:rate=1 --policy static "
            "--policy redispatch",
            2,
            "draws one policy",
            id="policies of a replication",
        ),
        pytest.param(
            "coded.json coded-plan.json --starts planned",
            2,
            "starts has no effect on kind 'coded'",
            id="starts of coded",
        ),
    ],
)
def test_wrong_pictures_are_explained(
    allocsolve_command: Run, folder: Path, words: str, code: int, message: str
) -> None:
    """What the kind offers is said; nothing is written."""
    done = allocsolve_command("plot", *words.split(), "-o", "out.svg")
    assert (done.returncode, done.stdout) == (code, "")
    assert message in done.stderr
    assert not (folder / "out.svg").exists()


def _hear_interrupts() -> None:
    """Undo what a background shell without job control does to its children."""
    signal.signal(signal.SIGINT, signal.default_int_handler)


@pytest.mark.skipif(not hasattr(os, "fork"), reason="needs signals of POSIX")
def test_an_interrupt_draws_what_there_is(folder: Path) -> None:
    """Ctrl-C ends the draws within seconds; the picture and the exit code tell of it."""
    words = "plot dag.json dag-plan.json --what ecdf --law exponential:rate=1 --policy redispatch"
    words += " --replications 8000000000 -o out.svg"
    error = b""
    for patience in (6, 24):  # a busy machine may still be loading when the first signal comes
        process = subprocess.Popen(
            [sys.executable, "-m", "allocsolve", *words.split()],
            cwd=folder,
            stderr=subprocess.PIPE,
            preexec_fn=_hear_interrupts,  # noqa: PLW1509  # no threads here
        )
        time.sleep(patience)
        process.send_signal(signal.SIGINT)
        _, error = process.communicate(timeout=30)
        assert process.returncode == 130
        assert b"Traceback" not in error
        if (folder / "out.svg").exists():
            break
    assert b"interrupted: the picture" in error
    assert b"completion time" in _texts((folder / "out.svg").read_bytes())


def test_a_deadline_of_nothing_is_one(allocsolve_command: Run, folder: Path) -> None:
    """The 0 of --deadline goes before the deadline of the instance."""
    objective = {"name": "deadline_probability", "deadline": 2}
    (folder / "coded.json").write_text(json.dumps(CODED | {"objective": objective}))
    pictures = []
    for words in ("", "--deadline 2", "--deadline 0"):
        call = f"plot coded.json coded-plan.json {words} -o out.svg"
        assert allocsolve_command(*call.split()).returncode == 0
        pictures.append((folder / "out.svg").read_bytes())
    assert pictures[0] == pictures[1] != pictures[2]


def test_a_picture_of_a_plan_of_another_instance_comes_with_a_warning(
    allocsolve_command: Run, folder: Path
) -> None:
    """The checker says so; whoever looks at a chart would not learn it otherwise."""
    other = json.loads((folder / "dag.json").read_bytes())
    (folder / "other.json").write_text(json.dumps(other | {"name": "other"}), encoding="utf-8")
    assert allocsolve_command("solve", "dag.json", "--method", "heft", "-o", "p.json").stderr == ""
    for words in (["--what", "gantt"], ["--what", "ecdf"]):
        done = allocsolve_command("plot", "other.json", "p.json", *words, "-o", "out.svg")
        assert done.returncode == 0
        assert done.stderr.count("made for another instance") == 1
