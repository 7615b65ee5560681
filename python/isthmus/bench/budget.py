"""Divides the time of a run among its points."""

import time
from collections.abc import Callable, Sequence

from isthmus.bench.plan import Point

_MIN_SHARE_S = 0.01


class Budget:
    """
    A number of seconds, divided by weight.

    Later points get what a point leaves unused, and lose what it overruns.
    """

    def __init__(
        self,
        seconds: float,
        points: Sequence[Point],
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        """
        Start the clock.

        Args:
            seconds: For all points together.
            points: In the order in which they will ask.
            clock: Seconds since any fixed moment.
        """
        self._clock = clock
        self._deadline = clock() + seconds
        self._weight_left = sum(point.weight for point in points)

    def share(self, point: Point) -> float:
        """Give the next point its share, in seconds; always more than 0."""
        own = point.weight
        seconds_left = max(0.0, self._deadline - self._clock())
        share = seconds_left * own / self._weight_left if self._weight_left > 0 else 0.0
        self._weight_left -= own
        return max(share, _MIN_SHARE_S)
