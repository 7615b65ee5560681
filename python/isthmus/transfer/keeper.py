"""Keeps the arrays of copies whose futures were dropped, until the copies are complete."""

import atexit
import os
import threading
import warnings
from queue import SimpleQueue
from typing import Protocol

from isthmus import _native
from isthmus.errors import Error, IsthmusWarning

# Longer than any copy takes; a stream may wait for what never comes.
_PATIENCE_SECONDS = 10


class _Waiting(Protocol):
    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Return when it is complete."""


class _Keeper:
    """
    A thread that waits for copies, one after the other.

    Futures are dropped anywhere, also by the garbage collector in the middle of other code:
    all that they may do then is to put something into a queue that can be re-entered.
    """

    def __init__(self) -> None:
        self.dropped: SimpleQueue[tuple[_Waiting, object] | None] = SimpleQueue()
        self._waits_for: tuple[_Waiting, object] | None = None
        self._thread = threading.Thread(target=self._run, name="isthmus-copies", daemon=True)
        self._thread.start()

    def end(self) -> None:
        """Wait for all that was dropped so far, within reason; then keep it for good."""
        self.dropped.put(None)
        self._thread.join(_PATIENCE_SECONDS)
        if self._thread.is_alive():
            _native.keep_forever((self._waits_for, self.dropped))

    def _run(self) -> None:
        while True:
            self._waits_for = self.dropped.get()
            if self._waits_for is None:
                return
            _wait_for(self._waits_for[0])
            self._waits_for = None  # the arrays are let go here, not when the next copy comes


def _wait_for(copy: _Waiting) -> None:
    try:
        copy.wait()
    except Error as failure:
        warnings.warn(
            f"a copy whose future was dropped has failed: {failure}", IsthmusWarning, stacklevel=2
        )


_keeper: _Keeper | None = None
_may_start = True
_lock = threading.Lock()


def prepare_to_keep() -> None:
    """Start the thread, unless it runs or the interpreter is ending."""
    global _keeper  # noqa: PLW0603 - started when the first copy may need it
    if _keeper is not None:
        return
    with _lock:
        if _keeper is None and _may_start:  # type: ignore[redundant-expr] # another thread
            _keeper = _Keeper()


def keep_until_complete(copy: _Waiting, kept: object) -> None:
    """Keep objects until a copy is complete; without a thread to wait, for good."""
    if _keeper is None:
        _native.keep_forever((copy, kept))
    else:
        _keeper.dropped.put((copy, kept))


@atexit.register
def _end() -> None:
    """End the thread while the interpreter still runs."""
    global _keeper, _may_start
    with _lock:
        ending, _keeper, _may_start = _keeper, None, False
    if ending is not None:
        ending.end()


def _forget() -> None:
    """Threads don't follow into a forked child, and one of them may hold the lock."""
    global _keeper, _lock
    _keeper, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forget)
