"""Turns the outcome of a point (samples, a reason, an error) into a summary for each metric."""

import math
import statistics
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any, Literal

from isthmus.errors import DriverError
from isthmus.measure.bench.plan import Point
from isthmus.measure.bench.session import Measurement, Samples
from isthmus.measure.bench.tests.catalogue import EVENT_METRICS, Metric
from isthmus.measure.run.result import NOT_MEASURED, Failure, Result, Status

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


_SAMPLED_AS = {"copy_time": Metric.BANDWIDTH}
_NOBODY = "nobody"


# The value of each number of a result without numbers.
@dataclass(frozen=True, kw_only=True)
class Circumstances:
    """The fields that are the same for all metrics of a measurement."""

    first_call_s: float | None = None
    verified_on: str | None = None
    host_pages_by_node: Mapping[int, int] | None = None
    clock_reasons: Sequence[str] | None = None


def measured(
    point: Point,
    measurement: Measurement,
    *,
    host_pages_by_node: Mapping[int, int],
    clock_reasons: Sequence[str] | None = None,
    keep_samples: bool,
) -> list[Result]:
    """Summarise a measurement as a result for each metric: passed, or waived with the reason."""
    samples = {_SAMPLED_AS.get(found.metric, found.metric): found for found in measurement.samples}
    around = Circumstances(
        first_call_s=measurement.first_call_seconds,
        verified_on=None if measurement.verified_on == _NOBODY else measurement.verified_on,
        host_pages_by_node=host_pages_by_node or None,
        clock_reasons=None if clock_reasons is None else list(clock_reasons),
    )
    results = []
    for metric in point.metrics:
        if metric in samples and samples[metric].seconds:
            results.append(_passed(point, metric, samples[metric], around, keep=keep_samples))
        else:
            reason = measurement.waived.get(metric, "the measurement gave no samples")
            results.append(_result(point, metric, Status.WAIVED, around, reason=reason))
    return results


def waived(point: Point, reason: str) -> list[Result]:
    """Waive every metric of a point for the same reason."""
    return [
        _result(point, metric, Status.WAIVED, Circumstances(), reason=reason)
        for metric in point.metrics
    ]


def failed(point: Point, error: Exception, *, not_run: bool = False) -> list[Result]:
    """
    Give every metric of a point the same error; `not_run` if it happened to an earlier point, and
    made the device unusable for this one.
    """
    before = "not run, the device was lost: " if not_run else ""
    driver = error if isinstance(error, DriverError) else None
    failure = Failure(
        symbol=driver.symbol if driver else None,
        code=driver.code if driver else None,
        code_name=driver.code_name if driver else None,
        message=f"{before}{str(error) or type(error).__name__}",
    )
    return [
        _result(point, metric, Status.ERROR, Circumstances(), error=failure)
        for metric in point.metrics
    ]


def _passed(
    point: Point, metric: Metric, found: Samples, around: Circumstances, *, keep: bool
) -> Result:
    if reason := _impossible(point, metric, found.seconds, around):
        broken = Failure(symbol=None, code=None, code_name=None, message=reason)
        return _result(point, metric, Status.ERROR, around, error=broken)
    values = list(found.seconds)
    if point.test.unit(metric) == "B/s":
        values = [point.size_bytes / seconds for seconds in values]
    return _result(
        point,
        metric,
        Status.PASSED,
        around,
        **asdict(summarize(values)),
        copies_per_sample=found.copies_per_sample,
        stopped_by=found.stopped_by,
        samples=values if keep else None,
    )


def _impossible(
    point: Point, metric: Metric, samples: Sequence[float], around: Circumstances
) -> str | None:
    """Say why a sample is impossible; None if all are possible."""
    unit = point.test.unit(metric)
    moved = point.size_bytes if point.test.moves_all(metric) else None
    # A ratio is not a time that could be compared with a first call.
    first_call_s = around.first_call_s if unit in {"s", "B/s"} else None
    reasons = (
        impossible_time(
            seconds,
            clock=point.test.clock(metric),
            may_be_zero=metric in EVENT_METRICS,
            num_bytes=moved,
        )
        for seconds in samples
    )
    first = next(filter(None, reasons), None)
    return first or contradiction(samples, first_call_s, clock=point.test.clock(metric))


def _result(
    point: Point, metric: Metric, status: Status, around: Circumstances, **known: object
) -> Result:
    fields: dict[str, Any] = NOT_MEASURED | asdict(around) | known
    source, target = point.test.ends(metric, point.variation)
    variation, direction = point.variation, point.test.direction
    return Result(
        test=point.test.name,
        suite=point.test.suite.value,
        status=status,
        source=source,
        target=target,
        direction=direction and direction.value,
        bytes=point.size_bytes,
        metric=metric.value,
        clock=point.test.clock(metric),
        blocked=point.test.behind_gate(metric),
        unit=point.test.unit(metric),
        cpu_cache=variation.cpu_cache,
        num_threads=variation.num_threads,
        cpu_node=variation.cpu_node,
        data=variation.data and variation.data.value,
        axes=dict(variation.axes),
        **fields,
    )
