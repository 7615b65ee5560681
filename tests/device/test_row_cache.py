"""`isthmus.RowCache` against NumPy, on either driver."""

import ctypes
import gc
import os
import sys
import threading
import weakref
from pathlib import Path
from typing import Any, Literal

import numpy as np
import pytest
from numpy.typing import ArrayLike, NDArray

import isthmus
from copies import on_host
from fakes.blocked_stream import BlockStream
from fakes.cuda_calls import Cuda
from fakes.device_arrays import CudaArray
from isthmus import _native
from isthmus.errors import UsageError
from program import run_process

pytestmark = [pytest.mark.native, pytest.mark.usefixtures("default_driver")]

Array = NDArray[Any]
_GLOBAL = 0


def table_of(num_rows: int, width: int = 64, dtype: str = "float32") -> Array:
    table = isthmus.pinned.empty((num_rows, width), dtype)
    table[:] = np.arange(num_rows * width).reshape(num_rows, width) % 32_749
    return table


def on_device(array: ArrayLike) -> isthmus.DeviceArray:
    given = np.asarray(array)
    made = isthmus.device_empty(given.shape, given.dtype)
    isthmus.copy(made, given)
    return made


def rows_at(cache: isthmus.RowCache, slots: Array) -> Array:
    return on_host(cache.rows)[slots]


@pytest.mark.parametrize("policy", ["lru", "clock"])
@pytest.mark.parametrize("width", [64, 2000])  # of a row that one warp moves, and of a wide one
@pytest.mark.parametrize("kind", ["i4", "i8"])
def test_random_calls_find_what_a_table_has_that_is_stored_to(
    policy: Literal["lru", "clock"], width: int, kind: str
) -> None:
    random = np.random.default_rng(width)
    table = table_of(3000, width)
    wanted = table.copy()
    with isthmus.RowCache(table, 500, policy=policy, write_back=True) as cache:
        for turn in range(40):
            asked = (
                random.zipf(1.2, (20, 10)) % 3000 if turn % 2 else random.permutation(3000)[:400]
            )
            slots = cache.ensure(on_device(asked.astype(kind)))
            found = on_host(slots)
            assert found.shape == asked.shape
            assert found.dtype == np.int32
            assert np.array_equal(rows_at(cache, found), wanted[asked])
            assert np.array_equal(on_host(cache.keys)[found], asked)
            cache.prefetch(on_device(random.permutation(3000)[:50].astype(kind)))
            once = np.unique(asked)[::3]
            values = random.integers(0, 99, (once.size, width)).astype(np.float32)
            cache.update(cache.ensure(on_device(once.astype(kind))), on_device(values))
            wanted[once] = values
            if turn % 10 == 9:
                cache.flush()
                assert np.array_equal(table, wanted)
        cache.check()
        stats = cache.stats()
        assert stats.evicted > 0
        assert stats.written > 0
        assert stats.hits + stats.fetched <= stats.keys
    assert np.array_equal(table, wanted)


@pytest.mark.long
def test_calls_of_many_keys_of_a_long_table_find_their_rows_and_write_them_back() -> None:
    random = np.random.default_rng(8)
    table = np.zeros(
        (600_000, 512), np.float32
    )  # of over 1 GiB, where only what is used takes room
    used = random.permutation(600_000)[:24_000]
    table[used, 0], table[used, -1] = used, used + 1
    wanted = table[used]
    with isthmus.RowCache(table, 12_000, write_back=True) as cache:
        for turn in range(6):
            chosen = random.permutation(24_000)[: 10_000 if turn % 2 else 3000]
            slots = cache.ensure(on_device(used[np.append(chosen, chosen[:99])]))
            found = on_host(slots)[: chosen.size]
            assert np.array_equal(rows_at(cache, found), wanted[chosen])
            wanted[chosen, 1] = turn + 1
            cache.update(on_device(found), on_device(wanted[chosen]))
        assert cache.stats().written > 0
    assert np.array_equal(table[used], wanted)


