"""
Compares samples with the time that elapsed while they were taken, and the metrics of a small copy
with each other.
"""

import statistics
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, TypeVar

from isthmus.errors import ImpossibleTime
from isthmus.ground.spelling import counted
from isthmus.measure.bench.demand import StoppingRule
from isthmus.measure.bench.metrics import EVENT_METRICS, Metric
from isthmus.measure.bench.session import Measurement

if TYPE_CHECKING:
    from isthmus.measure.bench.session import Samples

_Measured = TypeVar("_Measured", bound="Measurement")

_NOT_SECONDS = frozenset({Metric.ASYNC_OVER_BLOCKING, Metric.DOWNLOAD_OVER_UPLOAD})
# All samples of one metric can't have taken longer than the whole measurement. They may be by the
# GPU's clock: clocks differ by parts of a million, units by a thousand.
_MAX_OF_THE_WALL = 2.0
# What isn't timed (preparing, verifying) takes at most so many times as long as what is.
_MAX_UNTIMED = 1000
_BY_TIME = "time"


def within_wall_time(
    measure: Callable[[], _Measured],
    stopping: StoppingRule,
    *,
    sampled: Sequence[str] = (),
    clock: Callable[[], float] = time.monotonic,
) -> _Measured:
    """
    Measure, and refuse times that can't have been taken meanwhile, such as milliseconds taken for
    seconds; of `sampled` metrics, which are separate times by the CPU's clock, the sum counts, too.
    """
    start_s = clock()
    found = measure()
    wall_s = clock() - start_s
    _check_each(found.samples, wall_s)
    _check_sum([each for each in found.samples if each.metric in sampled], wall_s, stopping)
    return found


def _check_each(samples: "Iterable[Samples]", wall_s: float) -> None:
    for each in samples:
        if each.metric not in _NOT_SECONDS and _seconds(each) > _MAX_OF_THE_WALL * wall_s:
            what = f"{each.metric}: {counted(len(each.seconds), 'sample')}"
            raise _impossible(what, _seconds(each), f"only {wall_s:.3g} s went by")


def _check_sum(samples: "Sequence[Samples]", wall_s: float, stopping: StoppingRule) -> None:
    sampled_s = sum(map(_seconds, samples))
    if sampled_s > wall_s:
        raise _impossible("the samples", sampled_s, f"only {wall_s:.3g} s went by")
    ended_by_time = any(each.stopped_by == _BY_TIME for each in samples)
    if ended_by_time and sampled_s * _MAX_UNTIMED < min(stopping.max_seconds, wall_s):
        ended = f"sampling ended after {stopping.max_seconds:.3g} s"
        raise _impossible("the samples", sampled_s, ended)


def _seconds(samples: "Samples") -> float:
    return sum(samples.seconds) * samples.copies_per_sample


def _impossible(what: str, sampled_s: float, words: str) -> ImpossibleTime:
    return ImpossibleTime(
        f"{what} sum to {sampled_s:.3g} s, and {words}: a wrong unit, or a wrong clock"
    )


# The fastest driver call that does no work takes longer: cuPointerGetAttributes, 60 to 100 ns
# (benchmarks/transfer/README.md); and no event sees less than a clock's tick of
# 32 ns (kernels/portable.cuh).
_MIN_DRIVER_CALL_S = 20e-9
_MIN_EVENT_TIME_S = 10e-9
# The time between events is part of the CPU's wait; a copy behind a gate had to be woken first.
_MAX_COMPLETIONS = 50.0


def check_latencies(found: Measurement, *, by_driver: bool) -> None:
    """Compare a small copy's metrics with each other and with the limits of what is possible."""
    medians = {s.metric: statistics.median(s.seconds) for s in found.samples if s.seconds}
    if by_driver:
        _check_shortest(medians)
    # A wrong clock is wrong in every sample; a thread that lost its core disturbs some of them.
    deltas = [one for s in found.samples if s.metric == Metric.EVENT_DELTA for one in s.seconds]
    delta, completion = min(deltas, default=None), medians.get(Metric.COMPLETION)
    if delta is not None and completion is not None and delta > _MAX_COMPLETIONS * completion:
        raise ImpossibleTime(
            f"the GPU's clock says {delta:.3g} s of a copy that the CPU saw done in "
            f"{completion:.3g} s: a wrong unit, or a wrong clock"
        )


def _check_shortest(medians: Mapping[str, float]) -> None:
    for metric, median in medians.items():
        least = _MIN_EVENT_TIME_S if metric in EVENT_METRICS else _MIN_DRIVER_CALL_S
        if metric != Metric.EVENT_FLOOR and 0 < median < least:
            raise ImpossibleTime(
                f"{metric}: {median:.3g} s is less than any call of a driver takes: "
                "a wrong unit, or a wrong clock"
            )
