"""What tests copy, and behind what."""

from collections.abc import Callable

import numpy as np

Bytes = np.ndarray[tuple[int], np.dtype[np.uint8]]
PinnedZeros = Callable[[int], Bytes]

SIZES = [0, 1, 3, 1000, 65_537, 3 << 20]
# As long as a kernel runs that is to be late: some hundredths of a second at GPU clocks.
SLOW_CYCLES = 100_000_000


def random_bytes(size: int) -> Bytes:
    """Make an array that is the same for each size."""
    return np.random.default_rng(size).integers(0, 256, size, np.uint8)
