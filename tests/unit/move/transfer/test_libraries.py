"""Arrays of PyTorch, CuPy and others: how they are read, and in which stream they are copied."""

# ruff: noqa: ANN401 - arrays and types of every kind

import sys
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import isthmus
from fakes.array_libraries import Cupy, DeviceArray, Torch
from fakes.blocked_stream import BlockedStream
from fakes.device_arrays import CudaArray, DlpackArray
from isthmus import _native
from isthmus.move.arrays.reading import Answers
from isthmus.move.arrays.streams import PendingWork, stream_handle

pytestmark = pytest.mark.native

ITEMS = np.arange(100, dtype=np.float32)


@pytest.fixture
def device(transfers: isthmus.Transfers, memory: _native.DeviceMemory) -> int:
    transfers.copy(isthmus.DevicePointer(memory.pointer, ITEMS.nbytes), ITEMS)
    return memory.pointer


def received(
    transfers: isthmus.Transfers, source: isthmus.ArrayLike, **others: Any
) -> "np.ndarray[Any, Any]":
    target = np.zeros_like(ITEMS)
    transfers.copy(target, source, **others)
    return target


# --- reading --------------------------------------------------------------------------------------


def test_a_tensor_is_read_by_the_exchange_api_of_its_type(
    transfers: isthmus.Transfers, device: int, torch: Torch
) -> None:
    tensor = torch.tensor(device, (100,))
    for _ in range(3):
        assert np.array_equal(received(transfers, tensor), ITEMS)
    assert torch.num_borrowed == 3
    assert tensor.streams == [], "__dlpack__ was called"
    transfers.copy(tensor, ITEMS[::-1].copy())
    assert np.array_equal(
        received(transfers, torch.module.nn.Parameter(device, (100,), item_bits=32, type_code=2)),
        ITEMS[::-1],
    )


def test_only_tensors_of_numbers_with_a_fraction_are_asked_for_a_sign_and_a_gradient(
    transfers: isthmus.Transfers, device: int, torch: Torch
) -> None:
    whole, broken = (torch.tensor(device, (100,), type_code=code) for code in (0, 2))
    for tensor in (whole, broken):
        tensor.requires_grad = tensor.negated = True  # no tensor of whole numbers can be so
    items = np.arange(100, dtype=np.int32)
    transfers.copy(whole, items)
    back = np.zeros_like(items)
    transfers.copy(back, whole)
    assert np.array_equal(back, items)
    with pytest.raises(isthmus.UsageError, match="sign is pending"):
        transfers.copy(broken, ITEMS)
    broken.negated = False
    with pytest.raises(isthmus.UsageError, match="autograd"):
        transfers.copy(broken, ITEMS)


def test_a_tensor_of_an_older_pytorch_is_read_by_dlpack(
    transfers: isthmus.Transfers, device: int, old_torch: Torch
) -> None:
    tensor = old_torch.tensor(device, (100,))
    assert np.array_equal(received(transfers, tensor), ITEMS)
    assert tensor.streams == [-1], "the copy is made in its own stream: nothing is to wait"


@pytest.mark.parametrize("exchange", [True, False])
def test_a_tensor_in_the_hosts_memory_is_a_host_array(
    transfers: isthmus.Transfers, device: int, monkeypatch: pytest.MonkeyPatch, exchange: bool
) -> None:
    library = pytorch(monkeypatch, exchange=exchange)
    memory, target = ITEMS.copy(), isthmus.DevicePointer(device, 400)
    tensor = library.tensor(memory.ctypes.data, (100,), device_type=1)
    assert transfers.explain(target, tensor).source == "pageable"
    memory += 1
    transfers.copy(target, tensor)
    memory.fill(0)
    transfers.copy(tensor, target)
    assert np.array_equal(memory, ITEMS + 1)


def pytorch(monkeypatch: pytest.MonkeyPatch, *, exchange: bool) -> Torch:
    library = Torch(exchange=exchange)
    monkeypatch.setitem(sys.modules, "torch", library.module)
    return library


@pytest.mark.parametrize("exchange", [True, False])
def test_a_tensor_whose_memory_is_not_what_it_means_is_refused(
    transfers: isthmus.Transfers,
    device: int,
    monkeypatch: pytest.MonkeyPatch,
    exchange: bool,
) -> None:
    library = pytorch(monkeypatch, exchange=exchange)
    pending = library.tensor(device, (50,), item_bits=64, type_code=5)
    pending.conjugated = True
    with pytest.raises(isthmus.UsageError, match="conjugation") as refusal:
        transfers.copy(np.zeros(50, np.complex64), pending)
    assert "resolve_conj" in refusal.value.hint
    negative = library.tensor(device, (100,))
    negative.negated = True
    with pytest.raises(isthmus.UsageError, match="sign is pending"):
        received(transfers, negative)


