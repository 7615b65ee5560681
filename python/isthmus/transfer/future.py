"""Copies under way, and who keeps their arrays until they are complete."""

from collections.abc import Generator
from typing import Protocol

from isthmus.errors import Error, UsageError
from isthmus.transfer.keeper import keep_until_complete, prepare_to_keep


class Pending(Protocol):
    """What a future asks."""

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Return True when it is complete, False when the time is up."""

    def ready(self) -> bool:
        """Tell whether `wait` would not wait."""


class CopyFuture:
    """
    A copy under way. It keeps both arrays until the copy is complete, also when it is dropped.

    Can be awaited: `await isthmus.copy_async(target, source)`.
    """

    __slots__ = ("__weakref__", "_kept", "_pending")

    def __init__(self, pending: Pending, kept: object) -> None:
        """Keep what the copy needs."""
        self._pending = pending
        self._kept = kept
        if not pending.ready():
            prepare_to_keep()

    def done(self) -> bool:
        """Tell whether the copy is complete, or has failed."""
        if not self._pending.ready():
            return False
        self._kept = None
        return True

    def result(self, timeout: float | None = None) -> None:
        """
        Wait until the copy is complete.

        Args:
            timeout: In seconds; None waits as long as it takes.

        Raises:
            TimeoutError: It isn't complete by then; it goes on.
            DriverError: It failed; the message says which bytes of the target are undefined.
        """
        if not self._pending.wait(timeout):
            raise TimeoutError(f"the copy is not complete after {timeout} s")
        self._kept = None

    def exception(self, timeout: float | None = None) -> Exception | None:
        """
        Wait until the copy is complete, and give what it failed with.

        Args:
            timeout: In seconds; None waits as long as it takes.

        Raises:
            TimeoutError: It isn't complete by then; it goes on.
        """
        try:
            self.result(timeout)
        except Error as failure:
            self._kept = None
            return failure
        return None

    def __await__(self) -> Generator[object, None, None]:
        """Wait in a thread of the event loop's, unless the copy is complete."""
        if not self.done():
            import asyncio

            loop = asyncio.get_running_loop()
            yield from loop.run_in_executor(None, self._pending.wait).__await__()
        self.result()

    def __del__(self) -> None:
        """Leave the arrays to a thread, if the copy still needs them."""
        if self._kept is None:
            return
        try:
            if not self._pending.ready():
                keep_until_complete(self._pending, self._kept)
        except UsageError:  # it is a parent process's copy, and its business
            return
