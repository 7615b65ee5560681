"""
What may be missing: packages that come with an extra, such as isthmus[report], and NVRTC,
NVIDIA's run-time compiler of kernels.
"""

import importlib.util
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from isthmus.errors import Unavailable


@contextmanager
def packages_for(capability: str, needs: str) -> Iterator[None]:
    """Stand around imports: one that fails becomes Unavailable, with how to get the package."""
    try:
        yield
    except ImportError as cause:
        reason = f"{cause.name} is not installed" if cause.name else str(cause)
        raise Unavailable(capability=capability, reason=reason, needs=needs) from cause


def find_nvrtc(max_major: int | None = None) -> str | None:
    """
    Find the newest NVRTC of a wheel that the driver, of `max_major`, can load the code of; or any
    other, even if it is too new, so that messages can name it.
    """
    fitting = [
        (major, path)
        for major, path in _nvrtc_in_wheels()
        if max_major is None or major <= max_major
    ]
    if fitting:
        return str(max(fitting)[1])
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib

        path: str | None = load_nvidia_dynamic_lib("nvrtc").abs_path
    except Exception:  # noqa: BLE001 - whatever it is, there is no NVRTC to be had
        return None
    return path


def _nvrtc_in_wheels() -> list[tuple[int, Path]]:
    """List them by major version: nvidia/cu13/lib/libnvrtc.so.13, nvidia/cuda_nvrtc/lib/..so.12."""
    try:
        wheels = importlib.util.find_spec("nvidia")
    except (ImportError, ValueError):
        return []
    folders = (wheels.submodule_search_locations if wheels else None) or []
    found = [path for folder in folders for path in Path(folder).glob("*/lib/libnvrtc.so.*")]
    return [(int(path.suffix[1:]), path) for path in found if path.suffix[1:].isdecimal()]
