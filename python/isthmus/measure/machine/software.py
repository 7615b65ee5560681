"""Versions of the software that measures."""

import platform
from importlib import metadata

from isthmus.measure.run.machine import Software

_LIBRARIES = ("isthmus", "nvidia-ml-py", "cuda-pathfinder", "pydantic", "typer", "rich")


def read_software(nvrtc_version: str | None) -> Software:
    """Collect versions."""
    return Software(
        python=platform.python_version(),
        nvrtc=nvrtc_version or None,
        libraries={name: version for name in _LIBRARIES if (version := _version(name)) is not None},
    )


def _version(name: str) -> str | None:
    try:
        return metadata.version(name)
    except metadata.PackageNotFoundError:
        return None
