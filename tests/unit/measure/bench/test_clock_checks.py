"""Times that contradict each other or the elapsed time are refused."""

from collections.abc import Mapping, Sequence

import pytest

from fakes.latency import ROOMY
from fakes.session import FakeMeasurement, FakeSamples
from isthmus.errors import ImpossibleTime
from isthmus.measure.bench.demand import Demand, StoppingRule
from isthmus.measure.bench.native.session import NativeSession, loop_named
from isthmus.measure.bench.native.wall_time import check_latencies, within_wall_time
from isthmus.measure.bench.tests.bench_test import BenchTest, Variation
from isthmus.measure.bench.tests.catalogue import BY_NAME
from isthmus.measure.bench.tests.experiments import EXPERIMENT_TESTS
from isthmus.measure.bench.tests.small_copies import SmallCopyTest
from isthmus.measure.machine.placement import Placement

RULE = StoppingRule(min_samples=3, max_samples=3, max_seconds=1.0, relative_iqr=0.01)
ASYNC = BY_NAME["host_to_device_small_copy_async"]
HOME_BY_CPU, HOME_BY_GPU, ROUND = EXPERIMENT_TESTS
TIMED = (ASYNC, HOME_BY_CPU, ROUND, BY_NAME["alloc_cuda_malloc"])

ALLOCATIONS = [one.name for one in loop_named("allocation").metrics if one.clock == "alone"]


def latencies(**seconds: float) -> FakeMeasurement:
    return FakeMeasurement([FakeSamples(name, [value] * 3, 1) for name, value in seconds.items()])


def held(found: FakeMeasurement, wall_s: float, sampled: Sequence[str] = ()) -> FakeMeasurement:
    """Compare samples with the time that elapsed while they were taken."""
    moments = iter((10.0, 10.0 + wall_s))
    return within_wall_time(lambda: found, RULE, sampled=sampled, clock=lambda: next(moments))


def test_times_that_agree_pass() -> None:
    found = latencies(api_return=2e-6, completion=6e-6, event_delta=2e-6, event_floor=0.0)
    check_latencies(found, by_driver=True)
    assert held(found, 1e-3) is found


@pytest.mark.parametrize(
    ("metric", "seconds"),
    [("completion", 6e-9), ("api_return", 2e-9), ("event_delta", 2e-9), ("event_delta", 2e-3)],
)
def test_a_latency_that_is_off_by_a_thousand_is_refused(metric: str, seconds: float) -> None:
    usual = {"api_return": 2e-6, "completion": 6e-6, "event_delta": 2e-6}
    with pytest.raises(ImpossibleTime, match="a wrong unit"):
        check_latencies(latencies(**(usual | {metric: seconds})), by_driver=True)


def test_a_store_of_the_cpu_may_take_nanoseconds() -> None:
    check_latencies(latencies(api_return=2e-9), by_driver=False)


def test_samples_that_sum_to_more_than_the_time_they_took_are_refused() -> None:
    milliseconds_for_seconds = latencies(completion=6e-3)
    with pytest.raises(ImpossibleTime, match=r"completion: 3 samples sum to .* a wrong unit"):
        held(milliseconds_for_seconds, 1e-3)


def test_samples_that_are_no_part_of_a_sum_are_still_held_against_the_time_alone() -> None:
    pairs = latencies(pair=6e-3)
    with pytest.raises(ImpossibleTime, match="pair: 3 samples"):
        held(pairs, 1e-3, sampled=ALLOCATIONS)


def test_a_ratio_is_no_time() -> None:
    held(latencies(async_over_blocking=1.5), 1e-3)


class Bench:
    """Replaces the native clock: reports the times of copies in any unit."""

    def __init__(self, found: FakeMeasurement) -> None:
        self.found = found
        self.asked: list[Mapping[str, object]] = []

    def measure(self, loop: str, values: Mapping[str, object], **given: object) -> FakeMeasurement:
        del given
        self.asked.append({"loop": loop, **values})
        return self.found

    @staticmethod
    def take_notices() -> list[str]:
        return ["an untested driver"]


class FakeDevice:
    """In place of a DeviceUnderTest."""

    emulated = True
    placement = Placement(nodes=[], device_node=None, bound_node=None, cpus=[0])

    def __init__(self) -> None:
        self.notes: list[str] = []

    def note_once(self, note: str | None) -> None:
        if note is not None and note not in self.notes:
            self.notes.append(note)

    @staticmethod
    def with_kernels(ask: object) -> object:
        assert callable(ask)
        return ask(None)


def session(bench: Bench, device: FakeDevice | None = None) -> NativeSession:
    made = NativeSession(device or FakeDevice())  # type: ignore[arg-type]
    made._opened = bench  # type: ignore[assignment]
    return made


@pytest.mark.parametrize("test", TIMED, ids=lambda test: test.name)
def test_a_session_refuses_milliseconds_taken_for_seconds(
    test: BenchTest,
) -> None:
    ((size, variation), *_) = test.points(Demand(limits=ROOMY))
    names = ["completion"] if test is ASYNC else [test.metrics[0].value]
    bench = Bench(FakeMeasurement([FakeSamples(name, [6.0] * 3, 100) for name in names]))
    with pytest.raises(ImpossibleTime):
        session(bench).measure(test, size, variation, RULE, None)


def test_a_session_hands_on_what_the_test_says() -> None:
    bench = Bench(latencies(upload=1e-9))
    device = FakeDevice()
    measuring = session(bench, device)
    ((size, variation), *_) = HOME_BY_GPU.points(Demand(limits=ROOMY))
    measuring.measure(HOME_BY_GPU, size, variation, RULE, None)
    assert bench.asked[0]["clock"] == "device"
    assert bench.asked[0]["iterations"] == 100
    test = BY_NAME["device_to_host_small_copy_sm"]
    assert isinstance(test, SmallCopyTest)
    # Less than the call itself takes: nothing here waits so long.
    bench.found = latencies(completion=1e-7)
    measuring.measure(test, 4, Variation(cpu_cache="cold"), RULE, None)
    asked = bench.asked[1]
    assert (asked["method"], asked["host_memory"], asked["cold"]) == ("kernel", "pinned", True)
    assert device.notes == ["an untested driver"]


def test_a_thread_that_lost_its_core_is_no_wrong_clock() -> None:
    found = FakeMeasurement(
        [
            FakeSamples("completion", [6e-6] * 3, 1),
            FakeSamples("event_delta", [2e-6, 5e-3, 6e-3], 1),
        ]
    )
    check_latencies(found, by_driver=True)
