"""The error when a file can't be written: what, why, and what to do."""

import errno
from collections.abc import Iterator
from contextlib import contextmanager
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
