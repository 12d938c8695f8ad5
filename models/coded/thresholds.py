"""Recovery thresholds: how many coded units suffice, by task and family of codes.

Sources: polynomial codes (Yu, Maddah-Ali, Avestimehr 2017), MatDot and PolyDot codes (Dutta et
al. 2020), entangled polynomial codes (Yu, Maddah-Ali, Avestimehr 2020), OrthoMatDot codes (Fahim
and Cadambe 2021).
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

from allocsolve.models.coded.data import Elastic, Gradient, MatMul, MatVec, Task

__all__ = [
    "APPROXIMATE",
    "GRADIENT_CODES",
    "PRODUCT_CODES",
    "ROUND_CODES",
    "families",
    "fits_split",
    "needed_units",
    "recovery_threshold",
]

Split = tuple[int, int, int]

PRODUCT_CODES: Mapping[str, Callable[[int, int, int], int]] = MappingProxyType(
    {
        "polynomial": lambda m, p, n: m * n,  # noqa: ARG005  # only splits with p = 1
        "matdot": lambda m, p, n: 2 * p - 1,  # noqa: ARG005  # only splits with m = n = 1
        "orthomatdot": lambda m, p, n: 2 * p - 1,  # noqa: ARG005  # likewise
        "polydot": lambda m, p, n: m * n * (2 * p - 1),
        "entangled": lambda m, p, n: p * m * n + p - 1,
        "mds": lambda m, p, n: p * m * n + p - 1,
    }
)
"""Families for products of matrices with the threshold of a split (m, p, n).

``mds``, any code that recovers, is counted with the least threshold that is known for every
split.
"""

GRADIENT_CODES = (
    "mds",
    "fractional_repetition",
    "cyclic",
    "cyclic_mds",
    "heterogeneity_aware",
    "random",
)
"""Families for gradients; ``mds`` is any code from which n - s nodes decode."""

APPROXIMATE = "approximate"
"""Family for gradients of which an error is accepted, see
:mod:`allocsolve.models.coded.approximate`."""

ROUND_CODES = (
    *(name for name in GRADIENT_CODES if name != "fractional_repetition"),
    "selective_repetition",
    "multiplexed",
)
"""Families for gradients over rounds, see :mod:`allocsolve.models.coded.rounds`."""

_FITS: Mapping[str, Callable[[int, int, int], bool]] = MappingProxyType(
    {
        "polynomial": lambda m, p, n: p == 1,  # noqa: ARG005
        "matdot": lambda m, p, n: m == n == 1,  # noqa: ARG005
        "orthomatdot": lambda m, p, n: m == n == 1,  # noqa: ARG005
        "polydot": lambda m, p, n: m == n,  # noqa: ARG005
    }
)


_MATRIX_CODES = (
    "mds",
    "polynomial",
    "orthopoly",
    "roots_of_unity",
    "rotation",
    "lagrange",
    "random",
)


def families(task: Task) -> tuple[str, ...]:
    """Return the families of codes for a task; ``mds`` comes first."""
    if isinstance(task, MatVec):
        return (*_MATRIX_CODES, "replication")
    if isinstance(task, MatMul):
        return ("mds", *(name for name in PRODUCT_CODES if name != "mds"))
    if isinstance(task, Gradient):
        if task.error is not None:
            return (*GRADIENT_CODES, APPROXIMATE)
        return GRADIENT_CODES if task.sequential is None else ROUND_CODES
    return _MATRIX_CODES


def fits_split(family: str, split: Split) -> bool:
    """Whether a family is defined for a split."""
    return family in PRODUCT_CODES and (family not in _FITS or _FITS[family](*split))


def recovery_threshold(family: str, split: Split) -> int:
    """Return how many products of coded blocks suffice.

    Raises
    ------
    KeyError
        If the family is not known.
    """
    return PRODUCT_CODES[family](*split)


def needed_units(task: Task, family: str = "mds") -> int:
    """Return the units of load that suffice if the code is one of the family.

    For gradients and elastic tasks: the nodes on which each partition or piece is needed, over
    rounds by any scheme.
    """
    if isinstance(task, MatVec):
        return task.rows
    if isinstance(task, MatMul):
        return recovery_threshold(family if family in PRODUCT_CODES else "mds", task.split)
    if isinstance(task, Gradient):
        return task.stragglers + task.messages if task.sequential is None else 1
    assert isinstance(task, Elastic)
    return task.recovery_threshold + task.stragglers
