"""The text of a traced kernel, plain or packed, in pieces."""

import gzip
import lzma
import zlib
from collections.abc import Callable, Iterator
from io import FileIO
from pathlib import Path

from isthmus.errors import Unavailable, UsageError
from isthmus.files.regular import open_regular
from isthmus.ground.spelling import one_line
from isthmus.sim.trace.unpacking import PIECE_BYTES, Corrupt, unpacked_gz, unpacked_xz

# `gzip` reports a wrong header as an error of the system.
_CORRUPT = (Corrupt, lzma.LZMAError, zlib.error, gzip.BadGzipFile, EOFError, MemoryError)


def text_pieces(path: Path) -> Iterator[bytes]:
    """
    Read a file in pieces of about a megabyte, unpacked as its name's ending says: .xz, .gz, .zst,
    or .tracez, whose text is that of the .traceg file that Accel-Sim's traceDsm makes of it.
    """
    # A list names the file, with any characters.
    shown = one_line(str(path))
    unpack, corrupt = _way_of(path.suffix, shown)
    try:
        with open_regular(path) as file:
            yield from unpack(file)
    except corrupt as cause:
        raise UsageError(f"{shown} is corrupt or truncated: {cause}") from cause
    except OSError as cause:
        raise UsageError(f"can't read {shown}: {cause.strerror or cause}") from cause


def _way_of(
    suffix: str, shown: str
) -> tuple[Callable[[FileIO], Iterator[bytes]], tuple[type[Exception], ...]]:
    """How files with such a name are unpacked, and what is raised for a corrupt one."""
    if suffix == ".xz":
        return unpacked_xz, _CORRUPT
    if suffix == ".gz":
        return unpacked_gz, _CORRUPT
    if suffix not in {".zst", ".tracez"}:
        return _pieces, _CORRUPT
    try:
        from isthmus.sim.trace import tracez
    except ImportError as cause:
        raise Unavailable(
            capability=f"the text of {shown}",
            reason="backports.zstd is not installed",
            needs="backports.zstd: pip install 'isthmus[sim]'",
        ) from cause
    way = tracez.unpacked_zst if suffix == ".zst" else tracez.unpacked_tracez
    return way, (*_CORRUPT, tracez.ZstdError)


def _pieces(file: FileIO) -> Iterator[bytes]:
    while piece := file.read(PIECE_BYTES):
        yield piece
