"""`allocsolve.fit`: laws from traces, and the document of what was fitted."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import jsonschema  # type: ignore[import-untyped]  # its stubs are a package of their own
import numpy as np
import pytest

import allocsolve
from allocsolve.api.laws import law_of
from allocsolve.models.errors import InputError, UsageError
from allocsolve.models.nodes import Gamma, law_from, parse_law
from allocsolve.report.fit import decode_fit, encode_fit, fit_document, fit_report
from allocsolve.report.schemas import schema_text


@pytest.fixture(scope="module")
def durations() -> np.ndarray[Any, np.dtype[np.float64]]:
    """Four hundred draws of a gamma law."""
    return Gamma(shape=3.0, scale=0.5).sample(np.random.default_rng(4).random(400))


def test_the_right_law_wins(durations: np.ndarray[Any, np.dtype[np.float64]]) -> None:
    """The best law is that of the draws, and its test does not reject it."""
    report = allocsolve.fit(durations, resamples=60)
    assert report.law.name == "gamma"
    assert report.best.kolmogorov_smirnov is not None
    assert (report.best.kolmogorov_smirnov.p_value or 0) > 0.05
    assert [fit.bic for fit in report] == sorted(fit.bic for fit in report)
    assert (report.count, report.source) == (400, None)
    assert report.mean == pytest.approx(durations.mean())


def test_a_law_goes_straight_into_a_simulation(
    durations: np.ndarray[Any, np.dtype[np.float64]],
) -> None:
    """Measured durations, their law, and what it does to a plan are one chain."""
    problem = allocsolve.DagProblem(
        tasks=[allocsolve.Task(id="a", work=2)], nodes=[allocsolve.Node(id="n")]
    )
    law = allocsolve.fit(durations, ["gamma"], resamples=0).law
    plan = allocsolve.solve(problem, method="heft", threads=1)
    found = allocsolve.simulate(problem, plan, law=law)
    assert found.mean == pytest.approx(2 * durations.mean(), rel=0.05)


def test_documents_round_trip(
    durations: np.ndarray[Any, np.dtype[np.float64]], tmp_path: Path
) -> None:
    """What is read back is what was written, but for the durations."""
    report = allocsolve.fit(durations, resamples=20, seed=3)
    allocsolve.write(report, tmp_path / "fit.json")
    data = (tmp_path / "fit.json").read_bytes()
    document = json.loads(data)
    jsonschema.Draft202012Validator(json.loads(schema_text("fit"))).validate(document)
    back = fit_report(decode_fit(data))
    assert encode_fit(fit_document(back)) == data
    assert back.samples is None
    assert [fit.law for fit in back] == [fit.law for fit in report]


def test_the_option_is_the_law(durations: np.ndarray[Any, np.dtype[np.float64]]) -> None:
    """Whoever copies `option` behind --law gets the law that was fitted, to the last digit."""
    document = fit_document(allocsolve.fit(durations, resamples=0))
    options = [entry.option for entry in document.fits if entry.law.law != "mixture"]
    laws = [law_from(e.law, path="$") for e in document.fits if e.law.law != "mixture"]
    assert [law_from(parse_law(option or ""), path="$") for option in options] == laws
    assert [e.option for e in document.fits if e.law.law == "mixture"] == [None]


def test_laws_of_atoms_have_no_likelihood_to_write() -> None:
    """Infinite likelihoods are null, with a word that tells the two infinities apart."""
    report = allocsolve.fit([1.0, 1.0, 1.0], resamples=0)
    entry = fit_document(report).fits[0]
    assert (entry.law.law, entry.log_likelihood, entry.bic) == ("deterministic", None, None)
    assert entry.meets_every_duration is True
    assert fit_report(fit_document(report)).best.log_likelihood == float("inf")
    off = allocsolve.fit([1.0, 1.0, 2.0], ["deterministic"], resamples=0)
    assert fit_document(off).fits[0].meets_every_duration is False


def test_a_file_is_read_by_its_columns(tmp_path: Path) -> None:
    """Traces hold more than durations."""
    path = tmp_path / "runs.csv"
    path.write_text("node,start,end\na,0,2\nb,1,4\na,2,3\n", encoding="utf-8")
    report = allocsolve.fit(path, ["exponential"], column="end - start", resamples=0)
    assert (report.count, report.mean) == (3, 2.0)
    assert report.source == str(path)
    only = allocsolve.fit(
        path, ["exponential"], column="end - start", where={"node": "a"}, resamples=0
    )
    assert only.count == 2


def test_wrong_arguments_are_named(tmp_path: Path) -> None:
    """A column of durations that are no file, a family that is none."""
    with pytest.raises(UsageError, match="not from durations"):
        allocsolve.fit([1.0, 2.0], column="duration")
    with pytest.raises(UsageError, match="did you mean 'weibull'"):
        allocsolve.fit([1.0, 2.0], ["weibul"])
    path = tmp_path / "zero.csv"
    path.write_text("0\n1\n", encoding="utf-8")
    with pytest.raises(InputError, match="a duration is 0") as caught:
        allocsolve.fit(path, ["lognormal"])
    assert caught.value.source == str(path)


def test_a_fitted_law_is_passed_on_by_its_document(
    durations: np.ndarray[Any, np.dtype[np.float64]], tmp_path: Path
) -> None:
    """A mixture cannot be written as an option, and every verb that takes a law takes it so."""
    report = allocsolve.fit(durations, ["gamma", "mixture"], resamples=0)
    file = str(tmp_path / "fit.json")
    allocsolve.write(report, file)
    assert law_of(f"@{file}") == report.law
    by_name = {name: law_of(f"@{file}:{name}") for name in ("gamma", "mixture")}
    assert by_name == {fit.law.name: fit.law for fit in report}
    with pytest.raises(UsageError, match=r"no law 'gama', did you mean.*\n  allowed: .*gamma"):
        law_of(f"@{file}:gama")


def test_documents_that_hold_no_law_are_named(tmp_path: Path) -> None:
    """A missing or foreign file is a matter of that file, not of the instance."""
    with pytest.raises(InputError, match=r"missing\.json: cannot be read"):
        law_of(f"@{tmp_path}/missing.json")
    foreign = tmp_path / "foreign.json"
    foreign.write_text('{"schema": "allocsolve.solution/1"}')
    with pytest.raises(InputError, match=r"foreign\.json"):
        law_of(f"@{foreign}")
    with pytest.raises(UsageError, match=r"law is \{.*\n  allowed: "):
        law_of({"law": "gamma"})  # type: ignore[arg-type]  # on purpose


@pytest.mark.parametrize(
    ("durations", "keywords"),
    [
        ([1.0, 2.0], {"resamples": 1.5}),
        ([1.0, 2.0], {"resamples": "many"}),
        ([1.0, 2.0], {"seed": "s"}),
        ([1.0, 2.0], {"families": "gamma"}),
        ([1.0, 2.0], {"families": [3]}),
        (["a"], {}),
        ([[1, 2], [3]], {}),
    ],
    ids=str,
)
def test_arguments_of_a_fit_of_a_wrong_type_are_refused(
    durations: Any, keywords: dict[str, Any]
) -> None:
    """The message names the argument and what is allowed."""
    with pytest.raises(UsageError, match=r"\n  allowed: "):
        allocsolve.fit(durations, **keywords)
