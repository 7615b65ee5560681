"""Copies by a thread in which no CUDA context is current: the least times of many turns."""

import numpy as np
from copies_device import least_us

import isthmus

NUM, SIZE = 256, 4096


def main() -> None:
    """Time one call of many copies, and copies within the host's memory."""
    print(isthmus.device_name())
    device = isthmus.device_empty((NUM, SIZE), np.uint8)
    pinned = isthmus.pinned.empty((NUM, SIZE), np.uint8)
    rows = list(pinned)
    pointers = [isthmus.DevicePointer(device.pointer + SIZE * i, SIZE) for i in range(NUM)]
    many = least_us(lambda: isthmus.copy(pointers, rows), 100)
    print(f"{NUM} copies of {SIZE} B, one call: {many:.1f} us")
    pairs = [(np.zeros(SIZE, np.uint8), np.zeros(SIZE, np.uint8)) for _ in range(2)]
    host = least_us(lambda: [isthmus.copy(target, source) for target, source in pairs], 1000)
    print(f"{SIZE} B within the host's memory: {host / len(pairs):.2f} us")


if __name__ == "__main__":
    main()
