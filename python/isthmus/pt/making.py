"""What a pickle's tensors become: first checked descriptions, then tensors on a device."""

import importlib
from typing import TYPE_CHECKING, Any

from isthmus.pt.tensors import DTYPES, ITEM_BYTES, PickledTensor
from isthmus.safetensors.frameworks import Block, Framework
from isthmus.safetensors.header import TensorEntry

if TYPE_CHECKING:
    from isthmus.pt.archive import Stored


class Checker:
    """
    Makes nothing, and checks that everything can be made.

    Attributes:
        storages: The storages that tensors use, by key.
    """

    def __init__(self, framework: Framework, file: str) -> None:
        """Check for a framework; the file's name is for messages."""
        self.storages: dict[str, Stored] = {}
        self._framework = framework
        self._file = file

    def tensor(self, tensor: PickledTensor) -> PickledTensor:
        """Check that the framework has the type."""
        self._framework.require(_entry(tensor), self._file)
        self.storages[tensor.storage.key] = tensor.storage.stored
        return tensor

    def parameter(self, tensor: Any, *, requires_grad: bool) -> Any:  # noqa: ANN401, ARG002
        """Give the tensor: nothing can be wrong with a parameter."""
        return tensor

    def dtype(self, name: str) -> Any:  # noqa: ANN401
        """Give something that is only this dtype."""
        return ["dtype", name]


class TensorMaker:
    """Makes tensors in a block of GPU memory."""

    def __init__(self, framework: Framework, block: Block, places: dict[str, int]) -> None:
        """Make them of a framework; `places` are the storages' offsets in the block."""
        self._framework = framework
        self._block = block
        self._places = places
        # Only PyTorch's own tensors know gradients and parameters.
        self._torch = importlib.import_module("torch") if framework.name == "torch" else None

    def tensor(self, tensor: PickledTensor) -> Any:  # noqa: ANN401 - of any library
        """Make a view of the block."""
        place = self._places[tensor.storage.key] + tensor.offset * ITEM_BYTES[tensor.dtype.name]
        made = self._framework.tensor(self._block, place, _entry(tensor))
        return made.requires_grad_() if self._torch and tensor.requires_grad else made

    def parameter(self, tensor: Any, *, requires_grad: bool) -> Any:  # noqa: ANN401
        """Make a torch.nn.Parameter, if this is PyTorch."""
        if self._torch is None:
            return tensor
        return self._torch.nn.Parameter(tensor, requires_grad)

    def dtype(self, name: str) -> Any:  # noqa: ANN401
        """Give PyTorch's dtype, or its name."""
        return name if self._torch is None else getattr(self._torch, name)


def _entry(tensor: PickledTensor) -> TensorEntry:
    return TensorEntry(
        name=f"in storage {tensor.storage.key}",
        dtype=DTYPES[tensor.dtype.name],
        shape=tensor.shape,
        first=tensor.offset,
        size_bytes=tensor.storage.stored.size_bytes,
        strides=tensor.strides,
    )
