"""Compares samples with the time that elapsed while they were taken."""

import time
from collections.abc import Callable, Iterable, Sequence
from typing import TYPE_CHECKING, TypeVar

from isthmus.errors import ImpossibleTime
from isthmus.ground.spelling import counted
from isthmus.measure.bench.metrics import Metric
from isthmus.measure.bench.stopping import StoppingRule

if TYPE_CHECKING:
    from isthmus.measure.bench.session import Measurement, Samples

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
