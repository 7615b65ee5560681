"""Numbers that callers of a paged array give."""

import operator

from isthmus.errors import UsageError
from isthmus.sizes import parse_size


def index_of(what: str, value: object) -> int:
    """
    Give a number of items.

    Raises:
        UsageError: It is none, or negative.
    """
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise UsageError(f"{what} is a number of items, not {value!r}") from None
    if not 0 <= number < 1 << 63:
        raise UsageError(f"{what} is a number of items from 0, not {number}")
    return number


def number_of(what: str, value: object) -> int:
    """
    Give a number that has 32 bits.

    Raises:
        UsageError: It is none, or negative.
    """
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise UsageError(f"{what} is a number, not {value!r}") from None
    if not 0 <= number < 1 << 32:
        raise UsageError(f"{what} is a number from 0, not {number}")
    return number


def gap_bytes_of(given: str | int) -> int:
    """
    Give a gap's size in bytes.

    Args:
        given: A number of bytes, or a size such as "4KiB".

    Raises:
        UsageError: It is neither.
    """
    return number_of("gap_bytes", parse_size(given) if isinstance(given, str) else given)
