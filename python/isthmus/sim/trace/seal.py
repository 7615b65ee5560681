"""
The checksum of a trace's file.

Arrow's files have none, a wrong bit would give a wrong result, and pyarrow's reader can crash on
corrupt metadata. So no byte reaches it before all were checked. The CRC-32 is written as eight
digits after a mark in the schema's metadata. A file has two copies of that, in its head and in its
footer. The CRC-32 is that of the file with zeros for the digits.
"""

import mmap
import struct
import zlib
from collections.abc import Iterator

from isthmus.errors import UsageError
from isthmus.files.whole import WholeFile

# JSON escapes control characters, so no program's text can have the mark.
_MARK = b"\x1ecrc32 of the file with zeros here: "
_ZEROS = b"00000000"
UNSEALED = _MARK + _ZEROS
_SEALING = (
    "a trace that you wrote yourself is checked and sealed by isthmus.sim.seal_trace(path); "
    "docs/traces.md has the format"
)

_MAGIC = b"ARROW1"
# Magic and padding, then the length of the schema's message.
_HEAD = struct.Struct("<8sIi")
# The length of the footer, then the magic.
_TAIL = struct.Struct("<i6s")
_PIECE_BYTES = 16 << 20


def seal(file: WholeFile) -> None:
    """
    Write the checksum into a finished file whose schema has `UNSEALED` in its metadata; raises
    OSError if it can't be read.
    """
    # Not written through the mapping: on a full disk, that would end the process by a signal.
    with mmap.mmap(file.descriptor, 0, access=mmap.ACCESS_READ) as mapped:
        places = _places(mapped)
        digits = _checksum(mapped, places)
    for place in places:
        file.overwrite(place, digits)


def check_seal(mapped: mmap.mmap) -> None:
    """Compare a file with its checksum."""
    if mapped[: len(_MAGIC)] != _MAGIC:
        raise UsageError(
            "it is not a trace: it doesn't begin as an Arrow file does",
            hint="pyarrow.ipc.new_file writes such files; new_stream and Parquet are others",
        )
    if mapped[-len(_MAGIC) :] != _MAGIC or len(mapped) < _HEAD.size + _TAIL.size:
        raise UsageError("it is truncated: it doesn't end as an Arrow file does")
    places = _places(mapped)
    expected = _checksum(mapped, places)
    if all(mapped[place : place + len(_ZEROS)] == _ZEROS for place in places):
        raise UsageError("its checksum is still the zeros of an unsealed trace", hint=_SEALING)
    if any(mapped[place : place + len(expected)] != expected for place in places):
        raise UsageError(f"it is corrupt: the checksum of its {len(mapped)} bytes is different")


def _places(mapped: mmap.mmap) -> list[int]:
    """Find the digits, in the head and in the footer."""
    size = len(mapped)
    head_end = _HEAD.size + max(_HEAD.unpack_from(mapped)[2], 0)
    footer = size - _TAIL.size - max(_TAIL.unpack_from(mapped, size - _TAIL.size)[0], 0)
    found = [mapped.find(_MARK, 0, min(head_end, size)), mapped.find(_MARK, max(footer, 0), size)]
    places = [place + len(_MARK) for place in found]
    if min(found) < 0 or found[0] == found[1] or max(places) + len(_ZEROS) > size:
        raise UsageError(
            "it is an Arrow file, but not a trace: its schema has no isthmus.trace.seal, or a "
            "corrupt one",
            hint=_SEALING,
        )
    return places


def _checksum(mapped: mmap.mmap, places: list[int]) -> bytes:
    checksum = 0
    begin = 0
    for place in [*places, len(mapped)]:
        for piece in _pieces(mapped, begin, place):
            checksum = zlib.crc32(piece, checksum)
        if place < len(mapped):
            checksum = zlib.crc32(_ZEROS, checksum)
        begin = place + len(_ZEROS)
    return b"%08x" % checksum


def _pieces(mapped: mmap.mmap, begin: int, end: int) -> Iterator[memoryview]:
    """Give a range in pieces, and return their memory to the system after each."""
    with memoryview(mapped) as whole:
        for first in range(begin, end, _PIECE_BYTES):
            with whole[first : min(first + _PIECE_BYTES, end)] as piece:
                yield piece
            mapped.madvise(mmap.MADV_DONTNEED)
