"""`isthmus.PagedArray`: its own operations, on either driver."""

import gc
import re
import sys
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import isthmus
from copies import on_host
from isthmus.errors import UsageError
from program import run_process

pytestmark = [pytest.mark.native, pytest.mark.usefixtures("default_driver")]

Array = NDArray[Any]


def numbers(size: int, dtype: str = "float32") -> Array:
    return np.arange(size).astype(dtype)


@pytest.mark.parametrize("unit", ["256B", "1KiB", 4096, "64KiB"])
@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float32", "int64", "complex128"])
def test_gathered_items_are_the_hosts(dtype: str, unit: str | int) -> None:
    host = numbers(50_001, dtype)
    indices = np.array([[0, 50_000, 1], [777, 49_999, 0]])
    with isthmus.PagedArray(host, unit) as array:
        assert np.array_equal(on_host(array.gather(indices)), host[indices])


@pytest.mark.parametrize("indices", [[5, 3], np.array([5, 3], np.int32), np.array([[5], [3]])])
def test_indices_are_lists_or_arrays_of_any_shape(indices: Any) -> None:  # noqa: ANN401
    host = numbers(100)
    with isthmus.PagedArray(host) as array:
        assert np.array_equal(on_host(array.gather(indices)), host[np.asarray(indices)])


def test_indices_and_values_may_be_in_the_devices_memory() -> None:
    host = numbers(10_000)
    indices = isthmus.device_empty(3, "int64")
    isthmus.copy(indices, np.array([7, 9_999, 2]))
    with isthmus.PagedArray(host) as array:
        found = array.gather(indices)
        assert on_host(found).tolist() == [7, 9_999, 2]
        array.scatter([0, 1, 2], found)
        array.flush()
    assert host[:3].tolist() == [7, 9_999, 2]


def test_no_indices_give_no_items() -> None:
    with isthmus.PagedArray(numbers(10)) as array:
        assert array.gather([]).shape == (0,)
        assert array.stats().fetched_units == 0


def test_only_units_that_are_touched_are_fetched_and_each_once() -> None:
    with isthmus.PagedArray(isthmus.pinned.zeros(1 << 20, np.uint8), "1KiB") as array:
        array.gather([0, 1, 5000, 1023])
        array.gather([2, 5001])
        stats = array.stats()
        assert (stats.fetched_units, stats.valid_units, stats.valid_ranges) == (2, 2, 2)
        assert (stats.touched_pages, stats.num_units) == (1, 1024)


def test_what_is_scattered_reaches_the_host_by_a_flush_alone() -> None:
    host = numbers(100_000, "int32")
    with isthmus.PagedArray(host, "256B") as array:
        array.scatter([3, 50_000], [-1, -2])
        assert host[3] == 3
        assert on_host(array.gather([3, 4])).tolist() == [-1, 4]
        array.flush()
        assert array.stats().dirty_units == 0
        assert array.stats().written_units == 2
    expected = numbers(100_000, "int32")
    expected[[3, 50_000]] = [-1, -2]
    assert np.array_equal(host, expected)


def test_one_value_is_stored_to_all_indices() -> None:
    host = numbers(10)
    with isthmus.PagedArray(host) as array:
        array.scatter([1, 2], 5)
    assert host[:4].tolist() == [0, 5, 5, 3]


def test_closing_writes_back() -> None:
    host = numbers(1000)
    array = isthmus.PagedArray(host)
    array.scatter([5], [50])
    array.close()
    array.close()
    assert host[5] == 50
    with pytest.raises(UsageError, match="closed"):
        array.gather([0])


def test_an_array_that_nobody_closes_writes_back_too() -> None:
    host = numbers(1000)
    array = isthmus.PagedArray(host)
    array.scatter([5], [50])
    del array
    gc.collect()
    assert host[5] == 50


