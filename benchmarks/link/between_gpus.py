"""
Copies between two GPUs and lists over both, beside PyTorch, in a process of its own.

    python benchmarks/link/between_gpus.py OUT.json

`isthmus.copy` comes first: PyTorch opens the direct path, and whoever copies after it has it, too.
The medians of 5 rounds of 1 GiB and of 49 of 64 KiB count; one round before isn't counted.
"""

import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import torch

import isthmus
from isthmus.ground.json_text import json_text

SIZE = 1 << 30
SHORT = 64 << 10
DEVICES = (0, 1)


def seconds(call: Callable[[], object], rounds: int) -> float:
    """Give the median time until both GPUs are done."""
    took = []
    for _ in range(rounds + 1):
        for device in DEVICES:
            torch.cuda.synchronize(device)
        start = time.perf_counter()
        call()
        for device in DEVICES:
            torch.cuda.synchronize(device)
        took.append(time.perf_counter() - start)
    return statistics.median(took[1:])


def main() -> None:
    """Measure, print and write."""
    source = torch.randint(0, 255, (SIZE,), dtype=torch.uint8, device="cuda:0")
    target = torch.empty(SIZE, dtype=torch.uint8, device="cuda:1")
    ends = target[:SHORT], source[:SHORT]
    hosts = [np.ones(SIZE, np.uint8) for _ in DEVICES]
    calls: list[tuple[str, Callable[[], object], int, int]] = [
        ("copy", lambda: isthmus.copy(target, source), SIZE, 5),
        ("copy_async", lambda: isthmus.copy_async(target, source).result(), SIZE, 5),
        ("copy", lambda: isthmus.copy(*ends), SHORT, 49),
        ("PyTorch", lambda: target.copy_(source), SIZE, 5),
        ("PyTorch", lambda: ends[0].copy_(ends[1]), SHORT, 49),
        ("copy after PyTorch", lambda: isthmus.copy(target, source), SIZE, 5),
        ("copy after PyTorch", lambda: isthmus.copy(*ends), SHORT, 49),
        ("pageable list to both", lambda: isthmus.copy([source, target], hosts), 2 * SIZE, 4),
    ]
    rows = []
    for name, call, size, rounds in calls:
        took = seconds(call, rounds)
        rows.append({"what": name, "bytes": size, "us": took * 1e6, "gb_per_s": size / took / 1e9})
        print(rows[-1], flush=True)
    record = {"gpu": torch.cuda.get_device_name(0), "rows": rows}
    Path(sys.argv[1]).write_text(json_text(record), encoding="utf-8")


if __name__ == "__main__":
    main()
