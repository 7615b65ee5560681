"""Which stream a caller means, and in which one an array's library works now."""

import sys
from types import ModuleType

from isthmus.arrays.dlpack import dlpack_device
from isthmus.arrays.loaded import loaded_type
from isthmus.arrays.pointers import checked_number
from isthmus.errors import UsageError

_CUDA, _CUDA_MANAGED = 2, 13


def stream_handle(stream: object) -> int:
    """
    Give the CUstream that an object means.

    Args:
        stream: A handle, or a stream of PyTorch, CuPy, cuda.core, Numba: whatever has
            `__cuda_stream__`, `.cuda_stream`, `.ptr`, or is an integer.

    Raises:
        UsageError: It is none of these.
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


def current_stream(array: object) -> tuple[int, int] | None:
    """
    Give the device of an array, and the stream that its library launches in there now.

    Returns:
        None if the array isn't on a device, or its library (JAX, for instance) has no such stream.
    """
    library = library_of(array)
    if library is None:
        return None
    kind, device = dlpack_device(array)  # type: ignore[arg-type]  # both libraries have DLPack
    if kind not in {_CUDA, _CUDA_MANAGED}:
        return None
    if library.__name__ == "torch":
        return device, int(library.cuda.current_stream(device).cuda_stream)
    return device, int(library.cuda.get_current_stream(device).ptr)


def library_of(array: object) -> ModuleType | None:
    """Give PyTorch or CuPy, if it is loaded and the array is its own."""
    for library, name in (("torch", "Tensor"), ("cupy", "ndarray")):
        kind = loaded_type(library, name)
        if kind is not None and isinstance(array, kind):
            return sys.modules[library]
    return None