def test_units_that_are_written_as_a_whole_are_not_fetched() -> None:
    host = isthmus.pinned.zeros(4096, np.float32)
    with isthmus.PagedArray(host, "1KiB") as array:
        array.write(np.ones(600, np.float32), first=100)
        stats = array.stats()
        assert (stats.overwritten_units, stats.fetched_units, stats.dirty_units) == (1, 2, 3)
        array.write([2.0], first=4095)
    assert (host[99:101].tolist(), host[699:701].tolist()) == ([0, 1], [1, 0])
    assert host[4094:].tolist() == [0, 2]
    assert host.sum() == 602


@pytest.mark.parametrize("offset", [0, 1, 3, 63])
def test_arrays_that_begin_anywhere_are_whole_and_their_neighbours_untouched(offset: int) -> None:
    memory = isthmus.pinned.empty(20_000, np.int32)
    memory[:] = np.arange(20_000)
    part = memory[offset : offset + 9_001]
    with isthmus.PagedArray(part, "256B") as array:
        assert on_host(array.gather([0, 9_000])).tolist() == [offset, offset + 9_000]
        array.write(np.full(9_001, -1, np.int32))
    expected = np.arange(20_000)
    expected[offset : offset + 9_001] = -1
    assert np.array_equal(memory, expected)


@pytest.mark.parametrize("dtype", ["float32", "float64", "int32", "int64"])
def test_reductions_are_numpys(dtype: str) -> None:
    host = numbers(30_000, dtype) - 7
    with isthmus.PagedArray(host, "256B") as array:
        assert array.reduce() == host.sum(dtype="float64" if dtype.startswith("f") else None)
        assert array.reduce("min", 100, 50) == host[100:150].min()
        assert array.reduce("max", 29_999) == host[29_999]


def test_a_nan_stays() -> None:
    host = numbers(1000)
    host[500] = np.nan
    with isthmus.PagedArray(host) as array:
        assert all(np.isnan(array.reduce(operation)) for operation in ("sum", "min", "max"))


def test_after_an_invalidation_the_hosts_new_items_are_read() -> None:
    host = isthmus.pinned.zeros(100_000, np.int64)
    with isthmus.PagedArray(host) as array:
        array.prefetch()
        array.stats()  # waits
        host[:] = 9
        assert on_host(array.gather([500])).tolist() == [0]
        array.invalidate([(500, 501), (600, 600)])
        assert on_host(array.gather([500, 90_000])).tolist() == [9, 0]
        array.invalidate()
        assert array.stats().valid_units == 0
        assert on_host(array.gather([90_000])).tolist() == [9]


def test_an_invalidation_loses_no_stores_unless_it_is_told_to() -> None:
    host = numbers(1000)
    with isthmus.PagedArray(host) as array:
        array.scatter([5], [50])
        with pytest.raises(UsageError, match="1 units in these ranges were stored to"):
            array.invalidate()
        assert on_host(array.gather([5])).tolist() == [50]
        array.invalidate(discard=True)
        assert on_host(array.gather([5])).tolist() == [5]
    assert host[5] == 5


@pytest.mark.parametrize(("first", "end"), [(0, 100), (3, 75), (31, 33), (32, 64), (5, 6)])
def test_the_units_that_would_be_lost_are_counted(first: int, end: int) -> None:
    with isthmus.PagedArray(isthmus.pinned.zeros(100 * 256, np.uint8), "256B") as array:
        array.scatter(np.arange(100) * 256, 1)
        ranges = [(first * 256, end * 256)]
        with pytest.raises(UsageError, match=f"{end - first} units in these ranges"):
            array.invalidate(ranges)
        array.invalidate(ranges, discard=True)
        stats = array.stats()
        assert stats.valid_units == stats.dirty_units == 100 - (end - first)


@pytest.mark.parametrize(
    ("unit", "fetched"),
    [
        ("4KiB", {0, 1, 150, 512}),
        ("16KiB", {*range(4), *range(148, 152), *range(512, 516)}),
        ("2MiB", {*range(625)}),
    ],
)
def test_all_of_a_unit_comes_whatever_its_size(unit: str, fetched: set[int]) -> None:
    host = isthmus.pinned.zeros(2500 << 10, np.uint8)
    with isthmus.PagedArray(host, unit) as array:
        for kibibyte in (0, 6, 1, 2, 600, 2048):
            array.gather([kibibyte * 1024])
        stats = array.stats()
        assert (stats.unit_bytes, stats.fetched_units, stats.valid_units) == (
            *(4096, len(fetched)),
            len(fetched),
        )
        host[:] = 1
        parts = on_host(array.gather(np.arange(625) * 4096))
        assert {part for part in range(625) if parts[part] == 0} >= fetched
        assert array.stats().fetched_units == 625


