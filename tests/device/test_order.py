"""Copies and windows among the work of streams: what comes first, and what a capture records."""

import ctypes
import threading

import numpy as np
import pytest

import isthmus
from copies import Bytes, PinnedZeros
from fakes.blocked_stream import BlockedStream, BlockStream
from fakes.cuda_calls import Cuda
from fakes.device_arrays import CudaArray
from isthmus import _native

pytestmark = pytest.mark.native

SIZE = 8192
LARGE = 40 << 20
_GLOBAL = 0  # CU_STREAM_CAPTURE_MODE_GLOBAL: what PyTorch asks for


def fill(cuda: Cuda, pointer: int, value: int, size: int, stream: int) -> None:
    """Enqueue a fill, as a library's pending work."""
    cuda.call(
        "cuMemsetD8Async",
        ctypes.c_uint64(pointer),
        ctypes.c_ubyte(value),
        ctypes.c_size_t(size),
        ctypes.c_void_p(stream),
    )


def copy_inside(cuda: Cuda, target: int, source: int, size: int, stream: int) -> None:
    """Enqueue a copy inside the device, as a kernel that reads one array and writes another."""
    cuda.call(
        "cuMemcpyDtoDAsync_v2",
        ctypes.c_uint64(target),
        ctypes.c_uint64(source),
        ctypes.c_size_t(size),
        ctypes.c_void_p(stream),
    )


class LateFill:
    """Device memory of zeros, and a stream that will fill it when it is told to go on."""

    def __init__(self, cuda: Cuda, memory: _native.DeviceMemory, block_stream: BlockStream) -> None:
        self._cuda = cuda
        self._block_stream = block_stream
        self.memory = memory

    def begin(self, value: int, size: int) -> BlockedStream:
        """Call it when all that a test needs has been allocated."""
        stream = self._block_stream()
        fill(self._cuda, self.memory.pointer, value, size, stream.handle)
        return stream


@pytest.fixture
def late_fill(context: _native.Context, cuda: Cuda, block_stream: BlockStream) -> LateFill:
    memory = _native.DeviceMemory(context, LARGE)
    memory.write(bytes(LARGE))
    return LateFill(cuda, memory, block_stream)


# --- copies ---------------------------------------------------------------------------------------


def copies_once(transfers: isthmus.Transfers, host: Bytes, memory: _native.DeviceMemory) -> None:
    """Let what the first copies allocate be there before a stream stands still."""
    for _ in range(3):
        transfers.copy(host, isthmus.DevicePointer(memory.pointer, host.nbytes))


@pytest.mark.parametrize("size", [16, 4096, LARGE])
@pytest.mark.parametrize("memory_of_the_host", ["pageable", "pinned"])
@pytest.mark.parametrize("named_by", ["caller", "array"])
def test_a_copy_comes_after_the_work_of_its_stream(
    transfers: isthmus.Transfers,
    late_fill: LateFill,
    pinned_zeros: PinnedZeros,
    size: int,
    memory_of_the_host: str,
    named_by: str,
) -> None:
    host = pinned_zeros(size) if memory_of_the_host == "pinned" else np.zeros(size, np.uint8)
    copies_once(transfers, host, late_fill.memory)
    stream = late_fill.begin(5, size)
    caller_s = stream.handle if named_by == "caller" else None
    array_s = {} if named_by == "caller" else {"stream": stream.handle}
    device = CudaArray(late_fill.memory.pointer, (size,), **array_s)
    begun = threading.Event()

    def copy() -> None:
        begun.set()
        transfers.copy(host, device, stream=caller_s)

    thread = threading.Thread(target=copy)
    thread.start()
    begun.wait()
    assert not host.any(), "the copy went before the work"
    stream.go_on()
    thread.join()
    assert (host == 5).all()


def test_what_is_launched_in_any_stream_after_a_copy_sees_it(
    transfers: isthmus.Transfers, context: _native.Context, cuda: Cuda
) -> None:
    streams = [_native.Stream(context) for _ in range(4)]
    for size in (16, 1 << 20):
        written, read = (_native.DeviceMemory(context, size) for _ in range(2))
        for value in range(1, 20):
            stream = streams[value % 4].handle
            transfers.copy(CudaArray(written.pointer, (size,)), np.full(size, value, np.uint8))
            copy_inside(cuda, read.pointer, written.pointer, size, stream)
            cuda.call("cuStreamSynchronize", ctypes.c_void_p(stream))
            assert read.read() == bytes([value]) * size


@pytest.mark.parametrize("memory_of_the_host", ["pageable", "pinned"])
def test_a_future_of_a_download_is_late_and_can_be_waited_for(
    transfers: isthmus.Transfers,
    late_fill: LateFill,
    pinned_zeros: PinnedZeros,
    memory_of_the_host: str,
) -> None:
    host = pinned_zeros(LARGE) if memory_of_the_host == "pinned" else np.zeros(LARGE, np.uint8)
    copies_once(transfers, host, late_fill.memory)
    stream = late_fill.begin(7, LARGE)
    device = CudaArray(late_fill.memory.pointer, (LARGE,))
    future = transfers.copy_async(host, device, stream=stream.handle)
    assert not future.done()
    with pytest.raises(TimeoutError):
        future.result(1e-4)
    stream.go_on()
    future.result(60)
    assert (host == 7).all()


