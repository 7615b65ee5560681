"""
Isthmus moves data between CPU and GPU as fast as the link allows, and shows why.

Importing this package is light: errors and the version are here at once, everything else is
loaded when it is first used.
"""

import importlib
from typing import TYPE_CHECKING

from isthmus.errors import (
    CorruptTransfer,
    DriverError,
    Error,
    IsthmusWarning,
    OutOfDeviceMemory,
    Unavailable,
    UsageError,
)

if TYPE_CHECKING:
    from isthmus.run.model import Result, Run
    from isthmus.sizes import format_size, parse_sizes
    from isthmus.windows.opening import Window, Windows, window

__version__ = "0.1.0"

__all__ = [
    "CorruptTransfer",
    "DriverError",
    "Error",
    "IsthmusWarning",
    "OutOfDeviceMemory",
    "Result",
    "Run",
    "Unavailable",
    "UsageError",
    "Window",
    "Windows",
    "__version__",
    "format_size",
    "parse_sizes",
    "window",
]

_LAZY = {
    "Result": "isthmus.run.model",
    "Run": "isthmus.run.model",
    "Window": "isthmus.windows.opening",
    "Windows": "isthmus.windows.opening",
    "format_size": "isthmus.sizes",
    "parse_sizes": "isthmus.sizes",
    "window": "isthmus.windows.opening",
}


def __getattr__(name: str) -> object:
    """Load a public name when it is first used."""
    if name not in _LAZY:
        raise AttributeError(f"module 'isthmus' has no attribute {name!r}")
    value: object = getattr(importlib.import_module(_LAZY[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    """List the public names, loaded or not."""
    return sorted(__all__)
