"""
Writes the file beside this one, with the PyTorch that is installed.

    python tests/unit/pt/recorded/recorded.py OUT.pt
"""

import sys
from collections import OrderedDict
from typing import Any

import torch  # type: ignore[import-not-found,unused-ignore]


def contents() -> OrderedDict[str, Any]:
    """Give what is saved."""
    weight = torch.arange(60.0).reshape(5, 12)
    model = torch.nn.Linear(3, 2)
    optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
    (model.weight.sum() * 0).backward()
    optimizer.step()
    return OrderedDict(
        weight=weight,
        tied=weight.t(),
        part=weight[::2, 3:9],
        parameter=torch.nn.Parameter(torch.arange(7.0)),
        half=torch.arange(9.0).bfloat16(),
        fp8=torch.arange(5.0).to(torch.float8_e4m3fn),
        complex=torch.tensor([1 + 2j, 3], dtype=torch.complex128),
        bool=torch.tensor([True, False]),
        scalar=torch.tensor(3),
        empty=torch.zeros(0, 3),
        dtype=torch.float16,
        size=torch.Size([2, 3]),
        values={"step": 3, "more": [("text", b"\x00\xff", {1, 2}, None, 2j)]},
        model=model.state_dict(),
        optimizer=optimizer.state_dict(),
    )


if __name__ == "__main__":
    torch.save(contents(), sys.argv[1])
