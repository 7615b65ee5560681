"""The environment in which a program is watched: what the preloaded library reads there."""

import os
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from isthmus.errors import Unavailable

if TYPE_CHECKING:
    from isthmus.watching.counters import Process

FOLDER = "ISTHMUS_WATCH_FOLDER"
_EXEC = "ISTHMUS_EXEC"
WATCH_LIBRARY, EXEC_LIBRARY = "libisthmus_watch.so", "libisthmus_exec.so"


@dataclass(frozen=True, kw_only=True)
class Exec:
    """
    What is replaced.

    Attributes:
        up_bytes: The smallest upload.
        only: A line or an entry point; "" for all.
        off: Programs whose executable matches are left alone; "" for none.
        pin: Pinned memory of the driver comes from the pool.
    """

    audit: bool = False
    up_bytes: int
    down_bytes: int
    only: str = ""
    off: str = ""
    pin: bool = False


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
    import isthmus

    return [Path(folder) for folder in isthmus.__path__]


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
    for name in ("LD_PRELOAD", *(["LD_AUDIT"] if audit_library else [])):
        others = [one for one in base.get(name, "").replace(" ", ":").split(":") if one]
        added[name] = ":".join([ours, *(one for one in others if one != ours)])
    if events:
        added["ISTHMUS_WATCH_EVENTS"] = str(events)
    if python_sites is not None:
        added["ISTHMUS_WATCH_SITES"] = str(python_sites)
    return {**base, **added}


def exec_environment(base: Mapping[str, str], wanted: Exec) -> dict[str, str]:
    """Add what tells the library to replace copies, unless the user has turned that off."""
    mode = "audit" if wanted.audit else "on"
    added = {
        _EXEC: "off" if base.get(_EXEC) == "off" else mode,
        "ISTHMUS_EXEC_LIBRARY": str(library(EXEC_LIBRARY)),
        "ISTHMUS_EXEC_UP": str(wanted.up_bytes),
        "ISTHMUS_EXEC_DOWN": str(wanted.down_bytes),
        "ISTHMUS_EXEC_ONLY": wanted.only,
        "ISTHMUS_EXEC_OFF": wanted.off,
        "ISTHMUS_EXEC_PIN": "1" if wanted.pin else "",
    }
    return {**base, **{name: value for name, value in added.items() if value}}


def own_counters() -> "Process | None":
    """Read what this process has counted; None if it has made no call of the driver."""
    from isthmus.watching.counters import counter_files, read_counters

    folder = Path(os.environ[FOLDER])
    own = [path for path in counter_files(folder) if path.name.startswith(f"{os.getpid()}-")]
    # An earlier process may have had the same number.
    return max(map(read_counters, own), key=lambda one: one.begin_ns, default=None)


def is_preloaded() -> bool:
    """Whether this process was started with the library."""
    return FOLDER in os.environ and WATCH_LIBRARY in os.environ.get("LD_PRELOAD", "")
