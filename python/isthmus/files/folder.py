"""
Folders: created, checked, and synced; and the error when a file can't be written: what, why, and
what to do.
"""

import errno
import os
import secrets
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from isthmus.errors import WriteError

_ADVICE = {
    errno.ENOSPC: "make room on its disk",
    errno.EDQUOT: "make room: the disk quota is used up",
    errno.EFBIG: "raise the limit of a file's size (ulimit -f)",
    errno.EROFS: "its file system is read-only: mount it writable",
    errno.EACCES: "get the permission to write there",
    errno.EPERM: "get the permission to write there",
    errno.EIO: "check the disk (dmesg says what failed)",
    errno.ENOENT: "make the folder first",
}
# Where else to write, for who runs a command.
ELSEWHERE = "choose another place: --output, XDG_DATA_HOME, or ISTHMUS_PROFILE for a profile"


@contextmanager
def writing(
    path: Path, *, hint: str = "", option: str = "", elsewhere: str = ELSEWHERE
) -> Iterator[None]:
    """
    Turn an error of the system into a WriteError with the caller's advice; an option may have named
    the path.
    """
    try:
        yield
    except WriteError:
        raise
    except OSError as cause:
        what = f"{option} {path}" if option else f"can't write {path}"
        advice = _hint(cause, hint, elsewhere)
        raise WriteError(f"{what}: {cause.strerror or cause}", hint=advice) from cause


def not_durable(path: Path, cause: OSError, *, elsewhere: str) -> WriteError:
    """Report that a file is written, but may not survive a crash."""
    why = cause.strerror or str(cause)
    advice = _hint(cause, "", elsewhere)
    return WriteError(
        f"{path} is written, but can't be made durable: {why}",
        hint=f"it is complete now, and may be lost if the machine crashes: {advice}",
    )


def _hint(cause: OSError, own: str, elsewhere: str) -> str:
    advice = _ADVICE.get(cause.errno or 0)
    general = f"{advice}, or {elsewhere}" if advice else elsewhere
    return f"{general}; {own}" if own else general


# The errors of file systems that can't sync a folder.
_CANNOT_SYNC = {errno.EINVAL, errno.ENOTSUP, errno.ENOSYS}


def make_folder(folder: Path, *, option: str = "", follow_link: bool = True) -> Path:
    """Create a folder, and missing ones above it. Their names are durable."""
    with writing(folder, option=option):
        if not follow_link:
            refuse_link(folder)
        _make(folder)
    return folder


def refuse_link(path: Path) -> None:
    """
    Refuse a link at a name that a user hasn't named: whoever sent the folder chose its target.
    Raises OSError if it can't be examined.
    """
    if path.is_symlink():
        raise WriteError(
            f"can't write {path}: it is a link, which may lead anywhere",
            hint="remove the link, or write into another folder",
        )


def try_folder(folder: Path) -> None:
    """Make a file in a folder, and remove it, or raise OSError."""
    path = temporary_in(folder)
    os.close(os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o666))
    path.unlink()


def temporary_in(folder: Path) -> Path:
    """Give a name that no file in a folder has: a short one, because file systems limit names."""
    return folder / f".isthmus.{secrets.token_hex(8)}.tmp"


def remove_if_empty(folder: Path) -> None:
    """Remove a folder that has nothing in it, if that is allowed."""
    with suppress(OSError):
        folder.rmdir()


def sync_folder(folder: Path) -> None:
    """Make the names in a folder durable, on file systems that can, or raise OSError."""
    try:
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
    except PermissionError:
        # A process may write in a folder that it may not read, but can't sync it.
        return
    try:
        os.fsync(descriptor)
    except OSError as cause:
        if cause.errno not in _CANNOT_SYNC:
            raise
    finally:
        os.close(descriptor)


def _make(folder: Path) -> None:
    if folder.is_dir():
        return
    _make(folder.parent)
    try:
        folder.mkdir()
    except FileExistsError:
        # Another process was faster, or a file has that name.
        if not folder.is_dir():
            raise
    else:
        sync_folder(folder.parent)
