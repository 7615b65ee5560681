"""Exports arrays, and waits until what their libraries have launched on them is complete."""

from typing import Any

from isthmus import _native
from isthmus.move.arrays.streams import library_of

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
