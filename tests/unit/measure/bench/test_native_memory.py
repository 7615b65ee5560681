"""Which times of memory are refused, and how lifetimes serve both directions."""

from collections.abc import Callable, Iterator
from itertools import chain, repeat

import pytest

from fakes.session import FakeMeasurement, FakeSamples
from isthmus.errors import ImpossibleTime
from isthmus.measure.bench.demand import StoppingRule
from isthmus.measure.bench.native.large_copies import LargeCopies, one_way
from isthmus.measure.bench.native.session import loop_named
from isthmus.measure.bench.native.wall_time import within_wall_time
from isthmus.measure.bench.tests.bench_test import Direction

_RULE = StoppingRule(min_samples=1, max_samples=2, max_seconds=0.1, relative_iqr=0.1)

_ALLOCATIONS = [one.name for one in loop_named("allocation").metrics if one.clock == "alone"]


def _clock(*moments: float) -> Callable[[], float]:
    following: Iterator[float] = chain(moments, repeat(moments[-1]))
    return lambda: next(following)


def _taking(seconds: float, stopped_by: str = "noise") -> FakeMeasurement:
    return FakeMeasurement([FakeSamples("allocate", [seconds] * 3, 2, stopped_by)])


def _held(measurement: FakeMeasurement, wall_s: float) -> object:
    """Compare samples with the time that elapsed while they were taken."""
    clock = _clock(10.0, 10.0 + wall_s)
    return within_wall_time(lambda: measurement, _RULE, sampled=_ALLOCATIONS, clock=clock)


def test_samples_that_fit_into_the_time_that_went_by_are_taken() -> None:
    found = _taking(0.1)
    assert _held(found, 0.7) is found


def test_milliseconds_taken_for_seconds_are_refused() -> None:
    with pytest.raises(ImpossibleTime, match=r"only 0\.7 s went by: a wrong unit"):
        _held(_taking(100.0), 0.7)


def test_seconds_taken_for_milliseconds_are_refused_where_sampling_took_its_time() -> None:
    with pytest.raises(ImpossibleTime, match=r"ended after 0\.1 s: a wrong unit"):
        _held(_taking(1e-5, "time"), 0.7)
    early = _taking(1e-5, "noise")
    assert _held(early, 0.7) is early


def test_metrics_that_are_sums_of_others_are_not_counted_twice() -> None:
    sums = FakeMeasurement([FakeSamples("allocate", [0.3], 1), FakeSamples("pair", [0.3], 1)])
    assert _held(sums, 0.4) is sums


def _lives() -> FakeMeasurement:
    return FakeMeasurement(
        [
            FakeSamples("life_upload", [0.2, 0.3], 1),
            FakeSamples("life_download", [0.5, 0.6, 0.7], 1),
        ],
        first_call_seconds=0.9,
        host_pages_by_node={0: 4},
    )


def test_each_direction_of_a_life_has_its_own_times() -> None:
    up, down = one_way(_lives(), "life_upload"), one_way(_lives(), "life_download")
    assert (up.samples[0].metric, down.samples[0].metric) == ("copy_time", "copy_time")
    assert (up.samples[0].seconds, up.first_call_seconds) == ([0.2, 0.3], 0.9)
    assert (down.samples[0].seconds, down.first_call_seconds) == ([0.6, 0.7], 0.5)
    assert (up.verified_on, down.verified_on) == ("device", "host")
    assert up.host_pages_by_node == {0: 4}


def test_one_measurement_of_large_copies_serves_both_directions() -> None:
    copies, (up, down) = LargeCopies(), Direction
    wanted = copies.split(_lives(), up, 64, "pinned")
    assert wanted.samples[0].seconds == [0.2, 0.3]
    assert copies.take(up, 64, "pinned") is None
    assert copies.take(down, 64, "pageable") is None
    other = copies.take(down, 64, "pinned")
    assert other is not None
    assert other.samples[0].seconds == [0.6, 0.7]
    assert copies.take(down, 64, "pinned") is None  # what was taken is measured anew
