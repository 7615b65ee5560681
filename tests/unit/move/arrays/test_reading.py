"""What arrays of other libraries raise when they have no memory to show; how they name types."""

import struct
import sys
import warnings
from dataclasses import replace
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import isthmus
from fakes.array_libraries import Torch
from fakes.device_arrays import CudaArray, DlpackArray
from isthmus import _native
from isthmus.move.windows.recognition import device_bytes_of

# What PyTorch, JAX and NumPy were seen to raise.
REFUSALS = [
    AttributeError("a traced array has no such attribute"),
    BufferError("it is sparse"),
    NotImplementedError("an opaque tensor has no storage"),
    RuntimeError("the array has been deleted"),
    TypeError("object of type 'NoneType' has no len()"),
    ValueError("unknown device type meta"),
]


class Unexportable(DlpackArray):
    """Raises when it is asked for its memory, or before that for its device."""

    def __init__(self, refusal: BaseException, *, asked_for: str) -> None:
        super().__init__(64, (4,))
        self.refusal = refusal
        self.asked_for = asked_for

    def __dlpack_device__(self) -> tuple[int, int]:
        if self.asked_for == "device":
            raise self.refusal
        return super().__dlpack_device__()

    def __dlpack__(self, **_: object) -> object:
        raise self.refusal


@pytest.fixture
def reader() -> _native.ArrayReader:
    return isthmus.Windows("emulated")._reader


@pytest.mark.parametrize("asked_for", ["device", "memory"])
@pytest.mark.parametrize("refusal", REFUSALS, ids=lambda refusal: type(refusal).__name__)
def test_whatever_an_array_raises_is_a_usage_error_that_names_it_and_the_reason(
    reader: _native.ArrayReader, refusal: Exception, asked_for: str
) -> None:
    array = Unexportable(refusal, asked_for=asked_for)
    for ask in (
        lambda: reader.pair(bytearray(4), array, None),
        lambda: reader.pair(array, bytes(4), 7),
        lambda: device_bytes_of(array, None, reader, ordered=True),
    ):
        with pytest.raises(isthmus.UsageError, match="this Unexportable can't be") as failure:
            ask()
        assert str(refusal) in str(failure.value)
        assert failure.value.__cause__ is refusal
        assert failure.value.hint == ""
        refusal.__traceback__ = None  # it would keep the devices of the reader


@pytest.mark.parametrize(
    "raised", [MemoryError("no more"), KeyboardInterrupt("no more"), isthmus.UsageError("no")]
)
def test_a_lack_of_memory_and_an_interruption_are_not_the_arrays_fault(
    reader: _native.ArrayReader, raised: BaseException
) -> None:
    array = Unexportable(raised, asked_for="memory")
    with pytest.raises(type(raised)) as failure:
        reader.read(array, ordered=True)
    assert failure.value is raised
    raised.__traceback__ = None  # it would keep the devices of the reader


@pytest.mark.parametrize("silent", ["is_conj", "is_neg", "detach", "__dlpack_device__"])
def test_a_tensor_that_answers_nothing_is_refused_too(
    reader: _native.ArrayReader, monkeypatch: pytest.MonkeyPatch, silent: str
) -> None:
    """Subclasses of PyTorch's Tensor may forbid any call; meta tensors have no device here."""
    library = Torch(exchange=False)
    monkeypatch.setitem(sys.modules, "torch", library.module)

    def refuse(*_: object) -> bool:
        raise RuntimeError("no such call")

    tensor = library.tensor(64, (4,))
    tensor.requires_grad = True
    monkeypatch.setattr(type(tensor), silent, refuse)
    with pytest.raises(isthmus.UsageError, match="no such call") as failure:
        reader.pair(np.zeros(4, np.float32), tensor, None)
    assert failure.value.hint == "pass tensor.detach()"


def item_of(reader: _native.ArrayReader, array: object) -> str | None:
    (_, source, _) = reader.pair(bytearray(4), array, None)
    named: str | None = source.item
    return named


def test_a_type_that_numpy_was_told_of_has_its_own_name_whatever_its_letter_is(
    reader: _native.ArrayReader,
) -> None:
    """ml_dtypes' float8_e5m2 has the letter of NumPy's floats; float8_e4m3fn has none."""
    for letter, name in (("<f1", "float8_e5m2"), ("|V1", "float8_e4m3fn"), ("<V2", "bfloat16")):
        array = SimpleNamespace(
            dtype=SimpleNamespace(isbuiltin=2, fields=None, name=name),
            __array_interface__={"shape": (3,), "typestr": letter, "data": (64, False)},
        )
        assert item_of(reader, array) == name


