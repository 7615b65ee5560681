"""Reads a file of nodes."""

import re
from pathlib import Path

from isthmus.errors import UsageError
from isthmus.files.regular import read_regular
from isthmus.suggest import shortened

_MAX_BYTES = 4 << 20
# Names and addresses, with a user before them if SSH needs one.
_NAME = re.compile(r"(?:[\w.-]+@)?[\w.:\[\]-]+", re.ASCII)


def read_hosts(path: Path) -> list[str]:
    """
    Read the nodes in a file, one a line; "#" begins a comment.

    Raises:
        UsageError: It can't be read, it has none, a line is no name, or a name stands twice.
    """
    try:
        text = read_regular(path, max_bytes=_MAX_BYTES).decode(errors="replace")
    except OSError as cause:
        raise UsageError(f"can't read {path}: {cause.strerror or cause}") from cause
    found: list[str] = []
    for number, line in enumerate(text.splitlines(), start=1):
        name = line.partition("#")[0].strip()
        if not name:
            continue
        place = f"line {number} of {path}"
        # It would be an option of ssh.
        if not _NAME.fullmatch(name) or name.startswith("-"):
            raise UsageError(f"{place} is no host: '{shortened(name)}'", hint="one name a line")
        if name in found:
            raise UsageError(f"{place} names {name} again", hint="name each node once")
        found.append(name)
    if not found:
        raise UsageError(f"{path} names no host", hint="write one name a line")
    return found
