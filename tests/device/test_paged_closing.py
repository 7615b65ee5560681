"""The end of a paged array: no store is lost, and memory is let go when nothing uses it."""

import ctypes
import sys
import threading
from contextlib import suppress
from typing import Any

import numpy as np
import pytest

import isthmus
from copies import on_host
from fakes.blocked_stream import BlockStream
from fakes.cuda_calls import Cuda
from isthmus.errors import DriverError, Unavailable, UsageError
from program import run_process

pytestmark = [pytest.mark.native, pytest.mark.usefixtures("default_driver")]

_GLOBAL = 0  # CUstreamCaptureMode
_MEMORY_TYPE = 2  # CUpointer_attribute
_PAGE = 4096


def is_pinned(cuda: Cuda, address: int) -> bool:
    """Tell whether the driver knows host memory."""
    kind = ctypes.c_uint()
    pointer = ctypes.c_uint64(address)
    return cuda.result("cuPointerGetAttribute", ctypes.byref(kind), _MEMORY_TYPE, pointer) == 0


def pages(count: int) -> Any:  # noqa: ANN401 - NumPy's
    """Give memory that begins and ends with a page."""
    block = np.zeros((count + 1) * _PAGE, np.uint8)
    skipped = -block.ctypes.data % _PAGE
    return block[skipped : skipped + count * _PAGE]


@pytest.mark.parametrize("end", ["array.close()", "del array"])
def test_writing_back_needs_no_memory_of_the_gpu(end: str) -> None:
    """In a process of its own, whose driver has no memory for what comes after the array."""
    program = f"""
import ctypes, isthmus, numpy
from isthmus import _native
array = isthmus.PagedArray(numpy.zeros(1000, numpy.float32))
driver = ctypes.CDLL(_native.Driver.open().path)
driver.isthmus_emulator_fail_call(b"cuMemAlloc", 1, 2)
{end}
"""
    outcome = run_process([sys.executable, "-c", program], {"ISTHMUS_DRIVER": "emulated"})
    assert (outcome.code, outcome.err) == (0, "")


def test_an_array_that_cannot_be_closed_during_a_capture_stays_open(cuda: Cuda) -> None:
    host = np.zeros(1000, np.float32)
    array = isthmus.PagedArray(host)
    array.scatter([5], [7])
    stream, graph = ctypes.c_void_p(), ctypes.c_void_p()
    cuda.call("cuStreamCreate", ctypes.byref(stream), 1)
    cuda.call("cuStreamBeginCapture_v2", stream, _GLOBAL)
    with suppress(DriverError):  # it depends on the driver
        array.close()
    cuda.result("cuStreamEndCapture", stream, ctypes.byref(graph))
    array.close()
    assert host[5] == 7
    cuda.call("cuStreamDestroy_v2", stream)


def test_an_array_whose_device_is_lost_is_closed_and_says_so() -> None:
    """In a process of its own, whose driver fails once."""
    program = """
import ctypes, isthmus, numpy
from isthmus import _native
host = numpy.zeros(1000, numpy.float32)
array = isthmus.PagedArray(host)
array.scatter([5], [7])
driver = ctypes.CDLL(_native.Driver.open().path)
for code in (2, 719):
    driver.isthmus_emulator_fail_call(b"cuCtxSynchronize", 1, code)
    try:
        array.close()
    except isthmus.DriverError as error:
        print(error.code)
try:
    array.stats()
except isthmus.UsageError as error:
    print(error)
"""
    outcome = run_process([sys.executable, "-c", program], {"ISTHMUS_DRIVER": "emulated"})
    assert outcome.out == "2\n719\nthis paged array was closed\n", outcome.err


def test_a_call_that_comes_after_the_end_is_refused_in_other_threads_too() -> None:
    array = isthmus.PagedArray(np.zeros(1000, np.float32))
    native = array._open
    refused = []

    def call() -> None:
        try:
            native.stats()
        except UsageError as error:
            refused.append(str(error))

    array.close()
    thread = threading.Thread(target=call)
    thread.start()
    thread.join()
    assert refused == ["this paged array was closed"]


