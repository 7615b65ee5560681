"""Writes a folder of secrets, which never replaces anything."""

import os
import shutil
from collections.abc import Mapping
from contextlib import suppress
from pathlib import Path

from isthmus.errors import UsageError
from isthmus.files.failure import writing
from isthmus.files.folder import sync_folder, temporary_in
from isthmus.files.whole import write_all


def write_secrets(folder: Path, contents: Mapping[str, bytes]) -> None:
    """
    Write a new folder with some files, all of them or none.

    Only the user may read it (0700) and its files (0600). When this returns, they survive a crash.

    Args:
        folder: The folder, which may not exist; in one that exists.
        contents: Name -> bytes.

    Raises:
        UsageError: There is something of that name; it is unchanged.
        WriteError: It can't be written; nothing is left.
    """
    if os.path.lexists(folder):
        raise UsageError(f"{folder} exists: secrets are never replaced", hint="name a new folder")
    with writing(folder):
        temporary = temporary_in(folder.parent)
        temporary.mkdir(0o700)
        try:
            for name, data in contents.items():
                _write(temporary / name, data)
            sync_folder(temporary)
            # If another process has made the folder meanwhile, this fails, unless it is empty.
            temporary.rename(folder)
        except BaseException:
            with suppress(OSError):
                shutil.rmtree(temporary)
            raise
        sync_folder(folder.parent)


def _write(path: Path, data: bytes) -> None:
    descriptor = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_CLOEXEC, 0o600)
    try:
        write_all(descriptor, data)
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
