"""Which arrays can be copied to which, and the errors for the others."""

# ruff: noqa: ANN401 - arrays and types of every kind

import array
import ctypes
import mmap
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import isthmus
from fakes.array_libraries import DeviceArray
from fakes.cuda_calls import Cuda
from fakes.device_arrays import CudaArray, DlpackArray, OldDlpackArray
from isthmus import _native
from isthmus.move.windows.opening import Windows

pytestmark = pytest.mark.native

FLOAT, COMPLEX, BOOL, BFLOAT = 2, 5, 6, 4


def numbers(*shape: int, dtype: Any = np.float32) -> np.ndarray[Any, Any]:
    count = int(np.prod(shape, dtype=int))
    return (np.arange(count) % 251 + 1).astype(dtype).reshape(shape)


def on_device(kind: str, pointer: int, shape: tuple[int, ...]) -> isthmus.ArrayLike:
    """Show float32 in device memory by one protocol or another."""
    if kind == "interface":
        return CudaArray(pointer, shape, typestr="<f4")
    if kind == "interface of the type":
        return DeviceArray(pointer, shape, typestr="<f4")
    if kind == "old DLPack":
        return OldDlpackArray(pointer, shape, item_bits=32, type_code=FLOAT)
    if kind == "DLPack":
        return DlpackArray(pointer, shape, item_bits=32, type_code=FLOAT)
    return isthmus.DevicePointer(pointer, 4 * int(np.prod(shape, dtype=int)))


@pytest.mark.parametrize(
    "kind", ["interface", "interface of the type", "DLPack", "old DLPack", "pointer"]
)
@pytest.mark.parametrize("shape", [(), (1,), (7,), (3, 5), (100, 1000)])
def test_a_numpy_array_goes_to_the_device_and_back(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, kind: str, shape: tuple[int, ...]
) -> None:
    sent, received = numbers(*shape), np.zeros(shape, np.float32)
    device = on_device(kind, memory.pointer, shape)
    transfers.copy(device, sent)
    assert memory.read(sent.nbytes) == sent.tobytes()
    transfers.copy(received, device)
    assert np.array_equal(received, sent)


@pytest.mark.parametrize(
    "host",
    [
        bytearray,
        lambda data: memoryview(bytearray(data)),
        lambda data: array.array("B", data),
        lambda data: array.array("f", data),
        lambda data: np.frombuffer(bytearray(data), np.uint8).reshape(-1, 4),
        lambda data: memoryview(bytearray(data)).cast("I"),
        lambda data: memoryview(bytearray(data)).cast("i", [4, 4]),
        lambda data: np.frombuffer(bytearray(data), ">u4"),
    ],
)
def test_whatever_has_bytes_goes_to_the_device_and_back(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, host: Any
) -> None:
    data = bytes(range(64))
    device = isthmus.DevicePointer(memory.pointer, 64)
    received = host(bytes(64))
    transfers.copy(device, host(data))
    assert memory.read(64) == data
    transfers.copy(received, device)
    assert bytes(memoryview(received).cast("B")) == data


def test_bytes_and_mapped_files_are_sources_and_targets(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, tmp_path: Path
) -> None:
    device = isthmus.DevicePointer(memory.pointer, 4096)
    data = np.random.default_rng(1).bytes(4096)
    transfers.copy(device, data)
    path = tmp_path / "mapped"
    path.write_bytes(bytes(8192))
    with path.open("r+b") as file, mmap.mmap(file.fileno(), 4096) as mapped:
        transfers.copy(mapped, device)
        assert mapped[:] == data
        transfers.copy(device, bytes(4096))
        transfers.copy(device, mapped)
        assert memory.read(4096) == data
    mapping = np.memmap(path, np.uint8, "r+", offset=4096)
    transfers.copy(mapping, device)
    mapping.flush()
    assert path.read_bytes() == data * 2


