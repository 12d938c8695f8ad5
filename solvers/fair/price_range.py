"""A range of prices and levels that moves towards an optimum."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from allocsolve.models.arrays import FloatArray

__all__ = ["PriceRange", "normal"]


@dataclass
class PriceRange:
    """A box of prices of the open types, whose whole stock is worth 1, and of levels."""

    prices: FloatArray
    radius: FloatArray
    level: float
    span: float

    @property
    def low(self) -> FloatArray:
        """The lowest prices, (m,)."""
        return np.maximum(self.prices - self.radius, 0.0)

    @property
    def high(self) -> FloatArray:
        """The highest prices, (m,)."""
        return self.prices + self.radius

    @property
    def ends(self) -> tuple[float, float]:
        """The lowest and the highest level."""
        span = max(self.span, 1e-9 * self.level)
        return max(self.level - span, 1e-3 * self.level), self.level + span

    def move(self, prices: FloatArray, level: float) -> None:
        """Step towards prices and level that were found, no farther than to the edge."""
        low, high = self.low, self.high
        inside = (prices >= low) & (prices <= high)
        self.prices = np.clip(prices, low + 0.1 * self.radius, high)
        self.radius = np.maximum(np.where(inside, 0.5, 1.6) * self.radius, 0.01 * self.prices)
        first, last = self.ends
        if not first <= level <= last:
            self.level, self.span = float(np.clip(level, first, last)), 1.6 * self.span

    def widen(self) -> None:
        """Take three times as much on each side."""
        self.radius, self.span = 3 * self.radius, min(3 * self.span, 0.99 * self.level)


def normal(prices: FloatArray, stock: FloatArray) -> FloatArray:
    """Return prices at which the whole stock is worth 1: choices do not depend on the unit."""
    worth = float(prices @ stock)
    return prices / worth if worth > 0 else prices
