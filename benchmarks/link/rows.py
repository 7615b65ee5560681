"""
Shows that a run has every row of the feature table with which other tools were compared.

    python benchmarks/link/rows.py RUN.json [RUN_OF_SEVERAL_GPUS.json] > rows.md

Prints Markdown: the feature, the test and metric that has it, and one of its values. A row that a
run lacks has the run's own reason. The exit code is 1 if a row has neither a value nor a reason.
"""

import sys
from typing import Any, NamedTuple

from isthmus.measure.run.reading import read_run

KIB, MIB, GIB = 1 << 10, 1 << 20, 1 << 30
Result = dict[str, Any]


class Wanted(NamedTuple):
    """A result by its test and metric; the size that is shown, if there is more than one."""

    test: str
    metric: str = "bandwidth"
    size_bytes: int | None = None


UP, DOWN = "host_to_device", "device_to_host"
# In the order of the table; the names of the rows are its own, shortened.
ROWS: tuple[tuple[str, tuple[Wanted, ...]], ...] = (
    (
        "H2D/D2H pinned, copy engine",
        tuple(Wanted(f"{d}_memcpy_ce", size_bytes=GIB) for d in (UP, DOWN)),
    ),
    (
        "by SM kernel (mapped, zero-copy)",
        tuple(Wanted(f"{d}_memcpy_sm", size_bytes=64 * MIB) for d in (UP, DOWN)),
    ),
    ("pageable", tuple(Wanted(f"{d}_memcpy_pageable", size_bytes=GIB) for d in (UP, DOWN))),
    (
        "registered",
        tuple(Wanted(f"{d}_memcpy_registered", size_bytes=64 * MIB) for d in (UP, DOWN)),
    ),
    (
        "write-combined",
        tuple(Wanted(f"{d}_memcpy_write_combined", size_bytes=64 * MIB) for d in (UP, DOWN)),
    ),
    (
        "managed, demand",
        tuple(Wanted(f"{d}_managed_demand", size_bytes=128 * MIB) for d in (UP, DOWN)),
    ),
    (
        "managed, prefetched",
        tuple(Wanted(f"{d}_managed_prefetched", size_bytes=128 * MIB) for d in (UP, DOWN)),
    ),
    (
        "managed, advised",
        tuple(Wanted(f"{d}_managed_advised", size_bytes=128 * MIB) for d in (UP, DOWN)),
    ),
    (
        "page-fault latency",
        (Wanted("managed_page_fault", "device_fault"), Wanted("managed_page_fault", "host_fault")),
    ),
    (
        "CPU-driven BAR1 copy",
        (Wanted("window_write", "fenced", 4 * KIB), Wanted("window_read", "complete", 4 * KIB)),
    ),
    (
        "pin/map/unmap/unpin of BAR1",
        tuple(Wanted("window_lifecycle", m, 64 * KIB) for m in ("pin", "map", "unmap", "unpin")),
    ),
    ("CPU-GPU ping-pong", (Wanted("window_ping_pong", "round_trip"),)),
    ("GPU-to-host pointer-chase latency", (Wanted("host_device_latency_sm", "access_latency"),)),
    (
        "4-byte copy, async",
        tuple(Wanted(f"{d}_small_copy_async", "completion", 4) for d in (UP, DOWN)),
    ),
    (
        "4-byte copy, blocking",
        tuple(Wanted(f"{d}_small_copy_blocking", "completion", 4) for d in (UP, DOWN)),
    ),
    (
        "CPU clock and events of the same copy",
        tuple(Wanted(f"{UP}_small_copy_async", m, 4) for m in ("completion", "event_delta")),
    ),
    (
        "the call's own cost",
        tuple(Wanted(f"{d}_small_copy_async", "api_return", 4) for d in (UP, DOWN)),
    ),
    (
        "size sweep",
        (Wanted(f"{UP}_memcpy_ce", size_bytes=4), Wanted(f"{UP}_memcpy_ce", "half_bandwidth_size")),
    ),
    ("sizes below 1 MiB", tuple(Wanted(f"{d}_memcpy_ce", size_bytes=64 * KIB) for d in (UP, DOWN))),
    *(
        (
            f"allocating and freeing: {name}",
            tuple(Wanted(test, m, 64 * MIB) for m in ("allocate", "free")),
        )
        for name, test in (
            ("malloc", "alloc_malloc"),
            ("cudaMallocHost", "alloc_cuda_malloc_host"),
            ("cudaMalloc", "alloc_cuda_malloc"),
            ("cudaMallocManaged", "alloc_cuda_malloc_managed"),
            ("cudaMallocPitch", "alloc_cuda_malloc_pitch"),
            ("cudaMallocArray", "alloc_cuda_malloc_array"),
            ("cudaMalloc3D", "alloc_cuda_malloc_3d"),
            ("cudaMallocAsync", "alloc_cuda_malloc_async"),
            ("cudaHostRegister", "alloc_cuda_host_register"),
        )
    ),
    (
        "break-even",
        (
            Wanted("host_memory_life", "break_even_both_ways"),
            Wanted("window_write", "crossover_pinned"),
        ),
    ),
    ("2D copies", tuple(Wanted(f"{d}_memcpy_2d", size_bytes=16 * MIB) for d in (UP, DOWN))),
    ("3D copies", tuple(Wanted(f"{d}_memcpy_3d", size_bytes=16 * MIB) for d in (UP, DOWN))),
    ("array copies", tuple(Wanted(f"{d}_memcpy_array", size_bytes=16 * MIB) for d in (UP, DOWN))),
    (
        "batch of copies",
        (
            Wanted(f"{UP}_many_copies_batch", "completion", MIB),
            Wanted(f"{UP}_small_copy_batch", "completion", 4),
        ),
    ),
    (
        "graph's memcpy node",
        (
            Wanted(f"{UP}_many_copies_graph", "completion", MIB),
            Wanted(f"{UP}_small_copy_graph", "completion", 4),
        ),
    ),
    ("offsets", tuple(Wanted(f"{d}_memcpy_offset", size_bytes=16 * MIB) for d in (UP, DOWN))),
    (
        "zeros against random",
        tuple(Wanted(f"{d}_memcpy_contents", size_bytes=16 * MIB) for d in (UP, DOWN)),
    ),
    (
        "duplex",
        (
            Wanted("duplex_memcpy_ce", "duplex_total", 256 * MIB),
            Wanted(f"{UP}_bidirectional_memcpy_ce", size_bytes=256 * MIB),
        ),
    ),
    (
        "several GPUs at once, each under load",
        (
            Wanted("host_to_all_memcpy_ce", "bandwidth"),
            Wanted("all_to_host_memcpy_ce", "bandwidth"),
        ),
    ),
    (
        "several GPUs at once, aggregate",
        (
            Wanted("host_to_all_memcpy_ce", "aggregate"),
            Wanted("all_to_host_memcpy_ce", "aggregate"),
        ),
    ),
    (
        "several streams",
        tuple(Wanted(f"{d}_memcpy_streams", size_bytes=64 * MIB) for d in (UP, DOWN)),
    ),
    (
        "copy behind compute",
        (
            Wanted(f"{UP}_overlap_double_buffering", "together"),
            Wanted("duplex_overlap", "together"),
        ),
    ),
    (
        "host memcpy, node to node",
        (Wanted("host_memcpy", size_bytes=GIB), Wanted("host_memcpy_node_to_node")),
    ),
    ("CPU node x GPU", tuple(Wanted(f"numa_{d}_memcpy_ce") for d in (UP, DOWN))),
    (
        "huge pages",
        tuple(Wanted(f"{d}_memcpy_huge_pages", size_bytes=64 * MIB) for d in (UP, DOWN)),
    ),
)
# What no run's results have.
ELSEWHERE = (
    ("PCIe generation, width, replays, AER", "in the run's heading and `isthmus doctor`"),
    (
        "link and power state before measuring",
        "in the run's heading, `isthmus doctor` and `clock_reasons` of each result",
    ),
    (
        "several nodes",
        "waived: Isthmus measures the links of one host; nvbandwidth has networks",
    ),
)


