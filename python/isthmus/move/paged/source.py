"""The host's array behind a paged array, and the file of one that is memory-mapped."""

import contextlib
import mmap
import operator
import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from isthmus import _native, pinned
from isthmus.errors import OutOfDeviceMemory, Unavailable, UsageError
from isthmus.files.folder import writing
from isthmus.ground.sizes import format_size, parse_size
from isthmus.move.transfer.packing import numpy_module

if TYPE_CHECKING:
    import numpy as np
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
            "hint: the bytes of an array in a file are held in pinned memory, "
            f"{format_size(size_bytes)}: take a part of the array, such as mapped[first:end]"
        )
        raise


def _place(address: int, offset_bytes: int) -> int:
    """Give the first address that lies in a block as the file's bytes do."""
    block_bytes: int = _native.PagedFile.block_bytes
    return address + (offset_bytes - address) % block_bytes


_ITEM_BYTES = {1, 2, 4, 8, 16}


@dataclass(frozen=True, kw_only=True)
class Source:
    """
    An array in host memory or in a file, and what keeps it.

    Attributes:
        held: A view: while it exists, the memory can't be resized or closed.
        file: Of an array in a file; `pointer` is where its bytes are read to.
    """

    pointer: int
    shape: tuple[int, ...]
    dtype: "np.dtype[Any]"
    read_only: bool
    held: memoryview
    file: MappedFile | None = None


def source_of(given: object, device: int, what: str = "a paged array") -> Source:
    """Take a NumPy array in C order, perhaps memory-mapped, of which `what` can be made."""
    array = _checked(given, what)
    file = MappedFile(array, device) if is_mapped(array) else None
    if file is None:
        require_no_file(array)
    return Source(
        pointer=file.pointer if file else array.ctypes.data,
        shape=array.shape,
        dtype=array.dtype,
        read_only=not array.flags.writeable,
        held=file.held if file else memoryview(array),  # type: ignore[arg-type,unused-ignore]
        file=file,
    )


def _checked(given: object, what: str) -> "NDArray[Any]":
    numpy = numpy_module()
    if isinstance(given, str | os.PathLike):
        raise UsageError(
            f"{what} can't be made of a path alone: {os.fspath(given)!r} doesn't say which "
            "items the file has",
            hint="map it: numpy.memmap(path, dtype, mode='r+', offset=0, shape=...), or "
            "numpy.load(path, mmap_mode='r+') for a .npy file",
        )
    if not isinstance(given, numpy.ndarray):
        raise UsageError(
            f"{what} can't be made of a '{type(given).__name__}'",
            hint="pass its .numpy(), which is the memory of a tensor of the host"
            if hasattr(given, "numpy")
            else "pass a NumPy array; isthmus.pinned.empty() makes one that is pinned already",
        )
    array: NDArray[Any] = given
    if not array.flags.c_contiguous:
        raise UsageError(
            f"this array of shape {array.shape} has gaps or isn't in C order",
            hint=f"a contiguous copy would be different memory: make {what} of that",
        )
    if array.dtype.kind not in "biufc" or array.dtype.itemsize not in _ITEM_BYTES:
        raise UsageError(
            f"items of {array.dtype}: {what} has booleans, integers, floats or complex "
            "numbers of 1, 2, 4, 8 or 16 bytes"
        )
    if not array.dtype.isnative:
        raise UsageError(f"items of {array.dtype} are in another machine's byte order")
    if array.size == 0:
        raise UsageError(f"{what} needs at least one item")
    if array.ctypes.data % array.dtype.itemsize != 0:
        raise UsageError(
            f"the first item isn't at a multiple of its {array.dtype.itemsize} bytes in memory",
            hint="copy the array; of a memory-mapped one, choose another offset in the file",
        )
    return array


def unit_bytes_of(unit: object) -> int:
    """Give a unit's size in bytes, a power of two from 256 bytes to 2 MiB."""
    if isinstance(unit, str):
        size = parse_size(unit)
    else:
        size = _number_of("a unit is a size such as '1KiB'", unit)
    if size < 256 or size > 1 << 21 or size & (size - 1):  # noqa: PLR2004 - the bounds of the text
        raise UsageError(
            f"a unit of {size} bytes: it must be a power of two from 256 bytes to 2 MiB",
            hint="1KiB suits most programs; 4KiB those that read most of the array",
        )
    return size


def budget_of(
    policy: object, device_bytes: object, array_bytes: int, unit_bytes: int
) -> int | None:
    """
    Give the bytes of device memory for items: None is that of the array, 0 is none, as with
    "read_through".
    """
    if policy == "read_through":
        if device_bytes is not None:
            raise UsageError(
                "with policy='read_through' the GPU holds nothing: leave device_bytes out"
            )
        return 0
    if policy != "units":
        raise UsageError(
            f"there is no policy {policy!r}: there are units and read_through",
            hint="larger units bring more: unit='2MiB' is what whole_page was; "
            "prefetch() brings ranges; isthmus sim has the other policies",
        )
    if device_bytes is None:
        return None
    if isinstance(device_bytes, str):
        given = parse_size(device_bytes)
    else:
        given = _number_of("device_bytes is a size in bytes", device_bytes)
    if given < unit_bytes:
        room = format_size(given) if given >= 0 else str(given)
        raise UsageError(
            f"device_bytes is {room}: there is no room for a unit of {format_size(unit_bytes)}",
            hint="give more, or let the GPU hold nothing: policy='read_through'",
        )
    return None if given >= array_bytes else given


def _number_of(what: str, given: object) -> int:
    """Give a number, one of NumPy's too."""
    if not isinstance(given, bool):
        with contextlib.suppress(TypeError):
            return operator.index(given)  # type: ignore[arg-type]
    raise UsageError(f"{what}, not {given!r}")
