"""Reads a file of nodes."""

import re
from pathlib import Path

from isthmus.errors import UsageError
from isthmus.files.regular import read_regular
from isthmus.ground.suggest import shortened

_MAX_BYTES = 4 << 20
# Names and addresses, with a user before them if SSH needs one. Without it, a name is a folder of
# runs: none begins with a dot, as folders do that hold something else. A "-" begins options of ssh.
_NAME = re.compile(r"(?:\w[\w.-]*@)?[\w:\[][\w.:\[\]-]*", re.ASCII)
_MAX_NAME = 255


def read_hosts(path: Path) -> list[str]:
    """Read the nodes in a file, one a line; "#" begins a comment."""
    try:
        text = read_regular(path, max_bytes=_MAX_BYTES).decode(errors="replace")
    except OSError as cause:
        raise UsageError(f"can't read {path}: {cause.strerror or cause}") from cause
    found: dict[str, str] = {}
    for number, line in enumerate(text.split("\n"), start=1):
        name = line.partition("#")[0].strip(" \t\r")
        if not name:
            continue
        place = f"line {number} of {path}"
        node = node_of(name)
        if not _NAME.fullmatch(name) or len(node) > _MAX_NAME:
            raise UsageError(f"{place} is no host: '{shortened(name)}'", hint="one name a line")
        if node in found:
            raise UsageError(f"{place} names {node} again", hint="name each node once")
        found[node] = name
    if not found:
        raise UsageError(f"{path} names no host", hint="write one name a line")
    return list(found.values())


def node_of(host: str) -> str:
    """Give a host's name without the user, as which its runs are kept."""
    return host.rpartition("@")[2]
