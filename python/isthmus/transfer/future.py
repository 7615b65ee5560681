"""Running copies. The native module keeps what they need until they have ended."""

import atexit
from collections.abc import Generator

from isthmus import _native
from isthmus.errors import Error

# How long the interpreter's exit waits for copies: longer than any takes, but a stream may wait for
# something that never happens.
_PATIENCE_SECONDS = 10

_FIRST_PAUSE_SECONDS = 50e-6
_LONGEST_PAUSE_SECONDS = 10e-3


class CopyFuture:
    """
    A running copy. Both arrays are kept until the copy has ended, even if this is dropped.

    Can be awaited: `await isthmus.copy_async(target, source)`.
    """

    __slots__ = ("__weakref__", "_pending")

    def __init__(self, pending: _native.CopyFuture | None) -> None:
        """Wrap a copy; None is one that is complete."""
        self._pending = pending

    def done(self) -> bool:
        """Return whether the copy is complete, or has failed."""
        return self._pending is None or self._pending.ready()

    def result(self, timeout: float | None = None) -> None:
        """
        Wait until the copy is complete.

        Args:
            timeout: In seconds; None waits without limit.

        Raises:
            TimeoutError: It isn't complete by then, and continues.
            DriverError: It failed; the message says which bytes of the target are undefined. If
                `memory_in_use` is true, the driver can't say whether the copy has ended: both
                arrays are kept until the process ends.
        """
        if self._pending is not None and not self._pending.wait(timeout):
            raise TimeoutError(f"the copy is not complete after {timeout} s")

    def exception(self, timeout: float | None = None) -> Exception | None:
        """
        Wait until the copy is complete, and return its error.

        Args:
            timeout: In seconds; None waits without limit.

        Raises:
            TimeoutError: It isn't complete by then, and continues.
        """
        try:
            self.result(timeout)
        except Error as failure:
            return failure
        return None

    def __await__(self) -> Generator[object, None, None]:
        """Wait while the event loop continues."""
        return self._until_done().__await__()

    async def _until_done(self) -> None:
        """Poll: this needs no thread, and cancelling it ends nothing else."""
        import asyncio

        pause = _FIRST_PAUSE_SECONDS
        while not self.done():
            await asyncio.sleep(pause)
            pause = min(pause * 1.25, _LONGEST_PAUSE_SECONDS)
        self.result()


@atexit.register
def _end() -> None:
    """Wait for running copies while the interpreter still runs."""
    _native.end_copies(_PATIENCE_SECONDS)
