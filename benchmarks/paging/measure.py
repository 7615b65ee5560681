"""
Measures paged arrays beside an explicit copy, zero-copy and managed memory, on a GPU with CuPy.

    python benchmarks/paging/measure.py [--out FILE] [--size 4GiB] [--rounds 5] [--only PART ...]

README.md has the method and the results.
"""

# ruff: noqa: ANN401 - CuPy's arrays

import argparse
import statistics
import sys
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import numpy as np

import isthmus
from isthmus.ground.json_text import json_text
from isthmus.ground.sizes import parse_sizes

sys.path.insert(0, str(Path(__file__).parents[1] / "transfer"))
from budgets import measure_budgets
from contestants import optional
from machine import machine_facts
from managed import measure_managed
from random_order import measure_random_order

cupy: Any = optional("cupy")

BLOCK_BYTES = 1024
HOT_ITEMS = 1 << 16
GATHERED = 1 << 26
CHUNK_BYTES = 16 << 10
# Ways to compile the kernels; the first is the usual one.
BUILDS = {
    "": (),
    "for 32 warps": ("-DISTHMUS_BLOCKS=4",),
    "misses inlined, for 32 warps": ("-DISTHMUS_PAGED_INLINE_MISSES", "-DISTHMUS_BLOCKS=4"),
    "for 48 warps": ("-DISTHMUS_BLOCKS=6",),
}
# For what the GPU holds as a whole.
WARM_BUILDS = BUILDS | {"all held": ("-DISTHMUS_HELD", "-DISTHMUS_BLOCKS=4")}


PARTS = (
    "builds",
    "warm",
    "streams",
    "sparse",
    "managed",
    "written_back",
    "random_order",
    "budgets",
)


class Bench:
    """Times kernels, and collects rows."""

    def __init__(self, rounds: int) -> None:
        """Compile the kernels."""
        code = isthmus.paged_header() + Path(__file__).with_name("kernels.cu").read_text("utf-8")
        self._modules = {
            build: cupy.RawModule(code=code, options=("--std=c++17", *options))
            for build, options in WARM_BUILDS.items()
        }
        self._rounds = rounds
        self._blocks = cupy.cuda.Device().attributes["MultiProcessorCount"] * 8
        self.out = cupy.zeros(1, cupy.float32)
        self.rows: list[dict[str, object]] = []

    def launching(self, name: str, *arguments: object, build: str = "") -> Callable[[], None]:
        """Give a function that launches a kernel; arguments that can be called are, each time."""

        def now() -> None:
            given = (a() if callable(a) else a for a in arguments)
            self.launch(name, *given, build=build)

        return now

    def launch(self, name: str, *arguments: object, build: str = "") -> None:
        """Launch a kernel; integers become 64-bit ones."""
        kernel = self._modules[build].get_function(name)
        words = tuple(np.uint64(a) if isinstance(a, int) else a for a in arguments)
        kernel((self._blocks,), (256,), words)

    def ms(self, work: Callable[[], object], before: Callable[[], object] | None = None) -> float:
        """Give the median time of some work, by events, in ms; what comes before isn't timed."""
        times = []
        for _ in range(self._rounds + 1):
            if before is not None:
                before()
            cupy.cuda.Device().synchronize()
            begin, end = cupy.cuda.Event(), cupy.cuda.Event()
            begin.record()
            work()
            end.record()
            end.synchronize()
            times.append(cupy.cuda.get_elapsed_time(begin, end))
        return statistics.median(times[1:])

    def wall_ms(self, work: Callable[[], object], before: Callable[[], object]) -> float:
        """Give the median time of a call that is complete on return, in ms."""
        times = []
        for _ in range(self._rounds + 1):
            before()
            begin = time.perf_counter()
            work()
            times.append((time.perf_counter() - begin) * 1e3)
        return statistics.median(times[1:])

    def nothing(self) -> None:
        """Prepare nothing."""

    def complete(self, work: Callable[[], object]) -> None:
        """Do some work, and wait for the GPU."""
        work()
        cupy.cuda.Device().synchronize()

    def copying_then(
        self, host: Any, device: Any, after: Callable[[], object]
    ) -> Callable[[], None]:
        """Give a function that copies all, works on the copy, and waits."""

        def now() -> None:
            isthmus.copy(device, host)
            self.complete(after)

        return now

    def add(
        self, what: str, contestant: str, ms: float, size_bytes: int = 0, **more: object
    ) -> None:
        """Keep and print a row."""
        row: dict[str, object] = {"what": what, "contestant": contestant, "ms": round(ms, 4)}
        if size_bytes:
            row["gb_per_s"] = round(size_bytes / ms / 1e6, 2)
        row |= more
        self.rows.append(row)
        print(row, flush=True)


