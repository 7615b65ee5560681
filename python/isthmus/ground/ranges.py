"""
NVTX ranges, which Nsight Systems shows on the time line: on with ISTHMUS_NVTX=1.

They need the package nvtx. Without the setting nothing is imported, and functions stay as they are.
"""

import functools
import importlib
import os
import warnings
from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Any, TypeVar

from isthmus.errors import IsthmusWarning

Function = TypeVar("Function", bound=Callable[..., Any])

_SETTING = "ISTHMUS_NVTX"
_DOMAIN = "isthmus"


@functools.cache
def _nvtx() -> Any:  # noqa: ANN401 - a module that need not be installed
    if os.environ.get(_SETTING, "") in {"", "0"}:
        return None
    try:
        return importlib.import_module("nvtx")
    except ImportError as error:
        warnings.warn(
            f"{_SETTING} is set, and there are no ranges: {error} (pip install nvtx)",
            IsthmusWarning,
            stacklevel=3,
        )
        return None


def part(name: str) -> AbstractContextManager[object]:
    """Give an NVTX range, of the domain "isthmus", for a block of code."""
    nvtx = _nvtx()
    if nvtx is None:
        return nullcontext()
    found: AbstractContextManager[object] = nvtx.annotate(name, domain=_DOMAIN)
    return found


def annotated(function: Function, name: str) -> Function:
    """Give a function whose calls are ranges; the function itself if ranges are off."""
    nvtx = _nvtx()
    if nvtx is None:
        return function
    found: Function = nvtx.annotate(name, domain=_DOMAIN)(function)
    return found
