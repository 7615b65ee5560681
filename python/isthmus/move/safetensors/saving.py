"""Saves tensors as a safetensors file: `save_safetensors`."""

import mmap
from collections.abc import Iterable, Mapping
from pathlib import Path

from isthmus import _native
from isthmus.errors import DriverError, UsageError
from isthmus.files.folder import writing
from isthmus.files.regular import AnyPath, path_of
from isthmus.files.whole import WholeFile, whole_file
from isthmus.ground.ranges import part
from isthmus.move.arrays.array import Array
from isthmus.move.safetensors.saved import SavedTensor, header_of, saved_tensors
from isthmus.move.windows.opening import Windows, default_windows
from isthmus.pinned import pool_of

_ON_HOST = -1
# Advice when the file can't be written.
_ELSEWHERE = "choose another path"
# Each thread has two pieces of staging memory: one is filled while the other is written. Fewer
# threads leave a disk waiting that serves several requests at a time.
# Source: benchmarks/frontdoor/save.py.
_MAX_THREADS = 8
_MAX_PIECE_BYTES = 4 << 20
_MIN_PIECE_BYTES = 64 << 10

# An address, its bytes, a device, and a name for messages.
_Range = tuple[int, int, int, str]


def save_safetensors(
    tensors: Mapping[str, object],
    path: AnyPath,
    metadata: Mapping[str, str] | None = None,
    *,
    durable: bool = True,
) -> None:
    """
    Save tensors to a safetensors file, at the speed of the disk.

    The bytes go from the devices through pinned memory to the disk, piece by piece, by several
    threads. The file is renamed when it is complete: until then, and after any failure, the
    name has its old contents.

    Args:
        tensors: Arrays of any library by name, on the host or on GPUs, as for `isthmus.copy`. They
            must not change meanwhile. The bytes are read after the work in the current streams of
            their libraries. An array that isn't in C order is copied first.
        path: The file; a file of that name is replaced. Its folder exists.
        metadata: The file's free text.
        durable: True: the file is on the disk when this returns, and has bypassed the page cache
            where the file system allows that. False: it is in the page cache, and may be lost if
            the machine crashes.

    Raises:
        UsageError: A value isn't an array, can't be read, or has a type that the format doesn't
            have; or the path isn't a regular file's. The message names the tensor.
        WriteError: The file can't be written: the disk is full, for instance.
        DriverError: A device's bytes can't be read.
        Unavailable: There is no driver, or no memory that can be pinned.
    """
    target = _target(path)
    windows = default_windows()
    with part("read arrays"):
        saved = saved_tensors(tensors, windows._reader)
        header = header_of(saved, metadata)
    with part("wait for their work"):
        _await_work(saved, windows)
    with (
        whole_file(target, elsewhere=_ELSEWHERE, durable=durable) as file,
        writing(target, elsewhere=_ELSEWHERE),
        part("write"),
    ):
        _save(header, saved, file, windows, durable=durable)


def _target(path: object) -> Path:
    target = path_of(path)
    if "\0" in str(target):
        raise UsageError(f"no file has the name {str(target)!r}")
    with writing(target, elsewhere=_ELSEWHERE):
        if target.exists() and not target.is_file():
            raise UsageError(f"{target} is not a regular file: it can't be replaced")
    return target


def _await_work(saved: Iterable[SavedTensor], windows: Windows) -> None:
    """Wait until the bytes are what the libraries' streams will make them."""
    done: set[tuple[int, int | None]] = set()
    for tensor in saved:
        array = tensor.array
        key = (array.stream or 0, array.device)
        if array.stream is None or array.size_bytes == 0 or key in done:
            continue
        windows._pending_work.wait(array.stream, array.device, array.pointer)
        if array.device is not None:  # else the stream may be another device's
            done.add(key)


def _save(
    header: bytes, saved: list[SavedTensor], file: WholeFile, windows: Windows, *, durable: bool
) -> None:
    beginning = windows._reader.read_source(header).pointer
    ranges = [(beginning, len(header), _ON_HOST, "the header")]
    ranges += [_range(tensor, windows._driver) for tensor in saved if tensor.array.size_bytes]
    total_bytes = sum(size_bytes for _, size_bytes, _, _ in ranges)
    devices = [device for _, _, device, _ in ranges if device != _ON_HOST]
    num_pieces, piece_bytes = _pieces(total_bytes)
    staging = _staging(num_pieces * piece_bytes, devices)
    try:
        _native.save_ranges(
            windows._driver if devices else None,
            file.descriptor,
            ranges,
            staging=staging,
            piece_bytes=piece_bytes,
            directly=durable,
        )
    except DriverError as failure:
        if failure.memory_in_use:
            _native.keep_forever((staging, saved))
        raise


def _range(tensor: SavedTensor, driver: _native.Driver) -> _Range:
    array = tensor.array
    return array.pointer, array.size_bytes, _device_of(array, driver), tensor.label


def _device_of(array: Array, driver: _native.Driver) -> int:
    if not array.on_device:
        return _ON_HOST
    if array.device is not None:
        return array.device
    found = _native.pointer_device(driver, array.pointer)
    return 0 if found is None else found


def _pieces(total_bytes: int) -> tuple[int, int]:
    """Give the number of pieces in the staging memory, and the bytes of each: whole pages."""
    share = total_bytes // (2 * _MAX_THREADS)
    piece_bytes = min(max(_MIN_PIECE_BYTES, share), _MAX_PIECE_BYTES)
    piece_bytes = -(-piece_bytes // mmap.PAGESIZE) * mmap.PAGESIZE
    num_threads = min(_MAX_THREADS, -(-total_bytes // piece_bytes))
    return 2 * num_threads, piece_bytes


def _staging(size_bytes: int, devices: list[int]) -> mmap.mmap | _native.PinnedBlock:
    if devices:
        # The pieces begin at a whole page, which a block of the pool needn't.
        return _native.PinnedBlock(pool_of(devices[0]), size_bytes + mmap.PAGESIZE)
    return mmap.mmap(-1, size_bytes)
