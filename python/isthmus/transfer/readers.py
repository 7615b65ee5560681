"""Tells the native module which types of arrays it can read by itself, and how."""

import array
import mmap
import sys

from isthmus import _native
from isthmus.arrays.loaded import loaded_type
from isthmus.arrays.pointers import DevicePointer, HostPointer

_BUFFERS = {bytearray, memoryview, mmap.mmap, array.array, _native.PinnedBlock}
_EXCHANGE = "__dlpack_c_exchange_api__"


def reader_of(kind: type) -> tuple[str, object] | None:
    """
    Name the way to read arrays of a type.

    Args:
        kind: The type itself; nothing is known of subclasses.

    Returns:
        The way, and what it needs; None if isthmus.arrays has to look at each array.
    """
    if kind in _BUFFERS:
        return "buffer", None
    if issubclass(kind, DevicePointer | HostPointer):
        return "pointer", issubclass(kind, DevicePointer)
    return _of_numpy(kind) or _of_torch(kind) or _of_cupy(kind) or _of_others(kind)


def _of_numpy(kind: type) -> tuple[str, object] | None:
    known = kind in {loaded_type("numpy", "ndarray"), loaded_type("numpy", "memmap")}
    return ("numpy", None) if known else None


def _of_torch(kind: type) -> tuple[str, object] | None:
    if kind not in {loaded_type("torch", "Tensor"), loaded_type("torch", "nn.Parameter")}:
        return None
    exchange = getattr(kind, _EXCHANGE, None)  # from PyTorch 2.10 on
    return None if exchange is None else ("torch", exchange)


def _of_cupy(kind: type) -> tuple[str, object] | None:
    if kind is not loaded_type("cupy", "ndarray"):
        return None
    return "cupy", sys.modules["cupy"].cuda.get_current_stream


def _of_others(kind: type) -> tuple[str, object] | None:
    """For instance Numba's arrays and RMM's buffers."""
    known = hasattr(kind, "__cuda_array_interface__") and not hasattr(kind, "__dlpack__")
    return ("cuda_interface", None) if known else None
