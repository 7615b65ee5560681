"""
Which launches a call of a row cache and a copy of blocks make, and how long each takes.

    python benchmarks/blocks/launches.py

Needs PyTorch and a GPU. Times are those of PyTorch's profiler; rows of 512 bytes, of 4 GiB in
pinned memory. README.md beside this has the result.
"""

import math
from collections.abc import Callable

import torch
from torch.profiler import ProfilerActivity, profile

import isthmus

ROUNDS = 20
NUM_ROWS = (4 << 30) // 512


def show(name: str, call: Callable[[], object]) -> None:
    """Print the mean time of each launch of a call."""
    call()
    torch.cuda.synchronize()
    with profile(activities=[ProfilerActivity.CUDA]) as found:
        for _ in range(ROUNDS):
            call()
        torch.cuda.synchronize()
    print("==", name)
    for one in found.key_averages():
        if one.device_time_total:
            print(f"  {one.key[:60]:60} {one.count:5} {one.device_time_total / one.count:9.1f} us")


def some(number: int) -> torch.Tensor:
    """Choose rows; some may be chosen twice."""
    return torch.randint(NUM_ROWS, (number,), device="cuda")


def zipf() -> torch.Tensor:
    """Choose rows of which some are much more frequent."""
    uniform = torch.rand(65_536, device="cuda", dtype=torch.float64)
    return (uniform * math.log(NUM_ROWS)).exp().long().clamp_(0, NUM_ROWS - 1)


def main() -> None:
    """Show calls that miss much, and copies that are sorted."""
    table = torch.empty(NUM_ROWS, 128, pin_memory=True)
    with isthmus.RowCache(table.numpy(), NUM_ROWS // 4) as cache:
        show("41000 misses", lambda: cache.ensure(some(41_000)))
        for _ in range(200):
            cache.ensure(zipf())
        show("zipf", lambda: cache.ensure(zipf()))
    rows = torch.empty(100_000, 128, device="cuda")
    to = torch.randperm(100_000, device="cuda")
    for number in (10_000, 41_000, 100_000):
        show(
            f"copy_blocks {number}",
            lambda number=number: isthmus.copy_blocks(rows, table, to[:number], some(number)),
        )


if __name__ == "__main__":
    main()