def test_an_error_that_is_kept_keeps_no_pages_pinned(cuda: Cuda) -> None:
    host = pages(16)
    with isthmus.PagedArray(host) as array:
        assert is_pinned(cuda, host.ctypes.data)
        with pytest.raises(UsageError) as kept:
            array.gather([-1])
    assert kept.value.__traceback__ is not None  # it has the native part
    assert not is_pinned(cuda, host.ctypes.data)


def test_two_arrays_of_the_same_pages_share_them_until_the_last_is_closed(cuda: Cuda) -> None:
    host = pages(16)
    host[:] = 1
    whole, part = isthmus.PagedArray(host), isthmus.PagedArray(host[_PAGE : 3 * _PAGE])
    whole.close()
    assert is_pinned(cuda, part.__dict__["_source"].pointer)
    assert int(on_host(part.gather([5]))[0]) == 1
    part.close()
    assert not is_pinned(cuda, host.ctypes.data)


def test_a_larger_array_than_the_one_that_pinned_its_pages_is_refused(cuda: Cuda) -> None:
    host = pages(16)
    part = isthmus.PagedArray(host[: 3 * _PAGE])
    with pytest.raises(Unavailable, match="ALREADY_REGISTERED"):
        isthmus.PagedArray(host)
    assert int(on_host(part.gather([5]))[0]) == 0
    part.close()
    assert not is_pinned(cuda, host.ctypes.data)


def test_memory_that_is_pinned_at_its_ends_alone_is_refused(cuda: Cuda) -> None:
    host = pages(64)
    ends = [ctypes.c_void_p(host.ctypes.data), ctypes.c_void_p(host.ctypes.data + 63 * _PAGE)]
    for end in ends:
        cuda.call("cuMemHostRegister_v2", end, ctypes.c_size_t(_PAGE), 0)
    with pytest.raises(Unavailable, match="ALREADY_REGISTERED"):
        isthmus.PagedArray(host)
    for end in ends:
        cuda.call("cuMemHostUnregister", end)


def test_the_first_use_in_a_stream_does_not_wait_for_its_work(block_stream: BlockStream) -> None:
    with isthmus.PagedArray(isthmus.pinned.zeros(1000, np.float32)) as array:
        blocked = block_stream()
        assert array.argument(blocked.handle) != array.argument()
        blocked.go_on()


@pytest.mark.parametrize("device_bytes", [None, "2KiB"])
def test_the_default_stream_of_each_thread_is_refused(device_bytes: str | None) -> None:
    per_thread, legacy = 2, 1
    host = np.zeros(4000, np.float32)
    with isthmus.PagedArray(host, device_bytes=device_bytes) as array:
        with pytest.raises(UsageError, match="CU_STREAM_PER_THREAD"):
            array.argument(per_thread)
        assert array.argument(legacy) == array.argument()


def test_an_array_that_is_open_when_the_interpreter_ends_is_closed(
    environment: dict[str, str],
) -> None:
    """A daemon thread keeps the module's names, so that nothing is destroyed."""
    program = """
import threading, multiprocessing.shared_memory as shared
import numpy, isthmus
block = shared.SharedMemory(create=True, size=4096)
print(block.name, flush=True)
array = isthmus.PagedArray(numpy.frombuffer(block.buf, numpy.uint8))
array.scatter([5], [7])
going = threading.Event()
def wait():
    going.set()
    threading.Event().wait()
    print(array)
threading.Thread(target=wait, daemon=True).start()
going.wait()
multiprocessing.resource_tracker.unregister("/" + block.name, "shared_memory")
"""
    from multiprocessing.shared_memory import SharedMemory

    outcome = run_process([sys.executable, "-c", "import multiprocessing\n" + program], environment)
    block = SharedMemory(outcome.out.strip())
    try:
        assert bytes(block.buf or b"")[5] == 7, outcome.err
    finally:
        block.close()
        block.unlink()
