"""The block of one job in the interior point method, and its inverse.

Eliminating the shares of a job leaves ``B = diag(z / x) + a u u' + b 1 1'``, with the curvature
a of its gain and b of its time cap. B is inverted in O(m) in an orthonormal basis of
{H u, H 1}, ``H = sqrt(x / z)``, since the plain formula of Woodbury loses all digits where the
two are nearly parallel.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np

from allocsolve.models.arrays import FloatArray
from allocsolve.models.kernels import inlined, kernel

__all__ = ["Work", "apply", "factorise", "room"]


class Work(NamedTuple):
    """Room for one job.

    per_share, root, first, second (m,): 1 / x, H 1 and the basis; inverse (7,): the inverse in
    that basis,
    ``1 - a u' B^-1 u``, the length of H u and both parts of H 1; side, move, more, dual (m,);
    table (m, m).
    """

    per_share: FloatArray
    root: FloatArray
    first: FloatArray
    second: FloatArray
    inverse: FloatArray
    side: FloatArray
    move: FloatArray
    more: FloatArray
    dual: FloatArray
    table: FloatArray


@kernel
def room(types: int) -> Work:
    """Return room for a job of so many types."""
    return Work(
        np.empty(types),
        np.empty(types),
        np.empty(types),
        np.empty(types),
        np.empty(7),
        np.empty(types),
        np.empty(types),
        np.empty(types),
        np.empty(types),
        np.empty((types, types)),
    )


@inlined
def factorise(
    i: int,
    share: FloatArray,
    reduced: FloatArray,
    pace: FloatArray,
    curve: float,
    hold: float,
    work: Work,
) -> None:
    """Set up the inverse of the block of job i."""
    per_share, root, first, second = work.per_share, work.root, work.first, work.second
    types = share.shape[1]
    length, along, lost, across = 0.0, 0.0, 0.0, 0.0
    for j in range(types):
        per_share[j] = 1 / share[i, j]
        root[j] = np.sqrt(share[i, j] / reduced[i, j])
        first[j] = root[j] * pace[i, j]
        length += first[j] * first[j]
    length = np.sqrt(length)
    shrink = 1 / max(length, 1e-300)
    for j in range(types):
        first[j] *= shrink
        along += first[j] * root[j]
    for j in range(types):
        second[j] = root[j] - along * first[j]
        lost += second[j] * first[j]
    for j in range(types):  # once more: the first pass may lose digits
        second[j] -= lost * first[j]
        across += second[j] * second[j]
    across = np.sqrt(across)
    shrink = 1 / max(across, 1e-300)
    for j in range(types):
        second[j] *= shrink
    work.inverse[4], work.inverse[5], work.inverse[6] = length, along + lost, across
    tight = np.sqrt(hold)
    bend, along, across = length * np.sqrt(curve), (along + lost) * tight, across * tight
    det = 1 / ((1 + bend * bend) * (1 + across * across) + along * along)
    work.inverse[0] = (1 + across * across) * det
    work.inverse[1] = -along * across * det
    work.inverse[2] = (1 + bend * bend + along * along) * det
    work.inverse[3] = (1 + across * across + along * along) * det


@inlined
def apply(pull: float, push: float, side: FloatArray, work: Work, out: FloatArray) -> None:
    """Multiply the inverse with ``pull u + push 1 + side``.

    The first two can be huge and cancel with what they meet in the block, so they never
    leave the basis. The second projection keeps small components of the third accurate.
    """
    _, root, first, second, inverse, _, _, _, _, _ = work
    one, two, off_one, off_two = 0.0, 0.0, 0.0, 0.0
    for j in range(root.size):
        out[j] = root[j] * side[j]
        one += first[j] * out[j]
        two += second[j] * out[j]
    for j in range(root.size):
        out[j] -= first[j] * one + second[j] * two
        off_one += first[j] * out[j]
        off_two += second[j] * out[j]
    one += pull * inverse[4] + push * inverse[5]
    two += push * inverse[6]
    keep_one = inverse[0] * one + inverse[1] * two - off_one
    keep_two = inverse[1] * one + inverse[2] * two - off_two
    for j in range(root.size):
        out[j] = (out[j] + first[j] * keep_one + second[j] * keep_two) * root[j]
