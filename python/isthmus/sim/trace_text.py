"""Text from outside: of a traced kernel, plain or xz, in pieces; and what may be shown of any."""

import lzma
import stat
from collections.abc import Iterator
from pathlib import Path

from isthmus.errors import UsageError

_PIECE_BYTES = 1 << 20
# What `xz -9` needs to unpack is 65 MiB; a corrupt header may ask for 4 GiB.
_MOST_UNPACKING_BYTES = 256 << 20


def text_pieces(path: Path) -> Iterator[bytes]:
    """
    Read a file in pieces of a megabyte, unpacked if its name ends in .xz.

    Raises:
        UsageError: It can't be read, or is corrupt or truncated.
    """
    try:
        refuse_other_than_file(path)
        if path.suffix == ".xz":
            yield from _unpacked(path)
        else:
            with path.open("rb") as file:
                while piece := file.read(_PIECE_BYTES):
                    yield piece
    except OSError as cause:
        raise UsageError(f"can't read {path}: {cause.strerror or cause}") from cause
    except (lzma.LZMAError, EOFError, MemoryError) as cause:
        raise UsageError(f"{path} is corrupt or truncated: {cause}") from cause


def shown(text: object) -> str:
    """Give a file's name, or text of a file, as anything can show it: in characters that print."""
    return "".join(letter if letter.isprintable() else "?" for letter in str(text))


def refuse_other_than_file(path: Path) -> None:
    """
    See that opening a path can't wait for ever, as that of a pipe without a writer does.

    Raises:
        OSError: It can't be looked at.
        UsageError: It is no regular file.
    """
    if not stat.S_ISREG(path.stat().st_mode):
        raise UsageError(f"{path} is no regular file")


def _unpacked(path: Path) -> Iterator[bytes]:
    with path.open("rb") as file:
        held = file.read(_PIECE_BYTES)
        if not held:
            raise EOFError("it is empty")
        # A file may be several streams, one after the other, and zeros between and after them.
        while held:
            unpacking = lzma.LZMADecompressor(lzma.FORMAT_XZ, memlimit=_MOST_UNPACKING_BYTES)
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
