"""Recognises impossible times: from a clock that failed, or in another unit."""

import math
import statistics
from collections.abc import Sequence
from typing import Literal

# A wrong unit makes a factor of a thousand. A first call is slower than later ones, and a copy
# under load slower than one alone, but never by so much.
_MAX_FIRST_CALLS = 100
# No GPU's memory is that fast (a B200's gives 8 TB/s), and neither are all caches of a host.
_MAX_BYTES_PER_S = {"device": 10e12, "host": 50e12}
# A call takes at least some instructions.
_MIN_HOST_S = 1e-10


def impossible_time(
    seconds: float,
    *,
    clock: Literal["device", "host"],
    may_be_zero: bool,
    num_bytes: int | None,
) -> str | None:
    """
    Say why a sample, seconds for one copy, is impossible, if it is; without `num_bytes` the time
    isn't one of moving bytes.
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
    Say why the GPU's clock is impossible, compared with the CPU's time of a first copy with its
    wait. Anything may have delayed one sample (seconds for one copy), so the median counts.
    """
    usual_s = statistics.median(samples)
    if clock == "host" or not first_call_s or usual_s <= _MAX_FIRST_CALLS * first_call_s:
        return None
    return (
        f"the GPU's clock says {usual_s} s for what the CPU saw done in {first_call_s} s: "
        "a wrong unit, or a wrong clock"
    )
