"""Summaries of samples that survive outliers: median, quantiles, spread."""

import math
import statistics
from collections.abc import Sequence
from dataclasses import dataclass

_FEWEST_FOR_QUARTILES = 5
_FENCES = 3.0
# The fences of quiet samples are so near that a sample beyond them means nothing.
_MIN_DISTANCE = 0.05


@dataclass(frozen=True, kw_only=True)
class Summary:
    """
    The summary of a set of samples, in the samples' unit.

    Attributes:
        cov: Standard deviation over mean, a ratio; None for a single sample or a mean of zero.
        num_outliers: The number that are far from the others: more than three interquartile
            ranges beyond the quartiles (Tukey's outer fences), and at least a twentieth of the
            median. They count like all others; None for fewer than five samples, whose quartiles
            mean nothing.
    """

    median: float
    min: float
    max: float
    p99: float
    iqr: float
    mean: float
    cov: float | None
    n: int
    num_outliers: int | None


def summarize(samples: Sequence[float]) -> Summary:
    """Summarise samples, in any order; raises ValueError if there are none, or one isn't finite."""
    if not samples or not all(map(math.isfinite, samples)):
        raise ValueError(f"need one or more finite samples, got {list(samples)[:3]}")
    ordered = sorted(samples)
    return Summary(
        median=_quantile(ordered, 0.5),
        min=ordered[0],
        max=ordered[-1],
        p99=_quantile(ordered, 0.99),
        iqr=_quantile(ordered, 0.75) - _quantile(ordered, 0.25),
        mean=statistics.fmean(ordered),
        cov=_variation(ordered),
        n=len(ordered),
        num_outliers=_outliers(ordered),
    )


def _outliers(ordered: Sequence[float]) -> int | None:
    """Count samples beyond the outer fences. Source: Tukey, Exploratory Data Analysis, 1977."""
    if len(ordered) < _FEWEST_FOR_QUARTILES:
        return None
    first, third = _quantile(ordered, 0.25), _quantile(ordered, 0.75)
    reach = max(_FENCES * (third - first), _MIN_DISTANCE * abs(_quantile(ordered, 0.5)))
    return sum(not first - reach <= sample <= third + reach for sample in ordered)


def _quantile(ordered: Sequence[float], fraction: float) -> float:
    """Interpolate between the two nearest ranks, as numpy's default does."""
    position = fraction * (len(ordered) - 1)
    below = math.floor(position)
    above = min(below + 1, len(ordered) - 1)
    low, high = ordered[below], ordered[above]
    # The clamp keeps rounding errors within the two neighbours' interval.
    return min(max(low + (position - below) * (high - low), low), high)


def _variation(samples: Sequence[float]) -> float | None:
    mean = statistics.fmean(samples)
    if len(samples) < 2 or mean == 0:  # noqa: PLR2004 - one sample has no spread
        return None
    return statistics.stdev(samples, mean) / mean
