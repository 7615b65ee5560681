"""
A trace of 10^9 requests for lines, simulated in little memory.

    .venv/bin/python benchmarks/sim/billion_requests.py [CTAS]

100,000 CTAs of one warp load 10,000 lines each, 4 a load, at random from 1 GiB. Blocks are computed
as they are asked for, 50 CTAs at a time. Prints requests, seconds, and the most memory that the
process had.
"""

import resource
import sys
import time

import numpy as np

from isthmus import _native
from isthmus.sim.running import simulate

FIRST_ADDRESS, SIZE_BYTES = 0xC0000000, 1 << 30
LINE_BYTES, LINES_A_LOAD, LOADS, CTAS_A_BLOCK = 128, 4, 2500, 50
LOAD, END = 0, 6
OPERATIONS = LOADS + 1
RANDOM = np.random.default_rng(0)
KINDS = np.tile(np.append(np.full(LOADS, LOAD, np.uint8), np.uint8(END)), CTAS_A_BLOCK)
LINE_COUNTS = np.where(KINDS == LOAD, LINES_A_LOAD, 0)


def block(number: int) -> list[np.ndarray]:
    """Compute the arrays of a block, as `docs/traces.md` describes them."""
    first = number * CTAS_A_BLOCK
    places = RANDOM.integers(0, SIZE_BYTES // LINE_BYTES // LINES_A_LOAD, CTAS_A_BLOCK * LOADS)
    lines = places[:, None] * LINES_A_LOAD + np.arange(LINES_A_LOAD) + FIRST_ADDRESS // LINE_BYTES
    return [
        np.zeros(CTAS_A_BLOCK, np.uint32),
        np.arange(first, first + CTAS_A_BLOCK, dtype=np.uint32),
        np.arange(CTAS_A_BLOCK + 1, dtype=np.uint32) * np.uint32(OPERATIONS),
        KINDS,
        np.full(KINDS.size, 4, np.uint32),
        np.append(0, np.cumsum(LINE_COUNTS)).astype(np.uint32),
        lines.reshape(-1).astype(np.uint64),
    ]


def main(num_ctas: int) -> None:
    """Simulate, and print what it took."""
    program = _native.TraceProgram(
        "random",
        description="random lines",
        synthetic=True,
        allocations=[_native.TraceAllocation("data", FIRST_ADDRESS, SIZE_BYTES)],
        launches=[
            _native.TraceLaunch(
                "kernel",
                num_ctas=num_ctas,
                warps_per_cta=1,
                threads_per_cta=32,
                max_ctas_per_sm=8,
                local_bytes_per_thread=0,
                before=[_native.TraceHostStep("upload", FIRST_ADDRESS, SIZE_BYTES)],
            )
        ],
        after=[],
        thread_instructions=0,
    )
    source = _native.TraceSource("random", program, num_ctas // CTAS_A_BLOCK, block)
    begun = time.perf_counter()
    result = simulate(source, "paper-gtx480", "ranges")
    seconds = time.perf_counter() - begun
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss * 1024 / 1e6
    print(f"{result.counts['line_requests']:,} requests, {seconds:.0f} s, {peak_mb:.0f} MB at most")


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 100_000)
