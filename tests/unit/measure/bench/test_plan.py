from collections.abc import Sequence
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.errors import UsageError
from isthmus.measure.bench.demand import Demand, Limits, largest_emulated_bytes, limits_of
from isthmus.measure.bench.plan import Plan, Point
from isthmus.measure.bench.plan import plan_points as plan_demand
from isthmus.measure.bench.tests.bench_test import Suite
from isthmus.measure.bench.tests.catalogue import BY_NAME, TESTS, BenchTest, Variation

GIB = 1 << 30
ROOMY = Limits(device_bytes=64 * GIB, host_bytes=32 * GIB)
BANDWIDTH = BY_NAME["host_to_device_memcpy_ce"]
SMALL_COPY = BY_NAME["host_to_device_small_copy_async"]


def plan_points(tests: Sequence[BenchTest], sizes: Sequence[int] | None, limits: Limits) -> Plan:
    return plan_demand(tests, Demand(sizes=sizes, limits=limits))


def sizes_of(points: tuple[Point, ...]) -> list[int]:
    return [point.size_bytes for point in points]


def test_the_default_sweep_is_every_power_of_two_from_4_b_to_1_gib() -> None:
    plan = plan_points([BANDWIDTH], None, ROOMY)
    assert sizes_of(plan.points) == [1 << exponent for exponent in range(2, 31)]
    assert plan.notes == ()


def test_the_default_sweep_ends_where_memory_does_and_says_so() -> None:
    plan = plan_points([BANDWIDTH], None, Limits(device_bytes=GIB - 1, host_bytes=4 * GIB))
    assert sizes_of(plan.points)[-1] == GIB // 2
    (note,) = plan.notes
    assert "ends at 512 MiB instead of 1 GiB" in note
    assert "device memory" in note


def test_tests_that_end_earlier_by_themselves_are_not_said_to_lack_memory() -> None:
    assert plan_points([BY_NAME["host_to_device_memcpy_2d"]], None, ROOMY).notes == ()
    assert plan_points(TESTS, None, ROOMY).notes == ()


