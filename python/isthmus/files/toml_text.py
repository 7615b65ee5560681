"""Reads TOML from outside, which may be made to take minutes or all memory."""

import tomllib
from typing import Any

MAX_TOML_BYTES = 64 << 10
"""More than twice what a whole run's expected values take, and ten times what a machine does."""
# tomllib takes minutes for a key of thousands of parts.
_MAX_DOTS_IN_A_LINE = 250


def toml_document(contents: bytes) -> dict[str, Any]:
    """Parse TOML; ValueError if it isn't, or is too large or too deep to be read."""
    if len(contents) > MAX_TOML_BYTES:
        raise ValueError(f"it has more than {MAX_TOML_BYTES} bytes")
    for number, line in enumerate(contents.split(b"\n"), start=1):
        if line.count(b".") > _MAX_DOTS_IN_A_LINE:
            raise ValueError(f"line {number} has more than {_MAX_DOTS_IN_A_LINE} dots")
    try:
        return tomllib.loads(contents.decode())
    except RecursionError:
        raise ValueError("its brackets are nested too deeply") from None
