"""
Streams and the work in them: which one a caller or an array's library means, and how arrays are
exported once what was launched on them is complete.
"""

import sys
from collections.abc import Callable
from types import ModuleType
from typing import Any

from isthmus import _native
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
        try:
            version, handle = told() if callable(told) else told
        except (TypeError, ValueError):
            raise UsageError(
                f"__cuda_stream__ of this {type(stream).__name__} isn't (version, handle)"
            ) from None
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


_DLPACK_VERSION = (1, 1)


class PendingWork:
    """The work on one driver's devices. Thread-safe."""

    def __init__(self, driver: _native.Driver) -> None:
        """Retain nothing yet: a device's context is retained when it is first needed."""
        self._driver = driver
        self._contexts: dict[int, _native.Context] = {}
        self._streams: dict[int, _native.Stream] = {}

    def own_stream(self, device: int) -> int:
        """Give a stream of a device for a library to order its work before."""
        if device not in self._streams:
            # Of two threads that come first, the second must not end the stream of the other.
            self._streams.setdefault(device, _native.Stream(self.context(device)))
        return self._streams[device].handle

    def export(self, array: object, device: int | None, stream: int | None) -> object:
        """
        Let a library export an array by DLPack, its pending work ordered before `stream` (-1 or
        None: none). The array's device (None: the host) is current meanwhile, which PyTorch
        demands.
        """
        tensor: Any = array
        library = library_of(array)
        # Only as a source: a target that needs a gradient was refused before.
        if library is not None and library.__name__ == "torch" and tensor.requires_grad:
            tensor = tensor.detach()
        if device is None:
            return _capsule(tensor, stream)
        with self.context(device):
            return _capsule(tensor, stream)

    def wait(self, stream: int, device: int | None, pointer: int) -> None:
        """Return when a CUstream's work is complete; None is the device of `pointer`."""
        if device is None:
            device = _native.pointer_device(self._driver, pointer)
        if device is not None:
            _native.synchronize_stream(self.context(device), stream)

    def context(self, device: int) -> _native.Context:
        """Give a device's context, retained as long as this object lives."""
        if device not in self._contexts:
            self._contexts.setdefault(device, _native.Context(self._driver, device))
        return self._contexts[device]


def _capsule(array: Any, stream: int | None) -> object:  # noqa: ANN401 - of any library
    """Ask for a capsule. Source: Python array API standard 2024.12, `__dlpack__`."""
    try:
        return array.__dlpack__(stream=stream, max_version=_DLPACK_VERSION)
    except TypeError:  # from before DLPack 1
        return array.__dlpack__(stream=stream)
