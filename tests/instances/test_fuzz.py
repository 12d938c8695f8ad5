"""Whatever happens to a good file, reading it gives a problem or an InputError, nothing else."""

from __future__ import annotations

import io
import re

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from allocsolve.instances.catalogue import bundled, task_graphs, throughput_tables
from allocsolve.instances.reading import read
from allocsolve.models.errors import InputError

TOKENS = re.compile(r'\[-?\d+\]|"[^"]*"|[{}\[\],:]|[^\s{}\[\],:"]+|\s+')
STRANGE = [
    "0", "-1", "1", "2", "7", "99999999999999999999", "1e5", "1e400", "1e-300", "3.9", "nan",
    "NaN", "inf", "-Infinity", "1_000", "٣", "x", "", "#", "//", "[", "]", "[3]", "{", "}", ",",
    ":", '"', '"a"', "null", "true", "[[[[", "\n", "\r", "\t", "*", "\0", "\ufeff", "\u2028",
    "Times", "PRECEDENCE RELATIONS:", "5" * 5000,
]  # fmt: skip
FILES = bundled() | task_graphs() | throughput_tables()
SAMPLES = sorted(FILES)
NODES = dict.fromkeys(task_graphs() | throughput_tables(), 2)
QUICK = settings(
    max_examples=150, deadline=2000, suppress_health_check=[HealthCheck.function_scoped_fixture]
)


def _survives(data: bytes, name: str | None, nodes: int | None = None) -> None:
    try:
        problem = read(io.BytesIO(data), format=name, nodes=nodes)
    except InputError as error:
        text = str(error)
        assert text.startswith("<stdin>")
        assert text.count("\n") < 5
        text.encode()
    else:
        assert problem.kind in ("dag", "coded", "fair")


@pytest.mark.parametrize("sample", SAMPLES)
@QUICK
@given(data=st.data())
def test_changed_tokens(sample: str, data: st.DataObject) -> None:
    """Tokens replaced, doubled, dropped or swapped: counts and sections disagree in every way."""
    path = FILES[sample]
    name = read(path, nodes=NODES.get(sample)).origin.format
    tokens = TOKENS.findall(path.read_text(encoding="utf-8"))
    for _ in range(data.draw(st.integers(1, 3))):
        place = data.draw(st.integers(0, len(tokens) - 1))
        other = data.draw(st.integers(0, len(tokens) - 1))
        action = data.draw(st.sampled_from(["replace", "double", "drop", "swap", "cut", "move"]))
        if action == "replace":
            tokens[place] = data.draw(st.sampled_from(STRANGE))
        elif action == "double":
            tokens[place : place + 1] = [tokens[place], " ", tokens[place]]
        elif action == "drop" and len(tokens) > 1:
            del tokens[place]
        elif action == "swap":
            tokens[place], tokens[other] = tokens[other], tokens[place]
        elif action == "move":
            tokens.insert(place, tokens[other])
        elif action == "cut":
            tokens = tokens[: place + 1]
    text = "".join(tokens).encode("utf-8", "surrogatepass")
    _survives(text, data.draw(st.sampled_from([name, None])), NODES.get(sample))


@pytest.mark.parametrize("sample", SAMPLES)
@QUICK
@given(data=st.data())
def test_changed_bytes(sample: str, data: st.DataObject) -> None:
    """Bytes changed at random: encodings, control characters, binary garbage."""
    path = FILES[sample]
    content = bytearray(path.read_bytes())
    for place, value in data.draw(
        st.lists(st.tuples(st.integers(0, len(content) - 1), st.integers(0, 255)), max_size=4)
    ):
        content[place] = value
    _survives(
        bytes(content),
        read(path, nodes=NODES.get(sample)).origin.format,
        NODES.get(sample),
    )


@QUICK
@given(st.binary(max_size=200), st.sampled_from(["native", "psplib", "patterson", None]))
def test_random_bytes(data: bytes, name: str | None) -> None:
    """What is no instance at all."""
    _survives(data, name)


@QUICK
@given(
    st.lists(st.integers(-1, 4), max_size=40),
    st.sampled_from(["patterson", "jobshop", "taillard", "fjsp", "progenmax", None]),
    st.integers(1, 7),
)
def test_random_numbers(numbers: list[int], name: str | None, width: int) -> None:
    """Small numbers in lines: now and then a valid file of some format."""
    rows = [numbers[i : i + width] for i in range(0, len(numbers), width)]
    _survives("\n".join(" ".join(map(str, row)) for row in rows).encode(), name)
