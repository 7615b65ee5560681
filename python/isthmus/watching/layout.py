"""What lies where in the file in which a watched process counts, from cpp/preload/counters.inc."""

import struct
from collections.abc import Iterator, Sequence
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

    def at(self, data: bytes, offset: int) -> Values:
        """Read the record at a place."""
        return dict(zip(self._names, self._unpacker.unpack_from(data, offset), strict=True))

    def used_in(self, data: bytes) -> Iterator[tuple[int, Values]]:
        """Read records that follow each other, with their numbers; empty ones are left out."""
        free = bytes(self.size)
        for number in range(len(data) // self.size):
            begin = number * self.size
            if data[begin : begin + self.size] != free:
                yield number, self.at(data, begin)


class Layout:
    """The whole file: a header, tables (record, capacity, offset), and events after these."""

    def __init__(self) -> None:
        """Take what the native module says."""
        from isthmus import _native

        native = _native.watch_layout()
        records = {name: Record(*one) for name, one in native["records"].items()}
        self.magic: bytes = native["magic"].encode()
        self.version: int = native["version"]
        self.header, self.event = records["Header"], records["Event"]
        self.tables: dict[str, tuple[Record, int, int]] = {
            name: (records[record], capacity, offset)
            for name, record, capacity, offset in native["tables"]
        }
        self.events: int = native["events"]
        self.kinds: list[str] = native["kinds"]
        self.classes: list[str] = native["classes"]
        # Uploads up to here needn't wait for their stream; downloads up to here are small; uploads
        # from here on are compared with those before them.
        self.most_staged_bytes: int = native["most_staged_bytes"]
        self.most_small_bytes: int = native["most_small_bytes"]
        self.min_repeated_bytes: int = native["min_repeated_bytes"]


@cache
def layout() -> Layout:
    """Give the layout of this version's files."""
    return Layout()
