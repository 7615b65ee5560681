"""The end of a copy, as other libraries' streams see it."""

from typing import TYPE_CHECKING

from isthmus import _native
from isthmus.errors import Unavailable
from isthmus.move.arrays.streams import stream_handle

if TYPE_CHECKING:
    from isthmus.move.arrays.accepted import StreamLike


class CopyEvent:
    """
    The end of a copy that its stream orders.

    `isthmus.copy_async(...).event` makes it. It keeps the CUevent, not the arrays.
    """

    __slots__ = ("_pending",)

    def __init__(self, pending: _native.CopyFuture | None) -> None:
        """
        Wrap a copy; None is one that is complete.

        Raises:
            Unavailable: A thread makes the copy.
        """
        self._pending = pending
        if pending is not None and not pending.ordered():
            raise Unavailable(
                capability="an event for this copy",
                reason="a thread makes it, so no stream knows when it ends",
                needs="result(), or pinned host memory",
            )

    @property
    def handle(self) -> int | None:
        """
        The CUevent, recorded behind the copy; valid as long as this object.

        For calls that take a bare handle, such as CuPy's `runtime.streamWaitEvent`. None if no
        stream has to wait, because the copy is complete, and if the copies of one call are in
        several streams: `wait` takes care of both.
        """
        return None if self._pending is None else self._pending.event() or None

    def wait(self, stream: "StreamLike") -> None:
        """
        Make work that is put into a stream from now on wait for the copy. Returns at once.

        Args:
            stream: A CUstream of any device, or a stream of PyTorch, CuPy, Numba, cuda.core:
                whatever has `__cuda_stream__`, `.cuda_stream` or `.ptr`.

        Raises:
            UsageError: It is no stream.
            DriverError: The driver refuses it.
        """
        handle = stream_handle(stream)
        if self._pending is not None:
            self._pending.delay(handle)
