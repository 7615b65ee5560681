"""Where the doctor reads its facts, so that tests can provide other sources."""

import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from isthmus.ground.extras import find_nvrtc


@dataclass(frozen=True, kw_only=True)
class Sources:
    """
    Everything the doctor reads from.

    Attributes:
        choose_device: Finds the requested device by number, UUID or PCI address.
        nvml: The module `pynvml`, or one that looks like it; None imports it.
        find_nvrtc: Gives the path of NVRTC's library for a driver's CUDA major version, or None.
        find_gdrapi: Gives the path of libgdrapi.so.2, or None.
        profile_age: Says how long ago a stored profile was measured.
    """

    native: Any
    choose_device: Callable[[str, Callable[[str], Any]], Any]
    nvml: Any = None
    root: Path = Path("/")
    environment: Mapping[str, str] = field(default_factory=lambda: os.environ)
    find_nvrtc: Callable[[int | None], str | None] = find_nvrtc
    find_gdrapi: Callable[[], Path | None] = lambda: None
    profile_age: Callable[[Path], str | None] = lambda _: None


def read_text(path: Path) -> str | None:
    """Read a small file of the kernel; None if that fails."""
    try:
        return path.read_text(encoding="utf-8", errors="replace").strip()
    except OSError:
        return None
