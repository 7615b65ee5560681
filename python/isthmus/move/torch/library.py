"""PyTorch, which need not be installed, and the device that a caller means."""

import contextlib
import importlib
from typing import Any

from isthmus.errors import Unavailable, UsageError
from isthmus.ground.spelling import counted


def torch_module() -> Any:  # noqa: ANN401 - a module that need not be installed
    """Import PyTorch."""
    try:
        return importlib.import_module("torch")
    except ImportError as error:
        raise Unavailable(
            capability="isthmus.torch", reason=str(error), needs="PyTorch: pip install torch"
        ) from error


def device_of(device: object) -> Any:  # noqa: ANN401 - a torch.device
    """
    Give the device that a caller means (1, "cuda:1", "cpu", a torch.device) as a `torch.device`; a
    GPU's has its ordinal.
    """
    torch = torch_module()
    found = None
    with contextlib.suppress(RuntimeError, TypeError, ValueError):
        found = torch.device("cuda", device) if type(device) is int else torch.device(device)
    if found is None or found.type not in {"cuda", "cpu"}:
        raise UsageError(
            f"device {device!r}: pass a GPU's ordinal, 'cuda', 'cuda:1', 'cpu' or a torch.device"
        )
    if found.type == "cpu":
        return found
    count = torch.cuda.device_count()
    index = found.index
    if index is None:
        index = torch.cuda.current_device() if count else 0
    if not 0 <= index < count:
        if count == 0:
            raise UsageError(
                f"device {device!r}: PyTorch shows no GPU",
                hint="pass device='cpu', or install a PyTorch that is built for CUDA",
            )
        raise UsageError(f"device {device!r}: PyTorch shows {counted(count, 'GPU')}, from 0 on")
    return torch.device("cuda", index)