@pytest.mark.parametrize("exchange", [True, False])
def test_a_tensor_that_needs_a_gradient_is_a_source_and_without_autograd_a_target(
    transfers: isthmus.Transfers, device: int, monkeypatch: pytest.MonkeyPatch, exchange: bool
) -> None:
    library = pytorch(monkeypatch, exchange=exchange)
    parameter = library.module.nn.Parameter(device, (100,), item_bits=32, type_code=2)
    parameter.requires_grad = True
    assert np.array_equal(received(transfers, parameter), ITEMS)
    with pytest.raises(isthmus.UsageError, match="autograd") as refusal:
        transfers.copy(parameter, ITEMS)
    assert "no_grad" in refusal.value.hint
    library.records = False
    transfers.copy(parameter, ITEMS[::-1].copy())
    assert np.array_equal(received(transfers, parameter), ITEMS[::-1])
    assert library.written == [parameter]


def test_tensors_of_other_types_are_refused_and_those_with_gaps_copied_as_by_the_long_way(
    transfers: isthmus.Transfers, device: int, torch: Torch
) -> None:
    back = np.zeros((10, 5), np.float32)
    transfers.copy(back, torch.tensor(device, (10, 5), strides=(10, 1)))
    assert np.array_equal(back, ITEMS.reshape(10, 10)[:, :5])
    with pytest.raises(isthmus.UsageError, match=r"int32 .* to float32"):
        received(transfers, torch.tensor(device, (100,), type_code=0))
    with pytest.raises(isthmus.UsageError, match=r"shape \(10, 10\)"):
        received(transfers, torch.tensor(device, (10, 10)))
    fortran = torch.tensor(device, (5, 20), strides=(1, 5))
    target = np.zeros((5, 20), np.float32)
    transfers.copy(target, fortran)
    assert np.array_equal(target, ITEMS.reshape(20, 5).T)


def test_an_array_of_cupy_is_read_by_its_attributes(
    transfers: isthmus.Transfers, device: int, cupy: Cupy
) -> None:
    array = cupy.array(device, (100,))
    assert np.array_equal(received(transfers, array), ITEMS)
    assert array.streams == [], "__dlpack__ was called"
    assert cupy.num_asked == 1
    with pytest.raises(isthmus.UsageError, match=r"uint32 .* to float32"):
        received(transfers, cupy.array(device, (100,), "u4"))
    transfers.copy(cupy.array(device, (4, 25)), -ITEMS.reshape(4, 25))
    assert np.array_equal(received(transfers, array), -ITEMS)


def test_an_interface_of_a_type_is_read_natively_and_others_the_long_way(
    transfers: isthmus.Transfers, device: int
) -> None:
    for kind in (DeviceArray, CudaArray):
        assert np.array_equal(received(transfers, kind(device, (100,), typestr="<f4")), ITEMS)
        strided = kind(device, (100,), typestr="<f4", strides=(4,), version=2)
        assert np.array_equal(received(transfers, strided), ITEMS)
        for broken, why in (
            ({"version": 4}, "version 4"),
            ({"mask": 1}, "masked"),
            ({"typestr": "strange"}, "typestr 'strange'"),
            ({"stream": 0}, "stream 0"),
            ({"data": None}, "without 'data'"),
        ):
            with pytest.raises(isthmus.UsageError, match=why):
                received(transfers, kind(device, (100,), **{"typestr": "<f4"} | broken))


# --- streams --------------------------------------------------------------------------------------


class Noting(PendingWork):
    """Records the streams that would be waited for."""

    def __init__(self, driver: _native.Driver) -> None:
        super().__init__(driver)
        self.waited_for: list[int] = []

    def wait(self, stream: int, device: int | None, pointer: int) -> None:
        del device, pointer
        self.waited_for.append(stream)


@pytest.fixture
def pending(driver: _native.Driver) -> Noting:
    return Noting(driver)


@pytest.fixture
def reader(pending: Noting) -> _native.ArrayReader:
    return _native.ArrayReader(Answers(pending))


def stream_of(
    reader: _native.ArrayReader, target: object, source: object, stream: object = None
) -> int:
    (_, _, chosen) = reader.pair(target, source, stream)
    return int(chosen)


@pytest.mark.parametrize("exchange", [True, False])
def test_the_stream_is_the_current_one_of_the_arrays_library(
    reader: _native.ArrayReader, cupy: Cupy, monkeypatch: pytest.MonkeyPatch, exchange: bool
) -> None:
    torch = pytorch(monkeypatch, exchange=exchange)
    torch.stream, cupy.stream = 11, 22
    tensor, array = torch.tensor(64, (1,)), cupy.array(64, (1,))
    assert stream_of(reader, tensor, ITEMS) == 11
    assert stream_of(reader, ITEMS, tensor) == 11
    assert stream_of(reader, array, ITEMS) == 22
    assert stream_of(reader, ITEMS, ITEMS.copy()) == 0
    on_the_host = torch.tensor(64, (1,), device_type=1)
    assert stream_of(reader, on_the_host, array) == 22


@pytest.mark.parametrize("exchange", [True, False])
def test_of_two_libraries_the_source_lets_the_targets_stream_wait(
    reader: _native.ArrayReader, cupy: Cupy, monkeypatch: pytest.MonkeyPatch, exchange: bool
) -> None:
    torch = pytorch(monkeypatch, exchange=exchange)
    torch.stream, cupy.stream = 11, 22
    tensor, array = torch.tensor(64, (1,)), cupy.array(64, (1,))
    assert stream_of(reader, tensor, array) == 11
    assert array.streams == [11]
    assert tensor.streams in ([], [-1]), "it is in order already"
    torch.stream = 0
    assert stream_of(reader, tensor, array) == 0
    assert array.streams == [11, 1], "DLPack forbids 0"


