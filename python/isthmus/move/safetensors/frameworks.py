"""Allocates GPU memory and creates tensors in it, with PyTorch, with CuPy, or with neither."""

import importlib
import re
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple, Protocol

from isthmus import _native
from isthmus.errors import Unavailable, UsageError
from isthmus.move.safetensors.header import TensorEntry
from isthmus.move.safetensors.types import ITEM_BITS, NUMPY_NAMES, TORCH_NAMES


class Block(NamedTuple):
    """
    GPU memory for the tensors of a file.

    Attributes:
        owner: Keeps it alive: a tensor of bytes.
        stream: The CUstream of the allocation: older work there may still use the memory.
    """

    owner: Any
    pointer: int
    stream: int


class Framework(Protocol):
    """A library that creates the tensors."""

    name: str

    def require(self, entry: TensorEntry, file: str) -> None:
        """Raise UsageError if the library has no type for a tensor."""

    def allocate(self, size_bytes: int) -> Block:
        """Allocate memory on the device; its contents don't matter."""

    def tensor(self, block: Block, place: int, entry: TensorEntry) -> Any:  # noqa: ANN401
        """Create the tensor whose bytes begin at `place` in a block, which it keeps alive."""


def framework_of(name: str, device: int, driver: _native.Driver) -> Framework:
    """Prepare a library for a device."""
    if name not in _FRAMEWORKS:
        raise UsageError(f"framework {name!r}: choose from {', '.join(_FRAMEWORKS)}")
    return _FRAMEWORKS[name](device, driver)


def _module(name: str) -> Any:  # noqa: ANN401 - none of them need be installed
    try:
        return importlib.import_module(name)
    except ImportError as error:
        raise Unavailable(
            capability=f"loading into {name}", reason=str(error), needs=f"the package {name}"
        ) from error


