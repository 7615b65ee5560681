"""Host arrays that NumPy packs: when they are read, and that they can be."""

import os
import threading
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isthmus
from fakes.blocked_stream import BlockedStream
from fakes.device_arrays import CudaArray
from isthmus import _native
from isthmus.move.transfer.packing import copy_items

pytestmark = pytest.mark.native

SIDE = 64
Floats = np.ndarray[Any, np.dtype[np.uint8]]


def on_device(memory: _native.DeviceMemory, at: int = 0) -> CudaArray:
    return CudaArray(memory.pointer + at, (SIDE, SIDE))


@pytest.mark.parametrize("begin", ["copy", "copy_async", "copy of many"])
def test_a_source_is_packed_after_the_work_of_the_stream(
    transfers: isthmus.Transfers,
    memory: _native.DeviceMemory,
    blocked: BlockedStream,
    monkeypatch: pytest.MonkeyPatch,
    begin: str,
) -> None:
    host = isthmus.pinned.empty((SIDE, SIDE), np.uint8)
    host.fill(2)
    before = transfers.copy_async(host, on_device(memory), stream=blocked.handle)  # all 0xEE
    packed = threading.Event()

    def note(target: Any, source: Any) -> None:  # noqa: ANN401 - Isthmus's arrays
        packed.set()
        copy_items(target, source)

    monkeypatch.setattr("isthmus.move.transfer.work.copy_items", note)
    target = on_device(memory, 2 * SIDE * SIDE)
    memory.write(np.zeros(SIDE * SIDE, np.uint8), 2 * SIDE * SIDE)

    def copy() -> None:
        if begin == "copy of many":
            transfers.copy([target], [host.T], stream=blocked.handle)
        elif begin == "copy":
            transfers.copy(target, host.T, stream=blocked.handle)
        else:
            transfers.copy_async(target, host.T, stream=blocked.handle).result(60)

    thread = threading.Thread(target=copy)
    thread.start()
    too_early = packed.wait(0.2)
    blocked.go_on()
    thread.join(60)
    before.result(60)
    assert not too_early
    assert memory.read(SIDE * SIDE, 2 * SIDE * SIDE) == b"\xee" * SIDE * SIDE


@pytest.fixture
def shortened(tmp_path: Path) -> Floats:
    """Map a file, of which only the first page is left."""
    path = tmp_path / "mapped"
    path.write_bytes(b"x" * (1 << 20))
    mapped: Floats = np.memmap(path, np.uint8, "r+").reshape(1024, 1024)
    os.truncate(path, 4096)
    return mapped


def test_a_mapped_file_that_is_too_short_is_refused_before_it_is_packed(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, shortened: Floats
) -> None:
    device = CudaArray(memory.pointer, (512, 1024))
    host = np.zeros((512, 1024), np.uint8)
    gone = shortened[512:][::-1]
    pairs: list[tuple[Any, Any]] = [(device, gone), (gone, device), (host, gone)]
    for target, source in [*pairs, ([device], [gone])]:
        with pytest.raises(isthmus.UsageError, match="its file ends before it does"):
            transfers.copy(target, source)


def test_an_address_in_the_last_page_is_refused(transfers: isthmus.Transfers) -> None:
    for address in (2**64 - 4096, 2**64 - 4):
        with pytest.raises(isthmus.UsageError, match="not memory that can be"):
            transfers.copy(isthmus.HostPointer(address, 8), bytes(8))


def test_host_arrays_that_overlap_are_refused_in_any_order(transfers: isthmus.Transfers) -> None:
    square = np.arange(16, dtype=np.uint8).reshape(4, 4)
    before = square.copy()
    for source in (square.T, square[::-1]):
        for target, chosen in ((square, source), ([square], [source])):
            with pytest.raises(isthmus.UsageError, match="overlap"):
                transfers.copy(target, chosen)
    assert np.array_equal(square, before)