def copied(bench: Bench, host: Any, device: Any) -> None:
    """Measure the explicit copy, and what can be done with its result."""
    ms = bench.wall_ms(partial(isthmus.copy, device, host), bench.nothing)
    bench.add("copy", "isthmus.copy", ms, host.nbytes)
    after = bench.launching("plain_stream", device, host.nbytes // 16, bench.out)
    ms = bench.wall_ms(bench.copying_then(host, device, after), bench.nothing)
    bench.add("stream, cold", "copy, then plain", ms, host.nbytes)


def cold_streams(bench: Bench, host: Any, array: Any, build: str, facts: dict[str, object]) -> None:
    """Measure streams through the absent units of an array."""
    for name in ("span_stream", "load_stream"):
        work = bench.launching(name, array.argument, bench.out, build=build)
        way = f"paged, {name.removesuffix('_stream')}"
        ms = bench.ms(work, array.invalidate)
        bench.add("stream, cold", way, ms, host.nbytes, **facts)


def streams(bench: Bench, host: Any) -> None:
    """Measure streams through absent units, by unit."""
    for unit in ("256B", "1KiB", "4KiB", "64KiB"):
        with isthmus.PagedArray(host, unit) as array:
            cold_streams(bench, host, array, "", {"unit": unit})
            bench.add(
                "prefetch of all",
                "paged",
                bench.ms(array.prefetch, array.invalidate),
                host.nbytes,
                unit=unit,
            )
    zero = np.uint64(host.ctypes.data)
    ms = bench.ms(bench.launching("plain_stream", zero, host.nbytes // 16, bench.out))
    bench.add("stream, cold", "zero-copy", ms, host.nbytes)


def warm(bench: Bench, host: Any, device: Any) -> None:
    """Measure streams and gathers of what the GPU holds, beside a plain pointer."""
    ms = bench.ms(bench.launching("plain_stream", device, host.nbytes // 16, bench.out))
    bench.add("stream, warm", "plain pointer", ms, host.nbytes)
    hot = np.random.default_rng(1).integers(0, host.size, HOT_ITEMS).astype(np.uint32)
    at = cupy.asarray(np.random.default_rng(2).choice(hot, GATHERED))
    gather_ms = bench.ms(bench.launching("plain_gather", device, at, GATHERED, bench.out))
    bench.add("gather of 64 Mi, warm, hot 64 Ki", "plain pointer", gather_ms)
    for unit in ("1KiB", "4KiB", "64KiB"):
        with isthmus.PagedArray(host, unit) as array:
            array.prefetch()
            pointer = array.argument()
            for build in WARM_BUILDS:
                for name in ("span_stream", "load_stream"):
                    took = bench.ms(bench.launching(name, pointer, bench.out, build=build))
                    facts = {"unit": unit, "build": build, "of_plain": round(took / ms, 3)}
                    way = f"paged, {name.removesuffix('_stream')}"
                    bench.add("stream, warm", way, took, host.nbytes, **facts)
            took = bench.ms(bench.launching("paged_gather", pointer, at, GATHERED, bench.out))
            bench.add(
                "gather of 64 Mi, warm, hot 64 Ki",
                "paged, load",
                took,
                unit=unit,
                of_plain=round(took / gather_ms, 3),
            )


def builds(bench: Bench, host: Any) -> None:
    """Measure random blocks and a sparse gather by how the kernels are compiled."""
    num_blocks = host.nbytes // BLOCK_BYTES
    wanted = np.random.default_rng(3).integers(0, host.size, HOT_ITEMS)
    at = cupy.asarray(wanted.astype(np.uint32))
    for build in BUILDS:
        with isthmus.PagedArray(host, "1KiB") as array:
            for share in (0.01, 1.0):
                num_read = int(num_blocks * share)
                work = bench.launching(
                    "paged_blocks", array.argument, num_blocks, num_read, bench.out, build=build
                )
                ms = bench.ms(work, array.invalidate)
                facts = {"build": build, "share": share}
                what = "blocks in random order, cold"
                bench.add(what, "paged, 1 KiB", ms, num_read * BLOCK_BYTES, **facts)
            cold_streams(bench, host, array, build, {"build": build})
            more = (array.argument, at, HOT_ITEMS, bench.out)
            work = bench.launching("paged_gather", *more, build=build)
            ms = bench.ms(work, array.invalidate)
            bench.add("gather of 64 Ki, cold", "paged, load", ms, unit="1KiB", build=build)


def sparse(bench: Bench, host: Any, device: Any) -> None:
    """Measure a gather of 64 Ki items, once."""
    what = "gather of 64 Ki, cold"
    wanted = np.random.default_rng(3).integers(0, host.size, HOT_ITEMS)
    at = cupy.asarray(wanted.astype(np.uint32))
    indices = cupy.asarray(wanted)
    for unit in ("256B", "1KiB", "4KiB"):
        with isthmus.PagedArray(host, unit) as array:
            ms = bench.ms(
                bench.launching("paged_gather", array.argument, at, HOT_ITEMS, bench.out),
                array.invalidate,
            )
            bench.add(what, "paged, load", ms, unit=unit)
            ms = bench.wall_ms(partial(array.gather, indices), array.invalidate)
            bench.add(what, "paged, gather()", ms, unit=unit)
            found = cupy.asarray(array.gather(indices)).get()
            if not np.array_equal(found, host[wanted]):
                raise SystemExit("gather() read wrong items")
    zero = np.uint64(host.ctypes.data)
    bench.add(
        what,
        "zero-copy",
        bench.ms(bench.launching("plain_gather", zero, at, HOT_ITEMS, bench.out)),
    )
    after = bench.launching("plain_gather", device, at, HOT_ITEMS, bench.out)
    ms = bench.wall_ms(bench.copying_then(host, device, after), bench.nothing)
    bench.add(what, "copy, then plain", ms)


def written_back(bench: Bench, host: Any) -> None:
    """Measure stores of all items without a fetch, and writing them back."""
    for unit in ("1KiB", "64KiB"):
        with isthmus.PagedArray(host, unit) as array:
            store = bench.launching("overwrite_all", array.argument, CHUNK_BYTES // 16)
            ms = bench.ms(store, partial(array.invalidate, discard=True))
            bench.add("overwrite of all", "paged", ms, host.nbytes, unit=unit)
            ms = bench.ms(partial(array.flush, cupy.cuda.Stream.null), store)
            bench.add("flush of all", "paged", ms, host.nbytes, unit=unit)


def main() -> None:
    """Measure all, and write a file if asked."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[1])
    parser.add_argument("--out", type=Path)
    parser.add_argument("--size", default="4GiB", help="a power of two")
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--only", nargs="+", choices=PARTS, default=PARTS, help="these parts alone")
    options = parser.parse_args()
    bench = Bench(options.rounds)
    (size_bytes,) = parse_sizes(options.size)
    host = isthmus.pinned.empty(size_bytes // 4, np.float32)
    host[:] = np.arange(host.size, dtype=np.uint32) & 255  # exact in float32
    device = cupy.empty(host.size, cupy.float32)
    facts = {"size_bytes": size_bytes, "rounds": options.rounds, "machine": machine_facts()}
    try:
        copied(bench, host, device)
        parts: dict[str, Callable[[], None]] = {
            "builds": partial(builds, bench, host),
            "warm": partial(warm, bench, host, device),
            "streams": partial(streams, bench, host),
            "sparse": partial(sparse, bench, host, device),
            "managed": partial(measure_managed, bench, cupy),
            "written_back": partial(written_back, bench, host),
            "random_order": partial(measure_random_order, bench, host, device),
            "budgets": partial(measure_budgets, bench, cupy, host, device),
        }
        for part in options.only:
            parts[part]()
    finally:  # what was measured is kept if a later part fails
        if options.out is not None:
            options.out.write_text(json_text(facts | {"results": bench.rows}), "utf-8")


if __name__ == "__main__":
    main()