@pytest.mark.long
def test_millions_of_keys_of_millions_of_rows_find_theirs() -> None:
    random = np.random.default_rng(3)
    table = table_of(2_000_000, 32, "int64")
    table[:, 0] = np.arange(table.shape[0])
    wanted = np.arange(table.shape[0])
    with isthmus.RowCache(table, 200_000, write_back=True) as cache:
        for _ in range(60):
            asked = (random.zipf(1.05, 150_000) - 1) % table.shape[0]
            found = on_host(cache.ensure(on_device(asked)))
            first = on_host(cache.rows)[:, 0]
            assert np.array_equal(first[found], wanted[asked])
            once, at = np.unique(asked, return_index=True)
            some, slots = once[::5], found[at][::5]
            values = np.zeros((some.size, 32), np.int64)
            values[:, 0] = random.integers(0, 1 << 60, some.size)
            cache.update(on_device(slots), on_device(values))
            wanted[some] = values[:, 0]
        cache.check()
    assert np.array_equal(table[:, 0], wanted)


def test_keys_that_repeat_are_fetched_once_and_what_is_there_isnt_fetched() -> None:
    with isthmus.RowCache(table_of(100), 32) as cache:
        first = on_host(cache.ensure(on_device([7, 7, 9, 7])))
        assert first[0] == first[1] == first[3] != first[2]
        again = on_host(cache.ensure(on_device([9, 7, 8])))
        assert again[:2].tolist() == [first[2], first[0]]
        stats = cache.stats()
        assert (stats.calls, stats.keys, stats.hits, stats.fetched, stats.evicted) == (
            2,
            7,
            2,
            3,
            0,
        )


def test_what_finds_no_room_has_no_slot_and_harms_nothing() -> None:
    table = table_of(1000)
    with isthmus.RowCache(table, 64) as cache:
        asked = np.arange(100)
        found = on_host(cache.ensure(on_device(asked)))
        assert (found == -1).sum() == 36
        has_room = found >= 0
        assert np.array_equal(rows_at(cache, found[has_room]), table[asked[has_room]])
        with pytest.raises(UsageError, match=r"36 keys .* found no room: .* rows, 64"):
            cache.ensure(on_device([1]))
        cache.check()
        few = on_host(cache.ensure(on_device(np.arange(500, 564))))
        assert np.array_equal(rows_at(cache, few), table[500:564])


def test_keys_beyond_the_table_have_no_slot_and_are_told_once() -> None:
    table = table_of(100)
    with isthmus.RowCache(table, 32) as cache:
        found = on_host(cache.ensure(on_device([5, 100, 6, -1, 1 << 40])))
        assert (found < 0).tolist() == [False, True, False, True, True]
        with pytest.raises(UsageError, match="3 keys of an earlier call, the first at position 1"):
            cache.check()
        cache.check()
        assert np.array_equal(rows_at(cache, found[[0, 2]]), table[[5, 6]])
        assert cache.stats().beyond_table == 3


def test_a_prefetch_in_another_stream_leaves_the_rows_in_use_and_is_waited_for(
    context: _native.Context,
) -> None:
    table = table_of(1000)
    other = _native.Stream(context)
    with isthmus.RowCache(table, 64) as cache:
        for turn in range(10):
            now, then = np.arange(40) + 80 * turn, np.arange(40) + 80 * turn + 40
            found = on_host(cache.ensure(on_device(now % 1000)))
            cache.prefetch(on_device(then % 1000), stream=other.handle)
            next_ones = cache.ensure(on_device(then % 1000))
            assert np.array_equal(rows_at(cache, on_host(next_ones)), table[then % 1000])
            assert (found >= 0).all()
        # 24 of 40 found room beside the 40 in use.
        assert cache.stats().hits == 240
        cache.check()


def test_a_prefetch_that_finds_no_room_keeps_what_is_in_use() -> None:
    table = table_of(1000)
    with isthmus.RowCache(table, 64) as cache:
        found = on_host(cache.ensure(on_device(np.arange(64))))
        cache.prefetch(on_device(np.arange(100, 200)))
        assert np.array_equal(rows_at(cache, found), table[:64])
        cache.check()
        assert cache.stats().evicted == 0


