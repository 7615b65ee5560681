"""
Measures all blocks of 1 KiB in a random order, once; a part of measure.py, which has the size.

README.md has the method.
"""

# ruff: noqa: ANN401 - CuPy's arrays

from typing import Any

import isthmus

BLOCK_BYTES = 1024
# So that the array has frames, which are given away in order, for nearly all of its units.
FRAMES_SHARE = 63 / 64
WHAT = "all blocks in random order"


class NewFrames:
    """An array whose frames are all free, anew each time: they are given away in order then."""

    def __init__(self, host: Any) -> None:
        """Make the first one."""
        self._host = host
        self._array = self._made()

    def make(self) -> None:
        """Make an array, and close the one before."""
        self._array.close()
        self._array = self._made()

    def argument(self) -> int:
        """Give a kernel's argument."""
        return int(self._array.argument())

    def close(self) -> None:
        """Close the array."""
        self._array.close()

    def _made(self) -> isthmus.PagedArray:
        budget = int(self._host.nbytes * FRAMES_SHARE)
        return isthmus.PagedArray(self._host, "1KiB", device_bytes=budget)


def measure_random_order(bench: Any, host: Any, device: Any) -> None:
    """Measure by arrays, in place, and by a copy of everything."""
    num_blocks = host.nbytes // BLOCK_BYTES
    more = (num_blocks, num_blocks, bench.out)
    for unit in ("1KiB", "4KiB"):
        with isthmus.PagedArray(host, unit) as array:
            work = bench.launching("paged_blocks", array.argument, *more)
            ms = bench.ms(work, array.invalidate)
            bench.add(WHAT, "paged", ms, host.nbytes, unit=unit)
    frames = NewFrames(host)
    work = bench.launching("budgeted_blocks", frames.argument, *more)
    ms = bench.ms(work, frames.make)
    frames.close()
    bench.add(WHAT, "paged, frames", ms, host.nbytes, unit="1KiB")
    ms = bench.ms(bench.launching("plain_blocks", host.ctypes.data, *more))
    bench.add(WHAT, "zero-copy", ms, host.nbytes)

    after = bench.launching("plain_blocks", device, *more)
    ms = bench.wall_ms(bench.copying_then(host, device, after), bench.nothing)
    bench.add(WHAT, "copy, then plain", ms, host.nbytes)
