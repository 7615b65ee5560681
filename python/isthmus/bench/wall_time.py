"""Holds samples against the time that went by while they were taken."""

import time
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from isthmus.bench.stopping import StoppingRule

if TYPE_CHECKING:
    from isthmus.bench.session import Measurement

# Metrics whose samples are of different times: others are sums of them, or parts.
ALLOCATIONS = ("allocate", "free", "allocate_live", "free_live")
LIVES = ("allocate", "life_upload", "life_download", "free")
COPIES = ("copy_time",)
# What isn't timed (preparing, verifying) takes less than so many times what is.
_MOST_UNTIMED = 1000
_BY_TIME = "time"


class ImpossibleTimes(RuntimeError):
    """Samples that don't fit the time in which they were taken: a wrong unit, or a wrong clock."""

    def __init__(self, sampled_s: float, words: str) -> None:
        """Say by how much."""
        super().__init__(
            f"the samples sum to {sampled_s:.3g} s, and {words}: a wrong unit, or a wrong clock"
        )


def within_wall_time(
    measure: "Callable[[], Measurement]",
    stopping: StoppingRule,
    *,
    sampled: Sequence[str],
    clock: Callable[[], float] = time.monotonic,
) -> "Measurement":
    """
    Measure, and refuse times that can't have been taken meanwhile.

    A clock in another unit doesn't pass: milliseconds taken for seconds sum to a thousand times of
    what went by, and seconds taken for milliseconds to a thousandth of what sampling was to take.

    Args:
        measure: The measurement.
        stopping: Its rule.
        sampled: Metrics whose samples are of different times.
        clock: Seconds since any moment.

    Raises:
        ImpossibleTimes: They can't.
    """
    start = clock()
    found = measure()
    wall_s = clock() - start
    taken = [samples for samples in found.samples if samples.metric in sampled]
    sampled_s = sum(sum(samples.seconds) * samples.copies_per_sample for samples in taken)
    if sampled_s > wall_s:
        raise ImpossibleTimes(sampled_s, f"only {wall_s:.3g} s went by")
    ended_by_time = any(samples.stopped_by == _BY_TIME for samples in taken)
    if ended_by_time and sampled_s * _MOST_UNTIMED < min(stopping.max_seconds, wall_s):
        raise ImpossibleTimes(sampled_s, f"sampling ended after {stopping.max_seconds:.3g} s")
    return found