@pytest.mark.parametrize("unit", ["256B", "1KiB", "8KiB", "2MiB"])
def test_with_units_of_every_size_all_items_are_the_hosts_and_stores_reach_it(unit: str) -> None:
    host = numbers(1_000_003, "int32")
    expected = host.copy()
    indices = np.random.default_rng(5).permutation(host.size)[:2000]
    with isthmus.PagedArray(host, unit) as array:
        assert np.array_equal(on_host(array.gather(indices)), host[indices])
        array.scatter(indices[:500], -1)
        assert array.reduce() == host.sum() - expected[indices[:500]].sum() - 500
    expected[indices[:500]] = -1
    assert np.array_equal(host, expected)


def test_a_unit_of_64_kib_comes_whole_and_counts_as_pieces_of_4_kib() -> None:
    with isthmus.PagedArray(isthmus.pinned.zeros(1 << 20, np.uint8), "64KiB") as array:
        array.gather([70_000])
        stats = array.stats()
        assert (stats.unit_bytes, stats.fetched_units, stats.num_units) == (4096, 16, 256)
        array.gather([65_536, 131_071])
        assert array.stats().fetched_units == 16


def test_after_an_invalidation_an_array_that_was_held_as_a_whole_is_looked_at_again() -> None:
    host = isthmus.pinned.zeros(100_000, np.int64)
    with isthmus.PagedArray(host) as array:
        array.prefetch()
        assert on_host(array.gather([500])).tolist() == [0]  # all is held
        array.stats()
        host[:] = 9
        array.invalidate([(500, 501)])
        assert on_host(array.gather([500, 90_000])).tolist() == [9, 0]


def test_a_read_only_array_is_read_and_nothing_is_stored() -> None:
    host = isthmus.pinned.zeros(1000, np.float32)
    host.flags.writeable = False
    with isthmus.PagedArray(host) as array:
        assert on_host(array.gather([1])).tolist() == [0]
        stores: list[Callable[[], object]] = [
            lambda: array.scatter([1], [1]),
            lambda: array.write([1.0]),
            array.will_overwrite,
            array.flush,
        ]
        for store in stores:
            with pytest.raises(UsageError, match="read-only"):
                store()


def test_the_hosts_memory_cannot_be_resized_while_the_array_is_open() -> None:
    memory = bytearray(100_000)
    array = isthmus.PagedArray(np.frombuffer(memory, np.uint8))
    with pytest.raises(BufferError):
        memory.extend(b"more")
    array.close()


def wrong(host: Array) -> list[tuple[Callable[[], object], str]]:
    strided = host[::2]
    paged = isthmus.PagedArray
    return [
        (lambda: paged(host, 1000), "a unit of 1000 bytes"),
        (lambda: paged(host, "4MiB"), "a unit of 4194304 bytes"),
        (lambda: paged(host, "128B"), "a unit of 128 bytes"),
        (lambda: paged(host, 1.5), "a unit is a size"),  # type: ignore[arg-type]
        (lambda: paged(host, policy="lru"), "no policy 'lru': there are units and read_through"),
        (lambda: paged(host, policy="tree"), "unit='2MiB' is what whole_page was"),
        (lambda: paged(host, device_bytes=1.5), "device_bytes is a size"),  # type: ignore[arg-type]
        (lambda: paged(strided), "has gaps"),
        (lambda: paged([1, 2]), "can't be made of a 'list'"),  # type: ignore[arg-type]
        (lambda: paged(np.empty(0)), "at least one item"),
        (lambda: paged(np.array(["a"])), "items of <U1"),
        (lambda: paged(np.zeros(5, ">f4")), "byte order"),
    ]


