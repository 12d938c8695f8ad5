"""A division in the form that the structured methods solve, whatever its objective.

``max k t + sum gain(U_i) - cost`` over shares, with ``U_i >= floor_i + slope_i t``: every job has
a type that serves it, every type has stock, and the time cap always holds. Where the instance
has no time cap, shares are counted in a unit so long that the cap cannot bind.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from allocsolve.models.arrays import FloatArray

__all__ = ["Division", "Found"]


@dataclass(frozen=True, eq=False)
class Division:
    """n jobs and m types.

    Attributes
    ----------
    pace
        float64 (n, m), not negative, no row of zeros.
    gang, stock
        float64 (n,) and (m,), above 0.
    gain, alpha
        float64 (n,) and the exponent of ``gain U^(1 - alpha) / (1 - alpha)``, 1 for logarithms;
        None if only the level counts.
    floor, slope
        float64 (n,), the least utility and how it rises with the level; None for none.
    cost
        float64 (m,), money for a unit of each type.
    drift
        float64 (m,), what the load of each type rises with the level beside the jobs.
    scale
        float64 (m,), the stock that residuals are relative to.
    count
        What the utilities are worth in all in the units of the objective, roughly.
    """

    pace: FloatArray
    gang: FloatArray
    stock: FloatArray
    gain: FloatArray | None = None
    alpha: float = 1.0
    floor: FloatArray | None = None
    slope: FloatArray | None = None
    cost: FloatArray | None = None
    drift: FloatArray | None = None
    scale: FloatArray | None = None
    count: int = 0

    @property
    def size(self) -> tuple[int, int]:
        """Jobs and types."""
        return self.pace.shape[0], self.pace.shape[1]

    @property
    def has_level(self) -> bool:
        """Whether a level is raised."""
        return self.gain is None and self.slope is not None

    @property
    def tolerance(self) -> float:
        """Relative gap that an interior point method reaches.

        The distance of shares is like the root of the gap where gains are curved.
        """
        return 1e-10 if self.gain is None else 1e-13

    def replace(self, **changes: object) -> Division:
        """Return the same division with some fields changed."""
        return replace(self, **changes)  # type: ignore[arg-type]  # names and types are those of the fields


@dataclass(frozen=True, eq=False)
class Found:
    """An optimum: shares (n, m), prices (m,), level, price of utility (n,).

    ``steps`` are those of the interior point method, ``merit`` its worst relative residual.
    """

    share: FloatArray
    prices: FloatArray
    level: float
    worth: FloatArray
    steps: int = 0
    merit: float = 0.0
