"""
NCCL, as PyTorch brings it, with Isthmus's libgdrapi.so: one process a GPU, sums checked.

    export LD_LIBRARY_PATH=FOLDER_OF_LIBGDRAPI NCCL_GDRCOPY_ENABLE=1 NCCL_DEBUG=INFO
    NCCL_P2P_DISABLE=1 NCCL_SHM_DISABLE=1 NCCL_NET=Socket python3 tests/gpu/nccl_allreduce.py

With two GPUs or more, and neither peer access nor shared memory, NCCL's proxies pass their flags
through mappings of libgdrapi: wrong bytes would give wrong sums, or a hang. Its log says
"GDRCOPY enabled library 2.6 driver 2.6". Not a pytest file: it wants the environment above.
"""

import sys
from typing import Any

import torch  # type: ignore[import-not-found]
import torch.distributed as dist  # type: ignore[import-not-found]
from torch import multiprocessing

PORT = 29511
COUNTS = (1, 1000, 1 << 20, 1 << 24)
ROUNDS = 20


def sums_are_right(rank: int, ranks: int) -> bool:
    """Add up what every rank holds, at several sizes."""
    for count in COUNTS:
        for number in range(ROUNDS):
            values: Any = torch.full((count,), float(rank + 1 + number), device="cuda")
            dist.all_reduce(values)
            wanted = sum(other + 1 + number for other in range(ranks))
            if not bool((values == wanted).all()):
                return False
    return True


def work(rank: int, ranks: int) -> None:
    """Be one rank."""
    torch.cuda.set_device(rank)
    address = f"tcp://127.0.0.1:{PORT}"
    dist.init_process_group("nccl", init_method=address, rank=rank, world_size=ranks)
    right = sums_are_right(rank, ranks)
    dist.destroy_process_group()
    print(f"rank {rank}: {'all sums right' if right else 'WRONG SUM'}", flush=True)  # noqa: T201
    if not right:
        sys.exit(1)


if __name__ == "__main__":
    num_gpus = torch.cuda.device_count()
    multiprocessing.spawn(work, args=(num_gpus,), nprocs=num_gpus)
