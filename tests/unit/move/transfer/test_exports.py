"""A running copy holds its arrays' memory, whatever happens to the objects."""

import array
import gc
import mmap
import threading
import weakref
from collections.abc import Callable

import numpy as np
import pytest

import isthmus
from fakes.array_libraries import Torch
from fakes.blocked_stream import BlockedStream
from isthmus import _native
from program import EMULATED, run_code

pytestmark = pytest.mark.native

SIZE = 1 << 20


class Resizable:
    """A host buffer, and how a program would take its memory away."""

    def __init__(self, kind: str) -> None:
        self.kind = kind
        make: dict[str, Callable[[], isthmus.ArrayLike]] = {
            "mmap": lambda: mmap.mmap(-1, SIZE),
            "bytearray": lambda: bytearray(SIZE),
            "array": lambda: array.array("B", bytes(SIZE)),
            "memoryview": lambda: memoryview(bytearray(SIZE)),
            "subclass": lambda: type("Mine", (bytearray,), {})(SIZE),
        }
        self.buffer = make[kind]()

    def take_away(self) -> None:
        buffer = self.buffer
        if isinstance(buffer, mmap.mmap):
            buffer.close()
        elif isinstance(buffer, memoryview):
            buffer.release()
        elif isinstance(buffer, bytearray | array.array):
            del buffer[:]


KINDS = ["mmap", "bytearray", "array", "memoryview", "subclass"]


@pytest.mark.parametrize("kind", KINDS)
def test_the_target_of_a_download_under_way_cannot_be_taken_away(
    kind: str,
    transfers: isthmus.Transfers,
    memory: _native.DeviceMemory,
    blocked: BlockedStream,
) -> None:
    target = Resizable(kind)
    device = isthmus.DevicePointer(memory.pointer, SIZE)
    future = transfers.copy_async(target.buffer, device, stream=blocked.handle)
    with pytest.raises(BufferError):
        target.take_away()
    blocked.go_on()
    future.result(60)
    assert bytes(target.buffer) == b"\xee" * SIZE  # type: ignore[arg-type]
    target.take_away()


@pytest.mark.parametrize("kind", KINDS)
def test_the_source_of_an_upload_under_way_cannot_be_taken_away(
    kind: str,
    transfers: isthmus.Transfers,
    memory: _native.DeviceMemory,
    blocked: BlockedStream,
) -> None:
    source = Resizable(kind)
    device = isthmus.DevicePointer(memory.pointer, SIZE)
    future = transfers.copy_async(
        device, source.buffer, stream=blocked.handle, source_order="stream"
    )
    with pytest.raises(BufferError):
        source.take_away()
    blocked.go_on()
    future.result(60)
    assert memory.read(SIZE) == bytes(SIZE)
    source.take_away()


@pytest.mark.parametrize("kind", KINDS)
def test_a_dropped_copys_buffer_can_be_taken_away_once_the_copy_is_complete(
    kind: str,
    transfers: isthmus.Transfers,
    memory: _native.DeviceMemory,
    blocked: BlockedStream,
) -> None:
    target = Resizable(kind)
    transfers.copy_async(
        target.buffer, isthmus.DevicePointer(memory.pointer, SIZE), stream=blocked.handle
    )
    with pytest.raises(BufferError):
        target.take_away()
    blocked.go_on()
    deadline = threading.Event()
    for _ in range(6000):
        try:
            target.take_away()
        except BufferError:
            deadline.wait(0.01)
        else:
            return
    pytest.fail("the copy's buffer was never let go")


def test_a_tensors_storage_is_held_until_the_copy_has_ended(
    torch: Torch,
    transfers: isthmus.Transfers,
    memory: _native.DeviceMemory,
    blocked: BlockedStream,
) -> None:
    """PyTorch lets go of the memory when the tensor is given another: `tensor.data = ...`."""
    tensor = torch.tensor(memory.pointer, (SIZE,), item_bits=8, type_code=1)
    target = np.zeros(SIZE, np.uint8)
    future = transfers.copy_async(target, tensor, stream=blocked.handle)
    assert tensor.storage() is not None
    blocked.go_on()
    future.result(60)
    assert tensor.storage() is None
    transfers.copy(target, tensor)
    assert (torch.num_borrowed, tensor.num_asked) == (2, 1), "a blocking copy needs none"


@pytest.mark.long
def test_a_future_that_its_own_array_refers_to_is_no_leak(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, blocked: BlockedStream
) -> None:
    class Array(np.ndarray):
        future: isthmus.CopyFuture

    target = np.zeros(SIZE, np.uint8).view(Array)
    target.future = transfers.copy_async(
        target, isthmus.DevicePointer(memory.pointer, SIZE), stream=blocked.handle
    )
    gone = threading.Event()
    weakref.finalize(target, gone.set)
    del target
    gc.collect()
    assert not gone.is_set()
    blocked.go_on()
    for _ in range(6000):
        gc.collect()
        if gone.wait(0.01):
            return
    pytest.fail("array and future keep each other alive")


_LOST = """
import ctypes, gc, weakref
import numpy as np
import isthmus
from isthmus import _native

driver = _native.Driver.open()
emulator = ctypes.CDLL(driver.path)
memory = _native.DeviceMemory(_native.Context(driver, 0), 1 << 20)
device = isthmus.DevicePointer(memory.pointer, 1 << 20)
target = isthmus.pinned.zeros(1 << 20, np.uint8)
isthmus.copy(target, device)
kept = weakref.ref(target)
for symbol in (b"cuMemcpyDtoH", b"cuMemcpyDtoHAsync", b"cuStreamSynchronize"):
    for nth in range(1, 50):
        emulator.isthmus_emulator_fail_call(symbol, nth, 719)
try:
    isthmus.copy(target, device)
except isthmus.DriverError as error:
    print(error.memory_in_use, "must be kept until the process ends" in str(error))
emulator.isthmus_emulator_reset()
del target
gc.collect()
print(kept() is not None)
"""


def test_a_blocking_copy_that_the_driver_loses_keeps_its_arrays() -> None:
    """
    Every call fails from then on, as after a kernel's illegal access.

    In a process of its own: what is kept until it ends is the context, too, and then the emulated
    driver could take no other profile in any later test.
    """
    done = run_code(_LOST, EMULATED)
    assert (done.code, done.out, done.err) == (0, "True True\nTrue\n", "")
