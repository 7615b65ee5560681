"""Finds the library for programs written for GDRCopy."""

from pathlib import Path

from isthmus import _native

_LIBRARY = "libgdrapi.so.2"


def gdrapi_library() -> Path | None:
    """Give the path of libgdrapi.so.2, beside the native module; None if it was not built."""
    library = Path(_native.__file__).parent / _LIBRARY
    return library if library.exists() else None
