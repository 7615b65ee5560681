"""
Measures a stencil on paged arrays with and without `will_overwrite`, part by part, on a GPU.

    python benchmarks/paging/stencil.py [--out FILE]

Needs CuPy; takes less than a minute. Each step reads one array of 4096 floats a row and stores the
other one. Cold: the GPU holds nothing of both. Warm: it holds both, and steps follow each other.
What decides: `promise_ms` (GPU time of will_overwrite itself), `kernel_ms` with and without it, and
`step_ms`, the time of a warm step with all calls of the host.
"""

# ruff: noqa: ANN401 - CuPy's arrays

import argparse
import itertools
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np

import isthmus
from isthmus.ground.json_text import json_text

sys.path.insert(0, str(Path(__file__).parents[1] / "transfer"))
from contestants import optional
from machine import machine_facts

cupy: Any = optional("cupy")

ROUNDS = 5
STEPS = 100
ROW = 4096
SIZES = {"16 MiB": 1 << 22, "256 MiB": 1 << 26}
# What is called before a step's kernel; "argument" is where the kernels' arguments are asked for.
CALLS = {
    "nothing": ("argument",),
    "promise": ("promise", "argument"),
    "promise late": ("argument", "promise"),
    "prefetch": ("prefetch", "argument"),
    "prefetch, promise": ("prefetch", "promise", "argument"),
}
KERNEL = """
using ull = unsigned long long;
template <typename From, typename To>
__device__ void add_up(From from, To to, ull row) {
  const ull count = to.size();
  for (ull i = blockIdx.x * ull(blockDim.x) + threadIdx.x; i < count;
       i += ull(gridDim.x) * blockDim.x) {
    float sum = from.load(i);
    if (i >= row && i + row < count)
      sum += from.load(i - row) + from.load(i - 1) + from.load(i + 1) + from.load(i + row);
    to.store(i, sum * 0.2f);
  }
}
extern "C" __global__ void __launch_bounds__(256, 4)
    units(const isthmus::unit_map* from, const isthmus::unit_map* to, ull row) {
  add_up(isthmus::unit_array<float>(*from), isthmus::unit_array<float>(*to), row);
}
extern "C" __global__ void __launch_bounds__(256, 4)
    held(const isthmus::unit_map* from, const isthmus::unit_map* to, ull row) {
  if (isthmus::holds_all(*from) && isthmus::holds_all(*to))
    add_up(isthmus::held_array<float>(*from), isthmus::held_array<float>(*to), row);
  else
    add_up(isthmus::unit_array<float>(*from), isthmus::unit_array<float>(*to), row);
}
"""


class Stencil:
    """Two arrays, and the calls before a step from one to the other."""

    def __init__(self, num_items: int, kernel: Any) -> None:
        """Make the arrays."""
        hosts = [isthmus.pinned.zeros(num_items, np.float32) for _ in range(2)]
        self.arrays = [isthmus.PagedArray(host) for host in hosts]
        self._kernel = kernel
        self._num_blocks = cupy.cuda.Device().attributes["MultiProcessorCount"] * 8

    def step(self, calls: tuple[str, ...], turn: int, note: Any = None) -> None:
        """Make the calls, then launch; note(name) is called after each of them."""
        source, target = self.arrays[turn % 2], self.arrays[(turn + 1) % 2]
        found: list[np.uint64] = []
        for call in calls:
            if call == "argument":
                found = [np.uint64(array.argument()) for array in (source, target)]
            elif call == "promise":
                target.will_overwrite()
            else:
                source.prefetch()
            if note is not None:
                note(call)
        self._kernel((self._num_blocks,), (256,), (*found, np.uint64(ROW)))
        if note is not None:
            note("kernel")

    def cold_ms(self, calls: tuple[str, ...]) -> dict[str, float]:
        """Give the GPU's time of each part of a cold step."""
        rounds: list[dict[str, float]] = []
        for _ in range(ROUNDS):
            for array in self.arrays:
                array.invalidate(discard=True)
            events = [("begin", cupy.cuda.Event())]
            events[0][1].record()

            def note(name: str, events: list[Any] = events) -> None:
                events.append((name, cupy.cuda.Event()))
                events[-1][1].record()

            self.step(calls, 0, note)
            events[-1][1].synchronize()
            rounds.append(
                {
                    f"{name}_ms": cupy.cuda.get_elapsed_time(before, event)
                    for (_, before), (name, event) in itertools.pairwise(events)
                }
            )
        return {name: statistics.median(one[name] for one in rounds) for name in rounds[0]}

    def warm_ms(self, calls: tuple[str, ...]) -> dict[str, float]:
        """Give the time of a step among others, with the host's."""
        for array in self.arrays:
            array.prefetch()
        rounds = []
        for _ in range(ROUNDS):
            cupy.cuda.Device().synchronize()
            begin = time.perf_counter()
            for turn in range(STEPS):
                self.step(calls, turn)
            cupy.cuda.Device().synchronize()
            rounds.append((time.perf_counter() - begin) * 1e3 / STEPS)
        return {"step_ms": statistics.median(rounds)}


def main() -> None:
    """Measure, print, and store one record a line."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--out", type=Path)
    out = parser.parse_args().out
    module = cupy.RawModule(
        code=isthmus.paged_header() + KERNEL, options=("--std=c++17",), backend="nvrtc"
    )
    rows = []
    for size, num_items in SIZES.items():
        for kernel in ("units", "held"):
            stencil = Stencil(num_items, module.get_function(kernel))
            for name, calls in CALLS.items():
                parts = stencil.cold_ms(calls) | stencil.warm_ms(calls)
                rows.append({"size": size, "kernel": kernel, "before": name} | parts)
                texts = (f"{part} {ms:.3f}" for part, ms in parts.items())
                print(f"{size:8} {kernel:6} {name:18}", *texts, flush=True)
            for array in stencil.arrays:
                array.invalidate(discard=True)
                array.close()
    if out is not None:
        out.write_text(json_text({"machine": machine_facts(), "rows": rows}), "utf-8")


if __name__ == "__main__":
    main()
