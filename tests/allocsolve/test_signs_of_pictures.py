"""Legends, titles and labels of pictures say what is drawn."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

import allocsolve
from allocsolve.instances.catalogue import bundled
from allocsolve.models.dag.answer import ScheduledTask
from allocsolve.models.dag.problem import DagProblem
from allocsolve.models.nodes import Lognormal
from allocsolve.plots import ecdf, fits, gantt, replication_gantt
from allocsolve.plots.frame import amount

pytest.importorskip("matplotlib")


@pytest.fixture(scope="module")
def pipeline() -> DagProblem:
    """The bundled instance of communicating tasks."""
    return allocsolve.read(bundled()["pipeline"], kind="dag")


@pytest.fixture(scope="module")
def drawn(pipeline: DagProblem) -> tuple[allocsolve.Simulation, ...]:
    """Two plans of it on straggling nodes."""
    plans = [allocsolve.solve(pipeline, method=m, threads=1) for m in ("heft", "one_node")]
    return allocsolve.simulate(
        pipeline,
        *(plans[0], plans[1]),
        law="pareto:shape=1.1,scale=0.8",
        replications=3000,
        keep_samples=True,
    )


def _texts(image: bytes) -> bytes:
    assert ElementTree.fromstring(image).tag == "{http://www.w3.org/2000/svg}svg"
    return image


def test_the_legend_explains_every_sign(drawn: tuple[allocsolve.Simulation, ...]) -> None:
    """Dashes, dots and the band mean nothing to whoever has not read the manual."""
    image = _texts(ecdf(drawn))
    for text in (b"makespan as planned", b"quantiles 0.5, 0.9, 0.99", b"95 % band for the whole"):
        assert b"<!-- " + text in image
    bare = drawn[0].replace(planned=None, quantiles={}, samples=np.array([1.0]))
    image = _texts(ecdf(bare))
    assert not any(text in image for text in (b"planned", b"quantile", b"band"))


def test_titles_of_charts_carry_the_unit(
    pipeline: DagProblem, drawn: tuple[allocsolve.Simulation, ...]
) -> None:
    """Planned and drawn makespans are told alike: with their unit, to six digits."""
    one = replace(drawn[0].examples[0], value=22.123456789)
    image = replication_gantt(pipeline, drawn[0].replace(examples=(one,)), one.label)
    assert b"makespan 22.1235 ms (planned 12 ms) -->" in image
    thirds = pipeline.replace(time_unit="s")
    entry = ScheduledTask(pipeline.tasks[0].id, Fraction(0), Fraction(1, 3), "a")
    assert b"1 tasks, makespan 0.333333 -->" in gantt(thirds, [entry])


@pytest.mark.parametrize(
    ("value", "text"),
    [(55, "55"), (12345678, "12345678"), (Fraction(1, 3), "0.333333"), (1234567.5, "1234568")],
)
def test_amounts_are_rounded_alike(value: float | Fraction, text: str) -> None:
    """Whole numbers are not rounded, and no title has an exponent where it needs none."""
    assert amount(value) == text


def test_fits_say_what_is_drawn_of_which_column(tmp_path: Path) -> None:
    """Of many laws the best ones are drawn; axes name the column and have several numbers."""
    durations = Lognormal(0.0, 0.7).sample(np.random.default_rng(3).random(300))
    file = tmp_path / "trace.csv"
    file.write_text("seconds\n" + "\n".join(map(str, durations)))
    report = allocsolve.fit(file, resamples=0)
    assert len(report) > 5
    image = _texts(fits(report))
    title = f"<!-- seconds: 300 durations, the best 5 of {len(report)} fitted laws -->"
    assert title.encode() in image
    assert image.count(b"<!-- seconds -->") == 2
    assert b"<!-- 95 % band for the whole curve -->" in image
    assert all(b"<!-- " + tick + b" -->" in image for tick in (b"0.5", b"1", b"2", b"5"))
