"""Random numbers that depend on a name and a place, not on what was drawn before.

Philox4x32-10 turns a key of two words and a counter of four words into four random words
(Salmon, Moraes, Dror and Shaw, "Parallel random numbers: as easy as 1, 2, 3", SC 2011).
The key holds the seed and the *stream* (a task, a node), the counter holds the replication,
the *purpose* (durations, failures, ...) and the number of the draw. So a number is the same
for any size of blocks, number of threads or split over machines, and the same for every plan.

Replications come in groups of ``GROUP``. Replication ``GROUP g + i`` of a stream reads

* single precision: word ``i // 512`` of the counter ``512 g + i % 512``: 32 random bits, rounded
  to the 24 bits of the format, so that small numbers keep their precision;
* double precision: words 0 and 1 (``i < 1024``) or 2 and 3 of the counter
  ``1024 g + i % 1024``: 52 random bits, exact.

A uniform number is ``(k + 1/2) / 2^bits`` for the integer ``k`` of the random bits, so it is
never 0; in single precision the rounding may give 1.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np
import numpy.typing as npt

from allocsolve.models.arrays import FloatArray
from allocsolve.models.errors import UsageError
from allocsolve.models.kernels import kernel

__all__ = [
    "GENERATOR",
    "GROUP",
    "LARGEST_REPLICATION",
    "FloatType",
    "Place",
    "Single",
    "Words",
    "fill_uniform32",
    "fill_uniform64",
    "philox",
    "round_keys",
    "top_word",
    "uniforms",
]

GENERATOR = "philox4x32-10"
"""Name of the generator, for documents."""

GROUP = 2048
"""Replications that are drawn together."""

LARGEST_REPLICATION = 2**33
"""Replications are counted from 0 to below this."""

FloatType: TypeAlias = Literal["float64", "float32"]
Words: TypeAlias = npt.NDArray[np.uint32]
Single: TypeAlias = npt.NDArray[np.float32]
Place: TypeAlias = tuple[int, int, int]
_Longs: TypeAlias = npt.NDArray[np.uint64]

_WORD = 0xFFFFFFFF
_BUMPS = (0x9E3779B9, 0xBB67AE85)
_LOW = np.uint64(_WORD)
_HALF = np.uint64(32)
_FIRST = np.uint64(0xD2511F53)
_SECOND = np.uint64(0xCD9E8D57)
_STEP32 = np.float32(2.0**-32)
_SHIFT32 = np.float32(0.5)
_STEP64 = 2.0**-52
_HIGH_BITS = np.uint64(20)
_DROPPED = np.uint64(12)


def round_keys(seed: int, streams: int, first: int = 0) -> Words:
    """Return the keys of all rounds of the streams ``first``, ``first + 1``, ...

    Parameters
    ----------
    seed
        From 0 to 2^64 - 1; only its lower half goes into the key (see :func:`top_word`).

    Returns
    -------
    uint32 (streams, 20)
        The two key words of each of the ten rounds.
    """
    lower = np.full(streams, seed & _WORD, np.uint64)
    names = np.arange(first, first + streams, dtype=np.uint64)
    keys = np.empty((streams, 20), np.uint32)
    for number in range(10):
        keys[:, 2 * number] = (lower + np.uint64(number * _BUMPS[0])) & _LOW
        keys[:, 2 * number + 1] = (names + np.uint64(number * _BUMPS[1])) & _LOW
    return keys


def top_word(seed: int) -> int:
    """Return the word of the counter that holds the upper half of the seed.

    Raises
    ------
    UsageError
        If the seed is no integer of 64 bits.
    """
    if not 0 <= seed < 2**64:
        raise UsageError(f"the seed is {seed}; it must be an integer from 0 to 2^64 - 1")
    return seed >> 32


@kernel
def _round(
    a: np.uint32, b: np.uint32, c: np.uint32, d: np.uint32, key: np.uint32, other: np.uint32
) -> tuple[np.uint32, np.uint32, np.uint32, np.uint32]:
    """Return the counter after one round."""
    left, right = np.uint64(a) * _FIRST, np.uint64(c) * _SECOND
    return (
        np.uint32(right >> _HALF) ^ b ^ key,
        np.uint32(right & _LOW),
        np.uint32(left >> _HALF) ^ d ^ other,
        np.uint32(left & _LOW),
    )


@kernel
def philox(out: Words, keys: Words, first: int, purpose: int, draw: int, top: int) -> None:
    """Write the random words of consecutive counters.

    Parameters
    ----------
    out
        uint32 (4, k): word w of counter ``(first + i, purpose, draw, top)`` at ``[w, i]``.
    keys
        uint32 (20,), a row of :func:`round_keys`.
    """
    # The rounds are written out: as a loop over a number they run eight times slower.
    one, two, top32 = np.uint32(purpose), np.uint32(draw), np.uint32(top)
    for i in range(out.shape[1]):
        a, b, c, d = np.uint32(first + i), one, two, top32
        a, b, c, d = _round(a, b, c, d, keys[0], keys[1])
        a, b, c, d = _round(a, b, c, d, keys[2], keys[3])
        a, b, c, d = _round(a, b, c, d, keys[4], keys[5])
        a, b, c, d = _round(a, b, c, d, keys[6], keys[7])
        a, b, c, d = _round(a, b, c, d, keys[8], keys[9])
        a, b, c, d = _round(a, b, c, d, keys[10], keys[11])
        a, b, c, d = _round(a, b, c, d, keys[12], keys[13])
        a, b, c, d = _round(a, b, c, d, keys[14], keys[15])
        a, b, c, d = _round(a, b, c, d, keys[16], keys[17])
        a, b, c, d = _round(a, b, c, d, keys[18], keys[19])
        out[0, i], out[1, i], out[2, i], out[3, i] = a, b, c, d


@kernel
def fill_uniform32(out: Single, words: Words, keys: Words, group: int, place: Place) -> None:
    """Write one group of uniform numbers with 32 random bits.

    Parameters
    ----------
    out
        float32 (GROUP,), in (0, 1].
    words
        uint32 (2, GROUP), scratch memory.
    group
        The replications ``GROUP * group`` and following are drawn.
    place
        Purpose, number of the draw, upper word of the seed.
    """
    quarter = GROUP // 4
    four = words[0].reshape((4, quarter))
    philox(four, keys, group * quarter, place[0], place[1], place[2])
    flat = words[0]
    for i in range(GROUP):
        out[i] = (np.float32(flat[i]) + _SHIFT32) * _STEP32


@kernel
def fill_uniform64(out: FloatArray, words: Words, keys: Words, group: int, place: Place) -> None:
    """Write one group of uniform numbers with 52 random bits, in (0, 1)."""
    half = GROUP // 2
    pair = words.reshape((4, half))
    philox(pair, keys, group * half, place[0], place[1], place[2])
    for i in range(half):
        out[i] = _join(pair[0, i], pair[1, i])
        out[half + i] = _join(pair[2, i], pair[3, i])


@kernel
def _join(high: np.uint32, low: np.uint32) -> float:
    """Return the number of the upper 52 bits of two words."""
    bits = (np.uint64(high) << _HIGH_BITS) | (np.uint64(low) >> _DROPPED)
    return (np.float64(bits) + 0.5) * _STEP64


def uniforms(
    seed: int, stream: int, first: int, count: int, *, purpose: int = 0, draw: int = 0
) -> FloatArray:
    """Return the numbers of some replications in double precision, without compiling.

    Parameters
    ----------
    first, count
        The replications ``first`` to ``first + count - 1``.
    purpose, draw
        What is drawn and how often it was drawn before.

    Returns
    -------
    float64 (count,)
        The same numbers that :func:`fill_uniform64` writes.
    """
    groups = np.arange(first // GROUP, (first + count - 1) // GROUP + 1, dtype=np.uint64)
    half = GROUP // 2
    counter: _Longs = np.add.outer(groups * np.uint64(half), np.arange(half, dtype=np.uint64))
    counter = counter.ravel()
    a, b, c, d = _philox_arrays(counter, purpose, draw, top_word(seed), seed & _WORD, stream)
    high, low = (np.stack(pair).reshape(2, -1, half) for pair in ((a, c), (b, d)))
    bits = (high << _HIGH_BITS) | (low >> _DROPPED)
    numbers = (bits.astype(np.float64) + 0.5) * _STEP64
    begin = first % GROUP
    return numbers.transpose(1, 0, 2).ravel()[begin : begin + count]


def _philox_arrays(
    counter: _Longs, purpose: int, draw: int, top: int, key: int, other: int
) -> tuple[_Longs, _Longs, _Longs, _Longs]:
    """Return the four random words of each counter, one per int64 element."""
    a, b, c, d = (counter & _LOW, *(np.full_like(counter, word) for word in (purpose, draw, top)))
    for number in range(10):
        left, right = a * _FIRST, c * _SECOND
        first = np.uint64((key + number * _BUMPS[0]) & _WORD)
        second = np.uint64((other + number * _BUMPS[1]) & _WORD)
        a, b = (right >> _HALF) ^ b ^ first, right & _LOW
        c, d = (left >> _HALF) ^ d ^ second, left & _LOW
    return a, b, c, d
