"""The source line at a place in a Python program."""

import linecache
import os
import re
from functools import lru_cache

from isthmus.watching.counters import Site

_PYTHON = re.compile(r"(?P<file>.+\.py):(?P<line>[0-9]{1,7})(?: |$)")
# A longer file is no program that somebody has written.
_MOST_BYTES = 4 << 20


@lru_cache(maxsize=4096)
def source_line(site: Site) -> str:
    """Read the line of a site of Python; "" if its file isn't here."""
    found = _PYTHON.match(site.place) if site.is_python else None
    try:
        # Counters may come from elsewhere: no pipe is opened, and nothing without an end.
        if not found or not 0 < _regular_bytes(found["file"]) <= _MOST_BYTES:
            return ""
        line = linecache.getline(found["file"], int(found["line"])).strip()
    except (OSError, ValueError):
        return ""
    return "".join(one for one in line if one.isprintable())


def _regular_bytes(path: str) -> int:
    return os.stat(path).st_size if os.path.isfile(path) else 0  # noqa: PTH113, PTH116 - any text
