"""Folders: created, checked, and synced."""

import errno
import os
import secrets
from pathlib import Path

from isthmus.errors import WriteError
from isthmus.files.failure import writing

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
