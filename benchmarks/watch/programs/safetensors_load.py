"""Load a checkpoint of 2 GiB onto the GPU with safetensors."""

import sys
from pathlib import Path

import torch
from rounds import PINNED, report
from safetensors.torch import load_file, save_file

FILE = Path(sys.argv[1]) / "model.safetensors"
if not FILE.exists():
    torch.manual_seed(0)
    save_file({f"layer.{i}": torch.randn(8 << 20) for i in range(64)}, FILE)
torch.ones(8, device="cuda").sum().item()
loaded: dict[str, torch.Tensor] = {}
host = {name: one.pin_memory() for name, one in load_file(FILE).items()} if PINNED else {}


def work() -> None:
    """Load all tensors."""
    loaded.clear()
    if PINNED:
        loaded.update({name: one.to("cuda", non_blocking=True) for name, one in host.items()})
    else:
        loaded.update(load_file(FILE, device="cuda"))
    torch.cuda.synchronize()


report(work, lambda: sum(one.view(torch.int32).long().sum().item() for one in loaded.values()), 4)
