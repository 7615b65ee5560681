"""What a window may be opened on, and what is refused, each with the reason."""

import ctypes
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import isthmus
from fakes.cuda_calls import Cuda
from fakes.device_arrays import CudaArray, DlpackArray, OldDlpackArray
from isthmus import _native
from isthmus.windows.recognition import device_bytes_of

pytestmark = pytest.mark.native

SIZE = 8192


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


def test_items_of_several_bytes_are_counted() -> None:
    assert device_bytes_of(CudaArray(64, (2, 3), typestr="<f8"), None, None).size_bytes == 48
    assert device_bytes_of(CudaArray(64, (2,), typestr="<M8[ns]"), None, None).size_bytes == 16
    assert device_bytes_of(CudaArray(64, (2,), typestr="<U3"), None, None).size_bytes == 24
    assert device_bytes_of(DlpackArray(64, (2, 3), item_bits=32), None, None).size_bytes == 24
    assert device_bytes_of(DlpackArray(64, (), item_bits=16), None, None).size_bytes == 2


def test_rmms_buffers_are_mapped_whose_interface_is_of_version_0() -> None:
    found = device_bytes_of(CudaArray(64, (9,), version=0, strides=None), None, None)
    assert (found.pointer, found.size_bytes, found.pending_stream) == (64, 9, None)


def test_an_offset_of_dlpack_is_added_to_its_pointer() -> None:
    assert device_bytes_of(DlpackArray(64, (2,), offset_bytes=5), None, None).pointer == 69


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


def test_a_read_only_flag_of_dlpack_is_kept() -> None:
    assert device_bytes_of(DlpackArray(64, (2,), read_only=True), None, None).read_only
    assert not device_bytes_of(DlpackArray(64, (2,)), None, None).read_only


@pytest.mark.parametrize(
    "array",
    [
        DlpackArray(64, (4, 4), strides=(8, 1)),
        DlpackArray(64, (4, 4), strides=(1, 4)),
        DlpackArray(64, (4,), strides=(-1,)),
        DlpackArray(64, (4,), strides=(0,)),
        CudaArray(64, (4, 4), strides=(8, 1)),
        CudaArray(64, (4,), typestr="<f4", strides=(8,)),
    ],
)
def test_an_array_with_gaps_is_refused(array: object) -> None:
    with pytest.raises(isthmus.UsageError, match="not contiguous") as refusal:
        device_bytes_of(array, None, None)
    assert "copy is other memory" in refusal.value.hint


def test_strides_of_dimensions_of_one_item_do_not_matter() -> None:
    assert device_bytes_of(DlpackArray(64, (1, 4), strides=(99, 1)), None, None).size_bytes == 4
    found = device_bytes_of(CudaArray(64, (3, 1), typestr="<f4", strides=(4, 77)), None, None)
    assert found.size_bytes == 12


@pytest.mark.parametrize(
    ("device_type", "why"),
    [(1, "CPU's memory"), (3, "pinned host"), (13, "managed"), (10, "isn't CUDA's")],
)
def test_memory_that_is_not_a_gpus_own_is_refused_with_what_it_is(
    device_type: int, why: str
) -> None:
    with pytest.raises(isthmus.UsageError, match=why):
        device_bytes_of(DlpackArray(64, (4,), device_type=device_type), None, None)


def test_a_numpy_array_is_refused_for_lying_in_the_cpus_memory(windows: isthmus.Windows) -> None:
    with pytest.raises(isthmus.UsageError, match="this ndarray lies in the CPU's memory"):
        windows.open(np.zeros(4))


@pytest.mark.parametrize("thing", ["text", 1.5, None, b"bytes", object()])
def test_what_is_no_memory_is_refused_with_what_would_do(
    windows: isthmus.Windows, thing: object
) -> None:
    with pytest.raises(isthmus.UsageError, match="can't be opened on") as refusal:
        windows.open(thing)
    assert "DLPack" in refusal.value.hint


def test_a_description_that_breaks_the_rules_is_refused() -> None:
    for array, why in (
        (CudaArray(64, (4,), version=4), "version 4"),
        (CudaArray(64, (4,), mask=CudaArray(64, (4,))), "masked"),
        (CudaArray(64, (4,), typestr="strange"), "typestr 'strange'"),
        (CudaArray(64, (4,), stream=0), "stream 0"),
        (DlpackArray(64, (4,), version=(2, 0)), "DLPack 2.0"),
    ):
        with pytest.raises(isthmus.UsageError, match=why):
            device_bytes_of(array, None, None)


def test_an_array_that_can_not_be_exported_is_refused_with_its_own_reason() -> None:
    class NeedsGradient(DlpackArray):
        def __dlpack__(self, **_: object) -> object:
            raise BufferError("it requires a gradient")

    with pytest.raises(isthmus.UsageError, match="it requires a gradient") as refusal:
        device_bytes_of(NeedsGradient(64, (4,)), None, None)
    assert "detach" in refusal.value.hint


def test_what_is_no_capsule_is_refused() -> None:
    class Strange(DlpackArray):
        def __dlpack__(self, **_: object) -> object:
            return SimpleNamespace()

    with pytest.raises(isthmus.UsageError, match="no DLPack capsule"):
        device_bytes_of(Strange(64, (4,)), None, None)


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
            windows.open(pinned.value, 16)
    finally:
        cuda.call("cuMemFree_v2", managed)
        cuda.call("cuMemFreeHost", pinned)


@pytest.mark.parametrize(
    ("memory", "options", "why"),
    [
        (True, {"size": 4}, "'bool'"),
        (None, {}, "'NoneType'"),
        (1 << 70, {"size": 4}, "64 bits"),
        (64, {"size": "4"}, "size in bytes must be an integer"),
        (64, {"size": 4, "threads": "two"}, "threads must be an integer from 1"),
        (64, {"size": 4, "threads": 0}, "threads must be an integer from 1"),
        (SimpleNamespace(__cuda_array_interface__=3), {}, "no dictionary"),
        (SimpleNamespace(__cuda_array_interface__={"shape": (1,)}), {}, "without 'typestr'"),
    ],
)
def test_what_is_no_memory_or_no_option_is_named(
    windows: isthmus.Windows, memory: object, options: dict[str, Any], why: str
) -> None:
    with pytest.raises(isthmus.UsageError, match=why):
        windows.open(memory, **options)


def test_a_traceback_shows_the_advice(windows: isthmus.Windows) -> None:
    with pytest.raises(isthmus.UsageError) as refusal:
        windows.open(None)
    assert any("pass a GPU array" in note for note in refusal.value.__notes__)
