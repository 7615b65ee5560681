"""Versions of the software that measures, and the path of NVRTC."""

import importlib.util
import platform
from importlib import metadata
from pathlib import Path

from isthmus.run.machine import Software

_LIBRARIES = ("isthmus", "nvidia-ml-py", "cuda-pathfinder", "pydantic", "typer", "rich")


def read_software(nvrtc_version: str | None) -> Software:
    """
    Collect versions.

    Args:
        nvrtc_version: Of the NVRTC in use; None or "" if none is.
    """
    return Software(
        python=platform.python_version(),
        nvrtc=nvrtc_version or None,
        libraries={name: version for name in _LIBRARIES if (version := _version(name)) is not None},
    )


def find_nvrtc(max_major: int | None = None) -> str | None:
    """
    Find NVRTC in a wheel or a toolkit.

    Args:
        max_major: The driver's CUDA major version: it can't load what a newer NVRTC compiled.
            None accepts any.

    Returns:
        The path of the newest suitable one in a wheel; or of any other, even if it is too new, so
        that messages can name it; None if there is none or it can't be loaded.
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


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
