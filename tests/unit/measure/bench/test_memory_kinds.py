from dataclasses import replace

import pytest

from fakes.session import FakeMeasurement, FakeSamples, FakeSession, Watcher
from isthmus.measure.bench.demand import (
    MAX_MANAGED_BYTES,
    BufferKinds,
    Contents,
    Demand,
    DeviceMemory,
    HostMemory,
    Limits,
)
from isthmus.measure.bench.plan import Point, plan_points
from isthmus.measure.bench.runner import RunSettings, run_points
from isthmus.measure.bench.tests.bench_test import BenchTest, Suite
from isthmus.measure.bench.tests.catalogue import BY_NAME
from isthmus.measure.bench.tests.managed import MANAGED_TESTS
from isthmus.measure.bench.tests.memory_kinds import MEMORY_KIND_TESTS
from isthmus.measure.bench.tests.small_copies import POINTER_CHASE_TESTS
from isthmus.measure.run.result import Result, Status

GIB = 1 << 30
ROOMY = Demand(limits=Limits(device_bytes=80 * GIB, host_bytes=80 * GIB))
QUICK = replace(ROOMY, quick=True)
MANAGED = replace(ROOMY, managed=True)


def kinds_of(name: str) -> list[BufferKinds | None]:
    points = BY_NAME[name].points(ROOMY)
    return list(dict.fromkeys(BY_NAME[name].buffers(variation) for _, variation in points))


def ends_of(name: str) -> tuple[str | None, str | None]:
    return BY_NAME[name].source, BY_NAME[name].target


def test_every_kind_of_memory_is_measured_both_ways() -> None:
    endings = ("sm", "registered", "write_combined", "huge_pages", "pool", "contents", "offset")
    names = {test.name for test in MEMORY_KIND_TESTS}
    for direction in ("host_to_device", "device_to_host"):
        assert {f"{direction}_memcpy_{ending}" for ending in endings} <= names
    assert all(test.suite == Suite.BANDWIDTH for test in MEMORY_KIND_TESTS)


def test_results_name_the_kinds_of_memory_on_both_sides() -> None:
    assert ends_of("host_to_device_memcpy_sm") == ("mapped", "device")
    assert ends_of("device_to_host_memcpy_registered") == ("device", "registered")
    assert ends_of("host_to_device_memcpy_write_combined") == ("write_combined", "device")
    assert ends_of("device_to_host_memcpy_huge_pages") == ("device", "huge_pinned")
    assert ends_of("device_to_host_memcpy_pool") == ("pool", "pinned")
    assert ends_of("host_to_device_managed_demand") == ("managed", "device")


def test_buffers_are_of_the_kinds_that_the_test_is_about() -> None:
    assert kinds_of("host_to_device_memcpy_pool") == [
        BufferKinds(host_memory=HostMemory.PINNED, device_memory=DeviceMemory.POOL)
    ]
    contents = kinds_of("device_to_host_memcpy_contents")
    assert [kinds and kinds.contents for kinds in contents] == [Contents.RANDOM, Contents.ZEROS]
    offsets = kinds_of("host_to_device_memcpy_offset")
    assert offsets[0] == BufferKinds(host_memory=HostMemory.PINNED)
    assert {(k.host_offset_bytes, k.device_offset_bytes) for k in offsets if k} >= {
        (0, 0),
        (1, 0),
        (0, 1),
        (64, 0),
        (0, 64),
    }


def test_points_that_want_the_same_buffers_are_neighbours() -> None:
    plan = plan_points(MEMORY_KIND_TESTS, ROOMY)
    session = FakeSession()
    run_points(session, plan.points, RunSettings(budget_s=1.0), Watcher())
    allocations = [call for call in session.calls if call.startswith("allocate")]
    # One for both directions of a kind; of contents and offsets, one for each and direction.
    assert len(allocations) <= len({test.name for test in MEMORY_KIND_TESTS}) + 2 * (1 + 7)


def test_a_quick_run_takes_at_most_two_sizes_of_a_kind() -> None:
    for test in MEMORY_KIND_TESTS:
        assert 1 <= len({size for size, _ in test.points(QUICK)}) <= 2
        assert max(size for size, _ in test.points(QUICK)) <= 64 << 20


