"""
Does the kind or place of host memory decide how fast pinned copies are here?

1 GiB, both directions, by CUDA events, from: several allocations of cudaHostAlloc; one registered
mapping of 4 KiB pages; one of huge pages. They alternate, so that changes of the machine affect all
alike. PyTorch is used only to call the CUDA runtime: Isthmus must not check itself.
"""

import ctypes
import mmap
import statistics

import torch

SIZE_BYTES = 1 << 30
ROUNDS = 15
MADV_HUGEPAGE, MADV_NOHUGEPAGE = 14, 15


def mapped(advice: int) -> torch.Tensor:
    """A registered anonymous mapping, 2 MiB-aligned, with this advice about huge pages."""
    slack = 2 << 20
    memory = mmap.mmap(-1, SIZE_BYTES + slack, flags=mmap.MAP_PRIVATE | mmap.MAP_ANONYMOUS)
    memory.madvise(advice)
    address = ctypes.addressof(ctypes.c_char.from_buffer(memory))
    offset = -address % slack
    tensor = torch.frombuffer(memory, dtype=torch.uint8, count=SIZE_BYTES, offset=offset)
    tensor.random_(0, 256)
    status = int(torch.cuda.cudart().cudaHostRegister(tensor.data_ptr(), SIZE_BYTES, 0))
    if status != 0:
        raise MemoryError(f"cudaHostRegister of 1 GiB failed with code {status}")
    return tensor


def gigabytes_per_second(target: torch.Tensor, source: torch.Tensor) -> float:
    """Time one copy of the whole buffer by the GPU's clock."""
    first, last = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
    first.record()
    target.copy_(source, non_blocking=True)
    last.record()
    last.synchronize()
    return SIZE_BYTES / (first.elapsed_time(last) * 1e-3) / 1e9


def spread(rates: list[float]) -> str:
    """Write median and range of rates in GB/s."""
    return f"{statistics.median(rates):6.2f} ({min(rates):.2f} to {max(rates):.2f})"


def main() -> None:
    """Measure every kind in turn, and print a line for each."""
    device = torch.empty(SIZE_BYTES, dtype=torch.uint8, device="cuda")
    hosts = {
        f"cudaHostAlloc {i}": torch.empty(SIZE_BYTES, dtype=torch.uint8, pin_memory=True)
        for i in range(4)
    }
    for tensor in hosts.values():
        tensor.random_(0, 256)
    hosts["registered, 4 KiB pages"] = mapped(MADV_NOHUGEPAGE)
    hosts["registered, huge pages"] = mapped(MADV_HUGEPAGE)
    up: dict[str, list[float]] = {name: [] for name in hosts}
    down: dict[str, list[float]] = {name: [] for name in hosts}
    for _ in range(ROUNDS):
        for name, host in hosts.items():
            up[name].append(gigabytes_per_second(device, host))
            down[name].append(gigabytes_per_second(host, device))
    gpu = torch.cuda.get_device_name()
    print(f"{gpu}, 1 GiB, {ROUNDS} rounds, GB/s: median (min to max)")
    for name in hosts:
        print(f"{name:24s} H2D {spread(up[name])}   D2H {spread(down[name])}")


main()
