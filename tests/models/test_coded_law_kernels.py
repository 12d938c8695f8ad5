"""The compiled dynamic program: same bytes as plain Python, right against enumeration."""

from __future__ import annotations

import itertools
import math
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from allocsolve.models.arrays import FloatArray, IntArray
from allocsolve.models.coded.kernel_sets import COMPLETION
from allocsolve.models.coded.law_arrays import array_survival
from allocsolve.models.coded.law_kernels import threshold_survival
from allocsolve.models.kernels import uncompiled

Case = tuple[FloatArray, IntArray, IntArray, int]


def draw(seed: int, sources: int, need: int, largest: int = 1) -> Case:
    """Draw probabilities, some of them 0 and 1, and weights of sources with some results each."""
    source = np.random.default_rng(seed)
    counts = source.integers(1, largest + 1, sources)
    first = np.concatenate([[0], np.cumsum(counts)]).astype(np.int64)
    late = source.random((5, first[-1])) ** 3
    late[source.random(late.shape) < 0.1] = 1.0
    late[source.random(late.shape) < 0.1] = 0.0
    weight = source.integers(1, 6, first[-1]).astype(np.int64)
    return late, first, weight, need


def run(case: Case) -> FloatArray:
    late, first, weight, need = case
    out = np.empty(len(late))
    threshold_survival(late, first, weight, need, out)
    return out


@pytest.mark.parametrize("need", [0, 1, 5, 9, 14, 40])
@pytest.mark.parametrize("seed", range(5))
def test_against_enumeration(seed: int, need: int) -> None:
    """All combinations of how far each source has come, weighed and added up."""
    case = draw(seed, 4, need, largest=3)
    late, first, weight, _ = case
    for row, found in zip(late, run(case), strict=True):
        options = []
        for a, b in itertools.pairwise(first.tolist()):
            ranked = sorted(zip(row[a:b].tolist(), weight[a:b].tolist(), strict=True))
            edges = [0.0, *(chance for chance, _ in ranked), 1.0]
            sums = [0, *itertools.accumulate(step for _, step in ranked)]
            options.append([(edges[k + 1] - edges[k], sums[k]) for k in range(len(sums))])
        expected = math.fsum(
            math.prod(share for share, _ in chosen)
            for chosen in itertools.product(*options)
            if sum(total for _, total in chosen) < need
        )
        assert found == pytest.approx(expected, abs=1e-14)


def test_small_tails_are_accurate() -> None:
    """All of forty must be late: the probability 1e-160 is right to its last digits."""
    late = np.full((1, 40), 1e-4)
    case = late, np.arange(41, dtype=np.int64), np.ones(40, np.int64), 1
    assert run(case)[0] == pytest.approx(1e-160, rel=1e-12, abs=0)


def test_compiled_and_plain_give_the_same_bytes(tmp_path: Path) -> None:
    """Where a kernel runs is a question of time only, never of the answer."""
    code = (
        "import sys, numpy as np\n"
        "from allocsolve.models.coded.law_kernels import threshold_survival\n"
        "source = np.random.default_rng(3)\n"
        "late = source.random((4, 60)) ** 2\n"
        "first = np.arange(0, 61, 3)\n"
        "weight = source.integers(1, 6, 60)\n"
        "out = np.empty(4)\n"
        "threshold_survival(late, first, weight, 90, out)\n"
        "sys.stdout.buffer.write(out.tobytes())\n"
    )
    outputs = [
        subprocess.run(
            [sys.executable, "-c", code],
            cwd=tmp_path,
            env=os.environ | {"NUMBA_DISABLE_JIT": flag},
            capture_output=True,
            check=True,
        ).stdout
        for flag in ("0", "1")
    ]
    assert len(outputs[0]) == 32
    assert outputs[0] == outputs[1]


@pytest.mark.parametrize("need", [90, 400, 3000])
def test_arrays_add_up_in_the_order_of_the_loops(need: int) -> None:
    """Many states are added in one call, which must round as one addition after another does."""
    source = np.random.default_rng(need)
    late, first = source.random((7, 30)) ** 2, np.arange(31, dtype=np.int64)
    weight = source.integers(1, need // 5, 30)
    out = np.empty(7)
    array_survival(late, first, weight, need, out)
    np.testing.assert_array_equal(out, run((late, first, weight, need)))


def test_the_set_builds_what_is_used() -> None:
    """The set names the kernel that the law calls, so that preparing it makes the law ready."""
    COMPLETION.build()
    assert COMPLETION.is_loaded()
    with uncompiled():
        before = run(draw(1, 6, 7))
    np.testing.assert_array_equal(before, run(draw(1, 6, 7)))
