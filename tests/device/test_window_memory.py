"""Which memory of a device can be mapped, by whatever interface or allocator it comes."""

import ctypes

import numpy as np
import pytest

import isthmus
from fakes.cuda_calls import Cuda
from fakes.device_allocators import ALLOCATORS
from fakes.device_arrays import CudaArray, DlpackArray, OldDlpackArray
from isthmus import _native

pytestmark = pytest.mark.native

SIZE = 8192
LONG = (5 << 20) + 77


@pytest.mark.parametrize("kind", [DlpackArray, OldDlpackArray, CudaArray])
def test_an_array_of_any_interface_is_mapped(
    windows: isthmus.Windows,
    memory: _native.DeviceMemory,
    kind: type[DlpackArray | CudaArray],
) -> None:
    with windows.open(kind(memory.pointer + 3, (5, 7))) as window:
        assert (window.device_pointer, window.nbytes) == (memory.pointer + 3, 35)
        window.write(b"abc", 1)
    assert memory.read(5, 3) == b"\0abc\0"


def test_a_pointer_is_mapped_with_a_size(
    windows: isthmus.Windows, memory: _native.DeviceMemory
) -> None:
    with windows.open(np.uint64(memory.pointer), 16) as window:
        assert window.nbytes == 16
    with pytest.raises(isthmus.UsageError, match="needs a size"):
        windows.open(memory.pointer)


def test_of_an_array_a_size_takes_the_first_bytes(
    windows: isthmus.Windows, array: CudaArray
) -> None:
    with windows.open(array, 100) as window:
        assert window.nbytes == 100
    with pytest.raises(isthmus.UsageError, match="the array has 8192"):
        windows.open(array, SIZE + 1)


def test_null_and_empty_and_unknown_memory_is_refused(
    windows: isthmus.Windows, memory: _native.DeviceMemory
) -> None:
    with pytest.raises(isthmus.UsageError, match="null"):
        windows.open(0, 16)
    with pytest.raises(isthmus.UsageError, match="at least one byte"):
        windows.open(memory.pointer, 0)
    with pytest.raises(isthmus.UsageError, match="at least one byte"):
        windows.open(CudaArray(0, (0,)))
    with pytest.raises(isthmus.UsageError, match="knows no memory"):
        windows.open(12345, 16)
    with pytest.raises(isthmus.UsageError, match="64 bits"):
        windows.open(-1, 16)
    with pytest.raises(isthmus.UsageError, match="past the end"):
        windows.open(memory.pointer, SIZE + 1)


def test_empty_memory_is_refused_also_where_it_is_mapped_already(
    window: isthmus.Window, windows: isthmus.Windows
) -> None:
    with pytest.raises(isthmus.UsageError, match="at least one byte"):
        windows.open(window.device_pointer, 0)


def test_memory_that_was_freed_is_refused(
    windows: isthmus.Windows, memory: _native.DeviceMemory
) -> None:
    pointer = memory.pointer
    memory.free()
    with pytest.raises(isthmus.UsageError, match="freed"):
        windows.open(pointer, 16)


def test_managed_and_host_memory_is_refused_also_where_only_the_driver_knows(
    windows: isthmus.Windows, cuda: Cuda
) -> None:
    managed, pinned = ctypes.c_uint64(), ctypes.c_void_p()
    cuda.call("cuMemAllocManaged", ctypes.byref(managed), ctypes.c_size_t(4096), 1)
    cuda.call("cuMemHostAlloc", ctypes.byref(pinned), ctypes.c_size_t(4096), 0)
    try:
        with pytest.raises(isthmus.UsageError, match="managed"):
            windows.open(managed.value, 16)
        with pytest.raises(isthmus.UsageError, match="host memory"):
            windows.open(pinned.value or 0, 16)
    finally:
        cuda.call("cuMemFree_v2", managed)
        cuda.call("cuMemFreeHost", pinned)


@pytest.mark.parametrize("allocator", [name for name in ALLOCATORS if name != "cudaMallocManaged"])
def test_memory_of_every_allocator_is_mapped_or_unavailable_with_a_reason(
    windows: isthmus.Windows, cuda: Cuda, driver: _native.Driver, allocator: str
) -> None:
    with ALLOCATORS[allocator](cuda, LONG) as pointer:
        if not driver.emulated and allocator != "cudaMalloc":
            # A GPU's driver need not export what wasn't allocated to be exported.
            try:
                windows.open(pointer, LONG).close()
            except isthmus.Unavailable as absence:
                reason = str(absence)
                assert reason
                return
        data = bytes(range(256)) * 100
        back = ctypes.create_string_buffer(len(data))
        with windows.open(pointer, LONG) as window:
            for offset in (0, 17, (2 << 20) - 100, LONG - len(data)):
                window.write(data, offset)
                assert window.read(len(data), offset) == data
                device = ctypes.c_uint64(pointer + offset)
                cuda.call("cuMemcpyDtoH_v2", back, device, ctypes.c_size_t(len(data)))
                assert back.raw == data


def test_every_backend_says_whether_it_works_and_why(
    windows: isthmus.Windows, backend: str
) -> None:
    reports = {report.backend: report for report in windows.backends()}
    assert reports[backend].usable
    assert all(report.reason for report in reports.values())
