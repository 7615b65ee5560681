"""NumPy arrays in pinned memory, and other libraries that can use that memory."""

# ruff: noqa: ANN401 - arrays and types of every kind

import gc
import signal
import sys
from typing import Any

import numpy as np
import pytest

import isthmus
from fakes.array_libraries import Cupy
from fakes.device_arrays import read_capsule
from isthmus import _native, pinned

pytestmark = pytest.mark.native


@pytest.fixture
def pool(driver: _native.Driver) -> _native.PinnedPool:
    return _native.PinnedPool(driver, 0)


@pytest.mark.parametrize("order", ["C", "F"])
@pytest.mark.parametrize("dtype", ["u1", "f8", "c16", ">i4", "S3", [("a", "<i2"), ("b", "<f4")]])
@pytest.mark.parametrize("shape", [(), (0,), (7,), (3, 0, 2), (3, 5, 2)])
def test_an_array_has_its_shape_type_and_order(shape: Any, dtype: Any, order: Any) -> None:
    array = pinned.zeros(shape, dtype, order)
    expected = np.zeros(shape, dtype, order)
    assert (array.shape, array.dtype) == (expected.shape, expected.dtype)
    assert array.strides == expected.strides or array.size == 0
    assert np.array_equal(array, expected)
    assert array.flags.writeable
    assert array.flags.aligned
    like = pinned.empty_like(expected)
    assert (like.shape, like.dtype) == (array.shape, array.dtype)
    assert like.strides == array.strides or like.size == 0
    assert pinned.empty_like(expected, "f2").dtype == np.float16


def test_a_shape_is_a_number_or_several() -> None:
    assert pinned.empty(5).shape == (5,)
    assert pinned.empty(np.int64(5)).shape == (5,)  # type: ignore[arg-type]
    assert pinned.empty([2, 3]).shape == (2, 3)
    assert pinned.empty((2, 3), order="F").flags.f_contiguous


BEYOND_MEMORY = [(1,) * 65, 1 << 63, 1 << 70, (1 << 60, 8), (1 << 62, 1 << 62, 0)]


@pytest.mark.parametrize("shape", [-1, (2, -3), "4", None, 1.5, (1.5,), *BEYOND_MEMORY])
def test_what_is_no_shape_is_refused(shape: Any) -> None:
    with pytest.raises(isthmus.UsageError, match="shape"):
        pinned.empty(shape)


def test_types_orders_and_devices_that_are_none_are_refused() -> None:
    with pytest.raises(isthmus.UsageError, match="Python objects"):
        pinned.empty(3, object)
    with pytest.raises(isthmus.UsageError, match="'C' or 'F'"):
        pinned.empty(3, order="A")  # type: ignore[arg-type]
    with pytest.raises(isthmus.UsageError, match="device"):
        pinned.empty(3, device=99)
    for wrong in ("nonsense", 7, (int, -1), "i4,("):
        with pytest.raises(isthmus.UsageError, match="not a type of items"):
            pinned.empty(3, wrong)  # type: ignore[arg-type]
    for unknown in ("gpu", [0], None, True, 0.0):
        with pytest.raises(isthmus.UsageError, match="give the GPU's ordinal, or 'cuda:ORDINAL'"):
            pinned.empty(3, device=unknown)  # type: ignore[arg-type]


def test_a_device_has_one_pool_by_all_its_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISTHMUS_DRIVER", "emulated:two-gpus")
    pool = pinned.pool_of("cuda:1")
    assert pool is pinned.pool_of(1) is pinned.pool_of(np.int64(1))
    assert pool is not pinned.pool_of("cuda")
    array = pinned.empty(100, device="cuda:1")
    assert pinned.stats("cuda:1").used_bytes >= array.nbytes
    with pytest.raises(isthmus.UsageError, match="'cuda:2': the driver shows 2 devices"):
        pinned.pool_of("cuda:2")


