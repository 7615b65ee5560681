"""Running copies. The native module keeps what they need until their end, an event to others."""

import atexit
import contextlib
import math
import reprlib
from collections.abc import Callable, Generator
from concurrent.futures import Future
from typing import TYPE_CHECKING

from isthmus import _native
from isthmus.errors import Error, Unavailable, UsageError
from isthmus.ground.forks import lock_of_process
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


# How long the interpreter's exit waits for copies: longer than any takes, but a stream may wait for
# something that never happens.
_TIMEOUT_SECONDS = 10

# What concurrent.futures reads of a future. A copy's future has them once somebody asks for one:
# making them takes longer than a small copy.
_STATE = {"_condition", "_state", "_waiters", "_done_callbacks", "_result", "_exception"}
_making_state = lock_of_process()


class CopyFuture(Future[None]):
    """
    A running copy. All its arrays are kept until the copy has ended, even if this is dropped.

    It is a `concurrent.futures.Future`: `as_completed`, `wait` and `asyncio.wrap_future` take it.
    It can also be awaited: `await isthmus.copy_async(target, source)`. Awaiting and callbacks need
    no thread of an executor: one thread of the native module watches all copies.
    Cancelling the await leaves the copy as it is; cancelling what `wrap_future` gave also calls
    `cancel`.
    """

    __slots__ = ("_pending",)

    def __init__(self, pending: _native.CopyFuture | None) -> None:
        """Wrap a copy; None is one that is complete."""
        # Not the base's: see _STATE.
        self._pending = pending

    if not TYPE_CHECKING:  # so that type checkers find typos

        def __getattr__(self, name: str) -> object:
            """Make the base's state when it is first needed."""
            if name not in _STATE:
                raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r}")
            self._follow()
            return self.__dict__[name]

    def _follow(self) -> None:
        """Let the base's state follow the copy from now on."""
        with _making_state:
            if "_condition" in self.__dict__:
                return
            super().__init__()
        if self.done():
            self._end()
            return
        assert self._pending is not None, "it isn't complete"  # noqa: S101
        try:
            self._pending.notify(self._end)
        except Error:
            for name in _STATE:
                self.__dict__.pop(name, None)
            raise

    def _end(self) -> None:
        """Give the base the result; it calls the callbacks, and logs those that raise."""
        if self.cancelled():
            super().cancel()
            self.set_running_or_notify_cancel()
            return
        try:
            self.result()
        except BaseException as failure:  # noqa: BLE001 - result() raises it
            self.set_exception(failure)
        else:
            self.set_result(None)

    def __repr__(self) -> str:
        """Say how far the copy is, without making the base's state."""
        try:
            state = "cancelled" if self.cancelled() else "ended" if self.done() else "running"
        except UsageError:
            state = "of the process that this one was forked from"
        return f"<{type(self).__name__} at {id(self):#x} {state}>"

    def done(self) -> bool:
        """Return whether the copy is complete, or has failed, or was cancelled."""
        return self._pending is None or self._pending.ready()

    def running(self) -> bool:
        """Return whether the copy has neither ended nor been cancelled."""
        return not self.done()

    def cancelled(self) -> bool:
        """Return whether the copy was cancelled before it began."""
        return self._pending is not None and self._pending.cancelled()

    def cancel(self) -> bool:
        """
        Take the copy back if it hasn't begun: nothing is copied then.

        Most copies begin at once. One that a thread makes begins after the work that was in its
        stream.

        Returns:
            False if it has begun, or has ended. It goes on, and nothing is lost. True once it was
            cancelled and its callbacks have been called.
        """
        if self._pending is None:
            return False
        return self._pending.cancel() or self._pending.cancelled()

    def result(self, timeout: float | None = None) -> None:
        """
        Wait until the copy is complete.

        Args:
            timeout: In seconds; None waits without limit.

        Raises:
            TimeoutError: It isn't complete by then, and continues.
            UsageError: The timeout isn't a number of seconds.
            DriverError: It failed; the message says which bytes of the target are undefined. If
                `memory_in_use` is true, the driver can't say whether the copy has ended: both
                arrays are kept until the process ends.
            CancelledError: It was cancelled before it began.
        """
        if timeout is not None:
            _require_seconds(timeout)
        if self._pending is not None and not self._pending.wait(timeout):
            raise TimeoutError(f"the copy is not complete after {timeout} s")

    def exception(self, timeout: float | None = None) -> Exception | None:
        """
        Wait until the copy is complete, and return its error.

        Args:
            timeout: In seconds; None waits without limit.

        Raises:
            TimeoutError: It isn't complete by then, and continues.
            UsageError: The timeout isn't a number of seconds.
            CancelledError: It was cancelled before it began.
        """
        if timeout is not None:
            _require_seconds(timeout)  # result()'s refusal of it would pass for the copy's error
        try:
            self.result(timeout)
        except Error as failure:
            return failure
        return None

    def add_done_callback(self, fn: Callable[["CopyFuture"], object]) -> None:
        """
        Have a function called once the copy has ended, or at once if it has.

        Args:
            fn: Gets this future. It is called by whichever thread notices the end; callbacks are
                called one after the other. What it raises is logged, as `concurrent.futures` does.

        Raises:
            Unavailable: The system has no thread that would notice the end.
        """
        super().add_done_callback(fn)  # type: ignore[arg-type]  # the base says Future

    @property
    def event(self) -> CopyEvent:
        """
        The copy's end, for a stream of any library to wait on.

        Raises:
            Unavailable: A thread makes the copy, so that no stream knows when it ends.
        """
        return CopyEvent(self._pending)

    def __await__(self) -> Generator[object, None, None]:
        """Wait while the event loop continues. Cancelling the wait leaves the copy as it is."""
        return self._until_done().__await__()

    async def _until_done(self) -> None:
        import asyncio

        if not self.done():
            loop = asyncio.get_running_loop()
            ended = loop.create_future()

            def tell(_: object) -> None:
                if not ended.done():
                    ended.set_result(None)

            def wake(_: object) -> None:
                with contextlib.suppress(RuntimeError):  # the loop was closed: nobody waits
                    loop.call_soon_threadsafe(tell, None)

            self.add_done_callback(wake)
            await ended
        self.result()


def _require_seconds(timeout: object) -> None:
    try:
        is_number = not math.isnan(timeout)  # type: ignore[arg-type] # or its TypeError
    except (TypeError, ValueError, OverflowError):
        is_number = False
    if not is_number:
        raise UsageError(
            f"a timeout must be a number of seconds, not {reprlib.repr(timeout)}",
            hint="pass seconds, or None to wait without limit",
        )


@atexit.register
def _end() -> None:
    """Wait for running copies while the interpreter still runs."""
    _native.end_copies(_TIMEOUT_SECONDS)
