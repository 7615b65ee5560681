"""What lies where in the file in which a watched process counts, from cpp/preload/counters.inc."""

import struct
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

Values = dict[str, Any]
"""The members of one record by their names."""


class Record:
    """A struct of the file."""

    def __init__(self, size: int, members: Sequence[tuple[str, str, int, int]]) -> None:
        """Take its size, and of each member the name, the format, the number and the offset."""
        text, at = "<", 0
        for _, kind, number, offset in members:
            text += f"{offset - at}x{number}{kind}"
            at = offset + struct.calcsize(f"<{number}{kind}")
        self._unpacker = struct.Struct(f"{text}{size - at}x")
        self._names = [name for name, *_ in members]
        self.size = size

    def all_in(self, data: bytes) -> Iterator[Values]:
        """Read records that follow each other; what is left at the end is no whole one."""
        whole = len(data) // self.size * self.size
        for values in self._unpacker.iter_unpack(data[:whole]):
            yield dict(zip(self._names, values, strict=True))


@dataclass(frozen=True)
class Table:
    """So many records from a place on."""

    record: Record
    capacity: int
    offset: int


@dataclass(frozen=True, kw_only=True)
class Layout:
    """
    The whole file.

    Attributes:
        events: Where the events begin: the rest is before them.
        kinds: The names of what lies at an end of a copy.
        classes: The names of what entry points do.
    """

    magic: bytes
    version: int
    header: Record
    event: Record
    tables: Mapping[str, Table]
    events: int
    kinds: Sequence[str]
    classes: Sequence[str]


@cache
def layout() -> Layout:
    """Give the layout of this version's files."""
    from isthmus import _native

    native = _native.watch_layout()
    records = {name: Record(*one) for name, one in native["records"].items()}
    return Layout(
        magic=native["magic"].encode(),
        version=native["version"],
        header=records["Header"],
        event=records["Event"],
        tables={
            name: Table(records[record], capacity, offset)
            for name, record, capacity, offset in native["tables"]
        },
        events=native["events"],
        kinds=native["kinds"],
        classes=native["classes"],
    )
