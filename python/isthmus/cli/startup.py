"""
The program's first steps, during which Ctrl-C ends it at once.

Importing the modules that commands need takes some tenths of a second. An interrupt during that
time would show a traceback of other people's modules, or be lost if one of them swallows it.
Nothing has begun by then that must be cleaned up. This module imports only what Python itself has
imported already.
"""

import os

from isthmus.cli import INTERRUPTED, MESSAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable
    from typing import NoReturn

_STDERR = 2


def main() -> int:
    """Run the program and return its exit code."""
    try:
        return _loaded_program()()
    except KeyboardInterrupt:
        _end_at_once()


def _loaded_program() -> "Callable[[], int]":
    import signal

    guarded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
    # Otherwise the parent wants it to be ignored, as shells do for background processes.
    if guarded:
        signal.signal(signal.SIGINT, _end_at_once)
    from isthmus.cli.app import main as program

    if guarded:
        signal.signal(signal.SIGINT, signal.default_int_handler)
    return program


def _end_at_once(*_: object) -> "NoReturn":
    try:
        os.write(_STDERR, f"{MESSAGE}\n".encode())
    finally:
        os._exit(INTERRUPTED)
