"""Says whether one array can be copied to another, and which bytes of both are copied."""

from dataclasses import dataclass

from isthmus.errors import UsageError
from isthmus.move.arrays.array import Array
from isthmus.move.arrays.layout import (
    c_strides,
    is_c_contiguous,
    is_dense,
    lowest_offset,
    overlaps_itself,
    taken_strides,
)
from isthmus.move.transfer.casting import Casting, is_conversion, require_allowed

_BITS_PER_BYTE = 8
_ANY_TYPE = "bytes"  # the native module's word for items that stay as they are


@dataclass(frozen=True, slots=True)
class PlainCopy:
    """A copy of one range of bytes to another."""

    target: int
    source: int
    size_bytes: int


def require_match(target: Array, source: Array, casting: Casting) -> None:
    """Refuse two arrays if one can't be copied to the other, at most with its items converted."""
    if target.read_only:
        raise UsageError(f"this {target.what} is read-only: it can't be the target of a copy")
    converts = is_conversion(target, source)
    if converts:
        require_allowed(target, source, casting)
    if target.shape is not None and source.shape is not None and target.shape != source.shape:
        raise UsageError(
            f"can't copy shape {source.shape} (this {source.what}) to shape {target.shape} (this "
            f"{target.what})",
            hint="reshape one of them: nothing is broadcast",
        )
    if target.size_bytes != source.size_bytes and not converts:
        raise UsageError(
            f"can't copy {source.size_bytes} bytes (this {source.what}) to {target.size_bytes} "
            f"bytes (this {target.what})"
        )
    for array in (target, source):
        _require_own_places(array)


def _require_own_places(array: Array) -> None:
    """Refuse broadcast arrays and sliding windows."""
    if array.strides is None or array.shape is None:
        return
    if array.item_bits % _BITS_PER_BYTE != 0:
        raise UsageError(f"this {array.what} of {array.item} has gaps between items below a byte")
    if overlaps_itself(array.shape, array.strides, array.item_bits // _BITS_PER_BYTE):
        raise UsageError(
            f"this {array.what} of shape {array.shape} has items that share memory (strides "
            f"{array.strides}), as broadcast arrays have",
            hint="make a contiguous copy of it first",
        )


def plain_copy(target: Array, source: Array) -> PlainCopy | None:
    """
    Give the bytes to copy between arrays that `require_match` let pass; None if one of them has to
    be packed, or the items are converted.
    """
    if is_conversion(target, source):
        return None
    if is_contiguous(target) and is_contiguous(source):
        return PlainCopy(target.pointer, source.pointer, target.size_bytes)
    if target.shape is None or source.shape is None or not fills_its_memory(target):
        return None
    if target.strides is None or source.strides is None:
        return None
    shape = target.shape
    if taken_strides(shape, target.strides) != taken_strides(shape, source.strides):
        return None
    offset = lowest_offset(shape, target.strides)
    return PlainCopy(target.pointer + offset, source.pointer + offset, target.size_bytes)


def is_contiguous(array: Array) -> bool:
    """Whether an array's items are contiguous in C order."""
    item_bytes = array.item_bits // _BITS_PER_BYTE
    return is_c_contiguous(array.shape or (), array.strides, item_bytes)


def fills_its_memory(array: Array) -> bool:
    """Whether an array has no gaps, in any order of its dimensions."""
    if array.shape is None or array.strides is None:
        return True
    return is_dense(array.shape, array.strides, array.item_bits // _BITS_PER_BYTE)


def require_possible(target: Array, source: Array) -> None:
    """Refuse two arrays with different memory orders, if the order of the items isn't known."""
    for array, other in ((target, source), (source, target)):
        if array.shape is None and other.on_device and not is_contiguous(other):
            raise UsageError(
                f"this {other.what} on a GPU is not in C order (strides {other.strides}), and this "
                f"{array.what} has no shape: the order of the bytes is ambiguous",
                hint="pass an array of the same shape",
            )


@dataclass(frozen=True, slots=True)
class StridedCopy:
    """
    A copy of items between two layouts, of which one is on a GPU. Strides in bytes. If the types
    differ, the GPU converts the items, and `item_bytes` isn't used.
    """

    target: int
    source: int
    item_bytes: int
    shape: tuple[int, ...]
    target_strides: tuple[int, ...]
    source_strides: tuple[int, ...]
    target_type: str
    source_type: str


def strided_copy(target: Array, source: Array) -> StridedCopy:
    """
    Give the items to copy between arrays that `require_match` and `require_possible` let pass; one
    on the host is in C order.
    """
    shape = (target.shape if target.shape is not None else source.shape) or ()
    converts = is_conversion(target, source)
    return StridedCopy(
        target=target.pointer,
        source=source.pointer,
        item_bytes=target.item_bits // _BITS_PER_BYTE,
        shape=shape,
        target_strides=_strides_of(target, shape),
        source_strides=_strides_of(source, shape),
        target_type=str(target.item) if converts else _ANY_TYPE,
        source_type=str(source.item) if converts else _ANY_TYPE,
    )


def _strides_of(array: Array, shape: tuple[int, ...]) -> tuple[int, ...]:
    if array.strides is not None:
        return array.strides
    return c_strides(shape, array.item_bits // _BITS_PER_BYTE)
