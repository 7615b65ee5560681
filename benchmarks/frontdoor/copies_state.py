"""A state dict of arrays of many sizes, beside one copy of as many bytes."""

from typing import Any

from copies_device import Device, host_arrays, medians

import isthmus

NUM_STATE, LARGEST_BYTES, LARGEST_EMULATED_BYTES = 400, 256 << 20, 256 << 10
LONGEST_STATE_SECONDS = 6.0


def state_sizes(largest_bytes: int) -> list[int]:
    """Give sizes from 4 B up, each the same factor above the one before: multiples of 4."""
    ratio = (largest_bytes / 4) ** (1 / (NUM_STATE - 1))
    sizes = [max(4, int(4 * ratio**i) // 4 * 4) for i in range(NUM_STATE)]
    return [sizes[i * 179 % NUM_STATE] for i in range(NUM_STATE)]  # not in order


def state(device: Device, turns: int) -> dict[str, Any]:
    """Copy a state dict of 400 arrays, beside one copy of the same bytes."""
    rows: dict[str, Any] = {}
    largest = LARGEST_EMULATED_BYTES if device.driver.emulated else LARGEST_BYTES
    sizes = state_sizes(largest)
    names = [f"layers.{i}.weight" for i in range(NUM_STATE)]
    devices = dict(zip(names, device.pieces(sizes), strict=True))
    [whole_device] = device.pieces([sum(sizes)])
    for memory in ("pinned", "pageable"):
        hosts = dict(zip(names, host_arrays(sizes, pinned=memory == "pinned"), strict=True))
        [whole_host] = host_arrays([sum(sizes)], pinned=memory == "pinned")
        for direction in ("H2D", "D2H"):
            up = direction == "H2D"
            many = (devices, hosts) if up else (hosts, devices)
            one = (whole_device, whole_host) if up else (whole_host, whole_device)
            found = medians(
                {
                    "state dict": lambda many=many: isthmus.copy(*many),
                    "one copy": lambda one=one: isthmus.copy(*one),
                },
                turns,
                LONGEST_STATE_SECONDS / 4,
            )
            found["bytes"] = sum(sizes)
            found["rate of one copy's"] = round(found["one copy"] / found["state dict"], 3)
            rows[f"{direction} {memory}"] = found
    device.free()
    return rows
