"""Device arrays with gaps, in other orders, and parts of arrays."""

# ruff: noqa: ANN401 - what NumPy takes as an index

from typing import Any

import numpy as np
import pytest

import isthmus
from fakes.blocked_stream import BlockedStream
from fakes.cuda_calls import Cuda
from fakes.device_arrays import CudaArray
from isthmus import _native

pytestmark = pytest.mark.native

Array = np.ndarray[Any, np.dtype[Any]]

# From the whole array to the part of it that is copied.
PARTS: dict[str, Any] = {
    "columns": np.s_[:, 3:9],
    "long rows": np.s_[:, :200],
    "every second column": np.s_[:, ::2],
    "every third row": np.s_[::3],
    "reversed": np.s_[::-1, ::-2],
    "one column": np.s_[:, 5],
    "one item": np.s_[2, 3:4],
}
BOXES: dict[str, Any] = {
    "a box": np.s_[1:4, 2:5, 3:40],
    "slices of rows": np.s_[::2, :, :30],
    "nothing in order": np.s_[::2, 1::3, ::-5],
}
DTYPES = ["u1", "<u2", "<f4", "<c8", "<c16", "V3"]


class OnDevice:
    """An array in device memory, and what it must hold."""

    def __init__(self, memory: _native.DeviceMemory, expected: Array, at: int = 0) -> None:
        memory.write(np.frombuffer(expected.tobytes(), np.uint8), at)
        self.memory, self.expected, self.at = memory, expected, at

    def part(self, which: Any) -> CudaArray:
        return self.shown(self.expected[which])

    def shown(self, view: Array) -> CudaArray:
        """Show the device's memory like a view of the expected array."""
        whole = self.expected.__array_interface__["data"][0]
        offset = view.__array_interface__["data"][0] - whole
        return CudaArray(
            self.memory.pointer + self.at + offset,
            view.shape,
            typestr=view.dtype.str,
            strides=view.strides,
        )

    def read(self) -> Array:
        flat = np.frombuffer(self.memory.read(self.expected.nbytes, self.at), self.expected.dtype)
        return flat.reshape(self.expected.shape)


def numbered(shape: tuple[int, ...], dtype: str, seed: int = 0) -> Array:
    count = int(np.prod(shape)) * np.dtype(dtype).itemsize
    raw = np.random.default_rng(seed).integers(0, 250, count, np.uint8)
    return raw.view(dtype).reshape(shape)


def same(one: Array, other: Array) -> bool:
    return one.shape == other.shape and one.tobytes() == other.tobytes()


@pytest.mark.parametrize("dtype", DTYPES)
@pytest.mark.parametrize("part", PARTS)
def test_parts_of_device_arrays_are_copied_both_ways(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, part: str, dtype: str
) -> None:
    device = OnDevice(memory, numbered((17, 300), dtype))
    where = PARTS[part]
    back = np.zeros(device.expected[where].shape, dtype)
    transfers.copy(back, device.part(where))
    assert same(back, device.expected[where])
    sent = numbered(back.shape, dtype, seed=1)
    changed = device.expected.copy()
    changed[where] = sent
    transfers.copy(device.part(where), sent)
    assert same(device.read(), changed), "and nothing beside it is written"


@pytest.mark.parametrize("pinned", [False, True])
@pytest.mark.parametrize("part", BOXES)
def test_boxes_are_copied_both_ways(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, part: str, *, pinned: bool
) -> None:
    device = OnDevice(memory, numbered((6, 9, 50), "<f8"))
    where = BOXES[part]
    shape = device.expected[where].shape
    back = isthmus.pinned.zeros(shape, "<f8") if pinned else np.zeros(shape, "<f8")
    transfers.copy(back, device.part(where))
    assert same(back, device.expected[where])
    back[...] = numbered(shape, "<f8", seed=2)
    changed = device.expected.copy()
    changed[where] = back
    transfers.copy(device.part(where), back)
    assert same(device.read(), changed)


