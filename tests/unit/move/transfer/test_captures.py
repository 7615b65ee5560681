"""Copies while a stream is captured in global mode, PyTorch's default."""

import ctypes
import gc
import threading
import weakref
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import numpy as np
import pytest

import isthmus
from fakes.blocked_stream import BlockedStream
from fakes.cuda_calls import Cuda
from fakes.device_arrays import CudaArray
from fakes.safetensors_files import write_file
from isthmus import _native

pytestmark = pytest.mark.native

SIZE = 1 << 20
GLOBAL = 0


@contextmanager
def capture(cuda: Cuda) -> Iterator[None]:
    """Capture a stream; the capture must be intact at the end."""
    stream, graph = ctypes.c_void_p(), ctypes.c_void_p()
    cuda.call("cuStreamCreate", ctypes.byref(stream), 1)
    cuda.call("cuStreamBeginCapture_v2", stream, GLOBAL)
    yield
    cuda.call("cuStreamEndCapture", stream, ctypes.byref(graph))
    cuda.call("cuGraphDestroy", graph)
    cuda.call("cuStreamDestroy_v2", stream)


def test_a_future_can_be_asked_while_another_stream_is_captured(
    transfers: isthmus.Transfers,
    memory: _native.DeviceMemory,
    blocked: BlockedStream,
    cuda: Cuda,
) -> None:
    target = isthmus.pinned.zeros(SIZE, np.uint8)
    device = isthmus.DevicePointer(memory.pointer, SIZE)
    future = transfers.copy_async(target, device, stream=blocked.handle)
    with capture(cuda):
        assert not future.done()
        blocked.go_on()
        future.result(60)
        assert future.done()
    assert target.tobytes() == b"\xee" * SIZE


def test_a_future_dropped_during_a_capture_keeps_its_array(
    transfers: isthmus.Transfers,
    memory: _native.DeviceMemory,
    blocked: BlockedStream,
    cuda: Cuda,
) -> None:
    target = isthmus.pinned.zeros(SIZE, np.uint8)
    gone = threading.Event()
    weakref.finalize(target, gone.set)
    device = isthmus.DevicePointer(memory.pointer, SIZE)
    future = transfers.copy_async(target, device, stream=blocked.handle)
    with capture(cuda):
        del future, target
        gc.collect()
        next_array = isthmus.pinned.zeros(SIZE, np.uint8)
        assert not gone.is_set()
        blocked.go_on()
        assert gone.wait(60), "it is let go during the capture, too"
    assert not next_array.any()


def test_a_capture_begun_after_a_future_was_dropped_stays_intact(
    transfers: isthmus.Transfers,
    memory: _native.DeviceMemory,
    blocked: BlockedStream,
    cuda: Cuda,
) -> None:
    """By then the thread that keeps arrays is asking about the copy all the time."""
    target = isthmus.pinned.zeros(SIZE, np.uint8)
    gone = threading.Event()
    weakref.finalize(target, gone.set)
    device = isthmus.DevicePointer(memory.pointer, SIZE)
    transfers.copy_async(target, device, stream=blocked.handle)
    del target
    with capture(cuda):
        assert not gone.wait(0.1)
        blocked.go_on()
        assert gone.wait(60)


@pytest.mark.parametrize("size", [4, 4096, SIZE])
@pytest.mark.parametrize("in_default_stream", [False, True])
def test_every_copy_can_be_made_beside_a_capture(
    size: int,
    in_default_stream: bool,
    transfers: isthmus.Transfers,
    memory: _native.DeviceMemory,
    cuda: Cuda,
) -> None:
    """Also in the legacy default stream: a non-blocking stream's capture leaves it alone."""
    own = ctypes.c_void_p()
    cuda.call("cuStreamCreate", ctypes.byref(own), 1)
    stream = 0 if in_default_stream else own.value
    device = CudaArray(memory.pointer, (size,))
    sent = np.arange(size, dtype=np.uint8)
    back, later = np.zeros(size, np.uint8), np.zeros(size, np.uint8)
    with capture(cuda):
        transfers.copy(device, sent, stream=stream)
        transfers.copy(back, device, stream=stream)
        transfers.copy_async(device, sent[::-1], stream=stream).result(60)
        transfers.copy_async(later, device, stream=stream).result(60)
        with isthmus.Windows("emulated").open(device) as window:
            assert window.read(size) == sent[::-1].tobytes()
        transfers.trim()
    assert np.array_equal(back, sent)
    assert np.array_equal(later, sent[::-1])
    cuda.call("cuStreamDestroy_v2", own)


def test_a_model_is_loaded_beside_a_capture(cuda: Cuda, tmp_path: Path) -> None:
    content = bytes(range(256))
    file = write_file(tmp_path / "model.safetensors", {"weight": ("U8", [256], content)})
    stream = ctypes.c_void_p()
    cuda.call("cuStreamCreate", ctypes.byref(stream), 1)
    found = np.zeros(256, np.uint8)
    with capture(cuda):
        tensors = isthmus.load_safetensors(file, framework="dlpack", stream=stream.value)
        isthmus.copy(found, tensors["weight"], stream=stream.value)
    assert found.tobytes() == content
    cuda.call("cuStreamDestroy_v2", stream)


def test_memory_is_taken_beside_a_capture(cuda: Cuda, context: _native.Context) -> None:
    with capture(cuda):
        memory = _native.DeviceMemory(context, SIZE)
        block = isthmus.pinned.empty(SIZE, np.uint8)
        stream = _native.Stream(context)
        _native.synchronize_stream(context, stream.handle)
        del memory, block, stream
        isthmus.pinned.trim()


def test_what_would_wait_for_the_captured_stream_is_refused_and_leaves_the_capture_intact(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, cuda: Cuda
) -> None:
    stream, graph = ctypes.c_void_p(), ctypes.c_void_p()
    cuda.call("cuStreamCreate", ctypes.byref(stream), 1)
    cuda.call("cuStreamBeginCapture_v2", stream, GLOBAL)
    on_host = np.zeros(SIZE, np.uint8)
    array = CudaArray(memory.pointer, (SIZE,), stream=stream.value)
    with pytest.raises(isthmus.UsageError, match="within the host's memory can't be made"):
        transfers.copy(on_host, np.ones(SIZE, np.uint8), stream=stream.value)
    turned = np.ones((1024, 1024), np.uint8).T
    with pytest.raises(isthmus.UsageError, match="packing would not be in the graph"):
        transfers.copy(CudaArray(memory.pointer, (1024, 1024)), turned, stream=stream.value)
    with pytest.raises(isthmus.UsageError, match="open a window with sync=False"):
        isthmus.Windows("emulated").open(array)
    cuda.call("cuStreamEndCapture", stream, ctypes.byref(graph))
    cuda.call("cuGraphDestroy", graph)
    cuda.call("cuStreamDestroy_v2", stream)
    assert not on_host.any()
