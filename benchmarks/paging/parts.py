"""
Measures what a block of 1 KiB costs that a paged array hasn't, part by part, on a GPU with CuPy.

    python benchmarks/paging/parts.py [--out FILE] [--size 4GiB] [--share 0.25]

Warps read blocks of pinned memory in a random order. Each line has more of what a paged array does
for a block: README.md has the method. Takes a minute.
"""

# ruff: noqa: ANN401 - CuPy's arrays

import argparse
import statistics
import sys
from pathlib import Path
from typing import Any

import numpy as np

import isthmus
from isthmus.ground.json_text import json_text

sys.path.insert(0, str(Path(__file__).parents[1] / "transfer"))
from contestants import optional
from machine import machine_facts

cupy: Any = optional("cupy")

BLOCK_BYTES = 1024
ROUNDS = 3
# As in parts.cu.
SETTLED, RELAXED_LOOK, ACQUIRE_LOOK, CLAIM = 1, 2, 4, 8
WRITE, WRITE_NEAR, RELEASE, PUBLISH = 16, 32, 64, 128
READ_BACK, COUNT, IN_ORDER, PLAIN_LOAD = 256, 512, 1024, 2048
NO_ALLOCATE, BUSY_LOOK, AHEAD = 4096, 8192, 16384

ALL = SETTLED | ACQUIRE_LOOK | CLAIM | WRITE | RELEASE | READ_BACK | COUNT
LEAN = SETTLED | BUSY_LOOK | CLAIM | WRITE | RELEASE
VARIANTS = {
    "read": 0,
    "read, ld": PLAIN_LOAD,
    "read, no_allocate": NO_ALLOCATE,
    "read, in order": IN_ORDER,
    "read, next ahead": AHEAD,
    "read, write": WRITE,
    "read, write near": WRITE_NEAR,
    "read in order, write at random": WRITE | IN_ORDER,
    "read, claim": CLAIM,
    "read, settled": SETTLED,
    "read, relaxed look": RELAXED_LOOK,
    "read, acquire look": ACQUIRE_LOOK,
    "read, write, publish": WRITE | PUBLISH,
    "read, write, release": WRITE | RELEASE,
    "read, write near, release": WRITE_NEAR | RELEASE,
    "read, write, read back": WRITE | READ_BACK,
    "read, write, claim": WRITE | CLAIM,
    "read, write, claim, publish": WRITE | CLAIM | PUBLISH,
    "read, write, claim, release": WRITE | CLAIM | RELEASE,
    "the same, acquire look": WRITE | CLAIM | RELEASE | ACQUIRE_LOOK,
    "the same, settled": WRITE | CLAIM | RELEASE | ACQUIRE_LOOK | SETTLED,
    "the same, read back": WRITE | CLAIM | RELEASE | ACQUIRE_LOOK | SETTLED | READ_BACK,
    "all": ALL,
    "all, next ahead": ALL | AHEAD,
    "all, no_allocate": ALL | NO_ALLOCATE,
    "all, in order": ALL | IN_ORDER,
    "all, write near": (ALL ^ WRITE) | WRITE_NEAR,
    "lean: busy look": LEAN,
    "lean, next ahead": LEAN | AHEAD,
    "lean, read back": LEAN | READ_BACK,
}
WARPS = (16, 32, 64)
# The variants that are measured in cudaHostAlloc's memory and with fewer warps, too.
FEW = ("read", "read, write", "read, write, claim, release", "all", "lean: busy look")


class Parts:
    """Times the kernels, and collects rows."""

    def __init__(self, host: Any, share: float) -> None:
        """Compile the kernels and allocate the GPU's memory."""
        code = Path(__file__).with_name("parts.cu").read_text("utf-8")
        self._names = {
            (variant, warps): f"blocks<{parts}u, {warps}>"
            for variant, parts in VARIANTS.items()
            for warps in WARPS
        }
        self._module = cupy.RawModule(
            code=code, options=("--std=c++17",), name_expressions=tuple(self._names.values())
        )
        self._num_blocks = host.nbytes // BLOCK_BYTES
        self._num_read = int(self._num_blocks * share)
        self._device = cupy.empty(host.nbytes // 4, cupy.uint32)
        self._words = cupy.zeros((3, self._num_blocks // 32), cupy.uint32)
        self._counter = cupy.zeros(1, cupy.uint64)
        self._out = cupy.zeros(1, cupy.float32)
        self._multiprocessors = cupy.cuda.Device().attributes["MultiProcessorCount"]
        self.rows: list[dict[str, object]] = []

    def measure(self, variant: str, warps: int, host: Any, memory: str) -> None:
        """Measure a variant with a number of warps on each multiprocessor."""
        kernel = self._module.get_function(self._names[variant, warps])
        arguments = (
            np.uint64(host.ctypes.data),
            self._device,
            self._words,
            self._counter,
            np.uint64(self._num_blocks),
            np.uint64(self._num_read),
            self._out,
        )
        times = []
        for _ in range(ROUNDS + 1):
            self._words[:] = 0
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            begin.record()
            kernel((self._multiprocessors * warps // 8,), (256,), arguments)
            end.record()
            end.synchronize()
            times.append(cupy.cuda.get_elapsed_time(begin, end))
        ms = statistics.median(times[1:])
        row: dict[str, object] = {
            "parts": variant,
            "warps": warps,
            "memory": memory,
            "ms": round(ms, 3),
            "gb_per_s": round(self._num_read * BLOCK_BYTES / ms / 1e6, 2),
            "registers": kernel.num_regs,
        }
        self.rows.append(row)
        print(row, flush=True)


def main() -> None:
    """Measure all, and write a file if asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[1])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--size", default="4GiB", help="a power of two")
    parser.add_argument("--share", type=float, default=0.25, help="of the blocks, which are read")
    options = parser.parse_args()
    (size_bytes,) = isthmus.parse_sizes(options.size)
    host = isthmus.pinned.empty(size_bytes // 4, np.float32)
    host[:] = 1
    parts = Parts(host, options.share)
    facts = {"size_bytes": size_bytes, "share": options.share, "machine": machine_facts()}
    try:
        for variant in VARIANTS:
            parts.measure(variant, 32, host, "isthmus.pinned")
        for variant in FEW:
            for warps in (16, 64):
                parts.measure(variant, warps, host, "isthmus.pinned")
        pointer = cupy.cuda.alloc_pinned_memory(size_bytes)
        other = np.frombuffer(pointer, np.float32, size_bytes // 4)
        other[:] = 1
        for variant in FEW:
            parts.measure(variant, 32, other, "cudaHostAlloc")
    finally:
        if options.out is not None:
            options.out.write_text(json_text(facts | {"results": parts.rows}), "utf-8")


if __name__ == "__main__":
    main()
