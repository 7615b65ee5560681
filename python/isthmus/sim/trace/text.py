"""The text of a traced kernel, plain or xz, in pieces."""

import lzma
from collections.abc import Iterator
from io import FileIO
from pathlib import Path

from isthmus.errors import UsageError
from isthmus.files.regular import open_regular
from isthmus.suggest import one_line

_PIECE_BYTES = 1 << 20
# `xz -9` needs 65 MiB to unpack; a corrupt header may ask for 4 GiB.
_MAX_UNPACKING_BYTES = 256 << 20


def text_pieces(path: Path) -> Iterator[bytes]:
    """
    Read a file in pieces of a megabyte, unpacked if its name ends in .xz.

    Raises:
        UsageError: It can't be read, or is corrupt or truncated.
    """
    try:
        with open_regular(path) as file:
            yield from _unpacked(file) if path.suffix == ".xz" else _pieces(file)
    except OSError as cause:
        # A list names the file, with any characters.
        raise UsageError(f"can't read {one_line(str(path))}: {cause.strerror or cause}") from cause
    except (lzma.LZMAError, EOFError, MemoryError) as cause:
        raise UsageError(f"{one_line(str(path))} is corrupt or truncated: {cause}") from cause


def _pieces(file: FileIO) -> Iterator[bytes]:
    while piece := file.read(_PIECE_BYTES):
        yield piece


def _unpacked(file: FileIO) -> Iterator[bytes]:
    held = file.read(_PIECE_BYTES)
    if not held:
        raise EOFError("it is empty")
    # A file may have several streams, one after the other, and zeros between and after them.
    while held:
        unpacking = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MAX_UNPACKING_BYTES)
        while not unpacking.eof:
            if unpacking.needs_input and not held:
                held = file.read(_PIECE_BYTES)
                if not held:
                    raise EOFError("it ends within a stream")
            piece = unpacking.decompress(held, _PIECE_BYTES)
            held = b""
            if piece:
                yield piece
        held = (unpacking.unused_data or file.read(_PIECE_BYTES)).lstrip(b"\0")
