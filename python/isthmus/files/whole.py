"""Writes a file so that it is complete or unchanged, and survives a crash of the machine."""

import errno
import os
import re
import stat
from collections.abc import Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from pathlib import Path

from isthmus.files.folder import (
    ELSEWHERE,
    not_durable,
    refuse_link,
    sync_folder,
    temporary_in,
    try_folder,
    writing,
)

_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(?P<number>[0-9]{1,6})")
_STANDARD = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}


def write_whole(
    path: Path, contents: str | bytes, *, hint: str = "", follow_link: bool = True
) -> Path:
    """
    Write a file durably, so that readers see the old contents (also after a WriteError) or the new,
    never a part; what isn't a regular file, such as /dev/stdout, is written directly. Links are
    followed only at names that a user has chosen, not in a folder that somebody may have sent.
    """
    data = contents.encode() if isinstance(contents, str) else contents
    if follow_link and _written_directly(path):
        with writing(path, hint=hint):
            _write_directly(path, data)
    else:
        with whole_file(path, hint=hint, follow_link=follow_link) as file:
            file.write(data)
    return path


def remove_file(path: Path) -> None:
    """Remove a file; it may be gone already."""
    with writing(path, hint="it still exists"):
        path.unlink(missing_ok=True)


def check_writable(path: Path) -> None:
    """Check whether `write_whole` could write a file. Leaves nothing behind."""
    with writing(path):
        if not _written_directly(path):
            try_folder(_followed(path).parent)
        elif _descriptor_of(path) is None and not os.access(path, os.W_OK):
            raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))


class WholeFile:
    """
    A file that is being written, under a temporary name in the same folder. It is unbuffered, so
    errors of the disk occur in `write`, not later. pyarrow accepts it.
    """

    def __init__(
        self,
        path: Path,
        *,
        hint: str = "",
        elsewhere: str = ELSEWHERE,
        follow_link: bool = True,
    ) -> None:
        """Begin the file; the arguments are those of `write_whole`."""
        self._path = path
        self._hint = hint
        self._elsewhere = elsewhere
        with self._writing():
            if not follow_link:
                refuse_link(path)
            self._target = _followed(path) if follow_link else path.absolute()
            if follow_link:
                _refuse_replacing(self._target)
            self.temporary = temporary_in(self._target.parent)
            flags = os.O_RDWR | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC
            self.descriptor = os.open(self.temporary, flags, 0o666)
        self.closed = False
        self._unnamed = True

    def write(self, data: bytes | memoryview) -> int:
        """Append bytes, all of them."""
        with self._writing():
            write_all(self.descriptor, data)
        return len(data)

    def overwrite(self, place: int, data: bytes) -> None:
        """Replace a few bytes."""
        with self._writing():
            if os.pwrite(self.descriptor, data, place) != len(data):
                raise OSError(errno.EIO, os.strerror(errno.EIO))

    def flush(self) -> None:
        """Do nothing: nothing is buffered."""

    def keep(self, *, durable: bool = True) -> None:
        """
        Make the contents durable, unless the time of writing is left to the system, give the file
        its name, and make that durable. After a WriteError the old file is unchanged; or, if only
        the last step failed, the new one is complete in its place.
        """
        with self._writing():
            with suppress(FileNotFoundError):
                os.fchmod(self.descriptor, self._target.stat().st_mode & 0o7777)
            if durable:
                os.fsync(self.descriptor)
            # Network file systems may report a full disk here, too.
            self._close()
            self.temporary.replace(self._target)
            self._unnamed = False
        if not durable:
            return
        try:
            sync_folder(self._target.parent)
        except OSError as cause:
            raise not_durable(self._path, cause, elsewhere=self._elsewhere) from cause

    def abandon(self) -> None:
        """Remove what was written, unless it has its name. Never raises."""
        with suppress(OSError):
            self._close()
        if self._unnamed:
            with suppress(OSError):
                self.temporary.unlink()
            self._unnamed = False

    def _writing(self) -> AbstractContextManager[None]:
        return writing(self._path, hint=self._hint, elsewhere=self._elsewhere)

    def _close(self) -> None:
        if not self.closed:
            self.closed = True
            # Even if it fails: its number is free, and may soon be another file's.
            descriptor, self.descriptor = self.descriptor, -1
            os.close(descriptor)


@contextmanager
def whole_file(
    path: Path,
    *,
    hint: str = "",
    elsewhere: str = ELSEWHERE,
    durable: bool = True,
    follow_link: bool = True,
) -> Iterator[WholeFile]:
    """Give a file to write, which gets its name at the end, and is removed on any failure."""
    file = WholeFile(path, hint=hint, elsewhere=elsewhere, follow_link=follow_link)
    try:
        yield file
        file.keep(durable=durable)
    except BaseException:
        file.abandon()
        raise


def _refuse_replacing(target: Path) -> None:
    """Refuse a device or a pipe: a file with its name would end it, /dev/null for everybody."""
    with suppress(FileNotFoundError):
        kind = target.stat().st_mode
        if stat.S_ISDIR(kind):
            raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR))
        if not stat.S_ISREG(kind):
            raise OSError(errno.EINVAL, "it is not a regular file")


def _followed(path: Path) -> Path:
    """Follow links; raises OSError for a loop, of which Python's versions make different things."""
    try:
        with suppress(FileNotFoundError):
            path.stat()
    except ValueError as cause:
        raise OSError(errno.EINVAL, f"no file has such a name: {cause}") from cause
    return path.resolve()


def write_all(descriptor: int, data: bytes | memoryview) -> None:
    """Write bytes at a descriptor's position, in as many pieces as needed, or raise OSError."""
    with memoryview(data).cast("B") as left:
        written = 0
        while written < len(left):
            written += os.write(descriptor, left[written:])


def _written_directly(path: Path) -> bool:
    """
    Whether a path, unresolved, names something that can't be replaced by a new file: resolved,
    /dev/stdout is "/proc/1/fd/pipe:[123]", which doesn't exist, or a file to which stdout should be
    appended.
    """
    if _descriptor_of(path) is not None:
        return True
    with writing(path):
        try:
            return not stat.S_ISREG(path.stat().st_mode)
        except FileNotFoundError:
            return False


def _descriptor_of(path: Path) -> int | None:
    """Give the descriptor of this process that a path means: 1 for /dev/stdout."""
    if str(path) in _STANDARD:
        return _STANDARD[str(path)]
    match = _DESCRIPTOR.fullmatch(str(path))
    return int(match["number"]) if match else None


def _write_directly(path: Path, contents: bytes) -> None:
    # A copy of the descriptor shares its position, which opening the path anew would not.
    number = _descriptor_of(path)
    descriptor = os.open(path, os.O_WRONLY | os.O_CLOEXEC) if number is None else os.dup(number)
    try:
        write_all(descriptor, contents)
    finally:
        os.close(descriptor)
