"""
Measure uploads of pinned memory by who wrote it just before.

    python benchmarks/link/just_written.py OUT.json [--rounds 15]

Needs a GPU and PyTorch. One or more threads fill pinned memory, and an upload follows at once.
README.md has the method and the results. Takes 10 s.
"""

import argparse
import statistics
import sys
from pathlib import Path
from typing import Any

from isthmus.ground.json_text import json_text

sys.path.insert(0, str(Path(__file__).parents[1] / "transfer"))
from contestants import optional
from machine import machine_facts

torch: Any = optional("torch")

MIB = 1 << 20
SIZES = (MIB, 4 * MIB, 16 * MIB, 64 * MIB, 160 * MIB, 640 * MIB)
# 0: nobody writes between two uploads.
THREADS = (0, 1, 2, 4, 8, 16)


class Upload:
    """Memory of one size on both sides."""

    def __init__(self, size: int) -> None:
        """Allocate, and copy once."""
        self.size = size
        self._host = torch.zeros(size // 8, dtype=torch.int64, pin_memory=True)
        self._device = torch.empty(size // 8, dtype=torch.int64, device="cuda")
        self._device.copy_(self._host)

    def seconds(self, threads: int, value: int) -> float:
        """Fill by so many threads, and upload."""
        if threads:
            torch.set_num_threads(threads)
            self._host.fill_(value)
        torch.cuda.synchronize()
        begin, end = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        begin.record()
        self._device.copy_(self._host, non_blocking=True)
        end.record()
        end.synchronize()
        found: float = begin.elapsed_time(end) / 1e3
        return found


def main() -> None:
    """Measure by turns, print and write."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[1])
    parser.add_argument("out", type=Path)
    parser.add_argument("--rounds", type=int, default=15)
    options = parser.parse_args()
    rows = []
    for size in SIZES:
        upload = Upload(size)
        seconds: dict[int, list[float]] = {threads: [] for threads in THREADS}
        for turn in range(options.rounds + 1):
            for threads in THREADS:
                seconds[threads].append(upload.seconds(threads, turn))
        for threads, found in seconds.items():
            low, median, high = statistics.quantiles(found[1:], n=4)
            row = {"bytes": size, "threads": threads, "low_s": low, "median_s": median}
            rows.append(row | {"high_s": high, "gb_per_s": round(size / median / 1e9, 1)})
            print(rows[-1], flush=True)
    facts = {"rounds": options.rounds, "machine": machine_facts()}
    options.out.write_text(json_text(facts | {"results": rows}), "utf-8")


if __name__ == "__main__":
    main()
