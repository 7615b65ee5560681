"""Judges shapes and strides: what has gaps, what overlaps, what lies alike, what can be made."""

import math
import operator
import re
import reprlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

from isthmus.errors import Unavailable, UsageError
from isthmus.move.arrays.loaded import loaded_type

if TYPE_CHECKING:
    import numpy as np

    from isthmus.move.arrays.accepted import ItemType

# The limit of NumPy's arrays; before version 2 NumPy has only 32 dimensions, and raises itself.
MAX_BYTES = (1 << 63) - 1
_MAX_DIMENSIONS = 64
_OF_ML_DTYPES = re.compile(r"bfloat16|b?complex32|u?int[124]|float[468]_e\w+")


def lengths_of(shape: SupportsIndex | Sequence[SupportsIndex]) -> tuple[int, ...]:
    """Give a shape, or the items of one dimension, as the items along each dimension."""
    try:
        lengths = tuple(map(operator.index, shape))  # type: ignore[arg-type]
    except TypeError:
        try:
            lengths = (operator.index(shape),)  # type: ignore[arg-type]
        except TypeError:
            raise UsageError(f"not a shape: {reprlib.repr(shape)}") from None
    if lengths and min(lengths) < 0:
        raise UsageError(f"a shape has no negative lengths: {reprlib.repr(shape)}")
    if len(lengths) > _MAX_DIMENSIONS:
        raise UsageError(f"a shape has at most {_MAX_DIMENSIONS} dimensions, not {len(lengths)}")
    return lengths


def dtype_of(numpy: Any, dtype: "ItemType") -> "np.dtype[Any]":  # noqa: ANN401 - a module
    """Give a type of items of NumPy, ml_dtypes or PyTorch, or its name, as NumPy has it."""
    of_torch = loaded_type("torch", "dtype")
    is_of_torch = of_torch is not None and isinstance(dtype, of_torch)
    named: Any = str(dtype).removeprefix("torch.") if is_of_torch else dtype
    found: np.dtype[Any]
    try:
        found = numpy.dtype(named)
    except (TypeError, ValueError, SyntaxError) as error:
        if not isinstance(named, str) or _OF_ML_DTYPES.fullmatch(named) is None:
            raise UsageError(f"not a type of items: {error}") from None
        found = _of_ml_dtypes(numpy, named)
    return found


def _of_ml_dtypes(numpy: Any, name: str) -> "np.dtype[Any]":  # noqa: ANN401 - a module
    try:
        import ml_dtypes
    except ImportError as missing:
        raise Unavailable(
            capability=f"the type {name}",
            reason="NumPy has it only with ml_dtypes, which isn't installed",
            needs="pip install ml_dtypes",
        ) from missing
    if not hasattr(ml_dtypes, name):
        raise UsageError(f"not a type of items: neither NumPy nor ml_dtypes has {name}")
    found: np.dtype[Any] = numpy.dtype(getattr(ml_dtypes, name))
    return found


def require_addressable(lengths: Sequence[int], item_bytes: int) -> None:
    """
    Refuse a shape that no memory holds; a length of 0 counts as 1, because it leaves the strides of
    the other dimensions.
    """
    size_bytes = item_bytes
    for length in lengths:
        size_bytes *= max(1, length)
    if size_bytes > MAX_BYTES:
        raise UsageError(f"no memory holds the shape {reprlib.repr(tuple(lengths))}")


_BITS_PER_BYTE = 8


def array_size_bytes(shape: Sequence[int], item_bits: int) -> int:
    """Count the bytes of an array without gaps."""
    return -(-math.prod(shape) * item_bits // _BITS_PER_BYTE)


def c_strides(shape: Sequence[int], item_size: int) -> tuple[int, ...]:
    """Give the strides of a C-contiguous array, in the unit of the item's size."""
    strides: list[int] = []
    stride = item_size
    for length in reversed(shape):
        strides.append(stride)
        stride *= length
    return tuple(reversed(strides))


def is_c_contiguous(shape: Sequence[int], strides: Sequence[int] | None, item_size: int) -> bool:
    """
    Tell whether items follow each other in C order; strides are in the unit of `item_size`, and
    None is C order.
    """
    if strides is None or 0 in shape:
        return True
    expected = item_size
    for length, stride in zip(reversed(shape), reversed(strides), strict=True):
        # Of a dimension of one item nobody takes the stride.
        if length != 1 and stride != expected:
            return False
        expected *= length
    return True


def taken_strides(shape: Sequence[int], strides: Sequence[int]) -> list[tuple[int, int]]:
    """List stride and length of every dimension that has more than one item, in order."""
    pairs = zip(strides, shape, strict=True)
    return [(stride, length) for stride, length in pairs if length != 1]


def is_dense(shape: Sequence[int], strides: Sequence[int], item_size: int) -> bool:
    """Tell whether an array fills its memory without gaps, whatever its dimensions' order."""
    if 0 in shape:
        return True
    expected = item_size
    for stride, length in sorted((abs(s), n) for s, n in taken_strides(shape, strides)):
        if stride != expected:
            return False
        expected *= length
    return True


def lowest_offset(shape: Sequence[int], strides: Sequence[int]) -> int:
    """Give where an array's memory begins, from its first item on: below 0 if a stride is."""
    return sum(
        stride * (length - 1) for stride, length in taken_strides(shape, strides) if stride < 0
    )


def extent_bytes(shape: Sequence[int], strides: Sequence[int], item_bytes: int) -> int:
    """Count the bytes from where an array's memory begins to its end; strides in bytes."""
    if 0 in shape:
        return 0
    return item_bytes + sum(
        abs(stride) * (length - 1) for stride, length in taken_strides(shape, strides)
    )


def overlaps_itself(shape: Sequence[int], strides: Sequence[int], item_size: int) -> bool:
    """Tell whether several items may lie at the same address, as in a broadcast array."""
    if 0 in shape:
        return False
    reach = item_size
    for stride, length in sorted((abs(s), n) for s, n in taken_strides(shape, strides)):
        if stride < reach:
            return True
        reach += stride * (length - 1)
    return False
