"""Judges shapes and strides: what has gaps, what overlaps, what lies alike."""

import math
from collections.abc import Sequence

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
