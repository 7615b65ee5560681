"""
The program's first and last steps, and what Ctrl-C does.

Ctrl-C is an exception, so that what was begun is cleaned up. But while modules are imported, and
when the command is over, it ends the process at once: an exception would show a traceback of other
people's modules, or be lost if one of them swallows it, and nothing is there to be cleaned up.
Commands that keep finished work replace this: see interrupt.py. This module imports only what
Python itself has imported already.
"""

import os

from isthmus.cli import INTERRUPTED, MESSAGE

TYPE_CHECKING = False
if TYPE_CHECKING:
    from types import FrameType
    from typing import NoReturn

_STDERR = 2
# The beginning of the file names of the import system's own code.
_IMPORTING = "<frozen importlib"


def main() -> int:
    """Run the program and return its exit code."""
    try:
        import signal

        # Otherwise the parent wants it to be ignored, as shells do for background processes.
        guarded = signal.getsignal(signal.SIGINT) is signal.default_int_handler
        if guarded:
            signal.signal(signal.SIGINT, _interrupt)
        # Otherwise Pydantic searches all installed packages for plugins, which takes 12 ms.
        os.environ.setdefault("PYDANTIC_DISABLE_PLUGINS", "__all__")
        from isthmus.cli.app import main as program

        code = program()
        if guarded:
            # Threads are awaited now, and destructors run.
            signal.signal(signal.SIGINT, _end_at_once)
    except KeyboardInterrupt:
        _end_at_once()
    return code


def _interrupt(number: int, frame: "FrameType | None") -> None:
    """Raise KeyboardInterrupt; a second Ctrl-C, or one during an import, ends the process."""
    import signal

    if _is_importing(frame):
        _end_at_once()
    signal.signal(number, _end_at_once)
    raise KeyboardInterrupt


def _is_importing(frame: "FrameType | None") -> bool:
    while frame is not None:
        if frame.f_code.co_filename.startswith(_IMPORTING):
            return True
        frame = frame.f_back
    return False


def _end_at_once(*_: object) -> "NoReturn":
    try:
        os.write(_STDERR, f"{MESSAGE}\n".encode())
    finally:
        os._exit(INTERRUPTED)
