"""The host's array behind a paged array."""

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from isthmus.errors import UsageError
from isthmus.sizes import format_size, parse_size
from isthmus.transfer.packing import numpy_module

if TYPE_CHECKING:
    from numpy.typing import NDArray

_ITEM_BYTES = {1, 2, 4, 8, 16}


@dataclass(frozen=True, kw_only=True)
class Source:
    """
    An array in host memory, and what keeps it.

    Attributes:
        array: Itself.
        held: A view: while it exists, the memory can't be resized or closed.
    """

    array: "NDArray[Any]"
    held: memoryview


def source_of(given: object) -> Source:
    """
    Take an array of which a paged array can be made.

    Raises:
        UsageError: It isn't a NumPy array in C order whose items are plain numbers.
    """
    numpy = numpy_module()
    if not isinstance(given, numpy.ndarray):
        raise UsageError(
            f"a paged array can't be made of a '{type(given).__name__}'",
            hint="pass a NumPy array; isthmus.pinned.empty() makes one that is pinned already",
        )
    array: NDArray[Any] = given
    if isinstance(array, numpy.memmap):
        raise UsageError(
            "a paged array can't be made of a memory-mapped file: its pages can't stay pinned",
            hint="copy it into an array of isthmus.pinned.empty() first",
        )
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
    return Source(array=array, held=memoryview(array))  # type: ignore[arg-type,unused-ignore]


def unit_bytes_of(unit: object) -> int:
    """
    Give a unit's size in bytes.

    Args:
        unit: A number of bytes, or a size such as "1KiB".

    Raises:
        UsageError: It is neither, or no power of two from 256 bytes to 64 KiB.
    """
    if isinstance(unit, str):
        size = parse_size(unit)
    elif isinstance(unit, int) and not isinstance(unit, bool):
        size = unit
    else:
        raise UsageError(f"a unit is a size such as '1KiB', not {unit!r}")
    if size < 256 or size > 1 << 16 or size & (size - 1):  # noqa: PLR2004 - the bounds of the text
        raise UsageError(
            f"a unit of {size} bytes: it must be a power of two from 256 bytes to 64 KiB",
            hint="1KiB suits most programs; 4KiB those that read most of the array",
        )
    return size


def budget_of(
    policy: object, device_bytes: object, array_bytes: int, unit_bytes: int
) -> int | None:
    """
    Give the device memory for items: None is that of the array, 0 is none.

    Args:
        policy: With "read_through" nothing is held.
        device_bytes: A number of bytes, a size such as "1GiB", or None.
        array_bytes: The array's size.
        unit_bytes: Of one unit, the least.

    Raises:
        UsageError: device_bytes is no size or has no room for a unit.
    """
    if policy == "read_through":
        if device_bytes is not None:
            raise UsageError(
                "with policy='read_through' the GPU holds nothing: leave device_bytes out"
            )
        return 0
    if device_bytes is None:
        return None
    if isinstance(device_bytes, str):
        given = parse_size(device_bytes)
    elif isinstance(device_bytes, int) and not isinstance(device_bytes, bool):
        given = device_bytes
    else:
        raise UsageError(f"device_bytes is a size in bytes, not {device_bytes!r}")
    if given < unit_bytes:
        raise UsageError(
            f"device_bytes is {format_size(max(0, given))}: there is no room for a unit of "
            f"{format_size(unit_bytes)}",
            hint="give more, or let the GPU hold nothing: policy='read_through'",
        )
    return None if given >= array_bytes else given
