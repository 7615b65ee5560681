"""
Ctrl-C once: stop after the current point. Twice: stop at once.

Python runs signal handlers only between its own instructions, so none runs while the native module
measures. But the interpreter's wake-up pipe is written at once, and a thread reads it.
"""

import os
import signal
import socket
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from isthmus.cli.failure import ExitCode
from isthmus.cli.stderr import restore_cursor


@contextmanager
def stop_on_interrupt(say: Callable[[str], None]) -> Iterator[Callable[[], bool]]:
    """
    Turn Ctrl-C into a request to stop, for which the block asks what is yielded. In other threads
    than the main one, where Python allows no handlers, there is never one.
    """
    stop = threading.Event()
    if threading.current_thread() is not threading.main_thread():
        yield stop.is_set
        return
    reader, writer = socket.socketpair()
    writer.settimeout(0)
    watcher = threading.Thread(target=_watch, args=(reader, stop, say), daemon=True)
    before = signal.signal(signal.SIGINT, lambda *_: None)
    wakeup_before = signal.set_wakeup_fd(writer.fileno(), warn_on_full_buffer=False)
    watcher.start()
    try:
        yield stop.is_set
    finally:
        signal.set_wakeup_fd(wakeup_before)
        signal.signal(signal.SIGINT, before)
        writer.close()
        watcher.join()
        reader.close()


def _watch(reader: socket.socket, stop: threading.Event, say: Callable[[str], None]) -> None:
    while signals := reader.recv(16):
        for number in signals:
            if number != signal.SIGINT:
                continue
            if stop.is_set():
                say("interrupted again: stopping at once")
                restore_cursor()
                os._exit(ExitCode.INTERRUPTED)
            stop.set()
            say("interrupted: stopping after the current point; Ctrl-C again stops at once")
