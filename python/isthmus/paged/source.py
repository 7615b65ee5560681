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


def require_policy(policy: object) -> None:
    """Refuse all policies but that of single units."""
    if policy != "units":
        raise UsageError(
            f"there is no policy {policy!r}: 'units' is the only one so far",
            hint="isthmus sim has more, for modelled machines: see docs/simulate.md",
        )


def require_budget(device_bytes: object, needed: int) -> None:
    """Refuse a budget of device memory that doesn't hold the whole array."""
    if device_bytes is None:
        return
    if isinstance(device_bytes, str):
        given = parse_size(device_bytes)
    elif isinstance(device_bytes, int) and not isinstance(device_bytes, bool):
        given = device_bytes
    else:
        raise UsageError(f"device_bytes is a size in bytes, not {device_bytes!r}")
    if given < needed:
        raise UsageError(
            f"device_bytes is {format_size(given)}, and the array needs {format_size(needed)}: "
            "nothing is evicted yet, so the GPU must have room for the whole array",
            hint="make paged arrays of parts of the array, or leave device_bytes out",
        )
