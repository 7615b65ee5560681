"""`isthmus.PagedArray` with a budget below the array's size, on either driver."""

import ctypes
import sys
from concurrent.futures import ThreadPoolExecutor
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import isthmus
from copies import on_host
from fakes.cuda_calls import Cuda
from isthmus.errors import UsageError
from program import run_process

pytestmark = [pytest.mark.native, pytest.mark.usefixtures("default_driver")]

Array = NDArray[Any]
_GLOBAL = 0


def counted(size: int, dtype: str = "float32") -> Array:
    host = isthmus.pinned.empty(size, dtype)
    host[:] = np.arange(size).astype(dtype)
    return host


UNITS_256 = 16 * 256  # bytes of sixteen small units


@pytest.mark.parametrize("unit", ["256B", "1KiB", "64KiB"])
@pytest.mark.parametrize("policy", ["units", "read_through"])
def test_an_array_of_four_times_the_budget_is_numpys_whatever_is_loaded_and_stored(
    unit: str, policy: str
) -> None:
    random = np.random.default_rng(1)
    host = counted(500_003, "int32")
    wanted = host.copy()
    budget = host.nbytes // 4 if policy == "units" else None
    with isthmus.PagedArray(host, unit, policy, budget) as array:
        assert array.budgeted
        for turn in range(12):
            read = random.integers(0, host.size, 3000)
            assert np.array_equal(on_host(array.gather(read)), wanted[read])
            stored = random.permutation(host.size)[:2000]
            values = random.integers(0, 1 << 30, stored.size).astype(np.int32)
            array.scatter(stored, values)
            wanted[stored] = values
            first = int(random.integers(0, host.size - 70_000))
            array.write(values, first)
            wanted[first : first + values.size] = values
            assert array.reduce("max", first, 70_000) == wanted[first : first + 70_000].max()
            if turn % 4 == 3:
                assert array.reduce() == wanted.sum(dtype=np.int64)  # touches all in one launch
            if turn % 5 == 4:
                array.flush()
                assert np.array_equal(host, wanted)
        stats = array.stats()
        assert stats.valid_units <= stats.num_frames
        assert (stats.evicted_units > 0) == (policy == "units")
    assert np.array_equal(host, wanted)


def test_one_launch_touches_four_times_the_budget() -> None:
    host = counted(64 * 256, "uint8")
    with isthmus.PagedArray(host, "256B", device_bytes=UNITS_256) as array:
        assert np.array_equal(on_host(array.gather(np.arange(host.size))), host)
        stats = array.stats()
        assert (stats.num_frames, stats.valid_units) == (16, 16)
        assert (stats.fetched_units, stats.in_place_units, stats.evicted_units) == (16, 48, 0)


def test_units_that_are_used_stay_and_others_make_room() -> None:
    host = counted(64 * 256, "uint8")
    kept, other, last = (np.arange(first, first + 8) * 256 for first in (0, 8, 16))
    with isthmus.PagedArray(host, "256B", device_bytes=UNITS_256) as array:
        array.gather(np.concatenate([kept, other]))  # the budget is full
        for _ in range(3):
            array.gather(np.concatenate([kept, last]))  # in place at first, then in frames
        before = array.stats()
        array.gather(np.concatenate([kept, last]))
        after = array.stats()
        assert before.evicted_units >= 8
        assert (after.fetched_units, after.in_place_units) == (
            before.fetched_units,
            before.in_place_units,
        )
        assert after.evicted_units == before.evicted_units


def test_nothing_is_evicted_while_no_unit_lacks_a_frame() -> None:
    host = counted(64 * 256, "uint8")
    with isthmus.PagedArray(host, "256B", device_bytes=UNITS_256) as array:
        for first in range(16):
            array.gather([first * 256])
        stats = array.stats()
        assert (stats.valid_units, stats.evicted_units) == (16, 0)


def test_what_was_stored_to_an_evicted_unit_reaches_the_host_without_a_flush() -> None:
    host = counted(64 * 256, "uint8")
    with isthmus.PagedArray(host, "256B", device_bytes=UNITS_256) as array:
        array.scatter(np.arange(16) * 256, 7)  # fills the budget
        assert not (host[:4096:256] == 7).any()
        for first in (16, 32, 48, 16, 32, 48):
            array.gather((first + np.arange(16)) * 256)
        stats = array.stats()
        assert (host[:4096:256] == 7).all()
        assert (stats.dirty_units, stats.written_units) == (0, 16)