def test_host_pointers_are_memory_of_a_size(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    here, there = numbers(16), np.zeros(16, np.float32)
    device = isthmus.DevicePointer(memory.pointer, 64)
    transfers.copy(device, isthmus.HostPointer(here.ctypes.data, 64))
    transfers.copy(isthmus.HostPointer(there.ctypes.data, 64), device)
    assert np.array_equal(here, there)
    for wrong in ((-1, 4), (1 << 64, 4), (4, -1), ("4", 4), (True, 4)):
        with pytest.raises(isthmus.UsageError, match="must be an integer"):
            isthmus.DevicePointer(*wrong)


def test_host_to_host_and_device_to_device_are_copies_too(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    here, there = numbers(1000), np.zeros(1000, np.float32)
    transfers.copy(there, here)
    assert np.array_equal(here, there)
    first = DlpackArray(memory.pointer, (1000,), item_bits=32, type_code=FLOAT)
    second = CudaArray(memory.pointer + 8000, (1000,), typestr="<f4")
    transfers.copy(first, here)
    transfers.copy(second, first)
    assert memory.read(4000, 8000) == here.tobytes()


@pytest.mark.parametrize(
    ("dtype", "code", "bits"),
    [
        (np.bool_, BOOL, 8),
        (np.int8, 0, 8),
        (np.uint16, 1, 16),
        (np.float16, FLOAT, 16),
        (np.int64, 0, 64),
        (np.complex64, COMPLEX, 64),
        (np.complex128, COMPLEX, 128),
    ],
)
def test_types_have_the_same_name_in_every_protocol(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, dtype: Any, code: int, bits: int
) -> None:
    sent, received = numbers(3, 4, dtype=dtype), np.zeros((3, 4), dtype)
    typestr = sent.dtype.str
    transfers.copy(DlpackArray(memory.pointer, (3, 4), item_bits=bits, type_code=code), sent)
    transfers.copy(received, CudaArray(memory.pointer, (3, 4), typestr=typestr))
    assert np.array_equal(sent, received)
    wrong = DlpackArray(memory.pointer, (3, 4), item_bits=bits, type_code=3)
    with pytest.raises(isthmus.UsageError, match=f"{np.dtype(dtype).name}.*handle"):
        transfers.copy(wrong, sent)


def test_bytes_of_no_type_take_the_place_of_bfloat16(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    target = DlpackArray(memory.pointer, (8,), item_bits=16, type_code=BFLOAT)
    transfers.copy(target, numbers(8, dtype=np.uint16).view("V2"))
    assert memory.read(16) == numbers(8, dtype=np.uint16).tobytes()
    with pytest.raises(isthmus.UsageError, match=r"uint16 .* to bfloat16"):
        transfers.copy(target, numbers(8, dtype=np.uint16))


@pytest.mark.parametrize(
    ("source", "why"),
    [
        (np.zeros(8, np.float64), "float64 .* to float32 .*converts nothing"),
        (np.zeros(8, np.int32), "int32 .* to float32"),
        (np.zeros(8, ">f4"), "big-endian float32 .* to float32"),
        (np.zeros(8, [("a", "<f4")]), r"\('a', '<f4'\).* to float32"),
        (np.zeros((2, 4), np.float32), r"shape \(2, 4\) .* to shape \(8,\)"),
        (np.zeros((8, 1), np.float32), r"shape \(8, 1\)"),
        (np.zeros(9, np.float32), r"shape \(9,\)"),
        (bytes(31), "31 bytes .* to 32 bytes"),
        (np.zeros(8, object), "Python objects"),
        (np.ma.zeros(8, np.float32), "masked"),
        (np.broadcast_to(np.float32(1), 8), "share memory"),
        (5, "a 'int' has no memory"),
        ("text", "a 'str' has no memory"),
        (None, "a 'NoneType' has no memory"),
        ([1.0] * 8, "the source's list: both must be arrays"),
    ],
)
def test_what_can_not_be_copied_as_it_is_is_refused_and_nothing_is_written(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, source: Any, why: str
) -> None:
    target = CudaArray(memory.pointer, (8,), typestr="<f4")
    with pytest.raises(isthmus.UsageError, match=why):
        transfers.copy(target, source)
    with pytest.raises(isthmus.UsageError, match=why):
        transfers.copy_async(target, source)
    assert memory.read(64) == b"\xee" * 64


def test_read_only_targets_are_refused(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    frozen = np.zeros(8, np.uint8)
    frozen.flags.writeable = False
    device = CudaArray(memory.pointer, (8,))
    immutable = type("ArrayImpl", (DlpackArray,), {"__module__": "jaxlib._jax"})
    for target in (
        bytes(8),
        memoryview(bytes(8)),
        frozen,
        frozen[::2],
        np.broadcast_to(np.uint8(0), 8),
        DlpackArray(memory.pointer, (8,), read_only=True),
        CudaArray(memory.pointer, (8,), data=(memory.pointer, True)),
        DeviceArray(memory.pointer, (8,), data=(memory.pointer, True)),
        immutable(memory.pointer, (8,)),
    ):
        source = CudaArray(memory.pointer, (4,)) if target is frozen[::2] else device
        with pytest.raises(isthmus.UsageError, match="read-only"):
            transfers.copy(target, source)


def test_strides_that_agree_are_copied_as_they_lie(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    fortran = np.asfortranarray(numbers(3, 5))
    device = CudaArray(memory.pointer, (3, 5), typestr="<f4", strides=fortran.strides)
    transfers.copy(device, fortran)
    assert memory.read(60) == fortran.tobytes("A")
    back = np.empty((5, 3), np.float32).T
    transfers.copy(back, device)
    assert np.array_equal(back, fortran)
    assert not transfers.explain(back, device).packed


def test_reversed_host_arrays_that_lie_alike_are_one_piece(transfers: isthmus.Transfers) -> None:
    source, target = numbers(3, 5), np.zeros((3, 5), np.float32)
    transfers.copy(target[::-1], source[::-1])
    assert np.array_equal(target, source)


@pytest.mark.parametrize("order", ["C", "F"])
def test_a_host_array_with_gaps_is_packed(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, order: Any
) -> None:
    strides = np.zeros((4, 6), np.float32, order=order).strides
    device = CudaArray(memory.pointer, (4, 6), typestr="<f4", strides=strides)
    source, target = numbers(8, 9)[::2, 1:7], np.zeros((6, 12), np.float32)[:, ::3].T
    assert transfers.explain(device, source).packed
    transfers.copy(device, source)
    assert memory.read(96) == source.tobytes(order)
    transfers.copy(target, device)
    assert np.array_equal(target, source)
    target.fill(0)
    transfers.copy_async(device, -source).result(60)
    future = transfers.copy_async(target, device)
    future.result(60)
    assert future.done()
    assert np.array_equal(target, -source)


def test_host_arrays_that_lie_differently_are_copied_item_by_item(
    transfers: isthmus.Transfers,
) -> None:
    source, target = numbers(5, 7).T, np.zeros((7, 5), np.float32)
    transfers.copy(target, source)
    assert np.array_equal(target, source)
    target.fill(0)
    assert transfers.copy_async(target, source).done()
    assert np.array_equal(target, source)
    with pytest.raises(isthmus.UsageError, match="waits for no stream"):
        transfers.copy(target, source, stream=1)


def test_device_arrays_whose_order_is_ambiguous_or_whose_items_overlap_are_refused(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    fortran = CudaArray(memory.pointer, (4, 4), typestr="<f4", strides=(4, 16))
    with pytest.raises(isthmus.UsageError, match="not in C order"):
        transfers.copy(fortran, bytes(64))
    sliding = DlpackArray(memory.pointer, (4, 4), strides=(1, 1))
    with pytest.raises(isthmus.UsageError, match="share memory"):
        transfers.copy(sliding, numbers(4, 4, dtype=np.uint8))


def test_empty_arrays_are_copied_and_still_have_to_fit(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    transfers.copy(CudaArray(0, (0, 3), typestr="<f4"), np.zeros((0, 3), np.float32))
    transfers.copy(np.zeros((3, 0), np.float32), DlpackArray(0, (3, 0), item_bits=32, type_code=2))
    transfers.copy(isthmus.DevicePointer(memory.pointer, 0), b"")
    transfers.copy_async(bytearray(), isthmus.DevicePointer(memory.pointer, 0)).result(60)
    with pytest.raises(isthmus.UsageError, match="float64"):
        transfers.copy(CudaArray(0, (0,), typestr="<f4"), np.zeros(0, np.float64))


def test_memory_that_is_not_cudas_is_refused(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    with pytest.raises(isthmus.UsageError, match="isn't CUDA's"):
        transfers.copy(DlpackArray(64, (4,), device_type=10), bytes(4))
    with pytest.raises(isthmus.UsageError):
        transfers.copy(isthmus.DevicePointer(12345, 4), isthmus.DevicePointer(memory.pointer, 4))
    pointer = memory.pointer
    memory.free()
    with pytest.raises(isthmus.Error):
        transfers.copy(np.zeros(4, np.uint8), isthmus.DevicePointer(pointer, 4))


def test_overlapping_ranges_are_refused(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    with pytest.raises(isthmus.UsageError, match="overlap"):
        transfers.copy(
            isthmus.DevicePointer(memory.pointer + 8, 16), isthmus.DevicePointer(memory.pointer, 16)
        )


def test_managed_memory_goes_through(transfers: isthmus.Transfers, cuda: Cuda) -> None:
    managed = ctypes.c_uint64()
    cuda.call("cuMemAllocManaged", ctypes.byref(managed), ctypes.c_size_t(4096), 1)
    shown = DlpackArray(managed.value, (16,), item_bits=32, type_code=FLOAT, device_type=13)
    back = np.zeros(16, np.float32)
    transfers.copy(shown, numbers(16))
    transfers.copy(back, shown)
    assert np.array_equal(back, numbers(16))
    cuda.call("cuMemFree_v2", managed)


def test_a_numpy_scalar_is_a_source(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    transfers.copy(CudaArray(memory.pointer, (), typestr="<f4"), np.float32(7))
    assert np.frombuffer(memory.read(4), np.float32) == 7


LENGTHS = st.lists(st.integers(0, 4), max_size=4).map(tuple)


@pytest.fixture(scope="module")
def transfers_of_all_examples() -> isthmus.Transfers:
    return isthmus.Transfers(Windows("emulated"))


@pytest.fixture(scope="module")
def context_of_all_examples() -> _native.Context:
    return _native.Context(_native.Driver.open("emulated"), 0)


@settings(max_examples=150, deadline=None)
@given(LENGTHS, st.data())
def test_any_view_of_a_host_array_arrives_as_numpy_would_copy_it(
    transfers_of_all_examples: isthmus.Transfers,
    context_of_all_examples: _native.Context,
    shape: tuple[int, ...],
    data: st.DataObject,
) -> None:
    transfers = transfers_of_all_examples
    base = numbers(*(2 * length for length in shape), dtype=np.uint16)
    steps = [data.draw(st.sampled_from([1, 2, -1, -2])) for _ in shape]
    index: Any = (*(slice(None, None, step) for step in steps), ...)
    view = base[index]
    view = view.transpose(data.draw(st.permutations(range(len(shape)))))
    device = _native.DeviceMemory(context_of_all_examples, max(1, view.nbytes))
    shown = CudaArray(device.pointer, view.shape, typestr="<u2")
    transfers.copy(shown, view)
    assert device.read(view.nbytes) == view.tobytes()
    back = np.zeros_like(base)
    target = back[index].transpose(data.draw(st.permutations(range(len(shape)))))
    if target.shape == view.shape:
        transfers.copy(target, shown)
        assert np.array_equal(target, view)
