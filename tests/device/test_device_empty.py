"""`isthmus.device_empty`: arrays on a device without another library."""

import ctypes
import gc
import threading
from collections.abc import Callable
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import isthmus
from fakes.blocked_stream import BlockStream
from fakes.cuda_calls import Cuda
from fakes.device_arrays import read_capsule
from isthmus import _native
from program import EMULATED, run_code

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


def require_round_trip(array: isthmus.DeviceArray, sent: Any) -> None:  # noqa: ANN401 - of NumPy
    """Copy an array of NumPy's there and to an array in pinned memory."""
    isthmus.copy(array, sent)
    back = isthmus.pinned.zeros(array.shape, array.dtype)
    isthmus.copy(back, array)
    assert (back.shape, back.dtype) == (sent.shape, sent.dtype) == (array.shape, array.dtype)
    assert back.tobytes() == sent.tobytes()


@pytest.mark.parametrize(
    "dtype", ["M8[ns]", "m8[s]", "S8", "U2", "V8", ">f8", "i4,f4", [("a", "u1"), ("b", "f4", 3)]]
)
def test_dates_strings_structures_and_byte_orders_go_there_and_back(dtype: Any) -> None:  # noqa: ANN401
    form = np.dtype(dtype)
    sent = np.arange(12 * form.itemsize, dtype="u1").view(form).reshape(3, 4)
    array = isthmus.device_empty((3, 4), dtype)
    require_round_trip(array, sent)
    isthmus.copy(array, sent[::-1])
    told = array.__cuda_array_interface__
    assert told["typestr"] == form.str
    assert told.get("descr") == (form.descr if form.fields else None)
    with pytest.raises(BufferError, match=r"^DLPack has no items of .*isthmus\.copy"):
        array.__dlpack__()
    if form != "V8":  # bytes without a type
        with pytest.raises(isthmus.UsageError, match="can't copy float64"):
            isthmus.copy(array, np.zeros((3, 4)))


def test_an_array_of_arrays_has_their_dimensions_as_in_numpy() -> None:
    array = isthmus.device_empty(3, "(2,4)f4")
    require_round_trip(array, np.arange(24, dtype="f4").reshape(3, 2, 4))


# By DLPack's numbers of types.
_OF_ML_DTYPES = {
    "bfloat16": (4, 16),
    "float8_e3m4": (7, 8),
    "float8_e4m3": (8, 8),
    "float8_e4m3b11fnuz": (9, 8),
    "float8_e4m3fn": (10, 8),
    "float8_e4m3fnuz": (11, 8),
    "float8_e5m2": (12, 8),
    "float8_e5m2fnuz": (13, 8),
    "float8_e8m0fnu": (14, 8),
    "float6_e2m3fn": None,
    "float4_e2m1fn": None,
    "int4": None,
}


@pytest.mark.parametrize("name", _OF_ML_DTYPES)
def test_types_of_ml_dtypes_are_known_by_name_and_exported_by_dlpack(name: str) -> None:
    form = np.dtype(getattr(pytest.importorskip("ml_dtypes"), name))
    sent = np.arange(32 * form.itemsize, dtype="u1").view(form)
    array = isthmus.device_empty(32, name)
    assert isthmus.device_empty(32, form.type).dtype == form
    require_round_trip(array, sent)
    # It has no typestr that says the type: CuPy and others must not take it for bytes.
    assert not hasattr(array, "__cuda_array_interface__")
    known = _OF_ML_DTYPES[name]
    if known is None:
        with pytest.raises(BufferError, match="DLPack has no items of"):
            array.__dlpack__()
        return
    told = read_capsule(array.__dlpack__())
    assert (told.type_code, told.item_bits) == known
    with pytest.raises(isthmus.UsageError, match="can't copy"):
        isthmus.copy(array, np.zeros(32, np.dtype(f"u{form.itemsize}")))


def test_types_of_pytorch_are_those_of_its_tensors() -> None:
    torch = pytest.importorskip("torch")
    pytest.importorskip("ml_dtypes")
    for name in ("float32", "bool", "uint8", "int64", "bfloat16", "float8_e5m2"):
        form = getattr(torch, name)
        sent = torch.arange(8).to(form)
        array = isthmus.device_empty(8, form)
        isthmus.copy(array, sent)
        pinned = isthmus.pinned.empty(8, form)
        isthmus.copy(pinned, array)
        back = torch.zeros(8, dtype=form)
        isthmus.copy(back, pinned)
        assert torch.equal(back.float(), sent.float())
        assert str(form) == f"torch.{array.dtype}"


def test_without_ml_dtypes_its_types_are_refused_with_what_to_install() -> None:
    code = """
import sys
import isthmus
sys.modules["ml_dtypes"] = None
for make in (isthmus.device_empty, isthmus.pinned.empty):
    try:
        make(3, "bfloat16")
    except isthmus.Unavailable as refusal:
        print(refusal)
"""
    assert run_code(code, EMULATED).out.count("the type bfloat16 unavailable") == 2


@pytest.mark.parametrize(
    "use",
    [
        np.asarray,
        np.sum,
        np.zeros_like,
        lambda array: np.array_equal(np.zeros(3), array),
        lambda array: np.add(np.zeros(3), array),
        lambda array: np.zeros(3) + array,
        lambda array: np.zeros(3).__setitem__(slice(None), array),
    ],
)
def test_numpy_is_told_that_it_cannot_read_a_gpu(use: Callable[[object], object]) -> None:
    with pytest.raises(TypeError, match=r"^a DeviceArray lies in a GPU's memory.*isthmus\.copy\("):
        use(isthmus.device_empty(3))


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
        (4, "U", 0, "items of <U0 have no bytes: give a length"),
        (4, object, 0, "items of object are Python objects"),
        (4, "i4,O", 0, "are Python objects"),
        (4, "quint8", 0, "not a type of items: .*quint8"),
        (4, "float4_e2m1fn_x2", 0, "not a type of items|needs pip install ml_dtypes"),
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
    with pytest.raises((isthmus.UsageError, isthmus.Unavailable), match=words):
        isthmus.device_empty(shape, dtype, device)


# As devices of CuPy, JAX and cuda.core describe themselves.
_DEVICES = [
    SimpleNamespace(id=0),
    SimpleNamespace(platform="gpu", id=7, local_hardware_id=0),
    SimpleNamespace(device_id=0),
]


@pytest.mark.parametrize("device", ["cuda", "cuda:0", np.int64(0), *_DEVICES])
def test_a_device_has_names_beside_its_ordinal(device: Any) -> None:  # noqa: ANN401
    assert isthmus.device_empty(4, "u1", device).device == 0
    assert isthmus.pinned.empty(4, "u1", device=device).nbytes == 4


def test_a_device_of_pytorch_is_a_gpu_or_refused() -> None:
    torch = pytest.importorskip("torch")
    assert isthmus.device_empty(4, "u1", torch.device("cuda")).device == 0
    assert isthmus.device_empty(4, "u1", torch.device("cuda", 0)).device == 0
    for wrong in (torch.device("cpu"), torch.device("meta"), torch.device("cuda", 99)):
        with pytest.raises(isthmus.UsageError, match=r"device .*(give the GPU's|the driver shows)"):
            isthmus.device_empty(4, "u1", wrong)
    with pytest.raises(isthmus.UsageError, match="give the GPU's ordinal"):
        isthmus.device_empty(4, "u1", SimpleNamespace(platform="cpu", id=0))
