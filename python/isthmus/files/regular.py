"""
Opens and reads files that a user named, which may be pipes, devices, huge, or TOML made to take
minutes.
"""

import errno
import os
import stat
import tomllib
from io import FileIO
from pathlib import Path
from typing import Any

from isthmus.errors import UsageError

AnyPath = str | os.PathLike[str]
_PIECE_BYTES = 1 << 20
_SHORTAGES = {errno.EMFILE, errno.ENFILE, errno.ENOMEM}


def refuse_shortage(cause: OSError) -> None:
    """
    Raise UsageError for a shortage of descriptors or memory, which says nothing about what the file
    holds.
    """
    if cause.errno in _SHORTAGES:
        raise UsageError(
            f"can't open more files: {os.strerror(cause.errno)}",
            hint="raise the limit (ulimit -n), or close what has files open",
        ) from cause


def path_of(path: object) -> Path:
    """Give the path that a caller means."""
    try:
        return Path(path)  # type: ignore[arg-type] # or its TypeError
    except TypeError:
        raise UsageError(f"a path was expected, not {path!r}") from None


def open_regular(path: AnyPath) -> FileIO:
    """
    Open a regular file for reading, unbuffered, or raise OSError, also for an impossible name. A
    pipe without a writer would wait for ever, a device has no end, and opening one can have
    effects.
    """
    try:
        if stat.S_ISREG(os.stat(path).st_mode):  # noqa: PTH116 - the path may be of any kind
            # Not blocking: another file may have replaced it meanwhile.
            return FileIO(os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK))
    except ValueError as cause:
        raise OSError(errno.EINVAL, f"no file has such a name: {cause}") from cause
    raise OSError(errno.EINVAL, "it is not a regular file")


def read_regular(path: AnyPath, *, max_bytes: int) -> bytes:
    """
    Read a regular file, or raise OSError; of one that is larger than `max_bytes`, at most a
    megabyte more is read.
    """
    contents = bytearray()
    with open_regular(path) as file:
        while piece := file.read(_PIECE_BYTES):
            contents += piece
            if len(contents) > max_bytes:
                raise OSError(errno.EFBIG, f"it has more than {max_bytes} bytes")
    return bytes(contents)


MAX_TOML_BYTES = 64 << 10
"""More than twice what a whole run's expected values take, and ten times what a machine does."""
# tomllib takes minutes for a key of thousands of parts.
_MAX_DOTS_IN_A_LINE = 250


def toml_document(contents: bytes) -> dict[str, Any]:
    """Parse TOML; ValueError if it isn't, or is too large or too deep to be read."""
    if len(contents) > MAX_TOML_BYTES:
        raise ValueError(f"it has more than {MAX_TOML_BYTES} bytes")
    for number, line in enumerate(contents.split(b"\n"), start=1):
        if line.count(b".") > _MAX_DOTS_IN_A_LINE:
            raise ValueError(f"line {number} has more than {_MAX_DOTS_IN_A_LINE} dots")
    try:
        return tomllib.loads(contents.decode())
    except RecursionError:
        raise ValueError("its brackets are nested too deeply") from None
