"""Closes paged arrays that are open when the interpreter ends, so that no store is lost."""

import atexit
import os
from contextlib import ExitStack
from typing import Protocol
from weakref import WeakKeyDictionary


class Closable(Protocol):
    """What can be closed more than once."""

    def close(self) -> None:
        """Close."""


# Open or closed, with the process that made it: a forked child closes none of its parent's.
_made: "WeakKeyDictionary[Closable, int]" = WeakKeyDictionary()


def close_at_exit(array: Closable) -> None:
    """Close an array at the end of the interpreter, unless it is gone by then."""
    _made[array] = os.getpid()


@atexit.register
def _close_all() -> None:
    """Close all. An error is told when all were tried: Python prints it."""
    with ExitStack() as stack:
        for array, process in list(_made.items()):
            if process == os.getpid():
                stack.callback(array.close)
