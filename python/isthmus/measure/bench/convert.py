"""Turns the outcome of a point (samples, a reason, an error) into a result for each metric."""

from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Any

from isthmus.errors import DriverError
from isthmus.measure.bench.plan import Point
from isthmus.measure.bench.plausible import contradiction, impossible_time
from isthmus.measure.bench.session import Measurement, Samples
from isthmus.measure.bench.statistics import summarize
from isthmus.measure.bench.tests.catalogue import EVENT_METRICS, Metric
from isthmus.measure.run.derived_result import NOT_MEASURED
from isthmus.measure.run.result import Failure, Result, Status

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
