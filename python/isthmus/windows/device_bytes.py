"""Which bytes of GPU memory an object means."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

from isthmus.errors import UsageError

_BITS_PER_BYTE = 8


@dataclass(frozen=True, kw_only=True)
class DeviceBytes:
    """
    A range of GPU memory that an object offered.

    Attributes:
        pointer: Its device address.
        size_bytes: All that the object has.
        read_only: The object forbids writing.
        owner: Keeps the memory alive as long as it is kept itself; None if nothing does.
        pending_stream: A CUstream whose work must be complete before the CPU touches the bytes;
            None if there is nothing to wait for.
        pending_device: The device of that stream; None if it has to be asked for by the pointer.
    """

    pointer: int
    size_bytes: int
    read_only: bool = False
    owner: object = None
    pending_stream: int | None = None
    pending_device: int | None = None


def array_size_bytes(shape: Sequence[int], item_bits: int) -> int:
    """Count the bytes of an array without gaps."""
    return -(-math.prod(shape) * item_bits // _BITS_PER_BYTE)


def require_contiguous(
    shape: Sequence[int], strides: Sequence[int] | None, item_size: int, what: str
) -> None:
    """
    Refuse an array whose items don't follow each other in C order.

    Args:
        shape: Items along each dimension.
        strides: In the unit of `item_size`; None is C order.
        item_size: The stride between neighbours: 1 for strides in items, else bytes.
        what: The array's type, for the message.

    Raises:
        UsageError: It isn't contiguous.
    """
    if strides is None or 0 in shape:
        return
    expected = item_size
    for length, stride in zip(reversed(shape), reversed(strides), strict=True):
        # Of a dimension of one item nobody takes the stride.
        if length != 1 and stride != expected:
            raise UsageError(
                f"this {what} of shape {tuple(shape)} is not contiguous (strides {tuple(strides)})",
                hint="open the window on the whole array, or on a part that has no gaps: "
                "a contiguous copy is other memory, and writes to it would not arrive here",
            )
        expected *= length
