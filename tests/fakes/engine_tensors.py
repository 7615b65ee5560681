"""Tensors as adapters of engines use them: views of the emulated device's memory or the host's."""

from typing import Any

import numpy as np
from numpy.typing import NDArray

import isthmus
from fakes.array_libraries import Torch
from fakes.device_arrays import DlpackArray

_CODES = {"i": 0, "u": 1, "f": 2}


class Tensor(DlpackArray):
    """
    A view of memory, with PyTorch's names.

    Attributes:
        items: What it views. A tensor on the device has another array there, which lies alike.
    """

    requires_grad = False

    def __init__(
        self,
        items: NDArray[Any],
        root: NDArray[Any] | None = None,
        memory: isthmus.DeviceArray | None = None,
    ) -> None:
        self.items, self.root, self.memory = items, items if root is None else root, memory
        begin = memory.pointer if memory is not None else self.root.ctypes.data
        super().__init__(
            begin + items.ctypes.data - self.root.ctypes.data,
            items.shape,
            item_bits=8 * items.itemsize,
            strides=[stride // items.itemsize for stride in items.strides],
            device_type=1 if memory is None else 2,
            type_code=_CODES[items.dtype.kind],
        )
        self.shape, self.dtype = items.shape, items.dtype
        self.device = "cpu" if memory is None else "cuda:0"

    def is_conj(self) -> bool:
        return False

    def is_neg(self) -> bool:
        return False

    def untyped_storage(self) -> "Tensor":
        return self

    def __getitem__(self, part: Any) -> "Tensor":  # noqa: ANN401 - an index, a slice or several
        return Tensor(self.items[part], self.root, self.memory)

    def view(self, *shape: int) -> "Tensor":
        seen = self.items.reshape(shape)
        assert seen.size == 0 or np.shares_memory(seen, self.items), "PyTorch refuses this view"
        return Tensor(seen, self.root, self.memory)

    def is_contiguous(self) -> bool:
        return self.items.flags.c_contiguous

    def data_ptr(self) -> int:
        return int(self._tensor.data or 0)

    def cpu(self) -> "Tensor":
        return Tensor(self.content())

    def numpy(self) -> NDArray[Any]:
        assert self.memory is None, "PyTorch refuses this for a tensor on a GPU"
        return self.items

    def content(self) -> NDArray[Any]:
        """Copy a contiguous tensor to the host, after what is in the current stream."""
        made: NDArray[Any] = np.empty(self.shape, self.dtype)
        isthmus.copy(made, self, stream=0)
        return made

    def __mod__(self, other: int) -> "Tensor":
        return Tensor(self.items % other)

    def __floordiv__(self, other: int) -> "Tensor":
        return Tensor(self.items // other)

    def any(self) -> bool:
        return bool(self.items.any())


def on_host(items: NDArray[Any]) -> Tensor:
    """Make a tensor in pinned memory."""
    memory: NDArray[Any] = isthmus.pinned.empty(items.shape, items.dtype)
    memory[...] = items
    return Tensor(memory)


def on_device(items: NDArray[Any]) -> Tensor:
    """Make a tensor on the emulated device."""
    memory = isthmus.device_empty(items.shape, items.dtype)
    isthmus.copy(memory, np.ascontiguousarray(items))
    return Tensor(np.empty(items.shape, items.dtype), memory=memory)


class EngineTorch(Torch):
    """PyTorch as far as adapters use it; its current stream is the legacy default one."""

    def __init__(self) -> None:
        super().__init__(exchange=False)

        def arange(first: int, end: int, *, dtype: Any, device: str) -> Tensor:  # noqa: ANN401
            made = np.arange(first, end, dtype=dtype)
            return Tensor(made) if device == "cpu" else on_device(made)

        vars(self.module).update(arange=arange, Size=tuple)

    @staticmethod
    def _tensor_type() -> type[DlpackArray]:
        return Tensor
