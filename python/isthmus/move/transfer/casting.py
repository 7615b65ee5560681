"""Which types of items a copy converts to which, and what the caller allows."""

import sys
from typing import Literal, NoReturn

from isthmus.errors import UsageError
from isthmus.move.arrays.array import Array

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
