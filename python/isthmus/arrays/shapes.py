"""Checks the shape and the type of an array that is to be made."""

import operator
import reprlib
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any, SupportsIndex

from isthmus.errors import UsageError

if TYPE_CHECKING:
    import numpy as np
    from numpy.typing import DTypeLike

# The limit of NumPy's arrays; before version 2 NumPy has only 32 dimensions, and raises itself.
MAX_BYTES = (1 << 63) - 1
_MAX_DIMENSIONS = 64


def lengths_of(shape: SupportsIndex | Sequence[SupportsIndex]) -> tuple[int, ...]:
    """
    Give a shape as the items along each dimension.

    Args:
        shape: These, or the items of an array with one dimension.

    Raises:
        UsageError: It is no shape, has a negative length, or too many dimensions.
    """
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


def dtype_of(numpy: Any, dtype: "DTypeLike") -> "np.dtype[Any]":  # noqa: ANN401 - a module
    """
    Give a type of items as NumPy has it.

    Args:
        numpy: The module.
        dtype: A type, or what NumPy makes one of.

    Raises:
        UsageError: NumPy makes none of it.
    """
    try:
        found: np.dtype[Any] = numpy.dtype(dtype)
    except (TypeError, ValueError, SyntaxError) as error:
        raise UsageError(f"not a type of items: {error}") from None
    return found


def require_addressable(lengths: Sequence[int], item_bytes: int) -> None:
    """
    Refuse a shape that no memory holds.

    Raises:
        UsageError: It has more than 2**63 - 1 bytes. A length of 0 counts as 1: it leaves the
            strides of the other dimensions.
    """
    size_bytes = item_bytes
    for length in lengths:
        size_bytes *= max(1, length)
    if size_bytes > MAX_BYTES:
        raise UsageError(f"no memory holds the shape {reprlib.repr(tuple(lengths))}")
