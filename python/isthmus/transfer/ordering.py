"""Chooses the stream of a copy, and orders it after other streams' work on the arrays."""

from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from functools import partial

from isthmus.arrays.array import Array
from isthmus.arrays.pending_work import PendingWork
from isthmus.arrays.streams import current_stream, stream_handle

_LEGACY_DEFAULT = 0
_LEGACY_DEFAULT_TO_DLPACK = 1


class Ordering:
    """
    The order of one copy relative to the work of the arrays' libraries.

    If the caller names a stream, only that counts, as in the libraries themselves; but a library
    without a current stream (JAX) still orders its work before it. Otherwise the copy is made in
    the current stream of the target's library, or of the source's, and comes after the other
    library's pending work.
    """

    def __init__(
        self, pending: PendingWork, target: object, source: object, stream: object
    ) -> None:
        """Choose a stream, as far as the arrays' libraries have a current one."""
        self._pending = pending
        self._named = stream is not None
        self._stream = stream_handle(stream) if self._named else None
        self._device: int | None = None
        if self._named:
            return
        found = current_stream(target) or current_stream(source)
        if found is not None:
            self._device, self._stream = found

    @property
    def stream(self) -> int:
        """The CUstream of the copy, once both arrays have been recognised."""
        return _LEGACY_DEFAULT if self._stream is None else self._stream

    def exporting(self, array: object) -> Callable[[int], AbstractContextManager[int | None]]:
        """Give what `array_of` needs to have an array exported by DLPack."""
        return partial(self._export, array)

    @contextmanager
    def _export(self, array: object, device: int) -> Iterator[int | None]:
        with self._pending.untold(device):
            yield self._stream_to_tell(array, device)

    def include(self, array: Array) -> None:
        """Take account of a stream that an array itself has named."""
        if self._named or array.stream is None:
            return
        if self._stream is None:
            self._stream = array.stream
        elif array.stream not in {self._stream, _to_dlpack(self._stream)}:
            self._pending.wait(array.stream, array.device, array.pointer)

    def _stream_to_tell(self, array: object, device: int) -> int | None:
        """Give the stream before which a library orders its pending work, if any."""
        current = current_stream(array)
        if current is None:
            if self._stream is None:
                self._stream = self._pending.own_stream(device)
            return _to_dlpack(self._stream)
        if self._named or current == (self._device, self._stream):
            return None
        if device == self._device and self._stream is not None:
            return _to_dlpack(self._stream)
        self._pending.wait(current[1], device, 0)
        return None


def _to_dlpack(stream: int) -> int:
    """DLPack forbids 0, which could mean either default stream."""
    return stream or _LEGACY_DEFAULT_TO_DLPACK
