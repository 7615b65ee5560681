"""
Rows of a table in pinned memory in random order, and one part of the table after the other.

    python benchmarks/blocks/order.py

Needs PyTorch, CuPy and a GPU. A kernel of its own gathers rows of 512 bytes: what is measured is
the GPU's way to the host's pages, not isthmus.copy_blocks. README.md beside this has the result.
"""

import itertools

import cupy
import torch

ROW_BYTES = 512
KERNEL = r"""
extern "C" __global__ void __launch_bounds__(1024) gather(const uint4* table, uint4* rows,
    const long long* keys, unsigned count, unsigned group) {
  const unsigned warp = (blockIdx.x * blockDim.x + threadIdx.x) / 32, lane = threadIdx.x % 32;
  const unsigned warps = gridDim.x * blockDim.x / 32;
  for (unsigned first = warp * group; first < count; first += warps * group)
    for (unsigned q = first; q < first + group; q += 4) {
      uint4 words[4];
#pragma unroll
      for (int k = 0; k < 4; ++k)
        if (q + k < count) words[k] = __ldg(table + (size_t)keys[q + k] * 32 + lane);
#pragma unroll
      for (int k = 0; k < 4; ++k)
        if (q + k < count) rows[(size_t)(q + k) * 32 + lane] = words[k];
    }
}
"""
gather = cupy.RawKernel(KERNEL, "gather", options=("-std=c++17",))


def sorted_by(keys: torch.Tensor, num_rows: int, bins: int) -> torch.Tensor:
    """Bring keys in the order of the table's parts; 0: leave them."""
    return keys[torch.argsort(keys // (num_rows // bins), stable=True)] if bins else keys


def microseconds(
    table: torch.Tensor, rows: torch.Tensor, rounds: list[torch.Tensor], blocks: int, group: int
) -> float:
    """Time a gather, the least of two turns of all rounds."""

    def run(keys: torch.Tensor) -> None:
        addresses = (cupy.uint64(one.data_ptr()) for one in (table, rows, keys))
        numbers = (cupy.uint32(keys.numel()), cupy.uint32(group))
        gather((blocks,), (1024,), (*addresses, *numbers))

    run(rounds[0])
    found = []
    for _ in range(2):
        first, last = (torch.cuda.Event(enable_timing=True) for _ in range(2))
        first.record()
        for keys in rounds:
            run(keys)
        last.record()
        last.synchronize()
        found.append(first.elapsed_time(last) * 1e3 / len(rounds))
    return min(found)


def main() -> None:
    """Measure tables of 1 to 48 GiB."""
    rows = torch.empty(100_000, ROW_BYTES // 4, device="cuda")
    stream = cupy.cuda.ExternalStream(torch.cuda.current_stream().cuda_stream)
    for gib in (1, 2, 4, 24, 48):
        num_rows = (gib << 30) // ROW_BYTES
        table = torch.empty(num_rows, ROW_BYTES // 4, pin_memory=True)
        for count in (10_000, 41_000, 100_000):
            given = [torch.randint(num_rows, (count,), device="cuda") for _ in range(6)]
            for bins in (0, 256, 1024, 4096, 16_384):
                rounds = [sorted_by(keys, num_rows, bins) for keys in given]
                line = f"{gib} GiB {count} rows bins {bins}: "
                for blocks, group in itertools.chain([(4, 32)], ((n, 4) for n in (4, 8, 16))):
                    with stream:
                        us = microseconds(table, rows, rounds, blocks, group)
                    line += f" {blocks}/{group} {us:6.0f} us {count * ROW_BYTES / us / 1e3:4.1f} "
                print(line, flush=True)
        del table


if __name__ == "__main__":
    main()
