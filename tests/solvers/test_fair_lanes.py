"""Jobs in lanes: nothing that fills a block up counts, and small systems are solved right."""

from __future__ import annotations

import numpy as np
import pytest

from allocsolve.models.arrays import FloatArray
from allocsolve.models.kernels import numeric
from allocsolve.solvers.fair.dense_kernels import decompose, solve_decomposed
from allocsolve.solvers.fair.interior import solve_interior
from allocsolve.solvers.fair.lanes import lanes_for, pack, real_lanes, unpack
from allocsolve.solvers.fair.program import Division


@pytest.mark.parametrize("count", [1, 7, 48, 49, 96, 97, 1000])
def test_what_is_packed_is_unpacked(count: int) -> None:
    """Each job must come back, and what fills the last block up must be marked as nobody."""
    lanes = lanes_for(count)
    blocks = -(-count // lanes)
    assert blocks * lanes - count < max(lanes, 2)
    table = np.random.default_rng(count).random((count, 3))
    laid = np.full((blocks, 3, lanes), np.nan)
    pack(table, laid)
    line = np.full((blocks, lanes), np.nan)
    pack(table[:, 0], line)
    assert (unpack(laid, count) == table).all()
    assert (unpack(line, count) == table[:, 0]).all()
    assert real_lanes(count, lanes).sum() == count
    assert (laid.transpose(0, 2, 1).reshape(-1, 3)[count:] == table[-1]).all()


@pytest.mark.parametrize("gains", [True, False], ids=["gains", "levels"])
@pytest.mark.parametrize("count", [1, 48, 49, 61])
def test_lanes_that_fill_up_count_for_nothing(gains: bool, count: int) -> None:
    """Splitting the last job in two equal halves moves it to other lanes, but no price."""
    random = np.random.default_rng(count)
    pace = random.random((count, 3)) + 0.1
    gang, weight = np.ones(count), random.integers(1, 5, count).astype(float)
    stock = np.full(3, count / 16)
    twice = np.append(np.arange(count), count - 1)
    half = np.append(np.ones(count - 1), [0.5, 0.5])
    one, two = (
        solve_interior(
            Division(
                pace[rows],
                gang[rows] * part,
                stock,
                gain=weight[rows] * part if gains else None,
                slope=None if gains else weight[rows],
            )
        )
        for rows, part in ((np.arange(count), np.ones(count)), (twice, half))
    )
    assert two.prices == pytest.approx(one.prices, rel=1e-6, abs=1e-9)
    assert two.level == pytest.approx(one.level, rel=1e-9)
    assert gang @ one.share == pytest.approx(stock, rel=1e-7)


@numeric
def _solve(matrix: FloatArray, right: FloatArray) -> FloatArray:
    """Solve a system by the loops that kernels are made of."""
    order, out = np.empty(right.size, np.int64), np.empty(right.size)
    decompose(matrix, order)
    solve_decomposed(matrix, order, right, out)
    return out


@pytest.mark.parametrize("size", [1, 2, 5, 9])
def test_small_systems_are_solved(size: int) -> None:
    """Rows in the worst order must be exchanged: a zero on the diagonal is no obstacle."""
    random = np.random.default_rng(size)
    matrix = random.normal(size=(size, size))
    matrix[0, 0] = 0.0 if size > 1 else 2.0
    right = random.normal(size=size)
    known = np.linalg.solve(matrix, right)
    assert _solve(matrix.copy(), right) == pytest.approx(known, rel=1e-9)


def test_a_singular_system_is_no_crash() -> None:
    """The run ends by its merit then, which is no number."""
    with np.errstate(all="ignore"):
        assert not np.isfinite(_solve(np.ones((2, 2)), np.array([1.0, 2.0]))).all()