def test_a_captured_call_reads_its_keys_at_each_replay(
    context: _native.Context, driver: _native.Driver
) -> None:
    table = table_of(2000)
    wanted = table.copy()
    random = np.random.default_rng(1)
    cuda = Cuda(driver.path)
    with isthmus.RowCache(table, 200, write_back=True) as cache:
        stream = _native.Stream(context)
        handle = ctypes.c_void_p(stream.handle)
        keys, values = on_device(np.arange(150)), on_device(np.zeros((150, 64), np.float32))
        graph, runnable = ctypes.c_void_p(), ctypes.c_void_p()
        cuda.call("cuStreamBeginCapture_v2", handle, _GLOBAL)
        slots = cache.ensure(keys, stream=stream.handle)  # the first use of the stream
        cache.update(slots, values, stream=stream.handle)
        cuda.call("cuStreamEndCapture", handle, ctypes.byref(graph))
        cuda.call("cuGraphInstantiateWithFlags", ctypes.byref(runnable), graph, ctypes.c_uint64(0))
        for turn in range(8):
            asked = random.permutation(2000)[:150]
            isthmus.copy(keys, asked)
            isthmus.copy(values, np.full((150, 64), turn, np.float32))
            wanted[asked] = turn
            cuda.call("cuGraphLaunch", runnable, handle)
            cuda.call("cuStreamSynchronize", handle)
            assert np.array_equal(rows_at(cache, on_host(slots)), wanted[asked])
        assert cache.stats().calls == 8
        cuda.call("cuGraphExecDestroy", runnable)
        cuda.call("cuGraphDestroy", graph)
    cuda.end()
    assert np.array_equal(table, wanted)


def test_rows_that_kernels_have_stored_to_are_marked() -> None:
    table = table_of(100)
    with isthmus.RowCache(table, 32, write_back=True) as cache:
        found = on_host(cache.ensure(on_device([3, 4])))
        rows = on_host(cache.rows)
        rows[found] = 5
        isthmus.copy(cache.rows, rows)
        cache.mark_dirty(on_device([found[0], -1, 99]))
        cache.flush()
        assert (table[3] == 5).all()
        assert not (table[4] == 5).any()
        assert cache.stats().written == 1


def test_flush_in_a_stream_is_complete_with_the_stream(context: _native.Context) -> None:
    table = table_of(100)
    with isthmus.RowCache(table, 32, write_back=True) as cache:
        stream = _native.Stream(context)
        slots = cache.ensure(on_device([3]), stream.handle)
        cache.update(slots, on_device(np.ones((1, 64), np.float32)), stream.handle)
        cache.flush(stream.handle)
        _native.synchronize_stream(context, stream.handle)
        assert (table[3] == 1).all()


def test_a_cache_that_is_dropped_writes_back() -> None:
    table = table_of(100)
    cache = isthmus.RowCache(table, 32, write_back=True)
    cache.update(cache.ensure(on_device([3])), on_device(np.ones((1, 64), np.float32)))
    del cache
    assert (table[3] == 1).all()


def test_a_memory_mapped_table_is_read_and_cant_be_written_back(tmp_path: Path) -> None:
    path = tmp_path / "table.npy"
    wanted = np.arange(64_000, dtype=np.float32).reshape(1000, 64)
    np.save(path, wanted)
    table = np.load(path, mmap_mode="r")
    with isthmus.RowCache(table, 32) as cache:
        os.truncate(path, 1000)  # all of it was read before
        found = on_host(cache.ensure(on_device([0, 999])))
        assert np.array_equal(rows_at(cache, found), wanted[[0, 999]])
    with pytest.raises(UsageError, match="shorter"):
        isthmus.RowCache(table, 32)
    with pytest.raises(UsageError, match="memory-mapped table"):
        isthmus.RowCache(table, 32, write_back=True)


