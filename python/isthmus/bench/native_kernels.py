"""The project's kernels for a device, compiled once and kept in the user's cache."""

import os
from pathlib import Path
from typing import TYPE_CHECKING

from isthmus.errors import DriverError, Unavailable
from isthmus.machine.software import find_nvrtc
from isthmus.spelling import cuda_major

if TYPE_CHECKING:
    from isthmus import _native


def kernel_cache_folder() -> str:
    """
    Give the folder of compiled kernels: `$XDG_CACHE_HOME/isthmus/kernels`, or in `~/.cache`.

    Returns:
        Its path; "", which means no cache, for a user without a home.
    """
    base = Path(os.environ.get("XDG_CACHE_HOME", ""))
    try:
        cache = base if base.is_absolute() else Path.home() / ".cache"
    except RuntimeError:
        return ""
    return str(cache / "isthmus" / "kernels")


def open_kernels(
    driver: "_native.Driver", context: "_native.Context"
) -> "tuple[_native.Kernels | None, list[str]]":
    """
    Find what compiles kernels.

    Returns:
        The kernels, or None; and what to tell the user about it.
    """
    from isthmus import _native

    nvrtc = None if driver.emulated else find_nvrtc(cuda_major(driver.version))
    try:
        kernels = _native.Kernels(context, nvrtc=nvrtc, cache_folder=kernel_cache_folder())
    except (Unavailable, DriverError) as error:
        note = f"no kernels, so the host verifies and 'visible' is waived: {error}"
        return None, [note]
    return kernels, []
