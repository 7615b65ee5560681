"""The host's array behind a paged array."""

import contextlib
import operator
import os
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isthmus.errors import UsageError
from isthmus.ground.sizes import format_size, parse_size
from isthmus.move.paged.file import MappedFile, is_mapped, require_no_file
from isthmus.move.transfer.packing import numpy_module

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import NDArray

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


def source_of(given: object, device: int) -> Source:
    """Take a NumPy array in C order, perhaps memory-mapped, of which a paged array can be made."""
    array = _checked(given)
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


def _checked(given: object) -> "NDArray[Any]":
    numpy = numpy_module()
    if isinstance(given, str | os.PathLike):
        raise UsageError(
            f"a paged array can't be made of a path alone: {os.fspath(given)!r} doesn't say which "
            "items the file has",
            hint="map it: numpy.memmap(path, dtype, mode='r+', offset=0, shape=...), or "
            "numpy.load(path, mmap_mode='r+') for a .npy file",
        )
    if not isinstance(given, numpy.ndarray):
        raise UsageError(
            f"a paged array can't be made of a '{type(given).__name__}'",
            hint="pass its .numpy(), which is the memory of a tensor of the host"
            if hasattr(given, "numpy")
            else "pass a NumPy array; isthmus.pinned.empty() makes one that is pinned already",
        )
    array: NDArray[Any] = given
    if not array.flags.c_contiguous:
        raise UsageError(
            f"this array of shape {array.shape} has gaps or isn't in C order",
            hint="a contiguous copy would be different memory: make the paged array of that",
        )
    if array.dtype.kind not in "biufc" or array.dtype.itemsize not in _ITEM_BYTES:
        raise UsageError(
            f"items of {array.dtype}: a paged array has booleans, integers, floats or complex "
            "numbers of 1, 2, 4, 8 or 16 bytes"
        )
    if not array.dtype.isnative:
        raise UsageError(f"items of {array.dtype} are in another machine's byte order")
    if array.size == 0:
        raise UsageError("a paged array needs at least one item")
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
