"""Where runs are kept, and how a file is written so that it is either whole or untouched."""

import contextlib
import os
import secrets
from pathlib import Path

from isthmus.errors import Error
from isthmus.run.model import Run


class WriteError(Error, OSError):
    """A file could not be written. What was there before is still there."""


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
        raise WriteError(f"no place for the run: {cause}", hint="set XDG_DATA_HOME") from cause
    name = f"{run.run.started_at:%Y%m%dT%H%M%SZ}-{run.run.id}.json"
    return write_whole(target_folder / name, run_text(run))


def load_run(path: Path) -> Run:
    """Read a run file; ValidationError if it is none."""
    return Run.model_validate_json(path.read_bytes())


def write_whole(path: Path, text: str) -> Path:
    """
    Write a file so that readers see the old contents or the new, never a part.

    A link is followed. What is no regular file, such as /dev/stdout or a pipe, is written directly.

    Raises:
        WriteError: It could not be written; the old file is as it was.
    """
    try:
        target = path.resolve()
        if target.exists() and not target.is_file():
            target.write_text(text, encoding="utf-8")
        else:
            _replace(target, text.encode())
    except OSError as cause:
        raise _write_error(path, cause) from cause
    return path


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
