"""How the memory instruments use the native module's measurements, and what they refuse."""

import time
from collections.abc import Callable, Iterator
from itertools import chain, repeat
from types import SimpleNamespace
from typing import Any, cast

import pytest

from fakes.session import FakeMeasurement, FakeSamples
from isthmus import _native
from isthmus.bench.native.alloc import NativeAlloc, NativeLargeCopies, one_way
from isthmus.bench.native.wall_time import ALLOCATIONS, within_wall_time
from isthmus.bench.stopping import StoppingRule
from isthmus.bench.tests.alloc import AllocTest
from isthmus.bench.tests.bench_test import Variation
from isthmus.bench.tests.catalogue import BY_NAME
from isthmus.bench.tests.pinned_vs_pageable import LargeCopyTest
from isthmus.errors import ImpossibleTime
from isthmus.run.break_even import MEMORY

_RULE = StoppingRule(min_samples=1, max_samples=2, max_seconds=0.1, relative_iqr=0.1)


def _clock(*moments: float) -> Callable[[], float]:
    following: Iterator[float] = chain(moments, repeat(moments[-1]))
    return lambda: next(following)


def _taking(seconds: float, stopped_by: str = "noise") -> FakeMeasurement:
    return FakeMeasurement([FakeSamples("allocate", [seconds] * 3, 2, stopped_by)])


def _held(measurement: FakeMeasurement, wall_s: float) -> object:
    """Compare samples with the time that elapsed while they were taken."""
    clock = _clock(10.0, 10.0 + wall_s)
    return within_wall_time(lambda: measurement, _RULE, sampled=ALLOCATIONS, clock=clock)


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


def test_a_native_module_that_reports_milliseconds_is_refused(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    real = 0.002

    def in_milliseconds(*_: object, **__: object) -> FakeMeasurement:
        time.sleep(0)
        return _taking(real * 1000)

    monkeypatch.setattr(_native, "measure_allocation", in_milliseconds, raising=False)
    instrument = NativeAlloc(cast("Any", SimpleNamespace(context=None)))
    test = BY_NAME["alloc_cuda_malloc"]
    assert isinstance(test, AllocTest)
    with pytest.raises(ImpossibleTime):
        instrument.measure(test, 4096, Variation(axes=(("live", 2),)), _RULE)


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


def test_one_measurement_of_large_copies_serves_both_directions(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    asked: list[tuple[str, int]] = []

    def lives(
        _: object, memory: str, size_bytes: int, *__: object, **___: object
    ) -> FakeMeasurement:
        asked.append((memory, size_bytes))
        return _lives()

    monkeypatch.setattr("isthmus.bench.native.alloc.measure_lives", lives)
    instrument = NativeLargeCopies(cast("Any", None))
    up, down = (
        BY_NAME["host_to_device_pinned_vs_pageable"],
        BY_NAME["device_to_host_pinned_vs_pageable"],
    )
    assert isinstance(up, LargeCopyTest)
    assert isinstance(down, LargeCopyTest)
    for memory in ("pageable", "pinned"):
        variation = Variation(axes=((MEMORY, memory),))
        assert instrument.measure(up, 64, variation, _RULE).samples[0].seconds == [0.2, 0.3]
        assert instrument.measure(down, 64, variation, _RULE).samples[0].seconds == [0.6, 0.7]
    assert asked == [("pageable", 64), ("pinned", 64)]
    instrument.measure(down, 64, Variation(axes=((MEMORY, "pinned"),)), _RULE)
    assert len(asked) == 3  # what was taken is measured anew