def test_stores_in_place_are_the_hosts_at_once() -> None:
    host = counted(4096, "uint8")
    with isthmus.PagedArray(host, "256B", "read_through") as array:
        array.scatter([5, 4000], [50, 40])
        assert (host[5], host[4000]) == (50, 40)
        host[6] = 60  # and the CPU's are the GPU's
        assert on_host(array.gather([5, 6])).tolist() == [50, 60]
        stats = array.stats()
        assert (stats.num_frames, stats.valid_units, stats.dirty_units) == (0, 0, 0)
        assert stats.fetched_units == stats.written_units == 0


def test_a_prefetch_makes_room_and_keeps_what_it_names() -> None:
    host = counted(64 * 256, "uint8")
    with isthmus.PagedArray(host, "256B", device_bytes=UNITS_256) as array:
        array.gather(np.arange(16) * 256)
        array.prefetch([(12 * 256, 28 * 256)])
        stats = array.stats()
        assert (stats.valid_units, stats.evicted_units, stats.fetched_units) == (16, 12, 28)
        found = array.gather(np.arange(12, 28) * 256)
        assert np.array_equal(on_host(found), host[12 * 256 : 28 * 256 : 256])
        assert array.stats().fetched_units == 28
        array.prefetch()  # more than there is room for
        assert array.stats().valid_units == 16


def test_a_promise_to_overwrite_makes_room_and_what_has_none_is_stored_in_place() -> None:
    host = counted(64 * 256, "uint8")
    with isthmus.PagedArray(host, "256B", device_bytes=UNITS_256) as array:
        array.gather(np.arange(16) * 256)
        array.will_overwrite([(20 * 256, 52 * 256)])  # 32 units, room for 16
        stats = array.stats()
        assert (stats.valid_units, stats.overwritten_units, stats.fetched_units) == (16, 16, 16)
        array.scatter(np.arange(20 * 256, 52 * 256), np.full(32 * 256, 9, np.uint8))
        array.flush()
    assert np.array_equal(host[20 * 256 : 52 * 256], np.full(32 * 256, 9))
    assert np.array_equal(host[: 20 * 256], counted(20 * 256, "uint8"))


def test_a_refresh_reads_again_what_has_a_frame_and_the_rest_is_the_hosts_anyway() -> None:
    host = counted(64 * 256, "uint8")
    with isthmus.PagedArray(host, "256B", device_bytes=UNITS_256) as array:
        array.scatter([3 * 256], [200])  # the first unit that is held
        array.gather(np.arange(32) * 256)  # some find no room
        host[3 * 256 + 1 : 32 * 256] = 9
        array.refresh([(3 * 256 + 1, 32 * 256)])
        array.flush(ranges=[(4 * 256, 5 * 256)])
        assert host[3 * 256] != 200
        array.flush(ranges=[(3 * 256, 3 * 256 + 1)])
        assert host[3 * 256] == 200
        found = on_host(array.gather(np.arange(3 * 256, 32 * 256)))
        assert found[0] == 200
        assert (found[1:] == 9).all()


def test_after_an_invalidation_the_hosts_new_items_are_read_and_frames_are_free() -> None:
    host = counted(64 * 256, "uint8")
    with isthmus.PagedArray(host, "256B", device_bytes=UNITS_256) as array:
        array.gather(np.arange(32) * 256)
        host[:] = 9
        array.invalidate([(0, 8 * 256), (5, 5)])
        assert array.stats().valid_units == 8
        assert (on_host(array.gather(np.arange(8) * 256)) == 9).all()
        array.scatter([0], 5)
        with pytest.raises(UsageError, match="1 units in these ranges were stored to"):
            array.invalidate()
        array.invalidate(discard=True)
        assert array.stats().valid_units == 0
        assert (on_host(array.gather(np.arange(64) * 256)) == 9).all()
        assert array.stats().valid_units == 16


def test_units_that_are_written_as_a_whole_are_not_fetched() -> None:
    host = isthmus.pinned.zeros(64 * 256, np.uint8)
    with isthmus.PagedArray(host, "256B", device_bytes=UNITS_256) as array:
        array.write(np.full(60 * 256, 3, np.uint8), 128)
        stats = array.stats()
        assert stats.overwritten_units + stats.fetched_units == 16
        assert stats.overwritten_units >= 14
    assert host.sum() == 3 * 60 * 256
    assert (host[127], host[128]) == (0, 3)