# --- windows --------------------------------------------------------------------------------------


def test_a_window_is_opened_when_the_work_of_its_arrays_stream_is_complete(
    windows: isthmus.Windows, late_fill: LateFill
) -> None:
    seen: list[bytes] = []
    begun = threading.Event()
    pointer = late_fill.memory.pointer
    with windows.open(pointer, SIZE) as early:
        stream = late_fill.begin(9, SIZE)
        array = CudaArray(pointer, (SIZE,), stream=stream.handle)

        def look() -> None:
            begun.set()
            with windows.open(array) as window:
                seen.append(window.read())

        thread = threading.Thread(target=look)
        thread.start()
        begun.wait()
        with windows.open(array, sync=False) as window:
            assert window.read(1) == early.read(1) == b"\0", "the work is still to come"
        assert seen == []
        stream.go_on()
        thread.join()
    assert seen == [b"\x09" * SIZE]


@pytest.mark.parametrize("stream", [1, 2], ids=["legacy default stream", "stream of the thread"])
def test_an_array_may_name_a_default_stream(
    windows: isthmus.Windows, memory: _native.DeviceMemory, cuda: Cuda, stream: int
) -> None:
    fill(cuda, memory.pointer, 6, memory.nbytes, stream)
    with windows.open(CudaArray(memory.pointer, (3, 5), stream=stream)) as window:
        assert window.read() == b"\x06" * 15
        window.write(b"fifteen letters")
    assert memory.read(15) == b"fifteen letters"


def test_work_that_is_launched_after_a_write_reads_the_new_bytes(
    windows: isthmus.Windows, context: _native.Context, cuda: Cuda
) -> None:
    written, read = (_native.DeviceMemory(context, 4000) for _ in range(2))
    stream = _native.Stream(context)
    with windows.open(written.pointer, 4000) as window:
        for value in range(1, 200):
            window.write(bytes([value]) * 4000)
            copy_inside(cuda, read.pointer, written.pointer, 4000, stream.handle)
            cuda.call("cuStreamSynchronize", ctypes.c_void_p(stream.handle))
            assert read.read() == bytes([value]) * 4000


# --- captures -------------------------------------------------------------------------------------


class Capture:
    """A stream that is captured, and then the graph of what was enqueued in it."""

    def __init__(self, cuda: Cuda, context: _native.Context) -> None:
        self._cuda = cuda
        self._stream = _native.Stream(context)
        self._graph, self._launchable = ctypes.c_void_p(), ctypes.c_void_p()
        cuda.call("cuStreamBeginCapture_v2", ctypes.c_void_p(self.handle), _GLOBAL)

    @property
    def handle(self) -> int:
        return self._stream.handle

    def end(self) -> None:
        """Fail if something has made the capture invalid."""
        stream = ctypes.c_void_p(self.handle)
        self._cuda.call("cuStreamEndCapture", stream, ctypes.byref(self._graph))
        flags = ctypes.c_uint64(0)
        self._cuda.call(
            "cuGraphInstantiateWithFlags", ctypes.byref(self._launchable), self._graph, flags
        )

    def launch(self) -> None:
        stream = ctypes.c_void_p(self.handle)
        self._cuda.call("cuGraphLaunch", self._launchable, stream)
        self._cuda.call("cuStreamSynchronize", stream)

    def destroy(self) -> None:
        self._cuda.call("cuGraphExecDestroy", self._launchable)
        self._cuda.call("cuGraphDestroy", self._graph)


def test_a_copy_in_a_captured_stream_is_made_by_each_launch_of_the_graph(
    transfers: isthmus.Transfers,
    context: _native.Context,
    cuda: Cuda,
    pinned_zeros: PinnedZeros,
) -> None:
    first, second = (_native.DeviceMemory(context, 4096) for _ in range(2))
    source, target = pinned_zeros(4096), pinned_zeros(4096)
    pair = [isthmus.DevicePointer(memory.pointer, 4096) for memory in (first, second)]
    transfers.copy(pair[0], source)  # what is made at the first copy isn't made in the capture
    capture = Capture(cuda, context)
    futures = [
        transfers.copy_async(pair[0], source, stream=capture.handle),
        transfers.copy_async(pair[1], pair[0], stream=capture.handle),
        transfers.copy_async(target, pair[1], stream=capture.handle),
    ]
    assert all(future.done() for future in futures), "recorded is all that they can become"
    capture.end()
    source[:] = 1
    assert not target.any()
    for value in (1, 2, 3):
        source[:] = value
        capture.launch()
        assert (target == value).all()
    capture.destroy()


def test_a_window_may_be_opened_and_used_while_a_stream_is_captured(
    windows: isthmus.Windows,
    memory: _native.DeviceMemory,
    context: _native.Context,
    cuda: Cuda,
) -> None:
    following = _native.DeviceMemory(context, 100)
    capture = Capture(cuda, context)
    copy_inside(cuda, following.pointer, memory.pointer, 100, capture.handle)
    with windows.open(CudaArray(memory.pointer, (100,)), sync=False) as window:
        window.write(b"\5" * 100)
        assert window.read() == b"\5" * 100
        capture.end()
        capture.launch()
        assert following.read() == b"\5" * 100
        capture.destroy()
