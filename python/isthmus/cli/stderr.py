"""
Messages go to stderr, and never end a run.

Whoever started the program may have closed stderr, or its disk may be full. Messages that can't be
written are dropped, and never go to stdout instead.
"""

import contextlib
import os
import sys
from typing import TextIO

from isthmus.cli.terminal import TROUBLE, columns_of, is_terminal
from isthmus.ground.spelling import one_line
from isthmus.show.fitting import wrapped

_SHOW_CURSOR = b"\x1b[?25h"


def say(text: str) -> None:
    """Print a sentence on stderr, in lines that fit; paths and other long words stay whole."""
    say_lines(*wrapped(text, columns_of(sys.stderr), whole_words=True))


def say_lines(*lines: str) -> None:
    """Print lines on stderr, however long; text from files makes no lines and colours in them."""
    if sys.stderr is not None:
        Listener(sys.stderr).say("\n".join(map(one_line, lines)))


def silence(stream: TextIO) -> None:
    """
    Send the output of a broken stream to nowhere from now on: the interpreter flushes it again at
    exit, and would end with exit code 120.
    """
    with contextlib.suppress(*TROUBLE):
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, stream.fileno())
        os.close(nowhere)


def restore_cursor() -> None:
    """Show the cursor that a progress bar hides, for a process that ends without cleaning up."""
    if is_terminal(sys.__stderr__) and sys.__stderr__ is not None:
        with contextlib.suppress(*TROUBLE):
            os.write(sys.__stderr__.fileno(), _SHOW_CURSOR)


class Listener:
    """A stream that drops what it can't write; enough of a file for rich to draw on."""

    def __init__(self, stream: TextIO) -> None:
        """Write to this stream."""
        self._stream = stream

    @property
    def encoding(self) -> str:
        """The stream's encoding."""
        return self._stream.encoding

    def say(self, text: str) -> None:
        """Write text and a new line, at once."""
        self.write(f"{text}\n")
        self.flush()

    def write(self, text: str) -> int:
        """Write text."""
        try:
            return self._stream.write(text)
        except TROUBLE:
            silence(self._stream)
            return len(text)

    def flush(self) -> None:
        """Flush the stream."""
        try:
            self._stream.flush()
        except TROUBLE:
            silence(self._stream)

    def isatty(self) -> bool:
        """Whether the stream is a terminal."""
        return is_terminal(self._stream)

    def fileno(self) -> int:
        """Give the stream's descriptor."""
        return self._stream.fileno()