def test_a_quick_run_that_lacks_no_memory_does_not_say_so_and_one_that_does_says_it() -> None:
    assert plan_demand(TESTS, Demand(limits=ROOMY, quick=True)).notes == ()
    tight = Limits(device_bytes=GIB // 8, host_bytes=GIB)
    (note,) = plan_demand(TESTS, Demand(limits=tight, quick=True)).notes
    assert "instead of 256 MiB: of the device memory only 128.0 MiB can be used" in note


def test_small_copies_are_of_4_bytes_if_no_small_size_is_given() -> None:
    assert plan_points([SMALL_COPY], [GIB], ROOMY).points == (Point(SMALL_COPY, 4),)
    assert plan_points([SMALL_COPY], [8, GIB], ROOMY).points == (Point(SMALL_COPY, 8),)


def test_a_clipped_sweep_is_no_news_to_small_copies() -> None:
    tight = Limits(device_bytes=GIB // 2, host_bytes=GIB)
    assert plan_points([SMALL_COPY], None, tight).notes == ()


def test_every_test_is_paired_with_every_size_in_order() -> None:
    tests = [BANDWIDTH, BY_NAME["device_to_host_memcpy_ce"]]
    plan = plan_points(tests, [4, 8], ROOMY)
    assert plan.points == tuple(Point(test, size) for test in tests for size in (4, 8))


@pytest.mark.parametrize(
    ("limits", "memory"),
    [
        (Limits(device_bytes=GIB, host_bytes=2 * GIB), "device"),
        (Limits(device_bytes=2 * GIB, host_bytes=GIB), "host"),
    ],
)
def test_a_size_that_does_not_fit_is_refused_with_the_largest_that_does(
    limits: Limits, memory: str
) -> None:
    with pytest.raises(UsageError, match=f"size 2 GiB .* free {memory} memory") as caught:
        plan_points(TESTS, [4, 2 * GIB, 4 * GIB], limits)
    assert caught.value.hint == "the largest size that fits is 1GiB"


def test_the_largest_size_that_fits_is_one_that_fits() -> None:
    limits = Limits(device_bytes=GIB + 12345, host_bytes=2 * GIB)
    with pytest.raises(UsageError) as caught:
        plan_points([BANDWIDTH], [GIB + 12346], limits)
    assert caught.value.hint.endswith("1GiB")


def test_no_room_for_even_the_smallest_copy_is_refused_too() -> None:
    with pytest.raises(UsageError, match="size 4 B"):
        plan_points(TESTS, None, Limits(device_bytes=3, host_bytes=GIB))


@given(st.integers(0, 1 << 50), st.integers(0, 1 << 50), st.booleans())
def test_what_is_offered_leaves_room_on_both_sides(
    device: int,
    host: int,
    emulated: bool,
) -> None:
    limits = limits_of(free_device_bytes=device, free_host_bytes=host, emulated=emulated)
    assert limits.device_bytes <= device
    assert limits.host_bytes * (2 if emulated else 1) <= host
    assert limits.largest_bytes <= min(device, host)


def test_where_the_host_s_memory_is_unknown_the_device_s_decides() -> None:
    limits = limits_of(free_device_bytes=64 * GIB, free_host_bytes=None, emulated=False)
    assert limits.largest_bytes == limits.device_bytes == 63 * GIB


def test_larger_copies_weigh_more_and_small_ones_little() -> None:
    weights = [Point(BANDWIDTH, size).weight for size in (4, 1 << 20, GIB)]
    assert weights == sorted(weights)
    assert weights[-1] == 65
    assert Point(SMALL_COPY, 4).weight < weights[0]


def window_points(name: str, sizes: list[int] | None, num_cores: int = 4) -> list[Point]:
    limits = Limits(device_bytes=GIB, host_bytes=GIB, num_cores=num_cores)
    return list(plan_points([BY_NAME[name]], sizes, limits).points)


def test_windows_are_swept_from_1_b_to_16_mib_warm_cold_and_by_all_threads() -> None:
    points = window_points("window_write", None)
    warm = [point.size_bytes for point in points if point.variation == Variation()]
    assert warm == [1 << exponent for exponent in range(25)]
    cold = [p.size_bytes for p in points if p.variation.cpu_cache == "cold"]
    assert set(cold) < set(warm)
    assert (cold[0], cold[-1]) == (1, 16 << 20)
    shared = [point for point in points if point.variation.num_threads > 1]
    assert {point.variation.num_threads for point in shared} == {4}
    assert shared[0].size_bytes == 1024


@pytest.mark.parametrize(
    ("num_cores", "threads"), [(1, {1}), (6, {1, 2, 4}), (16, {1, 2, 4, 8, 16})]
)
def test_bandwidth_is_measured_by_powers_of_two_of_threads_near_and_far(
    num_cores: int, threads: set[int]
) -> None:
    points = window_points("window_bandwidth_read", [4096], num_cores)
    assert {point.variation.num_threads for point in points} == threads
    assert {point.variation.cpu_node for point in points} == {"near", "far"}
    assert len(points) == 2 * len(threads)


def test_a_single_core_shares_no_copy() -> None:
    points = window_points("window_read", None, num_cores=1)
    assert {point.variation.num_threads for point in points} == {1}


def test_posts_are_not_measured_where_they_mean_nothing() -> None:
    for point in window_points("window_write", [4096]):
        names = [metric.value for metric in point.metrics]
        assert ("posted" in names) == (point.variation == Variation())
        assert ("memcpy_pinned" in names) == (point.variation.num_threads == 1)
        assert names[0] == "fenced"


def test_round_trips_have_each_placement_of_two_flags_without_data_and_with() -> None:
    points = window_points("window_ping_pong", [4096])
    flags = {(p.variation.question, p.variation.answer) for p in points}
    assert len(flags) == 4
    kinds = {(p.size_bytes, p.variation.data) for p in points}
    assert kinds == {
        (4, None),
        (64, "device"),
        (64, "pinned"),
        (4096, "device"),
        (4096, "pinned"),
    }
    assert len(points) == len(flags) * len(kinds)


def test_windows_leave_out_larger_sizes_and_say_so() -> None:
    tests = [BANDWIDTH, BY_NAME["window_write"]]
    plan = plan_points(tests, [4, GIB], ROOMY)
    assert {point.size_bytes for point in plan.points if point.test == tests[1]} == {4}
    assert plan.notes == ("windows are measured up to 16 MiB, not at larger sizes",)


def test_a_size_that_no_chosen_test_measures_is_refused() -> None:
    with pytest.raises(UsageError, match="size 1 GiB is larger") as caught:
        plan_points([BY_NAME["window_write"]], [GIB], ROOMY)
    assert "16MiB" in caught.value.hint


def test_window_points_fit_where_memory_is_tight() -> None:
    tight = Limits(device_bytes=1 << 20, host_bytes=1 << 20)
    plan = plan_points([test for test in TESTS if test.name.startswith("window")], None, tight)
    assert max(point.size_bytes for point in plan.points) == 1 << 20


def test_a_point_s_label_says_what_is_special() -> None:
    test = BY_NAME["window_write"]
    assert Point(test, 4096).label == "window_write 4 KiB"
    cold = Point(test, 4096, Variation(cpu_cache="cold", num_threads=2))
    assert cold.label == "window_write 4 KiB, cold, 2 threads"
    far = Point(BY_NAME["window_bandwidth_read"], 4096, Variation(cpu_node="far"))
    assert far.label == "window_bandwidth_read 4 KiB, far node"


def test_a_quick_run_takes_few_sizes_up_to_one_that_is_quickly_there() -> None:
    demand = Demand(limits=ROOMY, quick=True)
    sizes = sizes_of(plan_demand([BANDWIDTH], demand).points)
    assert sizes[-1] == 256 << 20
    small = Demand(limits=ROOMY.at_most(1 << 20), quick=True)
    assert sizes_of(plan_demand([BANDWIDTH], small).points)[-1] == 1 << 20
    assert len(sizes) < 10
    everything = plan_demand(TESTS, demand).points
    assert len(everything) < len(plan_points(TESTS, None, ROOMY).points) / 2


def test_no_point_has_more_memory_than_the_user_allows() -> None:
    limits = ROOMY.at_most(1 << 20)
    for point in plan_points(TESTS, None, limits).points:
        footprint = point.test.footprint(point.size_bytes, point.variation)
        assert max(footprint.host_bytes, footprint.device_bytes) <= 1 << 20
    assert ROOMY.at_most(None) == ROOMY
    assert ROOMY.at_most(128 * GIB) == ROOMY


def test_an_emulated_device_is_measured_at_every_second_size_and_not_at_the_largest() -> None:
    limits = ROOMY.at_most(2 * largest_emulated_bytes(quick=False))
    plan = plan_demand(TESTS, Demand(limits=limits, emulated=True))
    whole = plan_demand(TESTS, Demand(limits=ROOMY)).points
    assert {point.test for point in plan.points} == {point.test for point in whole}
    copies = [p.size_bytes for p in plan.points if p.test == BANDWIDTH]
    assert copies == [1 << exponent for exponent in range(2, 27, 2)]
    windows = [p for p in plan.points if p.test.name in {"window_write", "window_read"}]
    assert max(point.size_bytes for point in windows) == 1 << 20
    (note,) = plan.notes
    assert "end at 64 MiB (windows: 1 MiB)" in note
    # A program has one size, and is run by each way.
    sizes, all_sizes = (
        [point for point in points if point.test.suite != Suite.PAGING]
        for points in (plan.points, whole)
    )
    assert len(sizes) < 0.65 * len(all_sizes)


def test_a_quick_run_on_an_emulated_device_takes_every_fourth_size_up_to_4_mib() -> None:
    limits = ROOMY.at_most(largest_emulated_bytes(quick=False))
    plan = plan_demand([BANDWIDTH], Demand(limits=limits, emulated=True, quick=True))
    sizes = [point.size_bytes for point in plan.points]
    assert all(after == before << 4 for before, after in pairwise(sizes))
    assert sizes[-1] == 4 << 20
    (note,) = plan.notes
    assert "end at 4 MiB (windows: 1 MiB), every fourth is measured" in note


def test_requested_sizes_are_measured_on_an_emulated_device_too() -> None:
    sizes = [4, 8, 1 << 28]
    demand = Demand(sizes=sizes, limits=ROOMY, emulated=True)
    assert [point.size_bytes for point in plan_demand([BANDWIDTH], demand).points] == sizes
