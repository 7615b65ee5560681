"""
Unpacks what zstd packed: .zst files, and the .tracez files of Accel-Sim 2.0.

A .tracez file holds the text of a kernel's header up to a zero byte; two numbers: the bytes of a
dictionary, and the instructions that a piece should have; the dictionary; the warps; an index; and
the index's place in 8 bytes. A warp is two numbers, its instructions and its pieces, then each
piece: its size, and as many bytes, a frame of zstd with the lines of some instructions. The index
is the number of CTAs, then for each of them eleven numbers (its place in the grid, its cluster's
place, its place in the cluster, its rank there, its warps), then for each warp its instructions and
its pieces, the place of the warp in 8 bytes, and the instructions of each piece. Numbers have 4
bytes, the least first. Source: https://github.com/accel-sim/accel-sim-framework, tracez_format.h.
"""

import os
import struct
import sys
from collections.abc import Iterator
from io import FileIO

from isthmus.sim.trace.unpacking import (
    MAX_UNPACKING_BYTES,
    PIECE_BYTES,
    Corrupt,
    unpacked_stream,
    unpacked_streams,
)

if sys.version_info >= (3, 14):
    from compression import zstd
else:
    from backports import zstd

__all__ = ["ZstdError", "unpacked_tracez", "unpacked_zst", "zstd"]

ZstdError = zstd.ZstdError

# The header has some ten lines, one of them a mangled name.
_MAX_HEADER_BYTES = 1 << 20
# Accel-Sim makes at most 64 KiB.
_MAX_DICTIONARY_BYTES = 16 << 20
# At the beginning of a trained dictionary. Source: https://www.rfc-editor.org/rfc/rfc8878
_TRAINED = b"\x37\xa4\x30\xec"
_NUMBER = struct.Struct("<I")
_TWO = struct.Struct("<2I")
_PLACE = struct.Struct("<Q")
_CTA = struct.Struct("<11I")
_WARP = struct.Struct("<2IQ")
_OPTIONS: dict[int, int] = {
    zstd.DecompressionParameter.window_log_max: MAX_UNPACKING_BYTES.bit_length() - 1
}


def unpacked_zst(file: FileIO) -> Iterator[bytes]:
    """Unpack a file of zstd; `ZstdError` says what is corrupt, and `Corrupt`."""
    return unpacked_streams(file, lambda: zstd.ZstdDecompressor(options=_OPTIONS))


def unpacked_tracez(file: FileIO) -> Iterator[bytes]:
    """
    Give the text of a .tracez file in pieces of about a megabyte, line by line that of the .traceg
    file that Accel-Sim's traceDsm writes; raises Corrupt, or ZstdError for a frame.
    """
    gathered = bytearray()
    for part in _Packed(file).text():
        gathered += part
        if len(gathered) >= PIECE_BYTES:
            yield bytes(gathered)
            gathered.clear()
    yield bytes(gathered)


class _Bytes:
    """A part of a file, read ahead, so that small neighbours cost one call."""

    def __init__(self, file: FileIO, end: int) -> None:
        self._file = file
        self._end = end
        self._begin = 0
        self._held = b""

    def at(self, place: int, size: int) -> bytes:
        """Give the bytes from a place on; raises Corrupt if they lie outside of the part."""
        if place + size > self._end:
            raise Corrupt(f"{size} bytes at {place} are not there")
        if place < self._begin or place + size > self._begin + len(self._held):
            ahead = min(max(size, PIECE_BYTES), self._end - place)
            self._held = os.pread(self._file.fileno(), ahead, place)
            self._begin = place
        found = self._held[place - self._begin : place - self._begin + size]
        if len(found) != size:
            raise Corrupt("it became shorter while it was read")
        return found


class _Cursor:
    """Reads bytes and numbers, one after the other."""

    def __init__(self, source: _Bytes, place: int) -> None:
        self._source = source
        self.place = place

    def bytes(self, size: int) -> bytes:
        found = self._source.at(self.place, size)
        self.place += size
        return found

    def take(self, numbers: struct.Struct) -> tuple[int, ...]:
        return numbers.unpack(self.bytes(numbers.size))