class _Torch:
    """PyTorch."""

    name = "torch"

    def __init__(self, device: int, _driver: _native.Driver) -> None:
        self._torch = _module("torch")
        self._device = f"cuda:{device}"
        # One view of each block per type, because creating a view takes microseconds.
        self._typed: dict[tuple[int, str], Any] = {}

    def require(self, entry: TensorEntry, file: str) -> None:
        if not hasattr(self._torch, TORCH_NAMES.get(entry.dtype, "")):
            raise UsageError(
                f"{file}: {entry.label}: PyTorch {self._torch.__version__} has no type for "
                f"{entry.dtype}"
            )
        # PyTorch counts pairs of 4-bit items, along the last dimension.
        if entry.dtype == "F4" and (not entry.shape or entry.shape[-1] % 2):
            raise UsageError(
                f"{file}: {entry.label}: F4 of shape {list(entry.shape)} can't be given in pairs"
            )

    def allocate(self, size_bytes: int) -> Block:
        try:
            owner = self._torch.empty(size_bytes, dtype=self._torch.uint8, device=self._device)
        except (AssertionError, RuntimeError) as error:
            if self._torch.cuda.is_available():
                raise
            raise Unavailable(
                capability="loading into torch",
                reason="PyTorch shows no GPU: " + re.split(r"\. |\n", str(error))[0],
                needs="a PyTorch that is built for CUDA, on a GPU",
                hint='framework="dlpack" needs no PyTorch, and works on the emulated device',
            ) from None
        stream = self._torch.cuda.current_stream(owner.device).cuda_stream
        return Block(owner, owner.data_ptr(), stream)

    def tensor(self, block: Block, place: int, entry: TensorEntry) -> Any:  # noqa: ANN401
        shape = entry.shape
        if entry.dtype == "F4":
            shape = (*shape[:-1], shape[-1] // 2)
        item_bytes = max(1, ITEM_BITS[entry.dtype] // 8)
        typed = self._typed_view(block, entry.dtype, item_bytes)
        return self._torch.as_strided(typed, shape, _strides(shape), place // item_bytes)

    def _typed_view(self, block: Block, dtype: str, item_bytes: int) -> Any:  # noqa: ANN401
        key = (id(block.owner), dtype)
        if key not in self._typed:
            whole = block.owner.numel() // item_bytes * item_bytes
            self._typed[key] = block.owner[:whole].view(getattr(self._torch, TORCH_NAMES[dtype]))
        return self._typed[key]


def _strides(shape: Sequence[int]) -> tuple[int, ...]:
    """In items, in C order."""
    strides, stride = [], 1
    for length in reversed(shape):
        strides.append(stride)
        stride *= max(1, length)
    return tuple(reversed(strides))


# The limit of CuPy 13; later versions have 64, as the others.
_MAX_CUPY_DIMENSIONS = 32


class _Cupy:
    """CuPy."""

    name = "cupy"

    def __init__(self, device: int, _driver: _native.Driver) -> None:
        self._cupy = _module("cupy")
        self._device = device

    def require(self, entry: TensorEntry, file: str) -> None:
        if entry.dtype not in NUMPY_NAMES:
            raise UsageError(
                f"{file}: {entry.label}: CuPy has no type for {entry.dtype}",
                hint='framework="torch" and framework="dlpack" have it',
            )
        if len(entry.shape) > _MAX_CUPY_DIMENSIONS:
            raise UsageError(
                f"{file}: {entry.label} has {len(entry.shape)} dimensions; CuPy "
                f"has at most {_MAX_CUPY_DIMENSIONS}",
                hint='framework="torch" and framework="dlpack" have 64',
            )

    def allocate(self, size_bytes: int) -> Block:
        with self._cupy.cuda.Device(self._device):
            owner = self._cupy.empty(size_bytes, dtype="uint8")
            stream = self._cupy.cuda.get_current_stream().ptr
        return Block(owner, owner.data.ptr, stream)

    def tensor(self, block: Block, place: int, entry: TensorEntry) -> Any:  # noqa: ANN401
        with self._cupy.cuda.Device(self._device):
            memory = block.owner.data + place
            return self._cupy.ndarray(entry.shape, dtype=NUMPY_NAMES[entry.dtype], memptr=memory)


# Source: DLPack 1.1, DLDataTypeCode.
_DLPACK_CODES = {
    "F4": 17,
    "F6_E2M3": 15,
    "F6_E3M2": 16,
    "BOOL": 6,
    "U8": 1,
    "I8": 0,
    "F8_E5M2": 12,
    "F8_E4M3": 10,
    "F8_E8M0": 14,
    "F8_E4M3FNUZ": 11,
    "F8_E5M2FNUZ": 13,
    "U16": 1,
    "I16": 0,
    "F16": 2,
    "BF16": 4,
    "U32": 1,
    "I32": 0,
    "F32": 2,
    "U64": 1,
    "I64": 0,
    "F64": 2,
    "C64": 5,
}


class _Dlpack:
    """Neither: tensors that any library accepts by DLPack, in memory of the driver."""

    name = "dlpack"

    def __init__(self, device: int, driver: _native.Driver) -> None:
        self._context = _native.Context(driver, device)
        self._device = device

    def require(self, entry: TensorEntry, file: str) -> None:
        """DLPack has every type of the format."""

    def allocate(self, size_bytes: int) -> Block:
        owner = _native.DeviceMemory(self._context, max(1, size_bytes))
        return Block(owner, owner.pointer, 0)

    def tensor(self, block: Block, place: int, entry: TensorEntry) -> Any:  # noqa: ANN401
        return _native.device_tensor(
            block.pointer + place,
            list(entry.shape),
            _DLPACK_CODES[entry.dtype],
            ITEM_BITS[entry.dtype],
            self._device,
            block.owner,
        )


_FRAMEWORKS: dict[str, Callable[[int, _native.Driver], Framework]] = {
    "torch": _Torch,
    "cupy": _Cupy,
    "dlpack": _Dlpack,
}
