"""Reads an iterator ahead of its use, in a thread."""

import queue
import threading
import weakref
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Generic, TypeVar

Item = TypeVar("Item")

# How long leaving a loop, and the process's end, wait for a source that is just giving an item.
_PATIENCE_SECONDS = 5


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


class _Thread:
    """
    The thread of one iteration, and what it shares with the consumer.

    It knows nothing of the Ahead that started it: that is collected when nobody uses it any more.
    Stopping it closes the source: the thread does so if it is still reading.
    """

    def __init__(
        self,
        source: Iterator[Any],
        prepare: Callable[[Any], Any],
        clear: Callable[[], None],
        depth: int,
        name: str,
    ) -> None:
        self._source = source
        self._prepare = prepare
        self._clear = clear
        self._free = threading.Semaphore(depth)
        self._ready: queue.SimpleQueue[Any] = queue.SimpleQueue()
        self._stopped = False
        self._reading = True
        self._closing = threading.Lock()  # held from the closing of the source on
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)
        self._thread.start()

    def take(self, *, wait: bool) -> Any:  # noqa: ANN401
        try:
            taken = self._ready.get(block=wait)
        except queue.Empty:
            raise NothingYet from None
        self._free.release()
        return taken

    def stop(self, timeout: float | None = None) -> None:
        """
        End the thread, as soon as the source has given the item that it is working on.

        Args:
            timeout: How many seconds to wait for that; None waits until the thread has ended.
        """
        self._stopped = True
        self._free.release()
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
        self._ready.put(last)
        # An error holds this frame, and must not be held by it: see Ahead.__next__.
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
            self._ready.put(self._prepare(next(self._source)))
        except StopIteration:
            return END
        except BaseException as error:  # noqa: BLE001 - the consumer gets it
            return Failure(error)
        return None


class Ahead(Generic[Item]):
    """
    An iterator over what another one gives, a few items ahead.

    An error of the source is raised where its item would have been; the items before it are given
    first. If the source can go on after an error, so can this.
    """

    def __init__(
        self,
        source: Iterator[Any],
        prepare: Callable[[Any], Item],
        *,
        depth: int,
        name: str = "isthmus-ahead",
        clear: Callable[[], None] = _nothing,
    ) -> None:
        """
        Begin to read.

        Args:
            source: Used by the thread alone from now on.
            prepare: Is called in the thread for each item.
            depth: How many items may be ready, or in preparation, at a time.
            name: The thread's.
            clear: Is called in the thread before it asks for an item.
        """
        self._source = source
        self._prepare = prepare
        self._depth = depth
        self._name = name
        self._clear = clear
        self._ended = False
        self._failed = False
        self._finalizer: Any = None
        self._thread = self._start()

    def __iter__(self) -> "Ahead[Item]":
        """Give itself: it is an iterator."""
        return self

    def __next__(self) -> Item:
        """
        Wait for the next item.

        Raises:
            StopIteration: The source has no more, or this was closed.
            BaseException: What the source or the preparation raised.
        """
        taken = self.take(wait=True)
        if taken is END:
            raise StopIteration
        if isinstance(taken, Failure):
            try:
                raise taken.error
            finally:
                # Else the error would hold itself, and by its frames the consumer's tensors, until
                # the garbage is collected: a process forked by then aborts, as it has no CUDA.
                del taken
        item: Item = taken
        return item

    def take(self, *, wait: bool) -> Any:  # noqa: ANN401
        """
        Give the next item, or the Failure in its place, or END.

        Args:
            wait: Whether to wait for it.

        Raises:
            NothingYet: There is none, and it wasn't to wait.
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
        Stop reading, and wait until the thread has ended and the source is closed.

        Items that are ready are dropped.
        """
        if not self._ended:
            self._ended = True
            self._finalizer.detach()
            self._thread.stop()

    def _start(self) -> _Thread:
        thread = _Thread(self._source, self._prepare, self._clear, self._depth, self._name)
        if self._finalizer is not None:
            self._finalizer.detach()
        # Also at the end of the process, while the source's libraries still work.
        self._finalizer = weakref.finalize(self, thread.stop, _PATIENCE_SECONDS)
        self._failed = False
        return thread
