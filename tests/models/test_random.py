"""Counter-based random numbers and the draws made from them."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from allocsolve.models.elementary import exponential32
from allocsolve.models.errors import UsageError
from allocsolve.models.nodes import (
    Bimodal,
    Deterministic,
    Empirical,
    Exponential,
    Gamma,
    Lognormal,
    Mixture,
    Pareto,
    RuntimeLaw,
    ShiftedExponential,
    Weibull,
)
from allocsolve.models.random import (
    GROUP,
    fill_uniform32,
    fill_uniform64,
    philox,
    round_keys,
    top_word,
    uniforms,
)
from allocsolve.models.sampling import SCRATCH, draw32, draw64

ONES = 0xFFFFFFFF
PI = (0x243F6A88, 0x85A308D3, 0x13198A2E, 0x03707344)


@pytest.mark.parametrize(
    ("counter", "key", "expected"),
    [
        ((0, 0, 0, 0), (0, 0), "6627e8d5 e169c58d bc57ac4c 9b00dbd8"),
        ((ONES,) * 4, (ONES, ONES), "408f276d 41c83b0e a20bc7c6 6d5451fd"),
        (PI, (0xA4093822, 0x299F31D0), "d16cfe09 94fdcceb 5001e420 24126ea1"),
    ],
    ids=["zeros", "ones", "digits of pi"],
)
def test_known_answers(counter: tuple[int, ...], key: tuple[int, int], expected: str) -> None:
    """The vectors of the Random123 distribution: another generator would go unnoticed."""
    out = np.empty((4, 1), np.uint32)
    philox(out, round_keys(key[0], 1, key[1])[0], *counter)
    assert " ".join(f"{word:08x}" for word in out[:, 0].tolist()) == expected


def test_kernel_and_numpy_give_the_same_numbers() -> None:
    """Parts that do not compile must draw the numbers that compiled parts draw."""
    seed, words, out = 2**40 + 5, np.empty((2, GROUP), np.uint32), np.empty(GROUP)
    fill_uniform64(out, words, round_keys(seed, 4)[3], 2, (1, 7, top_word(seed)))
    again = uniforms(seed, 3, 2 * GROUP - 5, GROUP, purpose=1, draw=7)
    assert (again[5:] == out[:-5]).all()


def test_numbers_lie_inside_the_unit_interval() -> None:
    """Zero would give an infinite draw."""
    words, single = np.empty((2, GROUP), np.uint32), np.empty(GROUP, np.float32)
    fill_uniform32(single, words, round_keys(0, 1)[0], 0, (0, 0, 0))
    double = uniforms(0, 0, 0, 100_000)
    assert 0 < single.min() <= single.max() <= 1
    assert 0 < double.min() < double.max() < 1
    assert abs(double.mean() - 0.5) < 0.005
    assert len(np.unique(double)) == len(double)


def test_single_numbers_lie_in_the_middle_of_their_steps() -> None:
    """Otherwise the word 0, one in four billion, would be the number 0 and an infinite draw."""
    words, out, found = np.empty((2, GROUP), np.uint32), np.empty(GROUP, np.float32), 0
    for group in range(20):
        fill_uniform32(out, words, round_keys(7, 1)[0], group, (0, 0, 0))
        small = words[0] < 2**23  # all of their bits fit into a float32
        assert (out[small].astype(np.float64) == (words[0][small] + 0.5) / 2**32).all()
        found += int(small.sum())
    assert found > 40


@pytest.mark.parametrize("seed", [-1, 2**64])
def test_a_seed_has_64_bits(seed: int) -> None:
    """A longer seed would silently lose its upper bits."""
    with pytest.raises(UsageError, match="seed"):
        top_word(seed)


LAWS: list[RuntimeLaw] = [
    Deterministic(3.0),
    Exponential(2.0),
    ShiftedExponential(1.0, 2.0),
    Weibull(0.5, 2.0, 0.1),
    Pareto(1.5, 2.0),
    Lognormal(0.1, 0.4),
    Gamma(2.0, 3.0),
    Bimodal(1.0, 5.0, 0.1),
    Empirical((3.0, 1.0, 2.0, 2.0)),
    Mixture((Exponential(1.0), ShiftedExponential(5.0, 1.0)), (0.7, 0.3)),
]


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_draws_are_quantiles(law: RuntimeLaw) -> None:
    """A compiled draw is the quantile of its uniform number, for every law there is."""
    out, words, scratch = (
        np.empty(GROUP),
        np.empty((2, GROUP), np.uint32),
        np.empty((SCRATCH, GROUP)),
    )
    code, numbers = law.kernel_form()
    draw64(out, scratch, words, round_keys(3, 2)[1], 5, (0, 0, 0), code, numbers)
    u = 1 - uniforms(3, 1, 5 * GROUP, GROUP)
    if isinstance(law, Mixture):  # parts are drawn by one number, which is no quantile of all
        low = u <= 0.7
        assert out[low] == pytest.approx(-np.log1p(-u[low] / 0.7), rel=1e-9)
        assert out[~low].min() > 5
    else:
        assert out == pytest.approx(law.sample(u), rel=1e-9)


@pytest.mark.parametrize("law", LAWS, ids=lambda law: law.name)
def test_single_precision_has_the_same_law(law: RuntimeLaw) -> None:
    """Single precision is another path, so its mean is checked on its own."""
    out, wide = np.empty(GROUP, np.float32), np.empty(GROUP)
    words, scratch = np.empty((2, GROUP), np.uint32), np.empty((SCRATCH, GROUP))
    code, numbers = law.kernel_form()
    means = []
    for group in range(20):
        draw32(out, wide, scratch, words, round_keys(1, 1)[0], group, (0, 0, 0), code, numbers)
        u = np.minimum(out.astype(np.float64), law.quantile(np.array([0.99]))[0])
        means.append(u.mean())
    p = (np.arange(100_000) + 0.5) / 100_000
    capped = np.minimum(law.quantile(p), law.quantile(np.array([0.99]))[0])
    assert np.mean(means) == pytest.approx(capped.mean(), abs=5 * capped.std() / 200 + 1e-6)


SCRIPT = """
import numpy as np
from allocsolve.models.elementary import exponential32
from allocsolve.models.random import GROUP, round_keys
from allocsolve.models.sampling import SCRATCH, draw64
words, single = np.empty((2, GROUP), np.uint32), np.empty(GROUP, np.float32)
exponential32(single, words, round_keys(9, 1)[0], 1, (0, 0, 0))
out, scratch = np.empty(GROUP), np.empty((SCRATCH, GROUP))
draw64(out, scratch, words, round_keys(9, 1)[0], 1, (0, 0, 0), 2, np.array([0.0, 1.0, 2.0]))
print(single.tobytes().hex(), out.tobytes().hex())
"""


def test_plain_python_gives_the_same_bytes(tmp_path: Path) -> None:
    """A fused product and sum, or fast mathematics, would change bytes between machines."""
    plain = subprocess.run(
        [sys.executable, "-c", SCRIPT],
        env=os.environ | {"NUMBA_DISABLE_JIT": "1"},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
    ).stdout.split()
    words, single = np.empty((2, GROUP), np.uint32), np.empty(GROUP, np.float32)
    exponential32(single, words, round_keys(9, 1)[0], 1, (0, 0, 0))
    out, scratch, law = np.empty(GROUP), np.empty((SCRATCH, GROUP)), np.array([0.0, 1.0, 2.0])
    draw64(out, scratch, words, round_keys(9, 1)[0], 1, (0, 0, 0), 2, law)
    assert plain == [single.tobytes().hex(), out.tobytes().hex()]