def test_a_quick_run_has_kinds_of_memory_at_sizes_that_it_has_of_pinned_memory() -> None:
    pinned = {size for size, _ in BY_NAME["host_to_device_memcpy_ce"].points(QUICK)}
    registered = {size for size, _ in BY_NAME["host_to_device_memcpy_registered"].points(QUICK)}
    assert registered < pinned


def test_sizes_that_were_asked_for_are_taken() -> None:
    asked = replace(ROOMY, sizes=[4096, 12345])
    test = BY_NAME["host_to_device_memcpy_sm"]
    assert [size for size, _ in test.points(asked)] == [4096, 12345]


def test_memory_never_takes_more_than_the_limit() -> None:
    limits = Limits(device_bytes=64 << 10, host_bytes=64 << 10)
    plan = plan_points(MEMORY_KIND_TESTS, Demand(limits=limits))
    kinds = {point.buffers for point in plan.points if point.size_bytes == 64 << 10}
    # Offsets come on top of the bytes, and huge pages are as large as they are.
    assert all(k and k.host_offset_bytes == k.device_offset_bytes == 0 for k in kinds)
    assert all(k and k.host_memory != HostMemory.HUGE_PINNED for k in kinds)


def test_a_random_read_of_managed_memory_has_the_sizes_of_a_read_in_order() -> None:
    in_order, at_random = (
        BY_NAME[f"host_to_device_managed_{way}"] for way in ("demand", "demand_random")
    )
    for demand in (MANAGED, replace(QUICK, managed=True)):
        assert at_random.points(demand) == in_order.points(demand)


def test_managed_memory_is_measured_only_where_it_was_asked_for() -> None:
    assert all(test.points(ROOMY) == [] for test in MANAGED_TESTS)
    assert all(test.points(MANAGED) for test in MANAGED_TESTS)


@pytest.mark.parametrize("free_bytes", [1 << 20, 100 << 20, 80 * GIB])
def test_managed_memory_is_at_most_half_a_gibibyte_and_never_more_than_is_free(
    free_bytes: int,
) -> None:
    limits = Limits(device_bytes=free_bytes, host_bytes=free_bytes)
    for sizes in (None, [1 << 20, MAX_MANAGED_BYTES, 2 * MAX_MANAGED_BYTES]):
        demand = Demand(limits=limits, sizes=sizes, managed=True)
        for test in MANAGED_TESTS:
            points = test.points(demand)
            assert all(size <= min(free_bytes, MAX_MANAGED_BYTES) for size, _ in points)


def test_a_pointer_chase_goes_through_what_nvbandwidth_s_does() -> None:
    (test,) = POINTER_CHASE_TESTS
    assert test.name == "host_device_latency_sm"
    size, variation = test.points(ROOMY)[0]
    assert (size, test.values(size, variation)) == (2 << 20, {"order": "strided"})
    assert {test.values(*point)["order"] for point in test.points(QUICK)} == {"strided", "random"}


def measured(name: str, factor: float, size_bytes: int = 1 << 20) -> Result:
    """A measurement whose samples' unit is wrong by a factor."""

    def answer(asked: BenchTest, size: int) -> FakeMeasurement:
        del asked
        seconds = size / 55e9
        return FakeMeasurement(
            [FakeSamples("copy_time", [factor * seconds])], first_call_seconds=1.5 * seconds
        )

    point = Point(BY_NAME[name], size_bytes)
    settings = RunSettings(budget_s=1.0)
    return run_points(FakeSession(answer), [point], settings, Watcher()).results[0]


@pytest.mark.parametrize("name", [test.name for test in MEMORY_KIND_TESTS[:10]])
@pytest.mark.parametrize("factor", [1e-3, 1e3])
def test_a_time_in_another_unit_is_no_bandwidth(name: str, factor: float) -> None:
    assert measured(name, 1).status == Status.PASSED
    wrong = measured(name, factor)
    assert wrong.status == Status.ERROR
    assert wrong.error is not None
    assert "wrong unit" in wrong.error.message
