"""Which stream a caller means, and in which one an array's library works now."""

import sys
from collections.abc import Callable
from types import ModuleType

from isthmus.errors import UsageError
from isthmus.move.arrays.loaded import loaded_type
from isthmus.move.arrays.pointers import checked_number


def stream_handle(stream: object) -> int:
    """
    Give the CUstream that an object means: an integer, or whatever has `__cuda_stream__`,
    `.cuda_stream` or `.ptr`.
    """
    told = getattr(stream, "__cuda_stream__", None)
    if told is not None:
        version, handle = told() if callable(told) else told
        if version != 0:
            raise UsageError(f"this {type(stream).__name__} has __cuda_stream__ version {version}")
        return checked_number("a stream", handle)
    for name in ("cuda_stream", "ptr"):
        handle = getattr(stream, name, None)
        if handle is not None:
            return checked_number("a stream", handle)
    return checked_number("a stream", stream)


def current_stream_of(library: str) -> Callable[[int], int]:
    """
    Give a function from a device to the stream in which a loaded library, "torch" or "cupy",
    launches its work there now.
    """
    cuda = sys.modules[library].cuda
    if library == "torch":
        return lambda device: int(cuda.current_stream(device).cuda_stream)
    return lambda device: int(cuda.get_current_stream(device).ptr)


def library_of(array: object) -> ModuleType | None:
    """Give PyTorch or CuPy, if it is loaded and the array is its own."""
    for library, name in (("torch", "Tensor"), ("cupy", "ndarray")):
        kind = loaded_type(library, name)
        if kind is not None and isinstance(array, kind):
            return sys.modules[library]
    return None
