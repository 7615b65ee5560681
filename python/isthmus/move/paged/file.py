"""The file behind a paged array: a memory-mapped array's, whose bytes pinned memory has."""

import mmap
import os
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus import _native, pinned
from isthmus.errors import OutOfDeviceMemory, Unavailable, UsageError
from isthmus.files.failure import writing
from isthmus.ground.sizes import format_size
from isthmus.move.transfer.packing import numpy_module

if TYPE_CHECKING:
    from numpy.typing import NDArray

# How the kernel names shared mappings of memory and devices.
_NO_FILES = ("/dev/", "/memfd:", "/SYSV", "/anon_hugepage", "anon_inode:")
# Advice when the file can't be written.
_AGAIN = "flush again: what was stored is kept until the array is closed"


def is_mapped(array: "NDArray[Any]") -> bool:
    """Tell whether an array's memory is a file's that NumPy has mapped; a copy's isn't."""
    return _mapping_of(array) is not None


def require_no_file(array: "NDArray[Any]") -> None:
    """
    Refuse an array whose memory is a file's, although `is_mapped` is false: what kernels store
    behind the end of a file that somebody has shortened is lost without an error. Shared memory
    isn't refused.
    """
    if not _native.is_of_shared_file(array.ctypes.data):
        return
    path = _file_at(array.ctypes.data)
    if path is None or path.startswith(_NO_FILES):
        return
    raise UsageError(
        f"this array's memory is a mapping of the file {path!r}, but not by NumPy's own memmap",
        hint="map it by numpy.memmap(path, ...), and pass that or a plain part of it",
    )


class MappedFile:
    """A memory-mapped array's part of its file, and pinned memory for its bytes, after `load()`."""

    def __init__(self, array: "NDArray[Any]", device: int) -> None:
        """
        Open the file of an array in C order of which `is_mapped` is true, and allocate near the
        GPU. Nothing is read yet.
        """
        self._path = _path_of(array)
        self.native = _native.PagedFile(
            os.fsencode(self._path),
            mapped=array.ctypes.data,
            size_bytes=array.nbytes,
            read_only=not array.flags.writeable,
        )
        block = _pinned_bytes(array.nbytes + 2 * _native.PagedFile.block_bytes, device)
        self.pointer = _place(block.ctypes.data, self.native.offset_bytes)
        self.held = memoryview(block)  # type: ignore[arg-type,unused-ignore]

    def load(self) -> None:
        """Read the file's bytes."""
        self.native.load(self.pointer)

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Turn an error of the system into a WriteError."""
        with writing(self._path, elsewhere=_AGAIN):
            yield


def _file_at(address: int) -> str | None:
    """Find the name of the file that the kernel lists for an address."""
    for line in Path("/proc/self/maps").read_text("utf-8", "surrogateescape").splitlines():
        fields = line.split(maxsplit=5)
        begin, _, end = fields[0].partition("-")
        if int(begin, 16) <= address < int(end, 16):
            return fields[-1]
    return None


def _mapping_of(array: "NDArray[Any]") -> "NDArray[Any] | None":
    """Find the array that has mapped a file of which an array is a part."""
    numpy = numpy_module()
    found: NDArray[Any] | None = None
    at: object = array
    while isinstance(at, numpy.ndarray):
        found = at if isinstance(at, numpy.memmap) else found
        at = at.base
    return found if isinstance(at, mmap.mmap) else None


def _path_of(array: "NDArray[Any]") -> Path:
    path = getattr(_mapping_of(array), "filename", None)
    if path is None:
        raise UsageError(
            "the file of this memory-mapped array has no name by which it can be opened",
            hint="map it by its path: numpy.memmap(path, ...)",
        )
    return Path(path)


def _pinned_bytes(size_bytes: int, device: int) -> "NDArray[Any]":
    try:
        return pinned.empty(size_bytes, "u1", device=device)
    except (OutOfDeviceMemory, Unavailable) as error:
        error.add_note(
            "hint: a paged array of a file has all of its bytes in pinned memory, "
            f"{format_size(size_bytes)}: take a part of the array, such as mapped[first:end]"
        )
        raise


def _place(address: int, offset_bytes: int) -> int:
    """Give the first address that lies in a block as the file's bytes do."""
    block_bytes: int = _native.PagedFile.block_bytes
    return address + (offset_bytes - address) % block_bytes
