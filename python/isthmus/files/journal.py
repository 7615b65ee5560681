"""A file of lines that grows, each line durable before the next thing is done."""

import contextlib
import os
from collections.abc import Sequence
from pathlib import Path

from isthmus.files.failure import writing
from isthmus.files.regular import read_regular
from isthmus.files.whole import write_all, write_whole

# Of what is read. A sweep's point takes some 2 KB.
_MAX_BYTES = 1 << 30


class Journal:
    """Lines at the end of a file, each on disk when `add` returns."""

    def __init__(self, path: Path, lines: Sequence[str], *, hint: str = "") -> None:
        """
        Begin a file with some lines, in place of the one that is there.

        Args:
            path: The file.
            lines: What it begins with: all that is to be kept of the old one. A line that a crash
                has cut goes, so that none is appended to it.
            hint: What to do when a line can't be written.

        Raises:
            WriteError: It can't be written; the old file is as it was.
        """
        self._path = path
        self._hint = hint
        write_whole(path, "".join(f"{line}\n" for line in lines))
        with writing(path):
            self._descriptor = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CLOEXEC)
            self._size_bytes = os.fstat(self._descriptor).st_size

    def add(self, line: str) -> None:
        """
        Append a line.

        Raises:
            WriteError: It can't be written, or not be made durable. The lines before it stand.
        """
        data = f"{line}\n".encode()
        with writing(self._path, hint=self._hint):
            try:
                write_all(self._descriptor, data)
                os.fsync(self._descriptor)
            except OSError:
                # What is there of the line would spoil the next.
                with contextlib.suppress(OSError):
                    os.ftruncate(self._descriptor, self._size_bytes)
                raise
        self._size_bytes += len(data)

    def close(self) -> None:
        """End the writing. All lines are on disk already."""
        with contextlib.suppress(OSError):
            os.close(self._descriptor)

    def remove(self) -> None:
        """Remove the file. One that can't be removed does no harm: its lines are kept elsewhere."""
        with contextlib.suppress(OSError):
            self._path.unlink()


def read_lines(path: Path) -> list[str]:
    """
    Read the lines of a journal; none if there is no file. A crash may have cut the last.

    Raises:
        OSError: It can't be read.
    """
    try:
        contents = read_regular(path, max_bytes=_MAX_BYTES)
    except FileNotFoundError:
        return []
    return contents.decode(errors="replace").split("\n") if contents else []
