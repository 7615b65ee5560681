"""Tells times that can't be: of a clock that went wrong, or in another unit."""

import math
import statistics
from collections.abc import Sequence
from typing import Literal

# A thousand times is what a mistaken unit makes; a first call is slower than later ones, and a copy
# under load slower than one alone, though never so much.
_MAX_FIRST_CALLS = 100
# The memory of no GPU is that fast (a B200's gives 8 TB/s), nor are all caches of a host together.
_MAX_BYTES_PER_S = {"device": 10e12, "host": 50e12}
# A call takes some instructions at least.
_MIN_HOST_S = 1e-10


def impossible_time(
    seconds: float,
    *,
    clock: Literal["device", "host"],
    may_be_zero: bool,
    num_bytes: int | None,
) -> str | None:
    """
    Say why a sample can't be right.

    Args:
        seconds: For one copy.
        clock: Whose clock it was.
        may_be_zero: Nothing, or next to nothing, is timed.
        num_bytes: What was moved meanwhile; None if the time is not one of moving bytes.

    Returns:
        The reason; None for a time that may be.
    """
    # GPU events give such times in confidential-computing mode (nvbandwidth's README).
    if not math.isfinite(seconds) or seconds < 0 or (seconds == 0 and not may_be_zero):
        return f"the clock gave impossible times, such as {seconds} s for one copy"
    if clock == "host" and 0 < seconds < _MIN_HOST_S:
        return f"{seconds} s is less than any call takes: a wrong unit, or a wrong clock"
    if num_bytes is not None and num_bytes > _MAX_BYTES_PER_S[clock] * seconds:
        return (
            f"{num_bytes} bytes in {seconds} s are more than any memory takes: "
            "a wrong unit, or a wrong clock"
        )
    return None


def contradiction(
    samples: Sequence[float], first_call_s: float | None, *, clock: Literal["device", "host"]
) -> str | None:
    """
    Say why the GPU's clock can't be right, by what the CPU's says.

    Args:
        samples: Seconds for one copy each. One of them may have been held up by anything: their
            median counts.
        first_call_s: What the host's clock said of a first copy, waited for; 0 or None if nothing.
        clock: Whose clock timed the samples.
    """
    usual_s = statistics.median(samples)
    if clock == "host" or not first_call_s or usual_s <= _MAX_FIRST_CALLS * first_call_s:
        return None
    return (
        f"the GPU's clock says {usual_s} s of what the CPU saw done in {first_call_s} s: "
        "a wrong unit, or a wrong clock"
    )
