"""On which memory a window may be opened, and which is refused, with the reason."""

from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import isthmus
from fakes.device_arrays import CudaArray, DlpackArray
from isthmus.move.windows.recognition import DeviceBytes, device_bytes_of

pytestmark = pytest.mark.native

SIZE = 8192


def found_bytes(array: object, size: int | None = None) -> DeviceBytes:
    return device_bytes_of(array, size, isthmus.Windows("emulated")._reader, ordered=False)


def test_items_of_several_bytes_are_counted() -> None:
    assert found_bytes(CudaArray(64, (2, 3), typestr="<f8")).size_bytes == 48
    assert found_bytes(CudaArray(64, (2,), typestr="<M8[ns]")).size_bytes == 16
    assert found_bytes(CudaArray(64, (2,), typestr="<U3")).size_bytes == 24
    assert found_bytes(DlpackArray(64, (2, 3), item_bits=32)).size_bytes == 24
    assert found_bytes(DlpackArray(64, (), item_bits=16)).size_bytes == 2


def test_rmms_buffers_are_mapped_whose_interface_is_of_version_0() -> None:
    found = found_bytes(CudaArray(64, (9,), version=0, strides=None))
    assert (found.pointer, found.size_bytes, found.pending_stream) == (64, 9, None)


def test_a_device_pointer_has_its_size_with_it() -> None:
    pointer = isthmus.DevicePointer(64, 9)
    assert found_bytes(pointer).size_bytes == 9
    assert found_bytes(pointer, 4).size_bytes == 4
    with pytest.raises(isthmus.UsageError, match="the array has 9"):
        found_bytes(pointer, 10)


def test_an_offset_of_dlpack_is_added_to_its_pointer() -> None:
    assert found_bytes(DlpackArray(64, (2,), offset_bytes=5)).pointer == 69


def test_a_read_only_flag_of_dlpack_is_kept() -> None:
    assert found_bytes(DlpackArray(64, (2,), read_only=True)).read_only
    assert not found_bytes(DlpackArray(64, (2,))).read_only


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
        found_bytes(array)
    assert "copy is different memory" in refusal.value.hint


def test_strides_of_dimensions_of_one_item_do_not_matter() -> None:
    assert found_bytes(DlpackArray(64, (1, 4), strides=(99, 1))).size_bytes == 4
    found = found_bytes(CudaArray(64, (3, 1), typestr="<f4", strides=(4, 77)))
    assert found.size_bytes == 12


@pytest.mark.parametrize(
    ("device_type", "why"),
    [(1, "CPU's memory"), (3, "pinned host"), (13, "managed"), (10, "isn't CUDA's")],
)
def test_memory_that_is_not_a_gpus_own_is_refused_with_what_it_is(
    device_type: int, why: str
) -> None:
    with pytest.raises(isthmus.UsageError, match=why):
        found_bytes(DlpackArray(64, (4,), device_type=device_type))


def test_a_numpy_array_is_refused_for_lying_in_the_cpus_memory(windows: isthmus.Windows) -> None:
    with pytest.raises(isthmus.UsageError, match="this ndarray is in the CPU's memory"):
        windows.open(np.zeros(4))


@pytest.mark.parametrize("thing", ["text", 1.5, None, b"bytes", object()])
def test_what_is_no_memory_is_refused_with_what_would_do(
    windows: isthmus.Windows, thing: isthmus.DeviceArrayLike
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
            found_bytes(array)


def test_an_array_that_can_not_be_exported_is_refused_with_its_own_reason() -> None:
    class NeedsGradient(DlpackArray):
        requires_grad = True

        def __dlpack__(self, **_: object) -> object:
            raise BufferError("it requires a gradient")

    with pytest.raises(isthmus.UsageError, match="it requires a gradient") as refusal:
        found_bytes(NeedsGradient(64, (4,)))
    assert "detach" in refusal.value.hint


def test_what_is_no_capsule_is_refused() -> None:
    class Strange(DlpackArray):
        def __dlpack__(self, **_: object) -> object:
            return SimpleNamespace()

    with pytest.raises(isthmus.UsageError, match="no DLPack capsule"):
        found_bytes(Strange(64, (4,)))


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
    windows: isthmus.Windows, memory: isthmus.DeviceArrayLike, options: dict[str, Any], why: str
) -> None:
    with pytest.raises(isthmus.UsageError, match=why):
        windows.open(memory, **options)


def test_a_traceback_shows_the_advice(windows: isthmus.Windows) -> None:
    with pytest.raises(isthmus.UsageError) as refusal:
        windows.open(None)  # type: ignore[arg-type]
    assert any("pass a GPU array" in note for note in refusal.value.__notes__)
