"""Finds the GPU that a caller means: by its ordinal, a name like "cuda:1", a library's device."""

import operator
import re
from typing import Any

from isthmus import _native
from isthmus.errors import UsageError
from isthmus.ground.spelling import counted
from isthmus.move.arrays.loaded import loaded_type

_DEVICE_NAME = re.compile(r"cuda(?::([0-9]{1,5}))?")


def ordinal_of(device: object, driver: _native.Driver) -> int:
    """
    Give the ordinal of the GPU that a caller means: by its ordinal, "cuda:ORDINAL", or a device of
    PyTorch, CuPy, JAX or cuda.core; "cuda" is PyTorch's current one, or the first.
    """
    driver.require_devices()
    ordinal = _meant(device)
    num_devices = driver.device_count()
    if not 0 <= ordinal < num_devices:
        raise UsageError(
            f"device {device!r}: the driver shows {counted(num_devices, 'device')}, from 0 on"
        )
    return ordinal


def _meant(device: object) -> int:
    of_torch = loaded_type("torch", "device")
    is_named = isinstance(device, str) or (of_torch is not None and isinstance(device, of_torch))
    found = _DEVICE_NAME.fullmatch(str(device)) if is_named else None
    if found is not None:
        return _current_of_torch() if found[1] is None else int(found[1])
    try:
        if not isinstance(device, bool):
            return operator.index(_ordinal_in(device))
    except TypeError:
        pass
    raise UsageError(f"device {device!r}: give the GPU's ordinal, or 'cuda:ORDINAL'")


def _current_of_torch() -> int:
    is_initialized = loaded_type("torch", "cuda.is_initialized")
    known = is_initialized is not None and is_initialized()
    return int(loaded_type("torch", "cuda.current_device")()) if known else 0


def _ordinal_in(device: Any) -> Any:  # noqa: ANN401 - of any library
    """Give what a library's device has for its ordinal; anything else as it is."""
    if getattr(device, "platform", "gpu") not in {"gpu", "cuda"}:  # of JAX
        return None
    names = ("local_hardware_id", "device_id", "id")  # JAX; cuda.core; CuPy, Numba
    return next((getattr(device, name) for name in names if hasattr(device, name)), device)