def main(paths: list[str]) -> int:
    """Print the table; the first run that has a row gives its value."""
    results = [one.model_dump() for path in paths for one in read_run(path).results]
    print("| feature | by | value |\n|---|---|---|")
    num_missing = 0
    for feature, wanted in ROWS:
        for one in wanted:
            found = shown(one, results)
            num_missing += found is None
            print(f"| {feature} | `{one.test}` {one.metric} | {found or 'MISSING'} |")
    for feature, where in ELSEWHERE:
        print(f"| {feature} | | {where} |")
    return 1 if num_missing else 0


def shown(one: Wanted, results: list[Result]) -> str | None:
    """Give a result's value or the reason why there is none; None if there is neither."""
    named = [r for r in results if (r["test"], r["metric"]) == (one.test, one.metric)]
    measured = [r for r in named if r["status"] == "passed" and r["median"] is not None]
    fitting = [r for r in measured if one.size_bytes in {None, r["bytes"]}]
    if fitting or measured:
        return value_of((fitting or measured)[0])
    return next((f"waived: {r['reason']}" for r in named if r.get("reason")), None)


def value_of(result: Result) -> str:
    """Write a median in the usual unit, with its size and axes."""
    median, unit = result["median"], result["unit"]
    texts = {
        "B/s": f"{median / 1e9:.4g} GB/s",
        "s": f"{median * 1e6:.4g} us",
        "B": f"{median / KIB:.4g} KiB",
        "1": f"{median:.4g}",
    }
    axes = [f"{name} {value}" for name, value in result["axes"].items()]
    size = [f"{result['bytes']} B"] if result["bytes"] else []
    return f"{texts[unit]} ({', '.join(size + axes)})"


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
