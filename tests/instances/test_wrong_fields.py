"""Native documents of coded jobs and fair divisions with one wrong field each."""

from __future__ import annotations

import copy
import io
import json
from typing import Any, TypeAlias

import pytest

from allocsolve.instances.reading import read
from allocsolve.instances.strict_json import loads
from allocsolve.models.errors import InputError

Document: TypeAlias = dict[str, Any]

LAW = {"law": "shifted_exponential", "shift": 1, "rate": 1}
FAIR: Document = {
    "schema": "allocsolve.instance/1",
    "kind": "fair",
    "types": [{"id": "v", "count": 1}, {"id": "k", "count": 2}],
    "jobs": [{"id": "a", "throughput": {"v": 1}}, {"id": "b", "throughput": {"v": 1, "k": 2}}],
    "entities": [{"id": "e"}],
    "pairs": [{"jobs": ["a", "b"], "throughput": {"v": [1, 1]}}],
    "objective": {"name": "nash"},
}
CODED: Document = {
    "schema": "allocsolve.instance/1",
    "kind": "coded",
    "task": {"type": "matvec", "rows": 5},
    "nodes": [{"id": "w0", "runtime": dict(LAW)}, {"id": "w1", "runtime": dict(LAW)}],
    "objective": {"name": "mean"},
}
NAN, INFINITY = float("nan"), float("inf")

WRONG: list[tuple[Document, str, object, str]] = [
    # What has no place at all.
    (FAIR, "jobs.1.throuhgput", {}, "job 'b': .*did you mean 'throughput'"),
    (FAIR, "nodes", [], "unknown field 'nodes'"),
    (CODED, "nodes.1.strage", 1, "node 'w1': .*did you mean 'storage'"),
    # What is no number, or no such number.
    (FAIR, "jobs.1.throughput.v", NAN, "job 'b': throughput on type 'v' NaN is not a number"),
    (FAIR, "jobs.1.throughput.v", "3", "without quotes"),
    (FAIR, "jobs.1.throughput.v", -3, "job 'b': throughput on type 'v' is -3"),
    (FAIR, "jobs.1.throughput.z", 3, "job 'b': unknown type 'z'"),
    (FAIR, "jobs.1.gang", 1.5, "job 'b': gang 1.5 is not a whole number"),
    (FAIR, "jobs.1.weight", 0, "job 'b': weight is 0.*above 0"),
    (FAIR, "jobs.1.entity", "x", "job 'b': unknown entity 'x'"),
    (FAIR, "types.0.count", INFINITY, "type 'v': count Infinity.*finite"),
    (FAIR, "types.0.cost", -1, "type 'v': cost is -1"),
    (FAIR, "pairs.0.throughput.v", [1, -1], "pair a-b"),
    (FAIR, "pairs.0.throughput.v", [1], "of length 2"),
    (FAIR, "rounds", {"count": 0}, "rounds: count is 0"),
    (CODED, "task.rows", 1.5, "rows 1.5 is not a whole number"),
    (CODED, "task.rows", 0, "rows 0 is out of range"),
    (CODED, "nodes.1.runtime.rate", NAN, "node 'w1': rate NaN is not a number"),
    (CODED, "nodes.1.storage", -1, "node 'w1': storage -1"),
    (CODED, "objective", {"name": "quantile", "q": 1.5}, "q 1.5 must lie between 0 and 1"),
    # Ids that come twice, or are none.
    (FAIR, "jobs.1.id", "a", "duplicate job id 'a'"),
    (FAIR, "types.1.id", "v", "duplicate type id 'v'"),
    (FAIR, "jobs.1.id", 3, "ids are strings"),
    (CODED, "nodes.1.id", "w0", "duplicate node id 'w0'"),
    # Words of which only some are known: they are listed.
    (FAIR, "objective.name", "nsah", "did you mean 'nash'"),
    (FAIR, "objective.split", "half", '"equal" or "weighted"'),
    (FAIR, "entities.0.policy", "lifo", "entity 'e': .*did you mean 'fifo'"),
    (CODED, "task.type", "matvce", "did you mean 'matvec'"),
    (CODED, "objective.name", "man", "did you mean 'mean'"),
    (CODED, "scaling", "row", '"additive" or "load" or "per_row"'),
    (CODED, "nodes.1.runtime.law", "gama", "did you mean 'gamma'"),
    # Another shape.
    (FAIR, "jobs", {}, "expected 'array'"),
    (FAIR, "jobs.0", 3, "expected 'object'"),
    (FAIR, "objective", "nash", "expected 'object"),
    (FAIR, "time_cap", 1, "expected 'bool'"),
    (CODED, "nodes", [], "no nodes"),
]


@pytest.mark.parametrize(
    ("base", "place", "value", "words"), WRONG, ids=[f"{d['kind']}-{p}-{v}" for d, p, v, _ in WRONG]
)
def test_one_wrong_field(base: Document, place: str, value: object, words: str) -> None:
    """The error says where it is, what is wrong there and how to mend it."""
    document = copy.deepcopy(base)
    *steps, last = (int(step) if step.isdigit() else step for step in place.split("."))
    inner: Any = document
    for step in steps:
        inner = inner[step]
    inner[last] = value
    with pytest.raises(InputError, match=f"(?s){words}") as caught:
        read(io.BytesIO(json.dumps(document).encode()))
    assert caught.value.path is not None
    assert _nearby(caught.value.path, [*steps, last])
    assert caught.value.remedy
    assert str(caught.value).count("\n") < 5


def _nearby(path: str, steps: list[str | int]) -> bool:
    """Whether a path leads to the place, to what holds it, or to a part of it."""
    exact = "$" + "".join(f"[{s}]" if isinstance(s, int) else f".{s}" for s in steps)
    return exact.startswith(path) or path.startswith(exact)


@pytest.mark.parametrize("field", ["types", "jobs", "jobs.0.id", "types.0.count"])
def test_a_missing_field_is_named(field: str) -> None:
    """What must be there is said, with the record that lacks it."""
    document = copy.deepcopy(FAIR)
    *steps, last = (int(step) if step.isdigit() else step for step in field.split("."))
    inner: Any = document
    for step in steps:
        inner = inner[step]
    del inner[last]
    with pytest.raises(InputError, match=f"missing required field '{last}'"):
        read(io.BytesIO(json.dumps(document).encode()))


@pytest.mark.parametrize(
    ("text", "path"),
    [
        pytest.param('{"a": [1, NaN]}', "$.a[1]", id="NaN"),
        pytest.param('{"a": {"b": -Infinity}}', "$.a.b", id="infinity"),
        pytest.param('{"a": ' + "9" * 500 + "}", "$.a", id="too long"),
    ],
)
def test_tokens_that_are_no_numbers_are_found_on_request(text: str, path: str) -> None:
    """Solution documents hold no such number anywhere, whatever the field means."""
    with pytest.raises(InputError, match="is not a finite number") as caught:
        loads(text, finite=True)
    assert caught.value.path == path
    assert isinstance(loads(text), dict)
