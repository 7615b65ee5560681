"""
Loads a file of torch.save into GPU memory, in turns with torch.load.

    python benchmarks/frontdoor/load.py [--out FILE] [--gib 1] [--folder FOLDER] [--rounds 3]
        [--max-seconds 25]

The file is in the page cache, or was dropped from it before each load ("cold"). torch.load is given
map_location and weights_only=True, and once mmap=True, too. The tensors of both are compared
on the device once. Without a GPU both load into the host's memory: that only shows that the script
works.
"""

import argparse
import os
import statistics
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import torch  # type: ignore[import-not-found,unused-ignore]

import isthmus
from isthmus.ground.json_text import json_text

sys.path.insert(0, str(Path(__file__).parents[1] / "transfer"))
from file_options import file_options
from loading import drop, release
from machine import machine_facts

GIB, MIB = 1 << 30, 1 << 20
TENSOR_BYTES = 32 * MIB

on_gpu = torch.cuda.is_available()
device = "cuda" if on_gpu else "cpu"


def write(path: Path, total_bytes: int) -> None:
    """Write tensors of random bytes."""
    names = [f"layer.{index}" for index in range(max(1, total_bytes // TENSOR_BYTES))]
    shape = (TENSOR_BYTES // 2048, 1024)
    tensors = {name: torch.randint(-(2**15), 2**15 - 1, shape, dtype=torch.int16) for name in names}
    torch.save(tensors, path)


def loaders(path: Path) -> dict[str, Callable[[], Any]]:
    """Prepare each contestant."""
    options = {"map_location": device, "weights_only": True}
    return {
        "isthmus.load_pt": lambda: isthmus.load_pt(path, device),
        "torch.load": lambda: torch.load(path, **options),
        "torch.load, mmap": lambda: torch.load(path, mmap=True, **options),
    }


def seconds_of(load: Callable[[], Any]) -> float:
    """Time one load, until everything has arrived."""
    start = time.perf_counter()
    tensors = load()
    if on_gpu:
        torch.cuda.synchronize()
    end = time.perf_counter()
    del tensors
    release()
    return end - start


def verify(found: dict[str, Callable[[], Any]]) -> None:
    """Compare the tensors with those of torch.load."""
    tensors, wanted = found["isthmus.load_pt"](), found["torch.load"]()
    for name, tensor in wanted.items():
        if not torch.equal(tensors[name], tensor):
            raise SystemExit(f"{name} was loaded wrongly")


def measure(path: Path, options: argparse.Namespace) -> dict[str, list[float]]:
    """Time all contestants in turns, from the cache and from the disk."""
    found = loaders(path)
    verify(found)
    seconds: dict[str, list[float]] = {}
    end = time.monotonic() + options.max_seconds
    for _ in range(options.rounds):
        for name, load in found.items():
            for state in ("warm", "cold"):
                if time.monotonic() > end and f"{name}, {state}" in seconds:
                    continue
                if state == "cold":
                    drop(path)
                seconds.setdefault(f"{name}, {state}", []).append(seconds_of(load))
    return seconds


def main(arguments: list[str]) -> int:
    """Measure, print, and write the results."""
    options = file_options(arguments, max_seconds=25)
    path = options.folder / f"isthmus_loading_{os.getpid()}.pt"
    try:
        write(path, int(options.gib * GIB))
        num_bytes = path.stat().st_size
        seconds = measure(path, options)
    finally:
        path.unlink(missing_ok=True)
    results = [
        {
            "contestant": name,
            "bytes": num_bytes,
            "median_s": statistics.median(times),
            "rounds": len(times),
            "bytes_per_s": num_bytes / statistics.median(times),
        }
        for name, times in seconds.items()
    ]
    for row in results:
        print(f"{row['contestant']:28} {row['bytes_per_s'] / 1e9:8.2f} GB/s")
    if not on_gpu:
        print("There is no GPU: these rates only show that the script works.")
    if options.out is not None:
        record = {
            "schema_version": 1,
            "method": " ".join((__doc__ or "").split()),
            "machine": machine_facts(),
            "verified": True,
            "results": results,
        }
        options.out.write_text(json_text(record), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
