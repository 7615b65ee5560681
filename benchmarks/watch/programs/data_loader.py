"""Train on batches of 32 MiB that a DataLoader without pin_memory gives."""

import torch
from rounds import PINNED, report
from torch.utils.data import DataLoader, TensorDataset

torch.manual_seed(0)
data = TensorDataset(torch.randn(4096, 65536))
loader = DataLoader(data, batch_size=128, pin_memory=PINNED)
layer = torch.nn.Linear(65536, 64, device="cuda")
optimizer = torch.optim.SGD(layer.parameters(), lr=1e-9)
torch.cuda.synchronize()


def work() -> None:
    """Train one epoch."""
    for (batch,) in loader:
        optimizer.zero_grad()
        layer(batch.to("cuda", non_blocking=PINNED)).square().mean().backward()
        optimizer.step()
    torch.cuda.synchronize()


report(work, lambda: layer.weight.view(torch.int32).long().sum().item(), 4)
