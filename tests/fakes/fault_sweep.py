"""
Every call that an operation's native code makes of the system and of the driver fails once.

    LD_PRELOAD=.../libisthmus_system_faults.so python tests/fakes/fault_sweep.py OPERATION FOLDER

A program of its own: what stands between the process and the system has to be loaded first. Says
how many calls were made to fail, and ends with 0 if each ended well or in an error that is
documented, no foreign memory was written to, and the operation worked afterwards.
"""

import ctypes
import gc
import sys
import threading
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace

import numpy as np

import isthmus
from fakes.safetensors_files import write_file
from isthmus import _native
from isthmus.errors import WriteError

SIZE = 300 * 1024 + 7
WATCHED = 0x5B
_MODULES = b"_native"
_MAX_CALLS = 50_000
_POOL_BYTES = 24 << 20
_KINDS = (b"new", b"thread", b"mmap", b"mlock", b"open", b"write")
_FAILURE = 700  # CUDA_ERROR_ILLEGAL_ADDRESS
# What can't be asked twice: what the driver refuses to take back is lost.
_RELEASES = {
    "cuStreamDestroy",
    "cuEventDestroy",
    "cuMemHostUnregister",
    "cuMemFreeHost",
    "cuMemFree",
    "cuCtxPopCurrent",
    "cuGraphDestroy",
    "cuDevicePrimaryCtxRelease",
}
# Operations that find nothing of what an earlier one made, however often they run.
_ALWAYS_FIRST = {"new_transfers", "trim"}
_DOCUMENTED = (isthmus.DriverError, isthmus.Unavailable, MemoryError)
_DOCUMENTED_OF_WRITES = (*_DOCUMENTED, WriteError)


class Faults:
    """What fails: the nth call of a function of the system's, or of the driver's."""

    def __init__(self) -> None:
        self.system = ctypes.CDLL(None)
        self.driver = ctypes.CDLL(_native.Driver.open().path)
        self.armed_of_driver = False

    def arm(self, kind: bytes, nth: int) -> None:
        self.armed_of_driver = kind not in _KINDS
        if self.armed_of_driver:
            self.driver.isthmus_emulator_fail_call(kind, nth, _FAILURE)
        else:
            assert self.system.isthmus_system_faults_arm(kind, nth, _MODULES) == 0

    def disarm(self, nth: int) -> bool:
        """Tell whether there was a call to fail."""
        if not self.armed_of_driver:
            return bool(self.system.isthmus_system_faults_disarm() >= nth)
        # Not by the log: another thread's earlier call may have no line yet.
        return bool(self.driver.isthmus_emulator_reset() == 0)

    def calls(self) -> Counter[str]:
        """Count the driver's calls in its log."""
        size = self.driver.isthmus_emulator_call_log(None, 0)
        text = ctypes.create_string_buffer(size)
        self.driver.isthmus_emulator_call_log(text, size)
        return Counter(line.split()[0] for line in text.value.decode().splitlines() if line)

    def of(self, operation: Callable[[], None]) -> list[bytes]:
        """List what an operation asks for."""
        self.driver.isthmus_emulator_log_calls(1)
        operation()
        self.driver.isthmus_emulator_log_calls(0)
        symbols = [name.encode() for name in self.calls() if name not in _RELEASES]
        self.driver.isthmus_emulator_reset()
        return [*_KINDS, *symbols]


