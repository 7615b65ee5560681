"""`isthmus.device_empty`: arrays on a device without another library."""

import ctypes
import gc
import threading
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import isthmus
from fakes.blocked_stream import BlockStream
from fakes.cuda_calls import Cuda
from fakes.device_arrays import read_capsule
from isthmus import _native

pytestmark = [pytest.mark.native, pytest.mark.usefixtures("default_driver")]

Free = Callable[[], int]


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint16", "float16", "float64", "complex128"])
def test_an_array_of_any_plain_type_goes_there_and_back(dtype: str) -> None:
    sent = np.arange(24).astype(dtype).reshape(2, 3, 4)
    array = isthmus.device_empty(sent.shape, dtype)
    isthmus.copy(array, sent)
    back = np.zeros_like(sent)
    isthmus.copy(back, array)
    assert np.array_equal(back, sent)
    assert (array.shape, array.dtype, array.device, array.nbytes) == (
        (2, 3, 4),
        np.dtype(dtype),
        0,
        sent.nbytes,
    )


def test_a_number_is_the_length_of_an_array_of_float64_as_in_numpy() -> None:
    assert repr(isthmus.device_empty(5)) == "DeviceArray(shape=(5,), dtype=float64, device=0)"


def test_an_array_without_items_has_no_address() -> None:
    array = isthmus.device_empty((4, 0), "int32")
    assert (array.pointer, array.nbytes) == (0, 0)
    assert array.__cuda_array_interface__["data"] == (0, False)
    isthmus.copy(array, np.empty((4, 0), np.int32))


def test_it_describes_itself_by_both_protocols() -> None:
    array = isthmus.device_empty((2, 3), "float32")
    assert array.__cuda_array_interface__ == {
        "shape": (2, 3),
        "typestr": "<f4",
        "data": (array.pointer, False),
        "strides": None,
        "version": 3,
    }
    assert array.__dlpack_device__() == (2, 0)
    for told in (
        read_capsule(array.__dlpack__()),
        read_capsule(array.__dlpack__(stream=1, max_version=(1, 1))),
    ):
        assert (told.pointer, told.shape, told.device) == (array.pointer, [2, 3], (2, 0))
        assert (told.type_code, told.item_bits, told.read_only) == (2, 32, False)


def test_a_window_opens_on_it(windows: isthmus.Windows) -> None:
    del windows  # it skips where there are none
    array = isthmus.device_empty(8, "uint8")
    with isthmus.window(array) as window:
        window.write(b"12345678")
    back = bytearray(8)
    isthmus.copy(back, array)
    assert back == b"12345678"


def test_an_export_keeps_the_memory_of_an_array_that_is_gone() -> None:
    array = isthmus.device_empty(1 << 20, "uint8")
    pointer = array.pointer
    capsule = array.__dlpack__()
    del array
    gc.collect()
    isthmus.copy(isthmus.DevicePointer(pointer, 4), b"kept")
    assert read_capsule(capsule).pointer == pointer
    del capsule
    gc.collect()
    with pytest.raises(isthmus.UsageError):
        isthmus.copy(isthmus.DevicePointer(pointer, 4), b"gone")


def test_memory_is_freed_only_after_the_work_of_every_stream(
    cuda: Cuda, block_stream: BlockStream
) -> None:
    array = isthmus.device_empty(1 << 20, "uint8")
    isthmus.copy(array, np.full(1 << 20, 7, np.uint8))
    home = isthmus.pinned.zeros(1 << 20, np.uint8)
    stream = block_stream()
    # A copy that isthmus knows nothing of.
    cuda.call(
        "cuMemcpyDtoHAsync_v2",
        ctypes.c_void_p(home.ctypes.data),
        ctypes.c_uint64(array.pointer),
        ctypes.c_size_t(1 << 20),
        ctypes.c_void_p(stream.handle),
    )
    kept = [array]
    del array
    freed = threading.Event()

    def free() -> None:
        kept.clear()
        freed.set()

    thread = threading.Thread(target=free)
    thread.start()
    # Python goes on meanwhile: freeing holds no lock of the interpreter.
    assert not freed.wait(0.05)
    stream.go_on()
    thread.join(60)
    assert freed.is_set()
    assert home.min() == home.max() == 7


def test_a_copy_in_flight_keeps_it(block_stream: BlockStream) -> None:
    array = isthmus.device_empty(1 << 16, "uint8")
    isthmus.copy(array, np.full(1 << 16, 3, np.uint8))
    home = isthmus.pinned.zeros(1 << 16, np.uint8)
    stream = block_stream()
    future = isthmus.copy_async(home, array, stream=stream.handle)
    del array
    stream.go_on()
    future.result(60)
    assert home.min() == home.max() == 3


def test_more_than_there_is_is_refused(context: _native.Context) -> None:
    too_much = 2 * context.device.total_memory_bytes
    with pytest.raises(isthmus.OutOfDeviceMemory):
        isthmus.device_empty(too_much, "uint8")


@pytest.mark.parametrize(
    ("shape", "dtype", "device", "words"),
    [
        (-1, "u1", 0, "no negative lengths"),
        ((2, "3"), "u1", 0, "not a shape"),
        ((1 << 40, 1 << 40), "u1", 0, "no memory holds"),
        (4, "U3", 0, "can't have items of <U3"),
        (4, "M8[s]", 0, "can't have items of datetime64"),
        (4, ">i4", 0, "can't have items of >i4"),
        (4, "i4,f4", 0, "can't have items of"),
        (4, "nonsense", 0, "not a type of items: .*nonsense"),
        (4, "i4,(", 0, "not a type of items"),
        (4, (int, -1), 0, "not a type of items"),
        (4, "u1", 99, "device 99: the driver shows .*, from 0 on"),
        (4, "u1", -1, "device -1: the driver shows"),
        (4, "u1", "cuda:99", "device 'cuda:99': the driver shows"),
        (4, "u1", "gpu", "device 'gpu': give the GPU's ordinal, or 'cuda:ORDINAL'"),
        (4, "u1", [0], "give the GPU's ordinal"),
        (4, "u1", True, "give the GPU's ordinal"),
        (4, "u1", None, "give the GPU's ordinal"),
    ],
)
def test_an_impossible_array_is_refused(
    shape: int,
    dtype: Any,  # noqa: ANN401
    device: Any,  # noqa: ANN401
    words: str,
) -> None:
    with pytest.raises(isthmus.UsageError, match=words):
        isthmus.device_empty(shape, dtype, device)


def test_the_device_has_a_name(driver: _native.Driver) -> None:
    assert isthmus.device_name() == driver.device(0).name
    assert isthmus.device_name("cuda") == isthmus.device_name("cuda:0") == isthmus.device_name()
    for wrong in (99, "cuda:99", "gpu", None):
        with pytest.raises(isthmus.UsageError, match="device"):
            isthmus.device_name(wrong)  # type: ignore[arg-type]


@pytest.mark.parametrize("device", ["cuda", "cuda:0", np.int64(0)])
def test_a_device_has_names_beside_its_ordinal(device: Any) -> None:  # noqa: ANN401
    assert isthmus.device_empty(4, "u1", device).device == 0
