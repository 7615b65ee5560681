import pytest
from hypothesis import given
from hypothesis import strategies as st

from isthmus.bench.plan import CopyLimits, Point, copy_limits, plan_points, weight
from isthmus.bench.tests import BY_NAME, TESTS
from isthmus.errors import UsageError

GIB = 1 << 30
ROOMY = CopyLimits(device_bytes=64 * GIB, host_bytes=32 * GIB)
BANDWIDTH = BY_NAME["host_to_device_memcpy_ce"]
SMALL_COPY = BY_NAME["host_to_device_small_copy_async"]


def sizes_of(points: tuple[Point, ...]) -> list[int]:
    return [point.size_bytes for point in points]


def test_the_default_sweep_is_every_power_of_two_from_4_b_to_1_gib() -> None:
    plan = plan_points([BANDWIDTH], None, ROOMY)
    assert sizes_of(plan.points) == [1 << exponent for exponent in range(2, 31)]
    assert plan.notes == ()


def test_the_default_sweep_ends_where_memory_does_and_says_so() -> None:
    plan = plan_points([BANDWIDTH], None, CopyLimits(device_bytes=GIB - 1, host_bytes=4 * GIB))
    assert sizes_of(plan.points)[-1] == GIB // 2
    (note,) = plan.notes
    assert "ends at 512 MiB instead of 1 GiB" in note
    assert "device memory" in note


def test_small_copies_are_of_4_bytes_whatever_sizes_are_given() -> None:
    for sizes in (None, [GIB]):
        assert plan_points([SMALL_COPY], sizes, ROOMY).points == (Point(SMALL_COPY, 4),)


def test_a_clipped_sweep_is_no_news_to_small_copies() -> None:
    tight = CopyLimits(device_bytes=GIB // 2, host_bytes=GIB)
    assert plan_points([SMALL_COPY], None, tight).notes == ()


def test_every_test_is_paired_with_every_size_in_order() -> None:
    tests = [BANDWIDTH, BY_NAME["device_to_host_memcpy_ce"]]
    plan = plan_points(tests, [4, 8], ROOMY)
    assert plan.points == tuple(Point(test, size) for test in tests for size in (4, 8))


@pytest.mark.parametrize(
    ("limits", "memory"),
    [
        (CopyLimits(device_bytes=GIB, host_bytes=2 * GIB), "device"),
        (CopyLimits(device_bytes=2 * GIB, host_bytes=GIB), "host"),
    ],
)
def test_a_size_that_does_not_fit_is_refused_with_the_largest_that_does(
    limits: CopyLimits, memory: str
) -> None:
    with pytest.raises(UsageError, match=f"size 2 GiB .* free {memory} memory") as caught:
        plan_points(TESTS, [4, 2 * GIB, 4 * GIB], limits)
    assert caught.value.hint == "the largest size that fits is 1GiB"


def test_the_largest_size_that_fits_is_one_that_fits() -> None:
    limits = CopyLimits(device_bytes=GIB + 12345, host_bytes=2 * GIB)
    with pytest.raises(UsageError) as caught:
        plan_points([BANDWIDTH], [GIB + 12346], limits)
    assert caught.value.hint.endswith("1GiB")


def test_no_room_for_even_the_smallest_copy_is_refused_too() -> None:
    with pytest.raises(UsageError, match="size 4 B"):
        plan_points(TESTS, None, CopyLimits(device_bytes=3, host_bytes=GIB))


@given(st.integers(0, 1 << 50), st.integers(0, 1 << 50), st.booleans())
def test_what_is_offered_leaves_room_on_both_sides(
    device: int,
    host: int,
    emulated: bool,
) -> None:
    limits = copy_limits(free_device_bytes=device, free_host_bytes=host, emulated=emulated)
    assert limits.device_bytes <= device
    assert limits.host_bytes * (2 if emulated else 1) <= host
    assert limits.largest_bytes <= min(device, host)


def test_where_the_host_s_memory_is_unknown_the_device_s_decides() -> None:
    limits = copy_limits(free_device_bytes=64 * GIB, free_host_bytes=None, emulated=False)
    assert limits.largest_bytes == limits.device_bytes == 63 * GIB


def test_larger_copies_weigh_more_and_each_metric_weighs() -> None:
    weights = [weight(Point(BANDWIDTH, size)) for size in (4, 1 << 20, GIB)]
    assert weights == sorted(weights)
    assert weights[-1] == 65
    assert weight(Point(SMALL_COPY, 4)) == 10
