"""Whether a stream is a terminal, and how wide text on it may be."""

import os
from typing import Final, TextIO

from isthmus.show.fitting import PAGE_WIDTH
from isthmus.show.tables.sparks import EVERY_CHARACTER

# What a stream raises that is closed, full or gone.
TROUBLE: Final = (OSError, ValueError)
# Of a terminal that doesn't know its size.
_UNKNOWN = 80


def is_terminal(stream: TextIO | None) -> bool:
    """Whether a stream is a terminal; False if it is closed or absent."""
    try:
        return stream is not None and stream.isatty()
    except TROUBLE:
        return False


def columns_of(stream: TextIO | None) -> int:
    """
    Count the columns for text on a stream: a terminal's, or COLUMNS if that is set; 120 for pipes
    and files, so that they are the same everywhere.
    """
    if stream is None or not is_terminal(stream):
        return PAGE_WIDTH
    named = os.environ.get("COLUMNS", "")
    if named.isascii() and named.isdecimal() and 0 < len(named) < 6 and int(named) > 0:  # noqa: PLR2004
        return int(named)
    try:
        return os.get_terminal_size(stream.fileno()).columns or _UNKNOWN
    except TROUBLE:
        return _UNKNOWN


def draws_characters(stream: TextIO | None) -> bool:
    """Whether a stream's encoding has the characters of small pictures."""
    try:
        EVERY_CHARACTER.encode(getattr(stream, "encoding", None) or "utf-8")
    except (LookupError, UnicodeEncodeError):
        return False
    return True