def test_a_stream_that_is_named_is_the_only_one_that_counts(
    reader: _native.ArrayReader, pending: Noting, old_torch: Torch, cupy: Cupy
) -> None:
    old_torch.stream, cupy.stream = 11, 22
    tensor, array = old_torch.tensor(64, (1,)), cupy.array(64, (1,))
    assert stream_of(reader, tensor, array, 33) == 33
    assert (tensor.streams, array.streams) == ([-1], [])
    # A library that has no current stream can't be asked what to wait for.
    unknown = DlpackArray(64, (1,))
    assert stream_of(reader, unknown, CudaArray(64, (1,), stream=44), 33) == 33
    assert unknown.streams == [33]
    assert pending.waited_for == []


def test_a_library_without_a_current_stream_is_told_one_of_our_own(
    reader: _native.ArrayReader, pending: Noting
) -> None:
    array = DlpackArray(64, (1,))
    chosen = stream_of(reader, ITEMS, array)
    assert array.streams == [chosen] == [pending.own_stream(0)]
    assert chosen not in {0, 1, 2}


def test_a_stream_that_an_interface_names_is_taken_or_waited_for(
    reader: _native.ArrayReader, pending: Noting, torch: Torch
) -> None:
    named = CudaArray(64, (1,), stream=44)
    assert stream_of(reader, ITEMS, named) == 44
    assert pending.waited_for == []
    torch.stream = 11
    assert stream_of(reader, torch.tensor(64, (1,)), named) == 11
    assert pending.waited_for == [44]
    torch.stream = 0
    assert stream_of(reader, torch.tensor(64, (1,)), CudaArray(64, (1,), stream=1)) == 0
    assert pending.waited_for == [44], "1 is another name of the legacy default stream, 0"


def test_any_librarys_stream_is_a_stream() -> None:
    assert stream_handle(7) == 7
    assert stream_handle(np.uint64(7)) == 7
    assert stream_handle(SimpleNamespace(cuda_stream=7)) == 7
    assert stream_handle(SimpleNamespace(ptr=0)) == 0
    assert stream_handle(SimpleNamespace(__cuda_stream__=lambda: (0, 7), ptr=8)) == 7
    for wrong in (-1, 1 << 64, "7", True, object(), 7.0, SimpleNamespace(ptr="7")):
        with pytest.raises(isthmus.UsageError, match="a stream must be an integer"):
            stream_handle(wrong)
    with pytest.raises(isthmus.UsageError, match="version 1"):
        stream_handle(SimpleNamespace(__cuda_stream__=lambda: (1, 7)))


@pytest.mark.parametrize("way", ["named", "object", "torch", "old torch", "cupy", "interface"])
def test_a_copy_begins_after_the_work_in_its_stream(
    transfers: isthmus.Transfers,
    memory: _native.DeviceMemory,
    blocked: BlockedStream,
    monkeypatch: pytest.MonkeyPatch,
    way: str,
) -> None:
    source, stream = show(memory.pointer, way, blocked.handle, monkeypatch)
    target = np.zeros(256, np.float32)
    future = transfers.copy_async(target, source, stream=stream)
    with pytest.raises(TimeoutError):
        future.result(0.05)
    assert not future.done()
    memory.write(np.ones(256, np.float32))
    blocked.go_on()
    future.result(60)
    assert np.all(target == 1)


def show(pointer: int, way: str, stream: int, monkeypatch: pytest.MonkeyPatch) -> Any:
    """Give an array and a stream argument that mean a stream."""
    if way in {"torch", "old torch"}:
        torch = pytorch(monkeypatch, exchange=way == "torch")
        torch.stream = stream
        return torch.tensor(pointer, (256,)), None
    if way == "cupy":
        cupy = Cupy()
        cupy.stream = stream
        monkeypatch.setitem(sys.modules, "cupy", cupy.module)
        return cupy.array(pointer, (256,)), None
    if way == "interface":
        return CudaArray(pointer, (256,), typestr="<f4", stream=stream), None
    named = stream if way == "named" else SimpleNamespace(cuda_stream=stream)
    return CudaArray(pointer, (256,), typestr="<f4"), named


@pytest.mark.parametrize("library", ["torch", "cupy"])
def test_arrays_are_copied_while_another_thread_imports_a_library(
    library: str,
    transfers: isthmus.Transfers,
    memory: _native.DeviceMemory,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Its module is there then, and nothing in it."""
    monkeypatch.setitem(sys.modules, library, ModuleType(library))
    sent, found = np.arange(64, dtype=np.uint8), np.zeros((64, 2), np.uint8)
    device = CudaArray(memory.pointer, (64,))
    transfers.copy(device, sent)
    transfers.copy(found[:, 0], device)
    assert np.array_equal(found[:, 0], sent)
