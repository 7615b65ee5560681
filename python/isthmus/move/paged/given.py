"""Numbers that callers of a paged array give."""

import operator
from collections.abc import Iterable
from typing import SupportsIndex

from isthmus.errors import UsageError

Ranges = Iterable[tuple[SupportsIndex, SupportsIndex]]


def byte_ranges_of(ranges: Ranges | None, num_items: int, item_bytes: int) -> list[tuple[int, int]]:
    """Turn ranges of items into ranges of bytes; None is all items."""
    if ranges is None:
        return [(0, num_items * item_bytes)]
    if not isinstance(ranges, Iterable):
        raise UsageError(
            f"ranges are pairs (first, end) of indices, such as [(0, 100)], not {ranges!r}"
        )
    found = []
    for pair in ranges:
        try:
            first, end = map(operator.index, pair)
        except (TypeError, ValueError):
            raise UsageError(f"a range is a pair (first, end) of indices, not {pair!r}") from None
        if not 0 <= first <= end <= num_items:
            raise UsageError(
                f"range ({first}, {end}) isn't of items: the array has {num_items}, from 0"
            )
        found.append((first * item_bytes, end * item_bytes))
    return found


def index_of(what: str, value: object) -> int:
    """Give a number of items."""
    return _whole(what, value, "a number of items", bits=63)


def _whole(what: str, value: object, kind: str, *, bits: int) -> int:
    try:
        number = operator.index(value)  # type: ignore[arg-type]
    except TypeError:
        raise UsageError(f"{what} is {kind}, not {value!r}") from None
    if not 0 <= number < 1 << bits:
        raise UsageError(f"{what} is {kind} from 0, not {number}")
    return number
