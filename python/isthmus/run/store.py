"""Where runs are kept, and how a file is written so that it is either whole or untouched."""

import contextlib
import errno
import os
import re
import secrets
import stat
from pathlib import Path

from isthmus.errors import WriteError
from isthmus.run.model import Run

_DESCRIPTOR = re.compile(r"/(?:dev|proc/self)/fd/(?P<number>[0-9]{1,6})")
_STANDARD = {"/dev/stdin": 0, "/dev/stdout": 1, "/dev/stderr": 2}


def runs_folder() -> Path:
    """Give the folder of the user's runs: `$XDG_DATA_HOME/isthmus/runs`, or below `~/.local`."""
    base = Path(os.environ.get("XDG_DATA_HOME", ""))
    # The XDG specification says to ignore a relative path.
    data = base if base.is_absolute() else Path.home() / ".local" / "share"
    return data / "isthmus" / "runs"


def run_text(run: Run) -> str:
    """Give a run as JSON text."""
    return run.model_dump_json(indent=2) + "\n"


def save_run(run: Run, folder: Path | None = None) -> Path:
    """
    Keep a run among the user's runs.

    Args:
        run: What to keep.
        folder: Where; `runs_folder()` by default.

    Returns:
        The new file.

    Raises:
        WriteError: The folder can't be made, or the file can't be written.
    """
    try:
        target_folder = folder or runs_folder()
        target_folder.mkdir(parents=True, exist_ok=True)
    except OSError as cause:
        raise _write_error(Path(cause.filename or "the runs folder"), cause) from cause
    except RuntimeError as cause:
        raise _no_home(cause) from cause
    name = f"{run.run.started_at:%Y%m%dT%H%M%SZ}-{run.run.id}.json"
    return write_whole(target_folder / name, run_text(run))


def load_run(path: Path) -> Run:
    """Read a run file; ValidationError if it is none."""
    return Run.model_validate_json(path.read_bytes())


def check_runs_folder() -> None:
    """
    Find out whether a run could be kept among the user's runs. Leaves nothing behind.

    Raises:
        WriteError: It couldn't.
    """
    try:
        folder = runs_folder()
    except RuntimeError as cause:
        raise _no_home(cause) from cause
    try:
        # save_run makes what is missing.
        while not os.path.lexists(folder):
            folder = folder.parent
        _try_folder(folder)
    except OSError as cause:
        raise _write_error(folder, cause) from cause


def check_writable(path: Path) -> None:
    """
    Find out whether `write_whole` could write a file. Leaves nothing behind.

    Raises:
        WriteError: It couldn't, as far as can be told without writing.
    """
    try:
        if _written_directly(path):
            if _descriptor_of(path) is None and not os.access(path, os.W_OK):
                raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
        else:
            _try_folder(path.resolve().parent)
    except OSError as cause:
        raise _write_error(path, cause) from cause


def write_whole(path: Path, contents: str | bytes) -> Path:
    """
    Write a file so that readers see the old contents or the new, never a part.

    A link is followed. What is no regular file, such as /dev/stdout or a pipe, is written directly.

    Raises:
        WriteError: It could not be written; the old file is as it was.
    """
    data = contents.encode() if isinstance(contents, str) else contents
    try:
        if _written_directly(path):
            _write_directly(path, data)
        else:
            _replace(path.resolve(), data)
    except OSError as cause:
        raise _write_error(path, cause) from cause
    return path


def _written_directly(path: Path) -> bool:
    """
    Say whether a path names something that can't be replaced by a new file.

    The path is looked at as it is: resolved, /dev/stdout is "/proc/1/fd/pipe:[123]", which isn't
    there, or a file that stdout is to be appended to.
    """
    if _descriptor_of(path) is not None:
        return True
    try:
        return not stat.S_ISREG(path.stat().st_mode)
    except FileNotFoundError:
        return False


def _descriptor_of(path: Path) -> int | None:
    """Tell which of this process's descriptors a path stands for: 1 for /dev/stdout."""
    if str(path) in _STANDARD:
        return _STANDARD[str(path)]
    match = _DESCRIPTOR.fullmatch(str(path))
    return int(match["number"]) if match else None


def _write_directly(path: Path, contents: bytes) -> None:
    # A copy of the descriptor shares its position, which opening the path anew would not.
    descriptor = _descriptor_of(path)
    target = path if descriptor is None else os.dup(descriptor)
    with open(target, "wb", buffering=0) as file:  # noqa: PTH123 - may be a descriptor
        left = memoryview(contents)
        while left:
            left = left[file.write(left) or 0 :]


def _try_folder(folder: Path) -> None:
    """Make a file in a folder, and remove it."""
    temporary = folder / f".isthmus.{secrets.token_hex(4)}.tmp"
    temporary.open("xb").close()
    temporary.unlink()


def _replace(target: Path, contents: bytes) -> None:
    temporary = target.with_name(f".{target.name}.{secrets.token_hex(4)}.tmp")
    try:
        with temporary.open("xb") as file:
            file.write(contents)
            file.flush()
            os.fsync(file.fileno())
        if target.exists():
            temporary.chmod(target.stat().st_mode & 0o7777)
        temporary.replace(target)
    except BaseException:
        with contextlib.suppress(OSError):
            temporary.unlink()
        raise
    _sync_folder(target.parent)


def _sync_folder(folder: Path) -> None:
    """Make the new name durable, on file systems that can."""
    with contextlib.suppress(OSError):
        descriptor = os.open(folder, os.O_RDONLY | os.O_DIRECTORY)
        try:
            os.fsync(descriptor)
        finally:
            os.close(descriptor)


def _write_error(path: Path, cause: OSError) -> WriteError:
    return WriteError(
        f"can't write {path}: {cause.strerror or cause}",
        hint="choose another place with --output FILE or XDG_DATA_HOME, or make room",
    )


def _no_home(cause: RuntimeError) -> WriteError:
    return WriteError(f"no place for the run: {cause}", hint="set XDG_DATA_HOME")
