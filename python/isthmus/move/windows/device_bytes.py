"""The bytes of GPU memory on which a window is opened."""

from dataclasses import dataclass

from isthmus.errors import UsageError
from isthmus.move.arrays.array import Array
from isthmus.move.arrays.layout import is_c_contiguous


@dataclass(frozen=True, kw_only=True)
class DeviceBytes:
    """
    A range of GPU memory that an object offered.

    Attributes:
        owner: Keeps the memory alive while it is kept itself; None if nothing does.
        pending_stream: A CUstream whose work must be complete before the CPU touches the bytes;
            None if there is nothing to wait for.
        pending_device: The device of that stream; None if it must be derived from the pointer.
    """

    pointer: int
    size_bytes: int
    read_only: bool = False
    owner: object = None
    pending_stream: int | None = None
    pending_device: int | None = None


def device_bytes(array: Array) -> DeviceBytes:
    """Give the bytes of an array without gaps."""
    shape = array.shape or ()
    if not is_c_contiguous(shape, array.strides, array.item_bits // 8):
        raise UsageError(
            f"this {array.what} of shape {shape} is not contiguous (strides {array.strides})",
            hint="open the window on the whole array, or on a part that has no gaps: "
            "a contiguous copy is different memory, and writes to it would not arrive here",
        )
    return DeviceBytes(
        pointer=array.pointer,
        size_bytes=array.size_bytes,
        read_only=array.read_only,
        owner=array.owner,
        pending_stream=array.stream,
        pending_device=array.device,
    )