def test_the_driver_knows_the_memory_as_pinned(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    array = pinned.zeros(100, np.uint8)
    array += 7
    device = isthmus.DevicePointer(memory.pointer, 100)
    plan = transfers.explain(device, array)
    assert (plan.source, plan.target, plan.device) == ("pinned", "device", 0)
    transfers.copy(device, array)
    assert memory.read(100) == b"\7" * 100


def test_memory_goes_back_to_the_pool_with_the_last_view_of_it() -> None:
    before = pinned.stats().used_bytes
    array = pinned.empty((1000, 1000), np.uint8)
    row = array[3]
    assert pinned.stats().used_bytes >= before + 1_000_000
    del array
    gc.collect()
    assert pinned.stats().used_bytes >= before + 1_000_000
    del row
    gc.collect()
    assert pinned.stats().used_bytes == before


def test_memory_that_came_back_is_given_out_again_without_pinning() -> None:
    del_me = pinned.empty(1 << 20, np.uint8)
    del del_me
    gc.collect()
    before = pinned.stats()
    array = pinned.empty(1 << 20, np.uint8)
    after = pinned.stats()
    assert after.num_allocations == before.num_allocations + 1
    assert after.num_from_cache == before.num_from_cache + 1
    assert after.pin_seconds == before.pin_seconds
    assert after.allocate_seconds > before.allocate_seconds
    del array


def test_trim_unpins_what_no_array_uses() -> None:
    array = pinned.empty(1 << 20, np.uint8)
    big = pinned.empty(200 << 20, np.uint8)
    assert pinned.stats().pinned_bytes >= 201 << 20
    del big
    gc.collect()
    pinned.trim()
    assert pinned.stats().pinned_bytes < 200 << 20
    array[:] = 1
    del array


def test_a_block_is_bytes_for_every_protocol(pool: _native.PinnedPool) -> None:
    block = _native.PinnedBlock(pool, 100)
    memoryview(block)[:] = bytes(range(100))  # type: ignore[arg-type]
    assert block.nbytes == 100
    assert block.pointer % 64 == 0
    assert pool.contains(block.pointer, 100)
    views: list[Any] = [block, memoryview(block), Unpinned(block)]  # type: ignore[arg-type]
    for shown in (*map(np.asarray, views[:2]), np.from_dlpack(views[2])):
        assert shown.tobytes() == bytes(range(100))
        assert shown.ctypes.data == block.pointer
    assert block.__dlpack_device__() == (3, 0)


class Unpinned:
    """Reports memory as the CPU's, the only kind that NumPy accepts."""

    def __init__(self, block: Any) -> None:
        self.block = block

    def __dlpack_device__(self) -> tuple[int, int]:
        return 1, 0

    def __dlpack__(self, **others: Any) -> object:
        import ctypes

        others["dl_device"] = None
        capsule = self.block.__dlpack__(**others)
        # The device is behind the version, the owner, the deleter, the flags and the pointer.
        get = ctypes.pythonapi.PyCapsule_GetPointer
        get.restype, get.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
        ctypes.c_int32.from_address(get(capsule, b"dltensor_versioned") + 40).value = 1
        return capsule


@pytest.mark.parametrize("version", [None, (0, 8), (1, 0), (1, 3)])
def test_a_capsule_keeps_the_block_and_says_that_it_is_pinned(
    pool: _native.PinnedPool, version: tuple[int, int] | None
) -> None:
    block = _native.PinnedBlock(pool, 100)
    capsule = block.__dlpack__(max_version=version)
    found = read_capsule(capsule)
    assert (found.pointer, found.shape, found.strides) == (block.pointer, [100], [1])
    assert (found.device[0], found.type_code, found.item_bits) == (3, 1, 8)
    assert not found.read_only
    used = pool.stats().used_bytes
    del block
    gc.collect()
    assert pool.stats().used_bytes == used > 0
    del capsule
    gc.collect()
    assert pool.stats().used_bytes == 0


def test_exports_that_pinned_memory_can_not_give_are_refused(pool: _native.PinnedPool) -> None:
    block = _native.PinnedBlock(pool, 100)
    with pytest.raises(isthmus.UsageError, match="no stream"):
        block.__dlpack__(stream=1)
    with pytest.raises(BufferError, match="without a copy"):
        block.__dlpack__(copy=True)
    with pytest.raises(BufferError, match="where it lies"):
        block.__dlpack__(dl_device=(2, 0))
    block.__dlpack__(dl_device=(3, 0), copy=False)
    assert pool.stats().used_bytes > 0
    del block
    gc.collect()
    assert pool.stats().used_bytes == 0


def test_a_block_outlives_its_pool(driver: _native.Driver) -> None:
    pool = _native.PinnedPool(driver, 0)
    block = _native.PinnedBlock(pool, 100)
    del pool
    memoryview(block)[:] = b"x" * 100  # type: ignore[arg-type]
    del block


def test_a_pool_has_a_limit(driver: _native.Driver) -> None:
    pool = _native.PinnedPool(driver, 0, max_bytes=64 << 20)
    with pytest.raises(isthmus.Unavailable):
        _native.PinnedBlock(pool, 65 << 20)
    _native.PinnedBlock(pool, 100)


def test_cupy_gets_pinned_memory_for_as_long_as_it_holds_it(cupy: Cupy) -> None:
    del cupy
    before = pinned.stats().used_bytes
    memory = pinned.cupy_allocator(1000)
    assert (memory.ptr, memory.mem.size) == (memory.mem.ptr, 1000)
    assert pinned.stats().used_bytes > before
    del memory
    gc.collect()
    assert pinned.stats().used_bytes == before
    pinned.cupy_allocator(0)


def test_ctrl_c_stops_a_long_pin_and_leaves_nothing(driver: _native.Driver) -> None:
    pool = _native.PinnedPool(driver, 0)
    pins_before = -1  # of the pinning that is under way

    def interrupt(*_: object) -> None:
        nonlocal pins_before
        if pool.stats().num_pins == pins_before:
            pins_before = -1  # once
            raise KeyboardInterrupt

    previous = signal.signal(signal.SIGALRM, interrupt)
    signal.setitimer(signal.ITIMER_REAL, 0.005, 0.005)
    try:
        with pytest.raises(KeyboardInterrupt):  # noqa: PT012 - which of them isn't said
            for _ in range(1000):
                pins_before = pool.stats().num_pins
                block = _native.PinnedBlock(pool, 256 << 20)
                pins_before = -1
                del block
                pool.trim()
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, previous)
    assert (pool.stats().used_bytes, pool.stats().pinned_bytes) == (0, 0)
    _native.PinnedBlock(pool, 1 << 20)


def test_without_numpy_it_is_said_what_is_missing(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "numpy", None)
    with pytest.raises(isthmus.Unavailable, match="NumPy"):
        pinned.empty(3)


@pytest.mark.parametrize("wrong", ["1G", -1, 1.5, None, True])
def test_trim_to_what_is_no_number_of_bytes_is_refused(wrong: object) -> None:
    with pytest.raises(isthmus.UsageError, match="must be a number of bytes, not"):
        pinned.trim(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("wrong", [1 << 63, 1 << 70])
def test_trim_to_more_bytes_than_there_can_be_is_refused(wrong: int) -> None:
    pinned.empty(3)
    with pytest.raises(isthmus.UsageError, match="must be at most 9223372036854775807 bytes"):
        pinned.trim(wrong)


def test_what_is_no_array_has_no_shape_to_take() -> None:
    with pytest.raises(isthmus.UsageError, match="not a NumPy array to take the shape of: 3"):
        pinned.empty_like(3)  # type: ignore[arg-type]
