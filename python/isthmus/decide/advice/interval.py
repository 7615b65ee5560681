"""A time with its measured spread."""

import math
from bisect import bisect_left
from collections.abc import Iterable, Mapping
from functools import cache
from typing import NamedTuple

from isthmus.decide.profile.costs import on_line
from isthmus.decide.profile.model import Timing

# Where a profile has no quartiles: by how much medians of the same copies differed minutes later
# (docs/profile.md, "How a path is chosen").
_UNKNOWN_SPREAD = 0.03
# New pages of small blocks take up to this many times what the rate of large ones predicts: the
# lives of benchmarks/link/h100.
_NEW_PAGES = 2.0
# The factor in the time of a byte from which on there is a step: the C library and the driver keep
# memory below some size, and get new pages above it.
_STEP = 4.0


class Interval(NamedTuple):
    """
    A time in seconds.

    Attributes:
        seconds: The middle.
        low: Where its spread begins.
        high: Where its spread ends.
    """

    seconds: float
    low: float
    high: float

    def times(self, count: float) -> "Interval":
        """Repeat it: the same spread, each time."""
        return Interval(self.seconds * count, self.low * count, self.high * count)

    def overlaps(self, other: "Interval") -> bool:
        """Whether the spreads have a time in common."""
        return self.low <= other.high and other.low <= self.high


NOTHING = Interval(0.0, 0.0, 0.0)


def total(parts: Iterable[Interval]) -> Interval:
    """Add times that vary independently of each other: their spreads add as squares do."""
    middle = below = above = 0.0
    for part in parts:
        middle += part.seconds
        below += (part.seconds - part.low) ** 2
        above += (part.high - part.seconds) ** 2
    return Interval(middle, max(0.0, middle - math.sqrt(below)), middle + math.sqrt(above))


def interval_of(timing: Timing) -> Interval:
    """Give a measured time, with 3 % on both sides if its quartiles weren't recorded."""
    low, high = timing.low_seconds, timing.high_seconds
    return Interval(
        timing.seconds,
        timing.seconds * (1 - _UNKNOWN_SPREAD) if low is None else min(low, timing.seconds),
        timing.seconds * (1 + _UNKNOWN_SPREAD) if high is None else max(high, timing.seconds),
    )


class Curve:
    """
    Times over sizes, with their spreads: straight lines between measured points.

    Attributes:
        last_bytes: The largest measured size; beyond it the curve is extrapolated.
    """

    def __init__(self, timings: Mapping[int, Timing]) -> None:
        """Take the measured points, at least one, by ascending size."""
        self._sizes = list(timings)
        intervals = [interval_of(timing) for timing in timings.values()]
        self._seconds = [one.seconds for one in intervals]
        self._lows = [one.low for one in intervals]
        self._highs = [one.high for one in intervals]
        self._steps = {
            place
            for place in range(1, len(self._sizes))
            if self._seconds[place] * self._sizes[place - 1]
            > _STEP * self._seconds[place - 1] * self._sizes[place]
        }
        self.first_bytes, self.last_bytes = self._sizes[0], self._sizes[-1]
        # A search for break-evens asks for the same sizes for each way and number of uses.
        self.at = cache(self._at)

    def _at(self, size_bytes: int) -> Interval:
        """Predict the time at a size; across a step between two points the spread covers both."""
        middle, low, high = (
            on_line(self._sizes, series, size_bytes)
            for series in (self._seconds, self._lows, self._highs)
        )
        place = bisect_left(self._sizes, size_bytes)
        if place in self._steps and size_bytes != self._sizes[place]:
            low = min(low, self._lows[place - 1] * size_bytes / self._sizes[place - 1])
            high = max(high, self._highs[place])
        return Interval(middle, min(low, middle), max(high, middle))

    def new_pages(self, size_bytes: int) -> Interval:
        """Predict the time if no block was kept: below the last step, by the rate behind it."""
        here, step = self.at(size_bytes), max(self._steps, default=0)
        if size_bytes >= self._sizes[step]:
            return here
        share = size_bytes / self._sizes[step]
        call, pages = self.at(self.first_bytes), self.at(self._sizes[step]).times(share)
        high = call.high + pages.high * _NEW_PAGES
        pages = Interval(call.seconds + pages.seconds, call.low + pages.low, high)
        return Interval(*map(max, here, pages))