@pytest.mark.parametrize(
    ("shape", "rows", "message"),
    [
        ((100, 63), 10, "rows of 252 bytes: a cache has rows of 256 bytes to"),
        ((100, 66), 10, "rows of 264 bytes"),
        ((100, 64), 101, "a cache of 101 rows: it has 1 to 100"),
        ((100, 64), 0, "a cache of 0 rows"),
        ((100, 64), -1, "rows is a number of items"),
        ((6400,), 10, "fewer than two dimensions"),
    ],
)
def test_tables_and_sizes_that_cant_be(shape: tuple[int, ...], rows: int, message: str) -> None:
    with pytest.raises(UsageError, match=message):
        isthmus.RowCache(np.zeros(shape, np.float32), rows)


def test_rows_that_are_too_wide_and_tables_that_are_read_only() -> None:
    wide = np.zeros((1, (256 << 20) + 16), np.uint8)
    with pytest.raises(UsageError, match="256 MiB"):
        isthmus.RowCache(wide, 1)
    table = np.zeros((100, 64), np.float32)
    table.flags.writeable = False
    with pytest.raises(UsageError, match="read-only"):
        isthmus.RowCache(table, 10, write_back=True)
    wrong: list[Any] = ["fifo", [], None, np.zeros(2)]
    for policy in wrong:
        with pytest.raises(UsageError, match=r"no policy .*: there are lru and clock"):
            isthmus.RowCache(table, 10, policy=policy)


def test_a_cache_that_doesnt_fit_says_what_it_needs_and_what_is_free(
    context: _native.Context,
) -> None:
    table = table_of(100_000, 256)
    rest = isthmus.device_empty(context.free_memory_bytes() - (16 << 20), np.uint8)
    needs = r"100000 rows of 1024 bytes .* need 97\.7 MiB .* maps up to 3\.5 MiB, and .* are free"
    with pytest.raises(isthmus.OutOfDeviceMemory, match=needs) as raised:
        isthmus.RowCache(table, 100_000)
    assert "fewer rows" in raised.value.hint
    del rest
    isthmus.RowCache(table, 100_000).close()


@pytest.mark.parametrize(
    ("keys", "message"),
    [
        (np.arange(3), "host memory"),
        ([1, 2], "not a 'list'"),
        (None, "not a 'NoneType'"),
        (np.arange(3.0), "host memory"),
    ],
)
def test_keys_that_arent_on_the_gpu(keys: ArrayLike, message: str) -> None:
    with (
        isthmus.RowCache(table_of(100), 10) as cache,
        pytest.raises(UsageError, match=message),
    ):
        cache.ensure(keys)  # type: ignore[arg-type]


def test_whats_no_array_is_refused_by_each_call() -> None:
    with isthmus.RowCache(table_of(100), 10, write_back=True) as cache:
        for call in (cache.prefetch, cache.mark_dirty):
            with pytest.raises(UsageError, match="a 'NoneType' has no memory to copy"):
                call(None)  # type: ignore[arg-type]
        with pytest.raises(UsageError, match="a stream must be"):
            cache.flush("x")  # type: ignore[arg-type]


def test_arrays_that_dont_fit_a_call() -> None:
    table = table_of(100)
    with isthmus.RowCache(table, 10, write_back=True) as cache:
        for kind in ("float32", "uint64", "int16"):
            with pytest.raises(UsageError, match=f"keys must be int32 or int64, not {kind}"):
                cache.ensure(on_device(np.zeros(3, kind)))
        slots = cache.ensure(on_device([1, 2]))
        with pytest.raises(UsageError, match="values have 256 bytes"):
            cache.update(slots, on_device(np.zeros((1, 64), np.float32)))
        with pytest.raises(UsageError, match="values are int32, and the rows float32"):
            cache.update(slots, on_device(np.zeros((2, 64), np.int32)))
        assert on_host(cache.ensure(on_device(np.zeros(0, np.int64)))).size == 0
    with pytest.raises(UsageError, match="was closed"):
        cache.ensure(on_device([1]))
    cache.close()
    with (
        isthmus.RowCache(table, 10) as reading,
        pytest.raises(UsageError, match="write_back=True"),
    ):
        reading.mark_dirty(reading.ensure(on_device([1])))


