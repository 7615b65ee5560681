"""Reads an iterator ahead of its use, in a thread."""

import os
import queue
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any

# How long leaving a loop, and the process's end, wait for a source that is just giving an item.
_TIMEOUT_SECONDS = 5


@dataclass(frozen=True, slots=True)
class Failure:
    """Comes in the place of an item: what the source or the preparation raised."""

    error: BaseException


END = object()
"""Comes after the last item."""


class NothingYet(Exception):
    """The source has not given its next item yet."""


def _nothing() -> None:
    pass


def _no(_: object) -> bool:
    return False


class _Thread:
    """
    The thread of one iteration, and what it shares with the consumer. It knows nothing of the Ahead
    that started it: that is collected when nobody uses it any more. Stopping it closes the source:
    the thread does so if it is still reading.
    """

    def __init__(
        self,
        source: Iterator[Any],
        prepare: Callable[[Any], Any],
        clear: Callable[[], None],
        is_lent: Callable[[Any], bool],
        depth: int,
        name: str,
    ) -> None:
        self._source = source
        self._prepare = prepare
        self._clear = clear
        self._is_lent = is_lent
        self._process = os.getpid()
        self._depth = depth
        self._free = threading.Semaphore(depth)
        self._taken_is_lent = False
        self._ready: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._stopped = False
        self._reading = True
        self._closing = threading.Lock()  # held from the closing of the source on
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def take(self, *, wait: bool) -> Any:  # noqa: ANN401
        if self._taken_is_lent:
            self._taken_is_lent = False
            self._free.release(self._depth)
        try:
            taken, self._taken_is_lent = self._ready.get(block=wait)
        except queue.Empty:
            raise NothingYet from None
        if not self._taken_is_lent:
            self._free.release()
        return taken

    def stop(self, timeout: float | None = None) -> None:
        """
        End the thread, as soon as the source has given the item that it is working on, and wait for
        that, without a timeout until it has ended.
        """
        if os.getpid() != self._process:
            return  # a fork has no such thread, and somebody may hold its locks for ever
        self._stopped = True
        self._free.release(self._depth)
        # The thread may be this one: a garbage collection can happen anywhere.
        if self._thread is not threading.current_thread():
            self._thread.join(timeout)
            if not self._thread.is_alive():
                self._drop_items()
        if not self._reading:
            self._close_source()

    def _run(self) -> None:
        last: Any = None
        while last is None:
            self._free.acquire()
            last = END if self._stopped else self._put_next()
        self._ready.put((last, False))
        # An error holds this frame, and must not be held by it.
        del last
        # Before it asks whether it was stopped, so that either of the two closes the source.
        self._reading = False
        if self._stopped:
            self._close_source()

    def _drop_items(self) -> None:
        while not self._ready.empty():  # the items are destroyed here
            self._ready.get()

    def _close_source(self) -> None:
        close = getattr(self._source, "close", None)
        if close is not None and self._closing.acquire(blocking=False):
            close()

    def _put_next(self) -> Any:  # noqa: ANN401
        """Return None, or what ends this thread."""
        try:
            self._clear()
            item = self._prepare(next(self._source))
        except StopIteration:
            return END
        except BaseException as error:  # noqa: BLE001 - the consumer gets it
            return Failure(error)
        is_lent = self._is_lent(item)
        self._ready.put((item, is_lent))
        del item  # the consumer alone decides how long it lives
        if is_lent:
            # All places but its own, which is given back with them when the next one is asked for.
            for _ in range(self._depth - 1):
                self._free.acquire()
        return None


class Ahead:
    """
    Reads an iterator a few items ahead. An error of the source comes where its item would have
    been; the items before it come first. If the source can go on after an error, so can this.
    """

    def __init__(
        self,
        source: Iterator[Any],
        prepare: Callable[[Any], Any],
        *,
        depth: int,
        name: str = "isthmus-ahead",
        clear: Callable[[], None] = _nothing,
        is_lent: Callable[[Any], bool] = _no,
    ) -> None:
        """
        Begin to read; the thread alone uses `source` from now on, and calls `prepare` for each item
        and `clear` before it asks for one. If what was prepared `is_lent`, the source may change it
        when it is asked for the next item, which then happens when the consumer asks for the next
        one.
        """
        self._source = source
        self._prepare = prepare
        self._depth = depth
        self._name = name
        self._clear = clear
        self._is_lent = is_lent
        self._ended = False
        self._failed = False
        self._finalizer: Any = None
        self._thread = self._start()

    def take(self, *, wait: bool) -> Any:  # noqa: ANN401
        """
        Give the next item, or the Failure in its place, or END; raises NothingYet if there is none
        and it wasn't to wait.
        """
        if self._ended:
            return END
        if self._failed:
            self._thread = self._start()
        taken = self._thread.take(wait=wait)
        self._failed = isinstance(taken, Failure)
        if taken is END:
            self.close()
        return taken

    def close(self) -> None:
        """
        Stop reading, drop the items that are ready, and wait until the thread has ended and the
        source is closed.
        """
        if not self._ended:
            self._ended = True
            self._finalizer.detach()
            self._thread.stop()

    def _start(self) -> _Thread:
        thread = _Thread(
            self._source, self._prepare, self._clear, self._is_lent, self._depth, self._name
        )
        if self._finalizer is not None:
            self._finalizer.detach()
        # Also at the end of the process, while the source's libraries still work.
        self._finalizer = weakref.finalize(self, thread.stop, _TIMEOUT_SECONDS)
        self._failed = False
        return thread
