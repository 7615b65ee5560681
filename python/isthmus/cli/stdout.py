"""Data goes to stdout: all of it, or a clear error."""

import sys
from pathlib import Path

from isthmus.cli.stderr import silence
from isthmus.errors import WriteError
from isthmus.ground.spelling import seen, writable

STDOUT = Path("-")
"""What a user names as a file to mean stdout."""
_HINT = "check where stdout goes; --output FILE writes a file"


def print_data(text: str) -> None:
    """
    Print data on stdout: text from files moves no cursor, and JSON stays the same JSON. A reader
    that closes early, such as `head`, is not an error.
    """
    print_drawn(seen(text))


def print_drawn(text: str) -> None:
    """Print what has colours of its own, as `print_data` does."""
    stream = sys.stdout
    if stream is None:
        raise WriteError("can't print: stdout is closed", hint=_HINT)
    try:
        stream.write(writable(text, stream.encoding or "utf-8"))
        stream.flush()
    except BrokenPipeError:
        silence(stream)
    except (OSError, ValueError) as cause:
        silence(stream)
        why = cause.strerror if isinstance(cause, OSError) else None
        raise WriteError(f"can't print: stdout: {why or cause}", hint=_HINT) from cause
