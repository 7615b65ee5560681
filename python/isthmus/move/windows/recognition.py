"""Recognises the memory for a window: an array, by either interface, or a pointer."""

import operator
from dataclasses import dataclass, replace

from isthmus import _native
from isthmus.errors import UsageError
from isthmus.move.arrays.array import Array, Place
from isthmus.move.arrays.layout import is_c_contiguous
from isthmus.move.arrays.pointers import DevicePointer


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


_END_OF_ADDRESSES = 1 << 64
_WHAT_IS_NEEDED = (
    "pass a GPU array (PyTorch, CuPy, JAX, Numba, RMM: DLPack or __cuda_array_interface__), "
    "or a device pointer and a size"
)
# Why the window is refused, for the kinds of memory that are confused with a GPU's own.
_NOT_ON_A_GPU = {
    Place.HOST: "is in the CPU's memory: nothing needs to be mapped",
    Place.PINNED: "is in pinned host memory: the CPU can access it already",
    Place.MANAGED: "is in managed memory, which moves: the CPU can access it already",
}


def device_bytes_of(
    memory: object, size: int | None, reader: _native.ArrayReader, *, ordered: bool
) -> DeviceBytes:
    """
    Find the bytes of GPU memory that an array, a `DevicePointer` or an integer means: `size` from
    the start, which an integer needs, by default all; `ordered` finds also the pending work on it.
    """
    if isinstance(memory, bool):
        raise UsageError("a window can't be opened on a 'bool'", hint=_WHAT_IS_NEEDED)
    if isinstance(memory, DevicePointer):
        return _first(DeviceBytes(pointer=memory.pointer, size_bytes=memory.nbytes), size)
    if hasattr(memory, "__dlpack__") or hasattr(memory, "__cuda_array_interface__"):
        array = reader.read(memory, ordered=ordered)
        _require_gpu(array.place, memory)
        return _first(device_bytes(array), size)
    return _at_pointer(memory, size)


def _require_gpu(place: Place, memory: object) -> None:
    """Refuse other memory."""
    if place in _NOT_ON_A_GPU:
        raise UsageError(
            f"this {type(memory).__name__} {_NOT_ON_A_GPU[place]}",
            hint="windows are for memory of an NVIDIA GPU",
        )


def _first(found: DeviceBytes, size: int | None) -> DeviceBytes:
    """Narrow a range to its first bytes."""
    if size is None:
        return found
    if not 0 <= size <= found.size_bytes:
        raise UsageError(f"a size of {size} bytes was given; the array has {found.size_bytes}")
    return replace(found, size_bytes=size)


def _at_pointer(memory: object, size: int | None) -> DeviceBytes:
    try:
        pointer = operator.index(memory)  # type: ignore[arg-type]
    except TypeError:
        raise UsageError(
            f"a window can't be opened on a '{type(memory).__name__}'", hint=_WHAT_IS_NEEDED
        ) from None
    if size is None:
        raise UsageError("a window on a pointer needs a size, in bytes")
    if not (0 <= pointer < _END_OF_ADDRESSES and 0 <= size < _END_OF_ADDRESSES):
        raise UsageError(f"pointer {pointer} and size {size}: both must fit 64 bits, unsigned")
    return DeviceBytes(pointer=pointer, size_bytes=size)