def test_both_ends_may_have_gaps(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    device = OnDevice(memory, numbered((20, 30), "<i4"))
    back = np.zeros((20, 30), "<i4", order="F")[::2, ::3]
    transfers.copy(back, device.part(np.s_[::2, ::3]))
    assert same(back, device.expected[::2, ::3])
    changed = device.expected.copy()
    changed[1::2, 2:] = numbered((28, 10), "<i4", seed=3).T
    transfers.copy(device.part(np.s_[1::2, 2:]), numbered((28, 10), "<i4", seed=3).T)
    assert same(device.read(), changed)


def test_device_arrays_of_different_orders_are_copied_to_each_other(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    source = OnDevice(memory, numbered((40, 50), "<f4"))
    target = OnDevice(memory, np.zeros((50, 40), "<f4"), at=65536)
    transfers.copy(target.part(np.s_[:]), source.shown(source.expected.T))
    assert same(target.read(), source.expected.T)


@pytest.mark.parametrize(
    "where", [np.s_[:, :, :600], np.s_[1:3, ::2, 100:700], np.s_[::2, :2], np.s_[0, :, :512]]
)
def test_long_rows_of_pinned_and_device_arrays_are_the_drivers(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, cuda: Cuda, where: Any
) -> None:
    cuda.library.isthmus_emulator_fail_call(b"cuLaunchKernel", 1, 801)
    device = OnDevice(memory, numbered((4, 6, 800), "u1"))
    shape = device.expected[where].shape
    home = isthmus.pinned.zeros(shape, "u1")
    transfers.copy(home, device.part(where))
    assert same(home, device.expected[where])
    other = OnDevice(memory, np.zeros(shape, "u1"), at=65536)
    transfers.copy(other.part(np.s_[...]), device.part(where))
    assert same(other.read(), device.expected[where])
    home[...] = numbered(shape, "u1", seed=4)
    changed = device.expected.copy()
    changed[where] = home
    transfers.copy(device.part(where), home)
    cuda.library.isthmus_emulator_reset()
    assert same(device.read(), changed)


def test_long_parts_of_pageable_arrays_are_copied_in_pieces(
    transfers: isthmus.Transfers, driver: _native.Driver
) -> None:
    memory = _native.DeviceMemory(_native.Context(driver, 0), 24 << 20)
    device = OnDevice(memory, numbered((3 << 20, 8), "u1"))
    back = np.zeros((3 << 20, 3), "u1")
    transfers.copy(back, device.part(np.s_[:, 1:7:2]))
    assert same(back, device.expected[:, 1:7:2])
    changed = device.expected.copy()
    changed[:, ::3] = 7
    transfers.copy(device.part(np.s_[:, ::3]), np.full((3 << 20, 3), 7, "u1"))
    assert same(device.read(), changed)


def test_parts_are_copied_among_many_and_asynchronously(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    device = OnDevice(memory, numbered((20, 30), "<f4"))
    back = {"left": np.zeros((20, 10), "<f4"), "row": np.zeros(30, "<f4")}
    parts = {"left": device.part(np.s_[:, :10]), "row": device.part(np.s_[3])}
    transfers.copy(back, parts)
    assert same(back["left"], device.expected[:, :10])
    assert same(back["row"], device.expected[3])
    back["left"].fill(0)
    transfers.copy_async(back, parts).result(60)
    assert same(back["left"], device.expected[:, :10])
    back["left"].fill(0)
    assert transfers.copy_async(back["left"], parts["left"]).done()
    assert same(back["left"], device.expected[:, :10])


def test_sources_with_gaps_among_many_may_change_after_the_call(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    device = OnDevice(memory, numbered((20, 30), "<f4"))
    sent = numbered((20, 10), "<f4", seed=1)
    source, host, target = sent.copy(), numbered((6, 4), "u1"), np.zeros((4, 6), "u1")
    expected = host.T.copy()
    future = transfers.copy_async([device.part(np.s_[:, :20:2]), target], [source, host.T])
    source.fill(7)
    host.fill(7)
    future.result(60)
    assert same(np.ascontiguousarray(device.read()[:, :20:2]), sent)
    assert same(target, expected)


@pytest.mark.parametrize("begin", ["copy", "copy_async"])
def test_what_a_layout_lacks_is_found_out_before_anything_is_copied(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, cuda: Cuda, begin: str
) -> None:
    cuda.library.isthmus_emulator_fail_call(b"cuModuleLoadData", 1, 801)
    device = OnDevice(memory, numbered((20, 30), "<f4"))
    back = {"plain": np.zeros(30, "<f4"), "odd": np.zeros((20, 15), "<f4")}
    parts = {"plain": device.part(np.s_[3]), "odd": device.part(np.s_[:, ::-2])}
    with pytest.raises(isthmus.Unavailable, match=r"^odd: .*layouts"):
        getattr(transfers, begin)(back, parts)
    cuda.library.isthmus_emulator_reset()
    assert not back["plain"].any()


def test_a_part_beyond_its_memory_is_named_before_anything_is_copied(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    beyond = CudaArray(memory.pointer, (1 << 11, 4), strides=(1 << 10, 1))
    back = {"first": bytearray(8), "second": np.zeros((1 << 11, 4), np.uint8)}
    with pytest.raises(isthmus.UsageError, match=r"^second: .*from its address on"):
        transfers.copy(back, {"first": CudaArray(memory.pointer, (8,)), "second": beyond})
    assert back["first"] == bytes(8)


def test_without_a_compiler_rows_are_the_drivers_and_the_rest_is_refused(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, cuda: Cuda
) -> None:
    cuda.library.isthmus_emulator_fail_call(b"cuModuleLoadData", 1, 801)
    device = OnDevice(memory, numbered((20, 30), "<f4"))
    back = np.zeros((20, 10), "<f4")
    transfers.copy(back, device.part(np.s_[:, :10]))
    cuda.library.isthmus_emulator_reset()
    assert same(back, device.expected[:, :10])
    with pytest.raises(isthmus.Unavailable, match="layouts"):
        transfers.copy(np.zeros((20, 15), "<f4"), device.part(np.s_[:, ::-2]))


def test_parts_that_overlap_are_refused(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    device = OnDevice(memory, numbered((20, 30), "<f4"))
    with pytest.raises(isthmus.UsageError, match="overlaps"):
        transfers.copy(device.part(np.s_[:, :10]), device.part(np.s_[:, 5:15]))


def test_parts_beyond_their_memory_are_refused(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    beyond = CudaArray(memory.pointer, (1 << 11, 4), strides=(1 << 10, 1))
    with pytest.raises(isthmus.UsageError, match="from its address on"):
        transfers.copy(np.zeros((1 << 11, 4), np.uint8), beyond)


def test_a_part_is_copied_after_the_work_of_its_stream(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, blocked: BlockedStream
) -> None:
    device = OnDevice(memory, numbered((20, 30), "<f4"))
    future = transfers.copy_async(
        isthmus.pinned.empty(4, np.uint8), CudaArray(memory.pointer, (4,)), stream=blocked.handle
    )
    blocked.go_on()
    back = np.zeros((20, 10), "<f4")
    transfers.copy(back, device.part(np.s_[:, :10]), stream=blocked.handle)
    assert future.done(), "the part's copy began before the stream's work had ended"
    assert same(back, device.expected[:, :10])
