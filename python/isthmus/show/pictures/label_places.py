"""Places of labels beside curves: near the ends of their curves, and never on each other."""

from collections.abc import Sequence
from dataclasses import dataclass
from math import log10

# A logarithmic axis is used if values differ by this or more.
_LOGARITHMIC_FROM = 10.0
_ROOM_BELOW, _ROOM_ABOVE = 0.8, 1.25
_ROOM_LINEAR = 1.08


@dataclass(frozen=True, kw_only=True)
class Scale:
    """
    A vertical axis: values to pixels from the top, and back.

    Attributes:
        logarithmic: Whether equal distances are equal ratios.
        height: Pixels.
    """

    low: float
    high: float
    logarithmic: bool
    height: float

    def pixel(self, value: float) -> float:
        """Give the distance of a value from the top, in pixels."""
        low, high, own = map(self._even, (self.low, self.high, value))
        return self.height * (high - own) / (high - low)

    def value(self, pixel: float) -> float:
        """Give the value at a distance from the top."""
        low, high = self._even(self.low), self._even(self.high)
        even = high - pixel / self.height * (high - low)
        return float(10**even) if self.logarithmic else even

    def _even(self, value: float) -> float:
        return log10(value) if self.logarithmic else value


def scale_of(values: Sequence[float], height: float) -> Scale:
    """
    Choose an axis, so many pixels high, for values above 0: from zero, or logarithmic if they
    differ much.
    """
    least, most = min(values), max(values)
    if most / least >= _LOGARITHMIC_FROM:
        low, high = least * _ROOM_BELOW, most * _ROOM_ABOVE
        return Scale(low=low, high=high, logarithmic=True, height=height)
    return Scale(low=0.0, high=most * _ROOM_LINEAR, logarithmic=False, height=height)


def spread(wanted: Sequence[float], heights: Sequence[float], limit: float) -> list[float]:
    """
    Move the middles of labels, in pixels from the top, apart as little as is needed, none beyond
    the ends of the panel, if the labels aren't higher together.
    """
    order = sorted(range(len(wanted)), key=lambda index: wanted[index])
    tops: dict[int, float] = {}
    free = 0.0
    for index in order:
        tops[index] = max(free, wanted[index] - heights[index] / 2)
        free = tops[index] + heights[index]
    ceiling = max(limit, sum(heights))
    for index in reversed(order):
        tops[index] = min(tops[index], ceiling - heights[index])
        ceiling = tops[index]
    return [tops[index] + heights[index] / 2 for index in range(len(wanted))]