@pytest.mark.parametrize(
    ("dtype", "name"),
    [
        ("?", "bool"),
        ("<i2", "int16"),
        (">i2", "big-endian int16"),
        (">u1", "uint8"),
        ("<f4", "float32"),
        (">c16", "big-endian complex128"),
        ("<M8[ns]", "datetime64[ns]"),
        ("<m8[25s]", "timedelta64[25s]"),
        ("S5", "bytes40"),
        ("<U3", "str96"),
        (">U3", "big-endian str96"),
        ("V7", None),
    ],
)
def test_types_are_named_alike_as_arrays_and_as_descriptions(
    reader: _native.ArrayReader, dtype: str, name: str | None
) -> None:
    array = np.zeros(3, dtype)
    shown = SimpleNamespace(__array_interface__=array.__array_interface__)
    assert item_of(reader, array) == item_of(reader, shown) == name


@pytest.mark.parametrize(
    ("item_format", "name"),
    [
        ("b", "int8"),
        ("B", "uint8"),
        ("l", "int64"),
        ("d", "float64"),
        ("?", "bool"),
        ("n", "int64"),
    ],
)
def test_types_of_buffers_are_named_as_those_of_arrays(
    reader: _native.ArrayReader, item_format: str, name: str
) -> None:
    size = struct.calcsize(item_format)
    view: Any = memoryview(bytes(2 * size))
    assert item_of(reader, view.cast(item_format, [2, 1])) == name


@pytest.mark.parametrize("dtype", [np.dtype("O"), np.dtype([("a", "O")])])
def test_items_that_hold_python_objects_are_refused(
    reader: _native.ArrayReader, dtype: "np.dtype[Any]"
) -> None:
    arrays: list[Any] = [np.zeros(3, dtype)]
    arrays.append(arrays[0].view(type("Sub", (np.ndarray,), {})))
    for array in arrays:
        with pytest.raises(isthmus.UsageError, match="Python objects"):
            item_of(reader, array)


def test_more_types_than_are_remembered_are_read(reader: _native.ArrayReader) -> None:
    kinds = [type(f"Kind{i}", (CudaArray,), {}) for i in range(100)]
    for kind in kinds * 2:
        (target, _, _) = reader.pair(kind(64, (4,)), bytes(4), None)
        assert (target.pointer, target.what) == (64, kind.__name__)


class Viewed(np.ndarray[Any, Any]):
    """Arrays of a type of its own are read by the protocol."""


@pytest.mark.parametrize(
    "array",
    [
        *(np.zeros(6, letter).reshape(2, 3) for letter in "?bBhHiIlLqQefdgFDG"),
        *(np.zeros((2, 3), dtype) for dtype in (">i4", "<M8[s]", "S3", "V5", [("x", "i4")])),
        np.zeros((4, 6), np.int16)[::2, 1::3],
        np.zeros((4, 6), np.int16).T,
        np.zeros(5, np.float32)[::-1],
        np.broadcast_to(np.float32(1), (3, 2)),
        np.zeros((), np.float64),
        np.zeros((3, 0, 2), np.float64),
        np.frombuffer(bytes(8), np.int32),
    ],
    ids=lambda array: f"{array.dtype} {array.shape} {array.strides}",
)
def test_numpys_arrays_are_what_their_protocol_says(
    reader: _native.ArrayReader, array: "np.ndarray[Any, Any]"
) -> None:
    by_protocol = reader.read_source(array.view(Viewed))
    read = reader.read_source(array)
    assert replace(read, what="Viewed", owner=None) == replace(by_protocol, owner=None)


def test_an_array_that_gets_another_shape_while_the_other_one_is_read_keeps_what_was_read(
    reader: _native.ArrayReader,
) -> None:
    target = np.zeros((4, 6), np.uint8)

    class Reshaping:
        @property
        def __array_interface__(self) -> dict[str, object]:
            with warnings.catch_warnings():  # NumPy 2.5 deprecates what it still allows
                warnings.simplefilter("ignore", DeprecationWarning)
                target.shape = (2, 3, 4)
            return np.zeros((4, 6), np.uint8).__array_interface__

    read, source, _ = reader.pair(target, Reshaping(), None)
    assert read.shape == source.shape == (4, 6)


@pytest.mark.parametrize(("shape", "dtype"), [((2, 3), "f4"), ((), "c16"), ((0, 5), "?")])
def test_arrays_of_device_empty_are_what_their_interface_says(
    shape: tuple[int, ...], dtype: str
) -> None:
    with isthmus.emulated():
        reader = isthmus.Windows("emulated")._reader
        array = isthmus.device_empty(shape, dtype)
        shown = SimpleNamespace(__cuda_array_interface__=array.__cuda_array_interface__)
        by_protocol = reader.read_source(shown)
        read = reader.read_source(array)
    assert replace(read, what="SimpleNamespace", owner=None) == replace(by_protocol, owner=None)
