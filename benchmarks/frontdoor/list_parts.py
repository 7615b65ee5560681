"""What the CPU does for one call of many copies, part by part: the least times of many turns."""

from collections.abc import Iterator

import numpy as np
from copies_device import least_us

import isthmus
from isthmus.move.transfer.copying import default_transfers

SIZE = 4096
Lists = tuple[list[object], list[object]]


def lists_of(num: int) -> Iterator[tuple[str, Lists]]:
    """Make the targets and sources of uploads: in one buffer of the GPU's, and in many."""
    block = isthmus.device_empty((num, SIZE), np.uint8)
    rows = list(isthmus.pinned.empty((num, SIZE), np.uint8))
    pieces = [isthmus.DevicePointer(block.pointer + SIZE * i, SIZE) for i in range(num)]
    each = [isthmus.device_empty((SIZE,), np.uint8) for _ in range(num)]
    yield "pinned, to pieces of one buffer", (pieces, rows)
    yield "pinned, to device_empty arrays", (each, rows)
    yield "pageable, to device_empty arrays", (each, list(np.zeros((num, SIZE), np.uint8)))


def main() -> None:
    """Print what reading the arrays takes, and then examining them and choosing the paths."""
    print(isthmus.device_name())
    native = default_transfers().native
    for num in (1, 16, 256):
        for name, (targets, sources) in lists_of(num):
            isthmus.copy(targets, sources)
            batch = native.read_arrays(targets, sources, None)
            read = least_us(lambda t=targets, s=sources: native.read_arrays(t, s, None), 2000)
            chosen = least_us(lambda b=batch: native.explain_batch(b), 2000)
            print(f"{num:3} x {SIZE} B {name}: read {read:.1f} us, examined {chosen:.1f} us")


if __name__ == "__main__":
    main()
