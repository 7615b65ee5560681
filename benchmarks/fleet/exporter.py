"""
What `isthmus fleet export` costs a training step; needs a GPU, PyTorch and isthmus[monitor].

    python benchmarks/fleet/exporter.py OUT.json

A step uploads 16 MiB from pinned memory, multiplies matrices six times and downloads 256 KiB. Steps
of 25 s alone, then of 62 s beside the exporter, which has two rounds in them. A round is where the
GPU has less free memory: its process's context takes some.
"""

import signal
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import numpy as np
import torch

from isthmus.ground.json_text import json_text

sys.path.append(str(Path(__file__).parent.parent / "transfer"))
from machine import machine_facts

ALONE_S, BESIDE_S = 25, 62  # rounds begin at 0 and 50 s
EXPORTER = (sys.executable, "-m", "isthmus", "fleet", "export", "--textfile", "/dev/null")


class Step(NamedTuple):
    """A step's begin (seconds), its milliseconds, and the free memory of the GPU after it (MiB)."""

    begin_s: float
    ms: float
    free_mib: int


def training() -> Callable[[], object]:
    """Give a function that makes one step and waits for it."""
    host = torch.empty(8 << 20, dtype=torch.float16, pin_memory=True)
    batch = torch.empty_like(host, device="cuda")
    weights = torch.randn(2048, 2048, dtype=torch.float16, device="cuda")
    answer = torch.empty(64, 2048, dtype=torch.float16, pin_memory=True)

    def step() -> None:
        batch.copy_(host, non_blocking=True)
        for _ in range(6):
            out = weights @ batch.view(2048, -1)[:, :2048]
        answer.copy_(out[:64], non_blocking=True)
        torch.cuda.synchronize()

    return step


def steps_for(seconds: float, step: Callable[[], object]) -> list[Step]:
    """Make steps one after the other."""
    steps, began = [], time.perf_counter()
    while (start := time.perf_counter()) < began + seconds:
        step()
        ms = (time.perf_counter() - start) * 1e3
        steps.append(Step(start - began, ms, torch.cuda.mem_get_info()[0] >> 20))
    return steps


def facts_of(steps: Sequence[Step]) -> dict[str, float]:
    """Give the quantiles of steps' times."""
    ms = [step.ms for step in steps]
    p50, p99, most = np.percentile(ms, [50, 99, 100])
    return {"num": len(ms), "mean_ms": np.mean(ms), "p50_ms": p50, "p99_ms": p99, "max_ms": most}


def main() -> None:
    """Measure, print and write."""
    step = training()
    steps_for(3, step)
    alone = steps_for(ALONE_S, step)
    exporter = subprocess.Popen(EXPORTER)  # noqa: S603 - our own command
    beside = steps_for(BESIDE_S, step)
    exporter.send_signal(signal.SIGTERM)
    free = max(one.free_mib for one in beside)
    rounds = [
        [one for one in beside if one.free_mib < free - 8 and first <= one.begin_s < last]
        for first, last in ((0, BESIDE_S / 2), (BESIDE_S / 2, BESIDE_S))
    ]
    record = {
        "machine": machine_facts(),
        "alone": facts_of(alone),
        "beside": facts_of(beside),
        "rounds": [
            facts_of(one)
            | {
                "seconds": one[-1].begin_s - one[0].begin_s,
                "memory_mib": free - min(step.free_mib for step in one),
            }
            for one in rounds
        ],
        "exit": exporter.wait(30),
    }
    print(json_text(record))
    Path(sys.argv[1]).write_text(json_text(record), encoding="utf-8")


if __name__ == "__main__":
    main()
