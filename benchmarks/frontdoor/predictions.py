"""
Compares what `isthmus.explain` predicts with what passes, for every path and 4 B to 64 MiB.

    python benchmarks/frontdoor/predictions.py [--out FILE] [--rounds 9]

On the emulated device it also reads the modelled time, which leaves out this machine's CPU. The
figures that predict are the profile's if there is one for this device, else the defaults
(ISTHMUS_PROFILE=off).
"""

import argparse
import ctypes
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import isthmus
from isthmus import _native
from isthmus.ground.json_text import json_text
from isthmus.move.transfer.copying import default_transfers

sys.path.insert(0, str(Path(__file__).parents[1] / "transfer"))
from machine import machine_facts

KIB, MIB = 1 << 10, 1 << 20
SIZES = (4, 4 * KIB, 64 * KIB, MIB, 16 * MIB, 64 * MIB)
# A burst lasts this long, as in `isthmus profile`.
BURST_S = 100e-6
BREATH_S = 100e-6
# Copies that take longer are timed twice only.
LONG_S = 0.1


class Device:
    """One device, with memory for the largest copy."""

    def __init__(self) -> None:
        """Open it."""
        self.driver = _native.Driver.open()
        self.context = _native.Context(self.driver, 0)
        self.memory = _native.DeviceMemory(self.context, SIZES[-1])
        self.transfers = default_transfers().native
        self._modelled = None
        if self.driver.emulated:
            self._modelled = ctypes.CDLL(self.driver.path).isthmus_emulator_modelled_ns
            self._modelled.restype = ctypes.c_ulonglong

    def modelled_s(self) -> float:
        """Read the modelled time; 0 on a real device."""
        return self._modelled() * 1e-9 if self._modelled else 0.0


def passing(device: Device, ends: tuple[int, int, int], path: str, rounds: int) -> dict[str, Any]:
    """Time copies by one path: the fastest burst, and the modelled time of one copy."""
    target, source, size = ends

    def copy() -> None:
        device.transfers.copy(target, source, size, path=path)

    copy()
    begin, modelled = time.perf_counter(), device.modelled_s()
    copy()
    modelled, alone = device.modelled_s() - modelled, time.perf_counter() - begin
    num_copies = max(1, int(BURST_S / alone))
    seconds = []
    for _ in range(rounds if alone < LONG_S else 2):
        time.sleep(BREATH_S)
        begin = time.perf_counter()
        for _ in range(num_copies):
            copy()
        seconds.append((time.perf_counter() - begin) / num_copies)
    return {"best_s": min(seconds), "modelled_s": modelled or None}


def rows(device: Device, rounds: int) -> list[dict[str, Any]]:
    """Measure everything."""
    pageable = np.ones(SIZES[-1], np.uint8)
    pinned = isthmus.pinned.empty(SIZES[-1], np.uint8)
    pinned[:] = 1
    found = []
    for memory, array in (("pageable", pageable), ("pinned", pinned)):
        host = array.ctypes.data
        for direction in ("h2d", "d2h"):
            for size in SIZES:
                pair = (device.memory.pointer, host)
                target, source = pair if direction == "h2d" else pair[::-1]
                for cost in device.transfers.explain(target, source, size).costs:
                    if not cost.usable:
                        continue
                    times = passing(device, (target, source, size), cost.path, rounds)
                    found.append(
                        {
                            "memory": memory,
                            "direction": direction,
                            "bytes": size,
                            "path": cost.path,
                            "predicted_s": cost.seconds,
                            **times,
                        }
                    )
    return found


def line(row: dict[str, Any]) -> str:
    """Write one row: microseconds, and predicted over passing."""
    return (
        f"{row['direction']} {row['memory']:<9}{row['bytes']:>9} B  {row['path']:<15}"
        f"{row['predicted_s'] * 1e6:>10.2f}{row['best_s'] * 1e6:>10.2f}"
        f"{(row['modelled_s'] or 0) * 1e6:>10.2f}{row['predicted_s'] / row['best_s']:>8.2f}"
    )


def main() -> None:
    """Measure, print, and store."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").strip().splitlines()[0])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--rounds", type=int, default=9)
    arguments = parser.parse_args()
    device = Device()
    started = time.perf_counter()
    found = rows(device, arguments.rounds)
    print("microseconds: predicted, best, modelled (of all threads); predicted over best")
    for row in found:
        print(line(row))
    if arguments.out:
        method = {"sizes": SIZES, "rounds": arguments.rounds, "burst_s": BURST_S}
        document = {
            "machine": machine_facts(),
            "method": method,
            "seconds": time.perf_counter() - started,
            "rows": found,
        }
        arguments.out.write_text(json_text(document))


if __name__ == "__main__":
    main()
