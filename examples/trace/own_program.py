"""Writes the memory operations of a vector addition as a trace, and simulates it."""

import numpy as np

import isthmus
from isthmus.sim import TraceWriter

NUM_CTAS, THREADS = 2, 64
NUM_BYTES = 4 * NUM_CTAS * THREADS

with TraceWriter("vector_add.arrow", name="vector_add", description="c = a + b") as trace:
    a = trace.allocate("a", NUM_BYTES, address=0x7F4B0A000000)
    b = trace.allocate("b", NUM_BYTES, address=a + NUM_BYTES)
    c = trace.allocate("c", NUM_BYTES, address=b + NUM_BYTES)
    trace.host("upload", a, NUM_BYTES)
    trace.host("upload", b, NUM_BYTES)
    trace.launch("vector_add", num_ctas=NUM_CTAS, threads_per_cta=THREADS)
    # One row for each operation of each warp. A lane accesses 4 bytes.
    warps = np.arange(NUM_CTAS * THREADS // 32)
    offsets = 4 * (32 * warps[:, None] + np.arange(32))
    trace.write(
        np.repeat(["load", "load", "store", "end"], len(warps)),
        np.concatenate([a + offsets, b + offsets, c + offsets, offsets]),
        warps=np.tile(warps, 4),
        compute=np.repeat([5, 0, 2, 1], len(warps)),
    )

for policy in ("programmer", "ranges"):
    result = isthmus.simulate("vector_add.arrow", policy=policy)
    print(f"{policy}: {result.total_seconds * 1e6:.1f} us, modelled")
