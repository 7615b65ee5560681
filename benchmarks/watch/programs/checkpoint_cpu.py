"""Bring the weights of a model (2 GiB) to the host with .cpu(), as a checkpoint does."""

import torch
from rounds import PINNED, report

torch.manual_seed(0)
model = {f"layer.{i}": torch.randn(8 << 20, device="cuda") for i in range(64)}
torch.cuda.synchronize()
pinned: dict[str, torch.Tensor] = {}
if PINNED:
    for name, one in model.items():
        pinned[name] = torch.empty_like(one, device="cpu", pin_memory=True)
there: dict[str, torch.Tensor] = {}


def work() -> None:
    """Copy each tensor to the host."""
    there.clear()
    if PINNED:
        for name, one in model.items():
            there[name] = pinned[name].copy_(one, non_blocking=True)
        torch.cuda.synchronize()
    else:
        there.update({name: one.cpu() for name, one in model.items()})


report(work, lambda: sum(one.view(torch.int32).long().sum().item() for one in there.values()), 4)
