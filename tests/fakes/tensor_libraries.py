"""As much of PyTorch and of CuPy as loading a model takes, on the emulated device's memory."""

import math
from collections.abc import Sequence
from contextlib import nullcontext
from types import SimpleNamespace

from isthmus import _native


class Tensor:
    """Items of one type somewhere in device memory."""

    def __init__(
        self, memory: _native.DeviceMemory, first: int, shape: Sequence[int], dtype: "Type"
    ) -> None:
        self.memory = memory
        self.first = first
        self.shape = tuple(shape)
        self.dtype = dtype
        self.device = "cuda:0"

    def data_ptr(self) -> int:
        return self.memory.pointer + self.first

    def numel(self) -> int:
        return math.prod(self.shape)

    def __getitem__(self, part: slice) -> "Tensor":
        first, end, step = part.indices(self.numel())
        assert step == 1
        return Tensor(
            self.memory, self.first + first * self.dtype.item_bytes, (end - first,), self.dtype
        )

    def view(self, dtype: "Type") -> "Tensor":
        size = self.numel() * self.dtype.item_bytes
        assert size % dtype.item_bytes == 0, "PyTorch refuses a view of a fraction of items"
        assert self.first % dtype.item_bytes == 0
        return Tensor(self.memory, self.first, (size // dtype.item_bytes,), dtype)

    def content(self) -> bytes:
        size = self.numel() * self.dtype.item_bytes
        return self.memory.read(size, self.first) if size else b""


class Type:
    """A type of items."""

    def __init__(self, name: str, item_bytes: int) -> None:
        self.name = name
        self.item_bytes = item_bytes


_TORCH_TYPES = {
    "bool": 1,
    "uint8": 1,
    "int8": 1,
    "float8_e4m3fn": 1,
    "float8_e5m2": 1,
    "float4_e2m1fn_x2": 1,
    "int16": 2,
    "float16": 2,
    "bfloat16": 2,
    "int32": 4,
    "float32": 4,
    "int64": 8,
    "float64": 8,
    "complex64": 8,
}


class Torch:
    """
    PyTorch.

    Attributes:
        blocks: What was allocated, in bytes.
        stream: The current one.
    """

    __version__ = "2.0"

    def __init__(self, context: _native.Context) -> None:
        self._context = context
        self.blocks: list[int] = []
        self.stream = 0
        self.Tensor = Tensor
        self.cuda = SimpleNamespace(
            current_stream=lambda _device: SimpleNamespace(cuda_stream=self.stream)
        )
        for name, item_bytes in _TORCH_TYPES.items():
            setattr(self, name, Type(name, item_bytes))

    def empty(self, size: int, *, dtype: Type, device: str) -> Tensor:
        assert device == "cuda:0"
        assert dtype.name == "uint8"
        self.blocks.append(size)
        memory = _native.DeviceMemory(self._context, max(1, size))
        memory.write(b"\xee" * size)
        return Tensor(memory, 0, (size,), dtype)

    def as_strided(
        self, tensor: Tensor, shape: Sequence[int], strides: Sequence[int], offset: int
    ) -> Tensor:
        assert strides == c_strides(shape)
        if math.prod(shape):
            assert offset + math.prod(shape) <= tensor.numel(), "out of the storage's bounds"
        first = tensor.first + offset * tensor.dtype.item_bytes
        return Tensor(tensor.memory, first, shape, tensor.dtype)


def c_strides(shape: Sequence[int]) -> tuple[int, ...]:
    strides = [max(1, math.prod(max(1, n) for n in shape[i + 1 :])) for i in range(len(shape))]
    return tuple(strides)


class Pointer:
    """CuPy's MemoryPointer."""

    def __init__(self, memory: _native.DeviceMemory, first: int = 0) -> None:
        self.memory = memory
        self.first = first

    @property
    def ptr(self) -> int:
        return self.memory.pointer + self.first

    def __add__(self, offset: int) -> "Pointer":
        return Pointer(self.memory, self.first + offset)


class CupyArray(Tensor):
    """CuPy's ndarray."""

    def __init__(self, shape: Sequence[int], *, dtype: str, memptr: Pointer) -> None:
        kinds = {"bool": 1, "uint8": 1, "int8": 1, "float16": 2, "int32": 4, "float32": 4}
        super().__init__(memptr.memory, memptr.first, shape, Type(dtype, kinds[dtype]))


class Cupy:
    """CuPy."""

    ndarray = CupyArray

    def __init__(self, context: _native.Context) -> None:
        self._context = context
        self.cuda = SimpleNamespace(
            Device=lambda _device: nullcontext(),
            get_current_stream=lambda: SimpleNamespace(ptr=0),
        )

    def empty(self, size: int, *, dtype: str) -> SimpleNamespace:
        assert dtype == "uint8"
        return SimpleNamespace(data=Pointer(_native.DeviceMemory(self._context, max(1, size))))