def test_what_no_paged_array_can_be_made_of_is_refused() -> None:
    for make, message in wrong(numbers(1000)):
        with pytest.raises(UsageError, match=message):
            make()


def test_a_tensor_is_refused_with_the_way_to_its_memory() -> None:
    torch = pytest.importorskip("torch", reason="PyTorch isn't installed")
    with pytest.raises(UsageError, match="can't be made of a 'Tensor'") as refused:
        isthmus.PagedArray(torch.ones(3))
    assert ".numpy()" in refused.value.hint


def test_a_budget_that_holds_the_array_is_accepted() -> None:
    with isthmus.PagedArray(numbers(1000), device_bytes=4000) as array:
        assert array.device_bytes >= 4000


@pytest.mark.parametrize("index", [-1, 1000, 1 << 40])
def test_an_index_of_no_item_is_named_and_nothing_is_read_or_stored(index: int) -> None:
    with isthmus.PagedArray(numbers(1000)) as array:
        message = f"index {index}, number 2 of those given"
        with pytest.raises(UsageError, match=message):
            array.gather([1, 2, index, index])
        with pytest.raises(UsageError, match=message):
            array.scatter([1, 2, index], [0, 0, 0])
        assert array.stats().fetched_units == 0


def test_wrong_operands_are_refused() -> None:
    with isthmus.PagedArray(numbers(1000)) as array:
        calls: list[tuple[Callable[[], object], str]] = [
            (lambda: array.gather(np.array([0.5])), "int32, int64 or uint64, not float64"),
            (lambda: array.gather(np.array([1], np.uint8)), "int32, int64 or uint64, not uint8"),
            (lambda: array.scatter([1, 2], [1.0, 2.0, 3.0]), "3 values for 2 indices"),
            (lambda: array.scatter([1], np.array([1])), "values of int64"),
            (lambda: array.write([1.0], 1000), "1 items from item 1000"),
            (lambda: array.write([1.0], -1), "first is a number of items from 0"),
            (lambda: array.reduce("mean"), "no reduction 'mean'"),  # type: ignore[arg-type]
            (lambda: array.reduce(first=1000), "0 items from item 1000"),
            (lambda: array.prefetch([(5, 1001)]), r"range \(5, 1001\) isn't of items"),
            (lambda: array.will_overwrite([(9, 1001)]), r"range \(9, 1001\) isn't of items"),
            (lambda: array.refresh([(-1, 5)]), r"range \(-1, 5\) isn't of items"),
            (lambda: array.flush(ranges=[(7, 5)]), r"range \(7, 5\) isn't of items"),
            (lambda: array.prefetch([5]), "a range is a pair"),  # type: ignore[list-item]
        ]
        for call, message in calls:
            with pytest.raises(UsageError, match=message):
                call()
    with isthmus.PagedArray(np.zeros(5, bool)) as array, pytest.raises(UsageError, match="bool"):
        array.reduce()


def test_two_paged_arrays_of_one_pinned_array_are_independent() -> None:
    host = isthmus.pinned.zeros(1000, np.float32)
    with isthmus.PagedArray(host) as one, isthmus.PagedArray(host) as other:
        one.scatter([1], [5])
        one.flush()
        assert on_host(other.gather([1])).tolist() == [5]


def test_an_array_that_the_device_cannot_hold_is_refused() -> None:
    """In a process of its own: this one's emulated device is larger."""
    program = """
import isthmus, numpy
try:
    isthmus.PagedArray(numpy.zeros(80 << 20, numpy.uint8))
except isthmus.OutOfDeviceMemory as error:
    print("refused")
"""
    environment = {"ISTHMUS_DRIVER": "emulated:tiny-memory"}
    assert run_process([sys.executable, "-c", program], environment).out == "refused\n"


def test_the_header_needs_no_other_file_of_the_product() -> None:
    assert "class paged_array" in isthmus.paged_header()
    included = set(re.findall("#include.*", isthmus.paged_header()))
    assert included == {f"#include <{name}>" for name in ("stdio.h",)}
