"""Summaries of samples that survive outliers: median, quantiles, spread."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Summary:
    """
    What a set of samples says, in the samples' unit.

    Attributes:
        median: Half of the samples are at most this.
        min: The smallest sample.
        max: The largest sample.
        p99: The 99th percentile.
        iqr: Distance between the 25th and the 75th percentile.
        cov: Standard deviation over mean, a ratio; None for a single sample or a mean of zero.
        n: How many samples.
    """

    median: float
    min: float
    max: float
    p99: float
    iqr: float
    cov: float | None
    n: int


def summarize(samples: Sequence[float]) -> Summary:
    """
    Summarise samples.

    Args:
        samples: At least one finite number, in any order.

    Raises:
        ValueError: There are none, or one is not finite.
    """
    if not samples or not all(map(math.isfinite, samples)):
        raise ValueError(f"need one or more finite samples, got {list(samples)[:3]}")
    ordered = sorted(samples)
    return Summary(
        median=_quantile(ordered, 0.5),
        min=ordered[0],
        max=ordered[-1],
        p99=_quantile(ordered, 0.99),
        iqr=_quantile(ordered, 0.75) - _quantile(ordered, 0.25),
        cov=_variation(ordered),
        n=len(ordered),
    )


def _quantile(ordered: Sequence[float], fraction: float) -> float:
    """Interpolate between the two nearest ranks, as numpy's default does."""
    position = fraction * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    low, high = ordered[below], ordered[above]
    # The clamp keeps rounding from leaving the two neighbours' interval.
    return min(max(low + (position - below) * (high - low), low), high)


def _variation(samples: Sequence[float]) -> float | None:
    mean = statistics.fmean(samples)
    if len(samples) < 2 or mean == 0:  # noqa: PLR2004 - one sample has no spread
        return None
    return statistics.stdev(samples, mean) / mean
