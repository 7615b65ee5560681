"""The arrays that tests copy, and the kernels behind which the copies wait."""

from collections.abc import Callable
from typing import Any

import numpy as np

import isthmus

Bytes = np.ndarray[tuple[int], np.dtype[np.uint8]]
PinnedZeros = Callable[[int], Bytes]

SIZES = [0, 1, 3, 1000, 65_537, 3 << 20]
# The loop count of a slow kernel: some hundredths of a second at GPU clocks.
SLOW_CYCLES = 100_000_000


def on_host(array: isthmus.DeviceArray) -> np.ndarray[Any, Any]:
    """Copy an array of the device."""
    back = np.empty(array.shape, array.dtype)
    isthmus.copy(back, array)
    return back


def random_bytes(size: int) -> Bytes:
    """Make an array that is the same for each size."""
    return np.random.default_rng(size).integers(0, 256, size, np.uint8)