@pytest.mark.parametrize("offset", [0, 1, 63])
def test_arrays_that_begin_anywhere_are_whole_and_their_neighbours_untouched(offset: int) -> None:
    memory = counted(20_000, "int32")
    part = memory[offset : offset + 9_001]
    with isthmus.PagedArray(part, "256B", device_bytes=4096) as array:
        assert on_host(array.gather([0, 9_000])).tolist() == [offset, offset + 9_000]
        array.write(np.full(9_001, -1, np.int32))
        array.gather(np.arange(9_001))
    expected = np.arange(20_000)
    expected[offset : offset + 9_001] = -1
    assert np.array_equal(memory, expected)


def test_a_budget_of_one_unit_suffices() -> None:
    host = counted(10_000, "int64")
    with isthmus.PagedArray(host, "1KiB", device_bytes=1024) as array:
        for _ in range(3):
            array.scatter(np.arange(10_000), np.arange(10_000) + 5)
            assert array.reduce() == (np.arange(10_000) + 5).sum()
    assert np.array_equal(host, np.arange(10_000) + 5)


def test_a_budget_without_room_for_a_unit_is_refused_and_one_for_all_is_no_budget() -> None:
    host = counted(10_000)
    for budget in (0, 1023, -5, "1000B"):
        with pytest.raises(UsageError, match="no room for a unit of 1 KiB"):
            isthmus.PagedArray(host, device_bytes=budget)
    with pytest.raises(UsageError, match="leave device_bytes out"):
        isthmus.PagedArray(host, policy="read_through", device_bytes="1MiB")
    with isthmus.PagedArray(host, device_bytes=host.nbytes) as array:
        assert not array.budgeted
        assert array.stats().num_frames == 0


def test_threads_that_use_one_array_at_once_lose_no_frame() -> None:
    host = counted(256 * 256, "uint8")
    with isthmus.PagedArray(host, "256B", device_bytes=UNITS_256) as array:

        def use(first: int) -> bool:
            wanted = np.arange(first, first + 32) * 256 % host.size
            array.argument()
            array.prefetch([(int(wanted[0]), int(wanted[0]) + 1000)])
            return bool(np.array_equal(on_host(array.gather(wanted)), host[wanted]))

        with ThreadPoolExecutor(4) as pool:
            assert all(pool.map(use, random_firsts()))
        array.prefetch([(0, 20 * 256)])
        assert array.stats().valid_units == 16


def random_firsts() -> list[int]:
    return [int(first) for first in np.random.default_rng(3).integers(0, 220, 400)]


def test_a_stream_follows_another_unless_it_is_captured(cuda: Cuda) -> None:
    streams = [ctypes.c_void_p(), ctypes.c_void_p()]
    for stream in streams:
        cuda.call("cuStreamCreate", ctypes.byref(stream), 1)
    first, second = (stream.value or 0 for stream in streams)
    host = counted(64 * 256, "uint8")
    with isthmus.PagedArray(host, "256B", device_bytes=UNITS_256) as array:
        addresses = {array.argument(), array.argument(first), array.argument(second)}
        assert len(addresses) == 1  # no two launches use it at once
        array.prefetch([(0, 4096)], first)
        array.scatter([0], [5])
        array.flush(second)
        graph = ctypes.c_void_p()
        cuda.call("cuStreamBeginCapture_v2", streams[0], _GLOBAL)
        with pytest.raises(UsageError, match="this stream is being captured"):
            array.argument(first)
        cuda.call("cuStreamEndCapture", streams[0], ctypes.byref(graph))
    assert host[0] == 5
    for stream in streams:
        cuda.call("cuStreamDestroy_v2", stream)


def test_the_array_may_be_larger_than_the_devices_memory() -> None:
    """In a process of its own: this one's emulated device is larger."""
    program = """
import isthmus, numpy
host = numpy.arange(20 << 20, dtype=numpy.int32)
with isthmus.PagedArray(host, "4KiB", device_bytes="8MiB") as array:
    print(array.reduce() == host.sum())
"""
    environment = {"ISTHMUS_DRIVER": "emulated:tiny-memory"}
    assert run_process([sys.executable, "-c", program], environment).out == "True\n"
