"""
What `copy_async` of a list takes beside `copy` of it and a loop, by turns; needs a GPU and PyTorch.

    python benchmarks/frontdoor/lists_begun.py OUT.json

256 tensors of 4 KiB and 1000 of 64 B on the GPU, and NumPy arrays in pinned and in pageable memory.
The median of 25 rounds counts.
"""

import statistics
import sys
import time
from collections.abc import Callable
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import torch

import isthmus
from isthmus.ground.json_text import json_text

sys.path.append(str(Path(__file__).parent.parent / "transfer"))
from machine import machine_facts

LISTS = ((256, 4096), (1000, 64))
ROUNDS = 25


def seconds(calls: dict[str, Callable[[], object]]) -> dict[str, float]:
    """Time calls by turns; give the medians."""
    took: dict[str, list[float]] = {name: [] for name in calls}
    for _, (name, call) in product(range(ROUNDS), calls.items()):
        start = time.perf_counter()
        call()
        took[name].append(time.perf_counter() - start)
    return {name: statistics.median(values) for name, values in took.items()}


def row(targets: list[Any], sources: list[Any]) -> dict[str, float]:
    """Give the times of one list, and of its loop."""

    def loop() -> None:
        for target, source in zip(targets, sources, strict=True):
            isthmus.copy(target, source)

    def begun() -> None:
        isthmus.copy_async(targets, sources).result()

    found = seconds({"copy": lambda: isthmus.copy(targets, sources), "begun": begun, "loop": loop})
    return found | {"begun_over_copy": found["begun"] / found["copy"]}


def main() -> None:
    """Measure, print and write."""
    square = torch.ones(1024, 1024, device="cuda")
    (square @ square).sum().item()  # a process that has run kernels
    rows = []
    for (count, size), kind in product(LISTS, ("pinned", "pageable")):
        new = isthmus.pinned.zeros if kind == "pinned" else np.zeros
        hosts = [new(size, np.uint8) for _ in range(count)]
        tensors = [torch.zeros(size, dtype=torch.uint8, device="cuda") for _ in range(count)]
        for way, ends in (("up", (tensors, hosts)), ("down", (hosts, tensors))):
            rows.append({"count": count, "bytes": size, "memory": kind, "way": way} | row(*ends))
            print(rows[-1], flush=True)
    record = {"machine": machine_facts(), "rows": rows}
    Path(sys.argv[1]).write_text(json_text(record), encoding="utf-8")


if __name__ == "__main__":
    main()
