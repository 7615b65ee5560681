"""Says whether one array can be copied to another, converted or not, and which bytes of both."""

import sys
from dataclasses import dataclass
from typing import Literal, NoReturn

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

Casting = Literal["no", "equiv", "safe", "same_kind", "unsafe"]

# As most callers pass it: one object, which is quick to recognise.
NO_CASTING: Casting = "no"
_CASTINGS = ("no", "equiv", "safe", "same_kind", "unsafe")

_INTEGERS = [f"{kind}{bits}" for kind in ("int", "uint") for bits in (8, 16, 32, 64)]
_CONVERTIBLE = {"bool", *_INTEGERS, "float16", "bfloat16", "float32", "float64"}
# In NumPy's order of kinds. Source: NumPy's documentation, numpy.can_cast.
_KINDS = ("bool", "uint", "int", "float")
# Up to how many bits of an integer a float takes, and which floats. NumPy calls int64 to float64
# safe, although large ones are rounded.
_SAFE_INTEGER_BITS = {"float16": 8, "bfloat16": 8, "float32": 16, "float64": 64}
_SAFE_FLOATS = {
    "float16": {"float16"},
    "bfloat16": {"bfloat16"},
    "float32": {"float16", "bfloat16", "float32"},
    "float64": {"float16", "bfloat16", "float32", "float64"},
}

# How the native module marks items in the order that isn't this machine's.
_FOREIGN = "big-endian " if sys.byteorder == "little" else "little-endian "


def require_casting(casting: object) -> None:
    """Refuse what is no word for how far types may be converted."""
    if not isinstance(casting, str) or casting not in _CASTINGS:
        raise UsageError(
            f"casting must be 'no', 'equiv', 'safe', 'same_kind' or 'unsafe', not {casting!r}"
        )


def is_conversion(target: Array, source: Array) -> bool:
    """Tell whether items have to be converted. Bytes without a type go with every type."""
    return target.item is not None and source.item is not None and target.item != source.item


def in_own_order(item: str) -> str:
    """Name the same type in this machine's byte order."""
    return item.removeprefix(_FOREIGN)


def is_foreign(array: Array) -> bool:
    """Tell whether an array's items are in the other byte order."""
    return array.item is not None and array.item.startswith(_FOREIGN)


def require_allowed(target: Array, source: Array, casting: Casting) -> None:
    """Refuse a conversion that isn't possible, or that the caller doesn't allow."""
    own = [in_own_order(str(array.item)) for array in (target, source)]
    only_order = own[0] == own[1]
    if casting == NO_CASTING:
        allowing = "equiv" if only_order else "same_kind"
        _refuse(
            target,
            source,
            "a copy converts nothing unless casting= allows it",
            f"convert one of them first, or pass casting={allowing!r}; to copy the bytes as they "
            "are, pass a memoryview(...).cast('B') or a view of the same dtype",
        )
    for array, item in zip((target, source), own, strict=True):
        if array.on_device and is_foreign(array):
            _refuse(target, source, "a GPU has this machine's byte order", "convert it first")
        if item not in _CONVERTIBLE and not only_order:
            _refuse(
                target,
                source,
                f"{array.item} isn't converted; only booleans, integers and floats of up to 64 "
                "bits are",
                "convert it first",
            )
    needed: Casting = "equiv" if only_order else least_casting(*own)
    if _CASTINGS.index(casting) < _CASTINGS.index(needed):
        _refuse(target, source, f"casting={casting!r} doesn't allow it", f"casting={needed!r} does")


def least_casting(target: str, source: str) -> Casting:
    """Give the narrowest rule that allows one type to be converted to another."""
    if _is_safe(target, source):
        return "safe"
    in_order = _KINDS.index(_kind(source)) <= _KINDS.index(_kind(target))
    return "same_kind" if in_order else "unsafe"


def _is_safe(target: str, source: str) -> bool:
    """Tell what NumPy calls safe; bfloat16, which it doesn't know, by the bits of its fraction."""
    of, to = _kind(source), _kind(target)
    if source in (target, "bool"):
        return True
    if of == "float" or to == "bool":
        return to == "float" and source in _SAFE_FLOATS[target]
    if to == "float":
        return _bits(source) <= _SAFE_INTEGER_BITS[target]
    room = _bits(target) - (to != of)  # for the sign
    return not (of == "int" and to == "uint") and _bits(source) <= room


def _kind(item: str) -> str:
    name = item.rstrip("0123456789")
    return "float" if name == "bfloat" else name


def _bits(item: str) -> int:
    return int(item.lstrip("boluinfat"))


def _refuse(target: Array, source: Array, why: str, hint: str) -> NoReturn:
    raise UsageError(
        f"can't copy {source.item} (this {source.what}) to {target.item} (this {target.what}): "
        f"{why}",
        hint=hint,
    )


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
