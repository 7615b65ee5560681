"""
Measures what comes along with a unit that is missed, by policy; a part of measure.py.

README.md has the method.
"""

# ruff: noqa: ANN401 - CuPy's arrays

from typing import Any

import numpy as np

import isthmus

BLOCK_BYTES = 1024
HOT_ITEMS = 1 << 16
SHARES = (0.001, 0.01, 0.1, 1.0)
POLICIES: dict[str, dict[str, Any]] = {
    "units": {},
    "units of 4 KiB": {"unit": "4KiB"},
    "units of 64 KiB": {"unit": "64KiB"},
    "whole_page": {"policy": "whole_page"},
    "single_range": {"policy": "single_range"},
    "ranges": {"policy": "ranges"},
    "ranges, gaps of 16 KiB": {"policy": "ranges", "gap_bytes": "16KiB"},
    "tree": {"policy": "tree"},
    "adaptive": {"policy": "adaptive"},
}


def measure_policies(bench: Any, cupy: Any, host: Any) -> None:
    """Measure cold streams, blocks of 1 KiB in random order, and a sparse gather."""
    num_blocks = host.nbytes // BLOCK_BYTES
    wanted = np.random.default_rng(3).integers(0, host.size, HOT_ITEMS).astype(np.uint32)
    at = cupy.asarray(wanted)
    for name, how in POLICIES.items():
        with isthmus.PagedArray(host, **how) as array:
            works: dict[str, tuple[Any, int]] = {
                "stream by span": (("span_stream",), host.nbytes),
                "stream by load": (("load_stream",), host.nbytes),
                "gather of 64 Ki": (("paged_gather", at, HOT_ITEMS), HOT_ITEMS * 4),
            }
            for share in SHARES:
                num_read = int(num_blocks * share)
                kernel = ("paged_blocks", num_blocks, num_read)
                works[f"blocks in random order, {share:.1%}"] = (kernel, num_read * BLOCK_BYTES)
            for what, ((kernel, *more), touched) in works.items():
                work = bench.launching(kernel, array.argument, *more, bench.out)
                ms = bench.ms(work, array.invalidate)
                stats = array.stats()
                facts = {"held_gib": round(stats.valid_units * stats.unit_bytes / 2**30, 3)}
                bench.add(f"{what}, cold", name, ms, touched, **facts)
