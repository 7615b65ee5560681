"""Unpacks files that were packed as a whole, in pieces, so that memory is bounded."""

import gzip
import lzma
from collections.abc import Callable, Iterator
from io import FileIO
from typing import Protocol

PIECE_BYTES = 1 << 20
# `xz -9` needs 65 MiB to unpack; a corrupt header may ask for 4 GiB.
MAX_UNPACKING_BYTES = 256 << 20


class Corrupt(Exception):
    """A packed file contradicts itself, or ends too early; the text says how."""


class Unpacking(Protocol):
    """One packed stream, as `lzma` and `compression.zstd` unpack it."""

    @property
    def eof(self) -> bool: ...  # noqa: D102 - as in `lzma`
    @property
    def needs_input(self) -> bool: ...  # noqa: D102
    @property
    def unused_data(self) -> bytes: ...  # noqa: D102
    def decompress(self, data: bytes, max_length: int) -> bytes: ...  # noqa: D102


def unpacked_stream(
    unpacking: Unpacking, packed: bytes, more: Callable[[], bytes]
) -> Iterator[bytes]:
    """
    Unpack one stream, of which `more` gives further bytes, or none at the end; afterwards
    `unpacking` has the bytes behind it. Raises Corrupt if the bytes end within the stream.
    """
    while not unpacking.eof:
        if unpacking.needs_input and not packed:
            packed = more()
            if not packed:
                raise Corrupt("it ends within a stream")
        piece = unpacking.decompress(packed, PIECE_BYTES)
        packed = b""
        if piece:
            yield piece


def unpacked_streams(
    file: FileIO, begin: Callable[[], Unpacking], *, padding: bytes = b""
) -> Iterator[bytes]:
    """
    Unpack a file, from where it stands, of one or several streams with `padding` between and after
    them; raises Corrupt if it is empty, or ends within a stream.
    """

    def more() -> bytes:
        return file.read(PIECE_BYTES) or b""

    held = more()
    if not held:
        raise Corrupt("it is empty")
    while held:
        unpacking = begin()
        yield from unpacked_stream(unpacking, held, more)
        held = unpacking.unused_data.lstrip(padding)
        while not held and (held := more()):
            held = held.lstrip(padding)


def unpacked_xz(file: FileIO) -> Iterator[bytes]:
    """Unpack a file of xz; `lzma.LZMAError` says what is corrupt, and `Corrupt`."""
    return unpacked_streams(
        file,
        lambda: lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=MAX_UNPACKING_BYTES),
        padding=b"\0",
    )


def unpacked_gz(file: FileIO) -> Iterator[bytes]:
    """Unpack a file of gzip; `zlib.error`, `EOFError` and `gzip.BadGzipFile` say what is wrong."""
    empty = True
    with gzip.GzipFile(fileobj=file) as unpacking:
        while piece := unpacking.read(PIECE_BYTES):
            empty = False
            yield piece
    if empty and file.tell() == 0:
        raise Corrupt("it is empty")
