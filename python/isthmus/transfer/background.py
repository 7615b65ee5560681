"""Work that follows a copy, in a thread."""

import os
import threading
from collections.abc import Callable
from concurrent.futures import Future, ThreadPoolExecutor

# Each waits for a copy, then for NumPy: more of them would not be faster.
_NUM_THREADS = 2


class InBackground:
    """Work in a thread, as a copy's future asks for it."""

    def __init__(self, work: Callable[[], None]) -> None:
        """Begin it. The end of the interpreter waits for it."""
        self._future: Future[None] = _threads().submit(work)

    def wait(self, timeout_seconds: float | None = None) -> bool:
        """Return True when it is complete, False when the time is up."""
        try:
            self._future.result(timeout_seconds)
        except TimeoutError:
            return False
        return True

    def ready(self) -> bool:
        """Tell whether `wait` would not wait."""
        return self._future.done()


_executor: ThreadPoolExecutor | None = None
_lock = threading.Lock()


def _threads() -> ThreadPoolExecutor:
    global _executor  # noqa: PLW0603 - started when the first copy needs it
    with _lock:
        if _executor is None:
            _executor = ThreadPoolExecutor(_NUM_THREADS, thread_name_prefix="isthmus-unpacking")
        return _executor


def _forget() -> None:
    """Threads don't follow into a forked child, and one of them may hold the lock."""
    global _executor, _lock
    _executor, _lock = None, threading.Lock()


os.register_at_fork(after_in_child=_forget)
