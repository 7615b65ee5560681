"""Locks, in a process that may be forked while one of its threads holds them."""

import os
import threading


def lock_of_process() -> threading.RLock:
    """
    Make a lock, for what is consistent at any moment, that is free in a forked child: the thread
    that held it exists in the parent alone.
    """
    lock = threading.RLock()
    os.register_at_fork(after_in_child=lock._at_fork_reinit)  # type: ignore[attr-defined,unused-ignore] # noqa: SLF001 - as the standard library does
    return lock
