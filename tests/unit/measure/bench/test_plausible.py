import math

import pytest

from fakes.session import FakeMeasurement, FakeSamples, FakeSession, Watcher
from isthmus.measure.bench.convert import contradiction, impossible_time
from isthmus.measure.bench.plan import Point
from isthmus.measure.bench.runner import RunSettings, run_points
from isthmus.measure.bench.tests.catalogue import BY_NAME, Variation
from isthmus.measure.run.model import Result, Status

MIB = 1 << 20
# What a link of PCIe 5.0 takes for 64 MiB.
TRUE_S = 64 * MIB / 55e9
UNDER_LOAD = Point(BY_NAME["host_to_all_memcpy_ce"], 64 * MIB, Variation(axes=(("gpu", "0"),)))
ON_NODE = Point(
    BY_NAME["numa_host_to_device_memcpy_ce"],
    64 * MIB,
    Variation(axes=(("node", "0"), ("gpu", "0"))),
)
AMONG = Point(
    BY_NAME["device_to_device_memcpy_read_ce"],
    64 * MIB,
    Variation(axes=(("gpu", "0"), ("peer", "1"))),
)


def measured(point: Point, factor: float) -> list[Result]:
    """Measure with a clock whose unit is wrong by a factor; the first call is by another clock."""
    names = ["copy_time" if metric == "bandwidth" else metric for metric in point.metrics]
    samples = [FakeSamples(name, [TRUE_S * factor] * 3) for name in names]
    session = FakeSession(lambda *_: FakeMeasurement(samples, first_call_seconds=2 * TRUE_S))
    return run_points(session, [point], RunSettings(budget_s=1.0), Watcher()).results


@pytest.mark.parametrize("point", [UNDER_LOAD, ON_NODE, AMONG], ids=lambda p: p.test.name)
@pytest.mark.parametrize("factor", [1e3, 1e-3])
def test_a_time_unit_off_by_1000_is_an_error_not_a_number(point: Point, factor: float) -> None:
    for result in measured(point, factor):
        assert result.status == Status.ERROR
        assert result.error is not None
        assert "wrong unit" in result.error.message


@pytest.mark.parametrize("point", [UNDER_LOAD, ON_NODE, AMONG], ids=lambda p: p.test.name)
def test_the_right_unit_is_believed(point: Point) -> None:
    results = measured(point, 1.0)
    assert {result.status for result in results} == {Status.PASSED}
    assert results[0].median == pytest.approx(55e9)


@pytest.mark.parametrize("seconds", [0.0, -1.0, math.nan, math.inf])
def test_no_time_and_less_are_impossible_for_a_copy(seconds: float) -> None:
    found = impossible_time(seconds, clock="device", may_be_zero=False, num_bytes=4)
    assert found is not None
    assert "impossible times" in found


def test_nothing_between_two_events_may_take_no_time() -> None:
    assert impossible_time(0.0, clock="device", may_be_zero=True, num_bytes=None) is None


def test_no_call_takes_a_picosecond() -> None:
    found = impossible_time(1e-12, clock="host", may_be_zero=False, num_bytes=None)
    assert found is not None


def test_a_slow_copy_under_load_is_not_suspected() -> None:
    """Eight GPUs behind one link each take eight times as long as one."""
    assert contradiction([8 * TRUE_S] * 3, TRUE_S, clock="device") is None


def test_one_sample_that_was_held_up_contradicts_nobody() -> None:
    assert contradiction([4e-5, 4e-5, 1.0], 4e-5, clock="device") is None
    assert contradiction([4e-5, 1.0, 1.0], 4e-5, clock="device") is not None


def test_without_a_first_call_there_is_nothing_to_contradict() -> None:
    for first_call_s in (None, 0.0):
        assert contradiction([1.0], first_call_s, clock="device") is None
