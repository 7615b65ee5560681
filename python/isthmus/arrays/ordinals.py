"""Finds the GPU that a caller means: by its ordinal, or by a name like "cuda:1"."""

import operator
import re

from isthmus import _native
from isthmus.errors import UsageError
from isthmus.spelling import counted

_DEVICE_NAME = re.compile(r"cuda(?::([0-9]{1,5}))?")


def ordinal_of(device: object, driver: _native.Driver) -> int:
    """
    Give the ordinal of the GPU that a caller means.

    Args:
        device: Its ordinal, "cuda:ORDINAL", or "cuda" for the first.
        driver: Shows the GPUs.

    Raises:
        UsageError: There is no such GPU.
        Unavailable: There is no driver, or no GPU.
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
    found = _DEVICE_NAME.fullmatch(device) if isinstance(device, str) else None
    if found is not None:
        return int(found[1] or 0)
    try:
        if not isinstance(device, bool):
            return operator.index(device)  # type: ignore[arg-type] # or its TypeError
    except TypeError:
        pass
    raise UsageError(f"device {device!r}: give the GPU's ordinal, or 'cuda:ORDINAL'")
