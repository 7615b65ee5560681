"""Calls that are quick when nothing has to be prepared: they keep what the others keep."""

# ruff: noqa: ANN401 - arrays, types and words of every kind

import gc
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import isthmus
from fakes.blocked_stream import BlockedStream
from fakes.cuda_calls import Cuda
from fakes.device_arrays import CudaArray
from isthmus import _native, pinned
from threads import run_in_threads

pytestmark = pytest.mark.native

LAUNCH_FAILED = 719  # CUDA_ERROR_LAUNCH_FAILED
SIZE = 64
# From an array to a view of it.
VIEWS: dict[str, Any] = {
    "a part": lambda array: array[3:5],
    "a reshaped one": lambda array: array.reshape(20, 5)[::2],
    "another type": lambda array: array.view("u1"),
    "a part of a part": lambda array: array[2:][3:][::-1],
    "a memoryview": memoryview,
    "DLPack's": np.from_dlpack,
    "an array of the same": np.asarray,
}


def used_bytes() -> int:
    gc.collect()
    return pinned.stats().used_bytes


@pytest.fixture(autouse=True)
def with_a_pool() -> None:
    """Have a pool with free memory, so that the calls are quick."""
    pinned.empty(1)


@pytest.mark.parametrize("dtype", [float, "?", "i1", "<u8", np.float16, np.dtype("c16"), None, "g"])
@pytest.mark.parametrize("shape", [0, 1, 7, (), (3, 5), (3, 0, 2), (1, 4, 1), (2,) * 20])
def test_a_quick_array_is_like_any_other(shape: Any, dtype: Any) -> None:
    quick = pinned.pool_of(0).array(shape, dtype)
    expected = np.empty(shape, dtype)
    assert quick is not None
    assert quick.shape == expected.shape
    assert quick.strides == expected.strides or quick.size == 0
    assert quick.dtype is np.dtype(dtype)
    for flag in ("c_contiguous", "f_contiguous", "writeable", "aligned", "writebackifcopy"):
        assert getattr(quick.flags, flag) == getattr(expected.flags, flag)
    assert not quick.flags.owndata
    block: Any = quick.base
    assert isinstance(block, _native.PinnedBlock)
    assert (block.pointer, block.nbytes) == (quick.ctypes.data, max(1, quick.nbytes))


@pytest.mark.parametrize(
    ("shape", "dtype"),
    [
        ([2, 3], float),
        (np.int64(3), float),
        (True, float),
        (-1, float),
        ((2, -3), float),
        ((1,) * 33, float),
        (1 << 70, "u1"),
        ((1 << 62, 1 << 62, 0), "u1"),
        (3, object),
        (3, "S5"),
        (3, ">i4"),
        (3, [("a", "i4")]),
        (3, "nonsense"),
        ("3", float),
        (None, float),
    ],
)
def test_what_needs_a_closer_look_is_left_to_it(shape: Any, dtype: Any) -> None:
    before = used_bytes()
    assert pinned.pool_of(0).array(shape, dtype) is None
    assert used_bytes() == before


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("view", VIEWS)
def test_a_block_is_in_use_as_long_as_any_view_of_its_array(view: str, order: Any) -> None:
    before = used_bytes()
    array = pinned.empty(100, "f4", order)
    address = array.ctypes.data
    array[:] = 7
    seen = VIEWS[view](array)
    del array
    assert used_bytes() > before
    others = [pinned.empty(100, "f4", order) for _ in range(50)]
    assert address not in [other.ctypes.data for other in others]
    for other in others:
        other[:] = 9
    assert np.all(np.asarray(seen).view("f4") == 7), "nobody else has written there"
    del others, other, seen
    assert used_bytes() == before
    again = [pinned.empty(100, "f4", order) for _ in range(50)]
    assert address in [other.ctypes.data for other in again]


def test_a_block_of_an_array_in_a_circle_comes_back() -> None:
    before = used_bytes()
    holder: list[Any] = [pinned.empty(100)]
    holder.append(holder)
    del holder
    assert used_bytes() == before


def test_threads_get_different_blocks_while_others_pin() -> None:
    def work(number: int) -> None:
        for turn in range(200):
            array = pinned.empty((10, 10), "i8")
            array[:] = 1000 * number + turn
            big = pinned.empty(70 << 20, "u1") if turn % 100 == 50 else None
            assert np.all(array == 1000 * number + turn)
            del big

    before = used_bytes()
    run_in_threads(work, 4)
    assert used_bytes() == before


def test_a_running_copy_keeps_a_quick_array(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, blocked: BlockedStream
) -> None:
    device = isthmus.DevicePointer(memory.pointer, 1000)
    before = used_bytes()
    future = transfers.copy_async(pinned.empty(1000, "u1"), device, stream=blocked.handle)
    assert used_bytes() > before
    blocked.go_on()
    future.result()
    assert used_bytes() == before


class Small:
    """Arrays that are copied through a window that is open."""

    def __init__(self, transfers: isthmus.Transfers, memory: _native.DeviceMemory) -> None:
        self.transfers = transfers
        self.device = CudaArray(memory.pointer, (SIZE,))
        self.host = np.zeros(SIZE, np.uint8)
        self.memory = memory
        for _ in range(300):
            transfers.copy(self.device, self.host)
        assert self.windows() > 0, "a window was worth opening"

    def windows(self) -> int:
        return self.transfers.stats().paths["window"].calls