def test_closing_writes_back_and_then_tells_of_wrong_keys() -> None:
    table = table_of(100)
    cache = isthmus.RowCache(table, 10, write_back=True)
    cache.update(cache.ensure(on_device([3])), on_device(np.full((1, 64), 7, np.float32)))
    cache.ensure(on_device([500]))
    with pytest.raises(UsageError, match="no rows of the table"):
        cache.close()
    assert (table[3] == 7).all()
    with pytest.raises(UsageError, match="was closed"):
        cache.stats()
    cache.close()


def test_what_a_block_raises_is_never_replaced_by_what_closing_finds() -> None:
    table = table_of(100)
    cache = isthmus.RowCache(table, 10, write_back=True)

    def work() -> None:
        with cache:
            cache.update(cache.ensure(on_device([3])), on_device(np.full((1, 64), 7, np.float32)))
            cache.ensure(on_device([500]))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as raised:
        work()
    assert "no rows of the table" in raised.value.__notes__[0]
    assert (table[3] == 7).all()
    with pytest.raises(UsageError, match="was closed"):
        cache.stats()


def test_a_flush_waits_for_rows_that_are_stored_in_another_stream(
    context: _native.Context, block_stream: BlockStream
) -> None:
    table = table_of(100)
    with isthmus.RowCache(table, 10, write_back=True) as cache:
        values, slots = on_device(np.full((1, 64), 7, np.float32)), cache.ensure(on_device([3]))
        _native.synchronize_stream(context, _GLOBAL)
        flushing, storing = _native.Stream(context), block_stream()
        cache.update(slots, values, storing.handle)
        cache.flush(flushing.handle)
        storing.go_on()
        _native.synchronize_stream(context, flushing.handle)
        assert (table[3] == 7).all()


@pytest.mark.parametrize("named", [True, False])
def test_what_a_call_reads_is_kept_until_its_stream_has_come_so_far(
    block_stream: BlockStream, named: bool
) -> None:
    table = table_of(100)
    memory, values = on_device([3, 4]), on_device(np.full((2, 64), 7, np.float32))
    with isthmus.RowCache(table, 10, write_back=True) as cache:
        slots = cache.ensure(memory)
        on_host(slots)
        working = block_stream()
        of_array = {} if named else {"stream": working.handle}
        stream = working.handle if named else None
        freed = threading.Event(), threading.Event()
        keys = CudaArray(memory.pointer, (2,), typestr="<i8", **of_array)
        rows = CudaArray(values.pointer, (2, 64), typestr="<f4", **of_array)
        for array, event in zip((keys, rows), freed, strict=True):
            weakref.finalize(array, event.set)
        cache.prefetch(keys, stream)
        cache.update(slots, rows, stream)
        del keys, rows, array
        gc.collect()
        assert not freed[0].is_set()
        assert not freed[1].is_set()
        working.go_on()
        assert all(event.wait(60) for event in freed)
    assert (table[3:5] == 7).all()


def test_nothing_is_kept_for_a_call_that_is_refused() -> None:
    memory = on_device([3])
    with isthmus.RowCache(table_of(100), 10) as cache:
        keys = CudaArray(memory.pointer, (1,), typestr="<i8")
        known = weakref.ref(keys)
        with pytest.raises(UsageError, match="write_back=True"):
            cache.mark_dirty(keys)
        del keys
        gc.collect()
        assert known() is None


def test_the_text_of_a_cache_names_its_rows() -> None:
    with isthmus.RowCache(table_of(100), 10) as cache:
        assert repr(cache) == "RowCache(rows=10, table=(100, 64), dtype=float32, device=0)"
        assert cache.device_bytes > 10 * 256


def test_keys_on_another_gpu_are_refused() -> None:
    program = """
import isthmus, numpy
table = isthmus.pinned.zeros((100, 64), numpy.float32)
keys = isthmus.device_empty(3, numpy.int64, device=1)
with isthmus.RowCache(table, 10) as cache:
    try:
        cache.ensure(keys)
    except isthmus.UsageError as error:
        print(error)
"""
    done = run_process([sys.executable, "-c", program], {"ISTHMUS_DRIVER": "emulated:two-gpus"})
    assert "keys are on GPU 1, and the row cache on GPU 0" in done.out, done.err
