"""A file of lines that grows."""

import contextlib
import fcntl
import os
from collections.abc import Sequence
from pathlib import Path

from isthmus.files.folder import writing
from isthmus.files.regular import read_regular, refuse_shortage
from isthmus.files.whole import write_all, write_whole

# The limit for reading. A sweep's point takes some 2 KB.
_MAX_BYTES = 1 << 30


class Journal:
    """
    Lines at the end of a file; durable when `add` returns, unless it is told otherwise. While it is
    open, other processes can see that it is: see `is_open`.
    """

    def __init__(self, path: Path, lines: Sequence[str], *, hint: str = "") -> None:
        """
        Begin a file with `lines`, all that should be kept of an existing one, which a WriteError
        leaves unchanged.
        """
        self._path = path
        self._hint = hint
        # Its name is made from another: no user has named it.
        write_whole(path, "".join(f"{line}\n" for line in lines), follow_link=False)
        with writing(path):
            flags = os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC | os.O_NOFOLLOW
            self._descriptor = os.open(path, flags)
            self._size_bytes = os.fstat(self._descriptor).st_size
        # Some network file systems have no locks: there, nobody sees that it is open.
        with contextlib.suppress(OSError):
            fcntl.flock(self._descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)

    def add(self, line: str, *, durable: bool = True) -> None:
        """
        Append a line; a durable one survives a crash of the machine, which takes milliseconds,
        another one only the end of the process, until a later line is durable.
        """
        data = f"{line}\n".encode()
        with writing(self._path, hint=self._hint):
            try:
                write_all(self._descriptor, data)
                if durable:
                    os.fsync(self._descriptor)
            except OSError:
                # A partial line would spoil the next.
                with contextlib.suppress(OSError):
                    os.ftruncate(self._descriptor, self._size_bytes)
                raise
        self._size_bytes += len(data)

    def close(self) -> None:
        """End the writing."""
        with contextlib.suppress(OSError):
            os.close(self._descriptor)

    def remove(self) -> None:
        """Remove the file. If that fails, no harm is done: its lines are kept elsewhere."""
        with contextlib.suppress(OSError):
            self._path.unlink()


def read_lines(path: Path) -> list[str]:
    """
    Read the lines of a journal, of which a crash may have cut the last; none if there is no file.
    Raises OSError if it can't be read.
    """
    try:
        contents = read_regular(path, max_bytes=_MAX_BYTES)
    except FileNotFoundError:
        return []
    return contents.decode(errors="replace").split("\n") if contents else []


def is_open(path: Path) -> bool:
    """Whether a process has a journal open for writing; False if that can't be known."""
    try:
        descriptor = os.open(path, os.O_RDONLY | os.O_CLOEXEC | os.O_NONBLOCK)
    except OSError as cause:
        refuse_shortage(cause)
        return False
    try:
        fcntl.flock(descriptor, fcntl.LOCK_SH | fcntl.LOCK_NB)
    except BlockingIOError:
        return True
    except OSError:
        return False
    finally:
        os.close(descriptor)
    return False
