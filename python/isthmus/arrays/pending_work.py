"""Waits until what an array's library has launched on the array is complete."""

from collections.abc import Iterator
from contextlib import contextmanager

from isthmus import _native


class PendingWork:
    """A driver's devices, made current for libraries that export, and waited for. Thread-safe."""

    def __init__(self, driver: _native.Driver) -> None:
        """Retain nothing yet: a device's context is retained when it is first needed."""
        self._driver = driver
        self._contexts: dict[int, _native.Context] = {}
        self._streams: dict[int, _native.Stream] = {}

    def own_stream(self, device: int) -> int:
        """Give a stream of a device for a library to order its work before."""
        if device not in self._streams:
            # Of two threads that come first, the second must not end the stream of the other.
            self._streams.setdefault(device, _native.Stream(self._context(device)))
        return self._streams[device].handle

    @contextmanager
    def told(self, device: int) -> Iterator[int]:
        """Make a device current; give a stream for a library to order its work before."""
        with self._context(device):
            yield self.own_stream(device)

    @contextmanager
    def untold(self, device: int) -> Iterator[None]:
        """Make a device current, without a stream: the library isn't to order anything."""
        with self._context(device):
            yield

    def wait(self, stream: int, device: int | None, pointer: int) -> None:
        """
        Return when a stream's work is complete.

        Args:
            stream: A CUstream.
            device: The stream's; None if it has to be asked for by the pointer.
            pointer: Memory of the stream's device.
        """
        if device is None:
            device = _native.pointer_device(self._driver, pointer)
        if device is not None:
            _native.synchronize_stream(self._context(device), stream)

    def _context(self, device: int) -> _native.Context:
        if device not in self._contexts:
            self._contexts.setdefault(device, _native.Context(self._driver, device))
        return self._contexts[device]
