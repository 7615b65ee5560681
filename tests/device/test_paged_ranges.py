"""`isthmus.PagedArray`: what its host asks for by ranges, on either driver."""

from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import isthmus
from copies import on_host

pytestmark = [pytest.mark.native, pytest.mark.usefixtures("default_driver")]

Array = NDArray[Any]


def numbers(size: int, dtype: str) -> Array:
    return np.arange(size).astype(dtype)


def test_prefetched_ranges_are_valid_and_stores_in_them_stay() -> None:
    with isthmus.PagedArray(isthmus.pinned.zeros(1 << 16, np.uint8), "1KiB") as array:
        array.scatter([1024], [7])
        array.prefetch([(1000, 3000), (0, 0)])
        stats = array.stats()
        assert (stats.valid_units, stats.fetched_units) == (3, 3)
        assert on_host(array.gather([1024])).tolist() == [7]


def test_what_kernels_promise_to_overwrite_is_not_fetched() -> None:
    host = isthmus.pinned.empty(5000, np.int32)
    host[:] = expected = numbers(5000, "int32")
    expected[300:4990] = np.arange(4690)
    with isthmus.PagedArray(host, "1KiB") as array:
        array.will_overwrite([(300, 4990)])
        promised = array.stats()
        array.scatter(np.arange(300, 4990), np.arange(4690, dtype=np.int32))
        array.flush()
        stats = array.stats()
    assert np.array_equal(host, expected)
    # Units that lie in the range as a whole. The two at its ends have other items, and are fetched.
    assert (promised.fetched_units, promised.dirty_units) == (2, 0)
    assert promised.overwritten_units == promised.valid_units - 2
    assert stats.fetched_units == 2
    assert stats.written_units == promised.valid_units


@pytest.mark.parametrize(
    ("first_byte", "promised", "num_whole", "num_fetched"),
    [
        (0, (10, 20), 0, 1),
        (0, (250, 260), 0, 2),
        (0, (0, 600), 2, 1),
        (0, (3990, 4000), 0, 1),
        (5, (0, 10), 0, 1),
        (5, (245, 255), 0, 2),
        (5, (0, 507), 2, 0),
        (5, (251, 600), 1, 1),
    ],
)
def test_a_promise_fetches_the_units_that_lie_in_it_in_part(
    first_byte: int, promised: tuple[int, int], num_whole: int, num_fetched: int
) -> None:
    host = isthmus.pinned.empty(4000 + first_byte, np.uint8)[first_byte:]
    host[:] = expected = numbers(4000, "uint8")
    with isthmus.PagedArray(host, "256B") as array:
        array.will_overwrite([promised])
        stats = array.stats()
        assert (stats.overwritten_units, stats.fetched_units) == (num_whole, num_fetched)
        array.scatter(np.arange(*promised), 9)
    expected[slice(*promised)] = 9
    assert np.array_equal(host, expected)


def test_more_ranges_than_a_launch_takes_are_all_fetched() -> None:
    host = isthmus.pinned.zeros(100_000, np.uint8)
    host[:] = numbers(100_000, "uint8")
    with isthmus.PagedArray(host, "256B") as array:
        array.prefetch([(i * 5000, i * 5000 + 700) for i in range(19)])
        fetched = array.stats().fetched_units
        at = np.concatenate([np.arange(i * 5000, i * 5000 + 700) for i in range(19)])
        assert np.array_equal(on_host(array.gather(at)), host[at])
        assert array.stats().fetched_units == fetched
        array.will_overwrite([(i * 5000 + 2048, i * 5000 + 2048 + 256) for i in range(19)])
        assert array.stats().overwritten_units + array.stats().fetched_units > fetched + 18


def test_a_promise_for_the_whole_array_covers_its_first_and_last_unit() -> None:
    host = numbers(1001, "float64")
    with isthmus.PagedArray(host, "256B") as array:
        array.will_overwrite()
        stats = array.stats()
        assert stats.overwritten_units == stats.valid_units == stats.num_units
        array.scatter(np.arange(1001), np.zeros(1001))
        array.flush()
        assert array.stats().fetched_units == 0
    assert not host.any()


def test_a_promise_keeps_what_the_gpu_holds_and_writes_nothing_back_by_itself() -> None:
    host = isthmus.pinned.empty(4096, np.uint8)
    host[:] = before = numbers(4096, "uint8")
    with isthmus.PagedArray(host, "256B") as array:
        array.scatter([300], np.array([7], np.uint8))
        array.will_overwrite()
        assert on_host(array.gather([300, 301])).tolist() == [7, 301 % 256]
        array.flush()
        assert array.stats().written_units == 1
    assert host[300] == 7
    assert np.array_equal(np.delete(host, 300), np.delete(before, 300))


@pytest.mark.parametrize("first", [0, 3, 777])
def test_a_refresh_reads_what_the_cpu_has_changed_and_keeps_what_kernels_stored(first: int) -> None:
    host = isthmus.pinned.zeros(10_007, np.uint8)
    with isthmus.PagedArray(host[first:], "256B") as array:
        array.scatter([100, 300], 7)
        fetched = array.stats().fetched_units
        expected = host[first:].copy()
        expected[[100, 300]] = 7
        host[first + 101 : first + 299] = expected[101:299] = 9
        array.refresh([(101, 299), (5000, 5000)])
        assert np.array_equal(on_host(array.gather(np.arange(256))), expected[:256])
        stats = array.stats()
        assert (stats.fetched_units, stats.dirty_units) == (fetched, 2)
        array.flush()
    assert np.array_equal(host[first:], expected)


def test_a_refresh_of_everything_fetches_nothing_that_the_gpu_did_not_hold() -> None:
    host = isthmus.pinned.zeros(100_000, np.int64)
    with isthmus.PagedArray(host) as array:
        array.gather([5, 70_000])
        host[:] = numbers(100_000, "int64")
        array.refresh()
        assert array.stats().fetched_units == 2
        assert array.reduce() == host.sum()


@pytest.mark.parametrize("unit", ["1KiB", "64KiB"])
def test_a_refresh_keeps_an_array_that_is_held_as_a_whole_so(unit: str) -> None:
    host = isthmus.pinned.zeros(100_000, np.int64)
    with isthmus.PagedArray(host, unit) as array:
        array.prefetch()
        host[500] = 9
        array.refresh([(500, 501)])
        assert on_host(array.gather([499, 500, 501])).tolist() == [0, 9, 0]
        stats = array.stats()
        assert stats.fetched_units == stats.valid_units == stats.num_units


def test_a_flush_of_ranges_leaves_what_was_stored_elsewhere_for_later() -> None:
    host = isthmus.pinned.zeros(4096, np.uint8)
    with isthmus.PagedArray(host, "256B") as array:
        array.scatter([0, 256, 1000, 4095], 7)
        array.flush(ranges=[(300, 301), (1000, 1001)])
        assert host.nonzero()[0].tolist() == [256, 1000]
        assert array.stats().dirty_units == 2
        array.flush(0, [(0, 1)])
        array.stats()  # waits
        assert host.nonzero()[0].tolist() == [0, 256, 1000]
        array.flush(ranges=[])
        assert array.stats().dirty_units == 1
    assert host.nonzero()[0].tolist() == [0, 256, 1000, 4095]