class Operations:
    """What is swept, each with memory of its own. Each raises AssertionError if bytes are wrong."""

    def __init__(self, folder: Path) -> None:
        driver = _native.Driver.open()
        self.context = _native.Context(driver, 0)
        # Most iterations pin anew: below this cap not a region of 64 MiB.
        isthmus.pinned.exchange_pools({0: _native.PinnedPool(driver, 0, max_bytes=_POOL_BYTES)})
        self.memory = _native.DeviceMemory(self.context, SIZE)
        self.device = isthmus.DevicePointer(self.memory.pointer, SIZE)
        self.number = 0
        self.content = bytes(range(256)) * 40
        self.saved = folder / "saved.safetensors"
        self.items = folder / "items"
        self.items.write_bytes(bytes(SIZE))
        self.mapped_items = np.memmap(self.items, np.uint8, "r+")
        self.file = write_file(
            folder / "model.safetensors",
            {"first": ("U8", [len(self.content)], self.content), "none": ("F32", [0], b"")},
        )

    def some_bytes(self) -> np.ndarray[tuple[int], np.dtype[np.uint8]]:
        self.number += 1
        return np.random.default_rng(self.number).integers(0, 256, SIZE, dtype=np.uint8)

    def copy(self) -> None:
        wanted, found = self.some_bytes(), np.zeros(SIZE, np.uint8)
        isthmus.copy(self.device, wanted)
        isthmus.copy(found, self.device)
        assert np.array_equal(found, wanted)

    def small_copy(self) -> None:
        wanted, found = self.some_bytes()[:64], np.zeros(64, np.uint8)
        there = isthmus.DevicePointer(self.memory.pointer, 64)
        isthmus.copy(there, wanted)
        isthmus.copy(found, there)
        assert np.array_equal(found, wanted)

    def items_with_gaps(self) -> None:
        wanted, found = self.some_bytes(), np.zeros((SIZE, 2), np.uint8)
        isthmus.copy(self.device, np.repeat(wanted, 2)[::2])
        isthmus.copy(found[:, 0], self.device)
        assert np.array_equal(found[:, 0], wanted)
        assert not found[:, 1].any()

    def copy_async(self) -> None:
        wanted, found = self.some_bytes(), np.zeros(SIZE, np.uint8)
        isthmus.copy_async(self.device, wanted, source_order="stream").result(60)
        isthmus.copy_async(found, self.device).result(60)
        assert np.array_equal(found, wanted)

    def many_copies(self) -> None:
        """Small ones, which a kernel moves, and a longer one; each way, and one after the other."""
        wanted = self.some_bytes()
        places = [(at, at + 200) for at in range(0, 3000, 300)] + [(3000, SIZE)]
        devices = [isthmus.DevicePointer(self.memory.pointer + a, b - a) for a, b in places]
        isthmus.copy(devices, [wanted[a:b] for a, b in places])
        found = {str(a): bytearray(b - a) for a, b in places}
        device = {str(a): devices[i] for i, (a, _) in enumerate(places)}
        isthmus.copy_async(found, device).result(60)
        assert all(found[str(a)] == wanted[a:b].tobytes() for a, b in places)

    def blocks(self) -> None:
        """By a launch, prepared, and through staging memory; pieces by addresses."""
        wanted = self.some_bytes()[:32_000].reshape(500, 64)
        pinned = isthmus.pinned.empty(wanted.shape, np.uint8)
        pinned[:] = wanted
        to, of = [1, 7, 300], [400, 3, 5]
        pool = isthmus.Blocks(self.memory.pointer, 500, 64)
        isthmus.copy_blocks(pool, pinned, to, of).result(60)
        back = np.zeros_like(wanted)
        isthmus.plan_blocks(pinned, pool, [9, 8, 7], to)().result(60)
        isthmus.copy_blocks(back, pool, [9, 8, 7], to).result(60)
        assert np.array_equal(back[[9, 8, 7]], wanted[of])
        assert np.array_equal(pinned[[9, 8, 7]], wanted[of])
        pointers = np.array([self.memory.pointer + 64 * block for block in to])
        places = np.array([pinned.ctypes.data + 64 * block for block in (20, 21, 22)])
        isthmus.copy_many(places, pointers, np.full(3, 64)).result(60)
        assert np.array_equal(pinned[20:23], wanted[of])

    def part_of_an_array(self) -> None:
        wanted = self.some_bytes()[:4096]
        interface = {
            "shape": (64, 32),
            "strides": (128, 2),
            "typestr": "|u1",
            "data": (self.memory.pointer, False),
            "version": 3,
        }
        part = SimpleNamespace(__cuda_array_interface__=interface, owner=self.memory)
        isthmus.copy(part, wanted[:2048].reshape(64, 32))
        found = np.zeros((64, 32), np.uint8)
        isthmus.copy(found, part)
        assert np.array_equal(found.reshape(-1), wanted[:2048])

    def watched_copy(self) -> None:
        wanted, found = self.some_bytes(), np.zeros(SIZE, np.uint8)
        isthmus.copy(self.device, wanted)
        future = isthmus.copy_async(found, self.device)
        ended = threading.Event()
        try:
            future.add_done_callback(lambda _: ended.set())
        finally:
            future.result(60)
        assert ended.wait(60)
        assert np.array_equal(found, wanted)

    def dropped_copy(self) -> None:
        """Nobody keeps the target; whoever has its memory next finds it as it was left."""
        isthmus.copy_async(bytearray(SIZE), self.device)
        next_one = np.full(SIZE, WATCHED, np.uint8)
        isthmus.copy(np.zeros(SIZE, np.uint8), self.device)
        assert (next_one == WATCHED).all()

    def pinned(self) -> None:
        array = isthmus.pinned.zeros((3, SIZE), np.uint8)
        assert not array.any()
        del array
        isthmus.pinned.trim()

    def registered(self) -> None:
        wanted, found = self.some_bytes(), np.zeros(SIZE, np.uint8)
        with isthmus.pinned.register(wanted), isthmus.pinned.register(found):
            isthmus.copy(self.device, wanted)
            isthmus.copy_async(found, self.device).result(60)
        assert np.array_equal(found, wanted)

    def window(self) -> None:
        with isthmus.window(self.memory.pointer, 4096) as window:
            window.write(b"\x07" * 4096)
            assert window.read(4096) == b"\x07" * 4096

    def safetensors(self) -> None:
        tensors = isthmus.load_safetensors(self.file, framework="dlpack")
        found = np.zeros(len(self.content), np.uint8)
        isthmus.copy(found, tensors["first"])
        assert found.tobytes() == self.content

    def saving(self) -> None:
        """A file that wasn't saved is the one of before."""
        wanted = self.some_bytes()
        isthmus.copy(self.device, wanted)
        before = self.saved.read_bytes() if self.saved.exists() else b""
        try:
            isthmus.save_safetensors({"device": self.device, "host": wanted}, self.saved)
        except _DOCUMENTED_OF_WRITES:
            after = self.saved.read_bytes() if self.saved.exists() else b""
            assert after == before
            assert list(self.saved.parent.glob(".isthmus*")) == []
            raise
        assert self.saved.read_bytes().endswith(2 * wanted.tobytes())

    def new_transfers(self) -> None:
        """What opens the driver and reads the profile; one that can't be read isn't used."""
        wanted, found = self.some_bytes()[:64], np.zeros(64, np.uint8)
        there = isthmus.DevicePointer(self.memory.pointer, 64)
        transfers = isthmus.Transfers(isthmus.Windows())
        transfers.copy(there, wanted)
        transfers.copy(found, there)
        assert np.array_equal(found, wanted)

    def explain(self) -> None:
        assert str(isthmus.explain(self.device, np.zeros(SIZE, np.uint8)))

    def paged(self) -> None:
        """What was flushed is there; what wasn't is lost with an error, or not at all."""
        wanted = self.some_bytes()
        host = wanted.copy()
        with isthmus.PagedArray(host, "256B") as array:
            found = np.zeros(3, np.uint8)
            isthmus.copy(found, array.gather([0, 5000, SIZE - 1]))
            assert np.array_equal(found, wanted[[0, 5000, SIZE - 1]])
            array.scatter([7], np.array([255], np.uint8))
            array.prefetch([(0, 3000)])
            array.will_overwrite([(3000, 4000)])
            array.flush(ranges=[(7, 8)])
            assert host[7] == 255
            host[8] = wanted[8] = 77
            array.refresh([(8, 9)])
            array.flush()
            array.write(wanted[:300], 100)
            assert array.stats().dirty_units > 0
        wanted[7], wanted[100:400] = 255, wanted[:300].copy()
        assert np.array_equal(host[:100], wanted[:100])
        assert np.array_equal(host, wanted)

    def paged_file(self) -> None:
        """The same of a file, by a mapping that was made before."""
        wanted = self.some_bytes()
        self.items.write_bytes(wanted.tobytes())
        with isthmus.PagedArray(self.mapped_items, "256B", device_bytes=2048) as array:
            found = np.zeros(3, np.uint8)
            isthmus.copy(found, array.gather([0, 5000, SIZE - 1]))
            assert np.array_equal(found, wanted[[0, 5000, SIZE - 1]])
            array.scatter(np.arange(0, 9000, 256), np.uint8(255))
            array.flush(ranges=[(0, 1000)])
            assert self.items.read_bytes()[:1000:256] == b"\xff" * 4
            array.flush()
            assert self.items.read_bytes()[:9000:256] == b"\xff" * 36
            array.scatter([7], np.array([254], np.uint8))
            array.invalidate([(300, 900)])
        wanted[:9000:256], wanted[7] = 255, 254
        assert self.items.read_bytes() == wanted.tobytes()

    def budgeted(self) -> None:
        """Units of four times the room for them; what is evicted is written back."""
        wanted = self.some_bytes()
        host = wanted.copy()
        with isthmus.PagedArray(host, "256B", device_bytes=SIZE // 1024 * 256) as array:
            array.scatter([7, SIZE - 1], np.array([255, 254], np.uint8))
            array.prefetch([(0, SIZE // 2)])
            array.gather(np.arange(0, SIZE, 256))
            array.gather([0])
            array.invalidate([(300, 900)], discard=True)
            array.flush()
        wanted[[7, SIZE - 1]] = 255, 254
        assert np.array_equal(host, wanted)

    def row_cache(self) -> None:
        """Rows are stored to, and pushed out by others."""
        table = isthmus.pinned.empty((100, 256), np.uint8)
        table[:] = 1
        keys, others, values = (
            isthmus.device_empty(shape, kind)
            for shape, kind in (((9,), "i4"), ((30,), "i4"), ((9, 256), "u1"))
        )
        isthmus.copy(keys, np.arange(9, dtype=np.int32))
        isthmus.copy(others, np.arange(40, 70, dtype=np.int32))
        isthmus.copy(values, np.full((9, 256), 2, np.uint8))
        with isthmus.RowCache(table, 32, write_back=True) as cache:
            cache.update(cache.ensure(keys), values)
            cache.ensure(others)
        assert table.sum() == 109 * 256

    def trim(self) -> None:
        self.copy()
        isthmus.trim()
        isthmus.stats()


def ends_as_documented(operation: Callable[[], None], kind: bytes) -> bool:
    """Run it; tell whether it failed as it may."""
    documented = _DOCUMENTED_OF_WRITES if kind == b"write" else _DOCUMENTED
    try:
        operation()
    except documented:
        return True
    return False


def sweep(faults: Faults, operation: Callable[[], None]) -> int:
    """Let each call fail by turns; count them."""
    num_failures = 0
    for kind in faults.of(operation):
        for nth in range(1, _MAX_CALLS):
            faults.arm(kind, nth)
            try:
                failed = ends_as_documented(operation, kind)
                happened = faults.disarm(nth)
                assert happened or not failed, "it failed without a reason"
                operation()
            except Exception as error:
                error.add_note(f"{kind.decode()}, call {nth}, failed")
                raise
            gc.collect()
            if not happened:
                break
            num_failures += 1
        else:
            raise AssertionError(f"{kind!r} is called without an end")
    return num_failures


def main(name: str, folder: str) -> None:
    faults = Faults()
    operation: Callable[[], None] = getattr(Operations(Path(folder)), name)
    operation()
    gc.freeze()  # a collection after each call looks only at what the operation has made
    num_failures = sweep(faults, operation)
    if name not in _ALWAYS_FIRST:
        isthmus.trim()
        num_failures += sweep(faults, operation)  # as if it were the first
    sys.stdout.write(f"{num_failures} calls failed\n")


if __name__ == "__main__":
    main(*sys.argv[1:])
