"""Versions of the software that measured, and where NVRTC is."""

import platform
from importlib import metadata

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


def find_nvrtc() -> str | None:
    """
    Find NVRTC in a wheel or a toolkit.

    Returns:
        The path of the library, or None if there is none or it can't be loaded.
    """
    try:
        from cuda.pathfinder import load_nvidia_dynamic_lib

        path: str | None = load_nvidia_dynamic_lib("nvrtc").abs_path
    except Exception:  # noqa: BLE001 - whatever it is, there is no NVRTC to be had
        return None
    return path


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
