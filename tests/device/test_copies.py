"""Copies to and from a device's memory, whoever allocated it, from whatever thread."""

import numpy as np
import pytest

import isthmus
from copies import SIZES, PinnedZeros, random_bytes
from fakes.cuda_calls import Cuda
from fakes.device_allocators import ALLOCATORS
from fakes.device_arrays import CudaArray
from isthmus import _native
from program import run_code
from threads import run_in_threads

pytestmark = pytest.mark.native

# Longer than a piece of memory that is mapped in pieces, and no multiple of one.
LONG = (5 << 20) + 77


@pytest.mark.parametrize("size", SIZES)
@pytest.mark.parametrize("memory_of_the_host", ["pageable", "pinned"])
def test_bytes_go_to_the_device_and_back(
    transfers: isthmus.Transfers,
    context: _native.Context,
    pinned_zeros: PinnedZeros,
    size: int,
    memory_of_the_host: str,
) -> None:
    sent = random_bytes(size)
    host = pinned_zeros(size) if memory_of_the_host == "pinned" else np.empty(size, np.uint8)
    host[:] = sent
    memory = _native.DeviceMemory(context, max(1, size))
    device = CudaArray(memory.pointer, (size,))
    transfers.copy(device, host)
    assert memory.read(size) == sent.tobytes()
    host[:] = 0
    transfers.copy(host, device)
    assert np.array_equal(host, sent)
    transfers.copy_async(device, np.flip(sent).copy()).result(60)
    assert memory.read(size) == np.flip(sent).tobytes()
    if size > 0:
        assert transfers.explain(device, host).source == memory_of_the_host


@pytest.mark.parametrize("allocator", ALLOCATORS)
def test_memory_of_every_allocator_is_copied_to_and_from(
    transfers: isthmus.Transfers, cuda: Cuda, allocator: str
) -> None:
    with ALLOCATORS[allocator](cuda, LONG) as pointer:
        for offset, size in ((0, LONG), (3, 100), ((2 << 20) - 5, 10), (1, 3 << 20)):
            sent, back = random_bytes(size), np.zeros(size, np.uint8)
            device = isthmus.DevicePointer(pointer + offset, size)
            transfers.copy(device, sent)
            transfers.copy(back, device)
            assert np.array_equal(back, sent), (offset, size)
            transfers.copy_async(device, back[::-1].copy()).result(60)
            transfers.copy_async(back, device).result(60)
            assert np.array_equal(back[::-1], sent), (offset, size)


def test_memory_that_goes_around_in_the_drivers_pool_is_never_mixed_up(
    transfers: isthmus.Transfers, cuda: Cuda
) -> None:
    for step in range(300):
        size = 1 + (step * 7919) % 50_000
        data, back = random_bytes(size), np.zeros(size, np.uint8)
        with ALLOCATORS["cudaMallocAsync"](cuda, size) as pointer:
            device = isthmus.DevicePointer(pointer, size)
            transfers.copy(device, data)
            transfers.copy(back, device)
        assert np.array_equal(back, data), step


def test_memory_that_was_freed_and_ranges_that_overlap_are_refused(
    transfers: isthmus.Transfers, context: _native.Context
) -> None:
    memory = _native.DeviceMemory(context, 1 << 22)
    device = isthmus.DevicePointer(memory.pointer, 1 << 22)
    data = random_bytes(1 << 22)
    transfers.copy(device, data)
    assert memory.read(100) == data[:100].tobytes()
    with pytest.raises(isthmus.UsageError, match="overlap"):
        transfers.copy(
            isthmus.DevicePointer(memory.pointer + 1, 100),
            isthmus.DevicePointer(memory.pointer, 100),
        )
    memory.free()
    for size in (16, 1 << 22):
        with pytest.raises(isthmus.Error):
            transfers.copy(np.zeros(size, np.uint8), isthmus.DevicePointer(device.pointer, size))


def test_sixty_four_threads_with_streams_of_their_own_copy_at_once(
    transfers: isthmus.Transfers, context: _native.Context
) -> None:
    def copy(number: int) -> None:
        stream = _native.Stream(context)
        for size in np.random.default_rng(number).integers(1, 1 << 18, 12):
            memory = _native.DeviceMemory(context, int(size))
            device = CudaArray(memory.pointer, (int(size),))
            sent, back = random_bytes(int(size)), np.empty(int(size), np.uint8)
            transfers.copy(device, sent, stream=stream.handle)
            transfers.copy_async(back, device, stream=stream.handle).result(120)
            assert np.array_equal(sent, back)

    run_in_threads(copy, 64)


def test_copies_are_explained_and_counted(
    transfers: isthmus.Transfers, context: _native.Context
) -> None:
    memory = _native.DeviceMemory(context, 1 << 20)
    device, host = CudaArray(memory.pointer, (1 << 20,)), np.zeros(1 << 20, np.uint8)
    plan = transfers.explain(device, host)
    assert plan.path in str(plan)
    assert {cost.path for cost in plan.costs} >= {"window", "driver", "staged"}
    before = transfers.stats()
    transfers.copy(device, host)
    after = transfers.stats()
    assert (after.calls - before.calls, after.bytes - before.bytes) == (1, 1 << 20)


_TWO_GPUS = """
import numpy as np
import isthmus
from fakes.cuda_calls import Cuda
from isthmus import _native
driver = _native.Driver.open()
cuda = Cuda(driver.path)  # the first device's context is current
contexts = [_native.Context(driver, ordinal) for ordinal in (0, 1)]
first, second = (_native.DeviceMemory(context, 100_000) for context in contexts)
data, back = np.random.default_rng(0).integers(0, 256, 100_000, np.uint8), np.zeros(100_000, "u1")
isthmus.copy(isthmus.DevicePointer(second.pointer, 100_000), data)
assert second.read() == data.tobytes()
isthmus.copy(isthmus.DevicePointer(first.pointer, 100_000),
             isthmus.DevicePointer(second.pointer, 100_000))
explained = isthmus.explain(isthmus.DevicePointer(first.pointer, 100_000),
                            isthmus.DevicePointer(second.pointer, 100_000))
assert "from GPU 1 to GPU 0" in str(explained), explained
isthmus.copy(back, isthmus.DevicePointer(first.pointer, 100_000))
assert np.array_equal(back, data)
with isthmus.window(second.pointer, 100_000) as window:
    window.write(b"through a window", 5)
    assert window.read(16, 5) == b"through a window"
assert second.read(16, 5) == b"through a window"
assert cuda.current_device() == 0
print("works")
"""


def test_memory_of_a_gpu_that_is_not_the_current_one_is_copied_and_mapped(
    driver: _native.Driver, environment: dict[str, str], backend: str
) -> None:
    del backend
    if not driver.emulated and driver.device_count() < 2:
        pytest.skip("this machine has one GPU")
    if driver.emulated:
        environment["ISTHMUS_DRIVER"] = "emulated:two-gpus"
    done = run_code(_TWO_GPUS, environment)
    assert (done.out, done.err) == ("works\n", "")