@pytest.fixture
def small(transfers: isthmus.Transfers, memory: _native.DeviceMemory) -> Small:
    return Small(transfers, memory)


@pytest.mark.parametrize("source_order", ["call", "stream"])
def test_a_small_copy_in_an_idle_stream_is_made_at_once(small: Small, source_order: Any) -> None:
    count = small.windows()
    source = np.arange(SIZE, dtype=np.uint8)
    future = small.transfers.copy_async(small.device, source, source_order=source_order)
    source[:] = 0
    assert future.done()
    assert not future.running()
    assert not future.cancel()
    assert not future.cancelled()
    assert small.memory.read(SIZE) == bytes(range(SIZE))
    back = np.zeros(SIZE, np.uint8)
    ended = small.transfers.copy_async(back, small.device, source_order=source_order)
    assert back.tobytes() == bytes(range(SIZE)), "also without asking for the result"
    ended.result()
    assert ended.exception() is None
    assert ended.event.handle is None
    ended.event.wait(0)
    told: list[object] = []
    ended.add_done_callback(told.append)
    assert told == [ended]
    assert small.windows() == count + 2


def test_a_copy_at_once_keeps_nothing(small: Small) -> None:
    source = np.ones(SIZE, np.uint8)
    gone = weakref.ref(source)
    future = small.transfers.copy_async(small.device, source)
    del source
    assert gone() is None
    future.result()
    buffer = bytearray(SIZE)
    small.transfers.copy_async(small.device, buffer)
    buffer.extend(b"more")


def test_a_small_copy_never_waits_for_its_stream(small: Small, blocked: BlockedStream) -> None:
    source = np.full(SIZE, 5, np.uint8)
    up = small.transfers.copy_async(
        small.device, source, stream=blocked.handle, source_order="stream"
    )
    assert not up.done()
    assert small.memory.read(SIZE) == bytes(SIZE)
    gone = weakref.ref(source)
    del source
    gc.collect()
    assert gone() is not None
    back = np.zeros(SIZE, np.uint8)
    down = small.transfers.copy_async(back, small.device, stream=blocked.handle)
    assert not down.done()
    blocked.go_on()
    up.result()
    down.result()
    assert small.memory.read(SIZE) == b"\5" * SIZE
    gc.collect()
    assert gone() is None


def test_the_first_small_copies_may_be_asynchronous(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    device, source = CudaArray(memory.pointer, (SIZE,)), np.zeros(SIZE, np.uint8)
    for number in range(300):
        source[:] = number % 256
        transfers.copy_async(device, source).result()
        assert memory.read(SIZE) == bytes([number % 256]) * SIZE
    assert transfers.stats().paths["window"].calls > 0, "they earn a window, too"


def test_what_is_refused_otherwise_is_refused_at_once(small: Small) -> None:
    read_only = np.zeros(SIZE, np.uint8)
    read_only.flags.writeable = False
    with pytest.raises(isthmus.UsageError, match="read-only"):
        small.transfers.copy_async(read_only, small.device)
    with pytest.raises(isthmus.UsageError):
        small.transfers.copy_async(small.device, isthmus.HostPointer(4096, SIZE))
    with pytest.raises(isthmus.UsageError, match="source_order"):
        small.transfers.copy_async(small.device, small.host, source_order="soon")  # type: ignore[arg-type]
    with pytest.raises(isthmus.UsageError, match="stream"):
        small.transfers.copy_async(small.device, small.host, stream=0x1234)


def test_a_stream_that_has_failed_fails_the_copy(small: Small, cuda: Cuda) -> None:
    cuda.library.isthmus_emulator_fail_call(b"cuStreamQuery", 1, LAUNCH_FAILED)
    try:
        with pytest.raises(isthmus.DriverError):
            small.transfers.copy_async(small.device, small.host)
    finally:
        cuda.library.isthmus_emulator_reset()
    small.transfers.copy_async(small.device, small.host).result()


def test_freed_memory_is_refused_although_its_window_is_open(
    transfers: isthmus.Transfers, driver: _native.Driver
) -> None:
    freed = Small(transfers, _native.DeviceMemory(_native.Context(driver, 0), 4096))
    device = freed.device
    del freed
    gc.collect()
    with pytest.raises(isthmus.UsageError, match="freed"):
        transfers.copy_async(device, np.zeros(SIZE, np.uint8))


def test_threads_copy_at_once_to_their_own_bytes(small: Small) -> None:
    barrier = threading.Barrier(4)

    def work(number: int) -> None:
        device = CudaArray(small.memory.pointer + 4096 * number, (SIZE,))
        barrier.wait()
        for turn in range(200):
            sent = np.full(SIZE, (number * 50 + turn) % 256, np.uint8)
            small.transfers.copy_async(device, sent).result()
            back = np.zeros(SIZE, np.uint8)
            small.transfers.copy_async(back, device).result()
            assert np.array_equal(back, sent)

    run_in_threads(work, 4)