def _dictionary_of(contents: bytes) -> zstd.ZstdDict | None:
    if not contents:
        return None
    try:
        return zstd.ZstdDict(contents, is_raw=not contents.startswith(_TRAINED))
    except ValueError as cause:
        raise Corrupt(f"its dictionary: {cause}") from cause


class _Packed:
    """A .tracez file whose header, dictionary and index's place are read."""

    def __init__(self, file: FileIO) -> None:
        size = os.fstat(file.fileno()).st_size
        whole = _Bytes(file, size)
        beginning = whole.at(0, min(size, _MAX_HEADER_BYTES))
        self._header, zero, _ = beginning.partition(b"\0")
        if not zero:
            raise Corrupt("its header has no end")
        cursor = _Cursor(whole, len(self._header) + 1)
        dictionary_bytes, _ = cursor.take(_TWO)
        if dictionary_bytes > _MAX_DICTIONARY_BYTES:
            raise Corrupt(f"its dictionary would have {dictionary_bytes} bytes")
        self._dictionary = _dictionary_of(cursor.bytes(dictionary_bytes))
        self._index_end = size - _PLACE.size
        (self._index_begin,) = _PLACE.unpack(whole.at(max(self._index_end, 0), _PLACE.size))
        if not cursor.place <= self._index_begin < self._index_end:
            raise Corrupt(f"its index can't be at {self._index_begin}")
        self._index = _Cursor(_Bytes(file, self._index_end), self._index_begin)
        self._warps = _Cursor(_Bytes(file, self._index_begin), cursor.place)

    def text(self) -> Iterator[bytes]:
        """The header, then each CTA."""
        yield self._header
        (num_ctas,) = self._index.take(_NUMBER)
        for _ in range(num_ctas):
            yield from self._cta_text()
        if self._index.place != self._index_end:
            raise Corrupt(f"its index ends at {self._index.place}, not at {self._index_end}")
        if self._warps.place != self._index_begin:
            raise Corrupt(f"its warps end at {self._warps.place}, not at {self._index_begin}")

    def _cta_text(self) -> Iterator[bytes]:
        *places, rank, num_warps = self._index.take(_CTA)
        place, cluster, place_in_cluster = (
            ",".join(map(str, places[first : first + 3])) for first in (0, 3, 6)
        )
        yield (
            f"\n#BEGIN_TB\n\nthread block = {place}\ncluster id = {cluster}\n"
            f"cluster cta = {place_in_cluster}\ncluster rank = {rank}\n"
        ).encode()
        for warp in range(num_warps):
            yield from self._warp_text(warp)
        yield b"\n#END_TB\n"

    def _warp_text(self, warp: int) -> Iterator[bytes]:
        num_instructions, num_pieces, place = self._index.take(_WARP)
        for _ in range(num_pieces):
            self._index.take(_NUMBER)
        # One follows the other. Otherwise a small file could repeat one warp for ever.
        if place != self._warps.place:
            raise Corrupt(f"a warp is at {self._warps.place}, but its index says {place}")
        if self._warps.take(_TWO) != (num_instructions, num_pieces):
            raise Corrupt(f"its index disagrees with the warp at {place}")
        yield f"\nwarp = {warp}\ninsts = {num_instructions}\n".encode()
        for _ in range(num_pieces):
            (packed_bytes,) = self._warps.take(_NUMBER)
            if packed_bytes > MAX_UNPACKING_BYTES:
                raise Corrupt(f"a piece would have {packed_bytes} bytes")
            yield from self._piece_text(self._warps.bytes(packed_bytes))

    def _piece_text(self, packed: bytes) -> Iterator[bytes]:
        unpacking = zstd.ZstdDecompressor(zstd_dict=self._dictionary, options=_OPTIONS)
        yield from unpacked_stream(unpacking, packed, bytes)
        if unpacking.unused_data:
            raise Corrupt("a piece has bytes after its frame")
        yield b"\n"
