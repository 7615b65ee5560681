"""Frees the host memory of tensors while other Python threads run."""

import contextlib
from collections import deque
from typing import Any

from isthmus import _native
from isthmus.move.torch.library import torch_module

# The kernel takes 0.1 ms to unmap this; smaller ones aren't worth an export.
_MIN_BYTES = 1 << 20


class UsedTensors:
    """
    Tensors in host memory that were copied, and whose memory is to be freed. Python frees a tensor
    with the GIL held, and so does PyTorch (2.11). To free a batch of 77 MB from a DataLoader's
    workers takes 5 to 15 ms, and the training, which launches kernels at that time, would wait for
    all of it. One thread may add while another frees.
    """

    def __init__(self) -> None:
        """Hold nothing yet."""
        self._held: deque[Any] = deque()

    def add(self, exported: Any) -> None:  # noqa: ANN401 - what `export` gave
        """Hold a tensor's memory until `free()`."""
        self._held.append(exported)

    def free(self) -> None:
        """Free what nobody else holds, without the GIL."""
        with contextlib.suppress(IndexError):
            while True:
                _native.free_tensor(self._held.popleft())


def export(tensor: Any) -> Any:  # noqa: ANN401 - a torch.Tensor on the host
    """Give what holds a large tensor's memory, for `UsedTensors`; None if Python frees it."""
    if tensor.untyped_storage().nbytes() < _MIN_BYTES:
        return None
    # Not every version of PyTorch exports every type: Python frees what can't be held.
    with contextlib.suppress(BufferError, RuntimeError, TypeError):
        return torch_module().utils.dlpack.to_dlpack(tensor)
    return None
