"""The environment in which a program is watched: what the preloaded library reads there."""

import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING

from isthmus.errors import Unavailable

if TYPE_CHECKING:
    from isthmus.watching.counters import Process

FOLDER = "ISTHMUS_WATCH_FOLDER"
_EXEC = "ISTHMUS_EXEC"
WATCH_LIBRARY, EXEC_LIBRARY = "libisthmus_watch.so", "libisthmus_exec.so"


def library(name: str) -> Path:
    """Find one of the libraries, beside the native module."""
    found = next((one / name for one in package_folders() if (one / name).exists()), None)
    if found is None:
        raise Unavailable(
            capability="isthmus watch", reason=f"{name} isn't installed", needs="x86-64 Linux"
        )
    if set(" :;") & set(str(found)):
        raise Unavailable(
            capability="isthmus watch",
            reason=f"{found}: LD_PRELOAD can't name a path with a space or a colon",
            needs="Isthmus in a folder without these",
        )
    return found


def package_folders() -> list[Path]:
    """List the package's folders: an editable one has its libraries in another than its sources."""
    return [Path(folder) for folder in sys.modules["isthmus"].__path__]


def watched_environment(
    base: Mapping[str, str],
    folder: Path,
    *,
    events: int = 0,
    python_sites: int | None = None,
    audit_library: bool = False,
) -> dict[str, str]:
    """Add to an environment what a watched program needs; what was preloaded stays so."""
    ours = str(library(WATCH_LIBRARY))
    added = {FOLDER: str(folder)}
    # AddressSanitizer refuses to start behind another library; this one has none of its functions.
    added["ASAN_OPTIONS"] = f"{base.get('ASAN_OPTIONS', '')}:verify_asan_link_order=0".lstrip(":")
    for name in ("LD_PRELOAD", *(["LD_AUDIT"] if audit_library else [])):
        others = [one for one in base.get(name, "").replace(" ", ":").split(":") if one]
        added[name] = ":".join([ours, *(one for one in others if one != ours)])
    if events:
        added["ISTHMUS_WATCH_EVENTS"] = str(events)
    if python_sites is not None:
        added["ISTHMUS_WATCH_SITES"] = str(python_sites)
    return {**base, **added}


def exec_environment(base: Mapping[str, str], mode: str, **wanted: str) -> dict[str, str]:
    """Add what tells the library to replace copies (on, audit), unless the user said off."""
    added = {f"{_EXEC}_{name.upper()}": value for name, value in wanted.items() if value}
    added[f"{_EXEC}_LIBRARY"] = str(library(EXEC_LIBRARY))
    return {**base, **added, _EXEC: "off" if base.get(_EXEC) == "off" else mode}


def own_counters() -> "Process | None":
    """Read what this process has counted; None if it has made no call of the driver."""
    from isthmus.watching.counters import SUFFIX, read_counters

    # Another node's process may have the same number, and an earlier one may have had it.
    mapped = Path("/proc/self/maps").read_text("utf-8", "surrogateescape").splitlines()
    own = next((line.rpartition("/")[2] for line in mapped if line.endswith(SUFFIX)), None)
    return read_counters(Path(os.environ[FOLDER]) / own) if own else None


def is_preloaded() -> bool:
    """Whether this process was started with the library."""
    return FOLDER in os.environ and WATCH_LIBRARY in os.environ.get("LD_PRELOAD", "")
