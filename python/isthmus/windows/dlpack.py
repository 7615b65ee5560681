"""
Reads arrays by DLPack: PyTorch, CuPy, JAX, cuda.core and others.

Source: DLPack 1.1; Python array API standard 2024.12, `__dlpack__`.
"""

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol, runtime_checkable

from isthmus import _native
from isthmus.errors import UsageError
from isthmus.windows.device_bytes import DeviceBytes, array_size_bytes, require_contiguous

_CPU = 1
_CUDA = 2
# Why the window is refused, for the kinds of memory that people confuse with a GPU's own.
_NOT_ON_A_GPU = {
    _CPU: "lies in the CPU's memory: nothing needs to be mapped",
    3: "lies in pinned host memory: the CPU reaches it already",
    13: "lies in managed memory, which moves: the CPU reaches it already",
}
_VERSION = (1, 1)
_NO_SYNCHRONISATION = -1


@runtime_checkable
class DlpackExporter(Protocol):
    """An array that can describe itself by DLPack."""

    def __dlpack__(self, *, stream: int | None = None) -> object:
        """Give a capsule."""

    def __dlpack_device__(self) -> tuple[int, int]:
        """Tell the kind of memory, and which device's."""


Exporting = Callable[[int], AbstractContextManager[int | None]]


def from_dlpack(array: DlpackExporter, exporting: Exporting | None) -> DeviceBytes:
    """
    Find the memory of an array.

    Args:
        array: Keeps its memory while the result's `owner` lives.
        exporting: Makes a device current, which PyTorch demands, and gives a stream of it, which
            the array's library makes wait for its pending work; a stream of None isn't waited for.

    Raises:
        UsageError: It isn't a GPU's own memory, isn't contiguous, or can't be exported.
    """
    what = type(array).__name__
    kind, device = array.__dlpack_device__()
    _require_gpu(int(kind), what)
    current = nullcontext() if exporting is None else exporting(int(device))
    with current as stream:
        capsule = _export(array, _NO_SYNCHRONISATION if stream is None else stream)
    found = _native.read_dlpack(capsule)
    _require_gpu(found.device_type, what)
    require_contiguous(found.shape, found.strides, 1, what)
    return DeviceBytes(
        pointer=found.pointer,
        size_bytes=array_size_bytes(found.shape, found.item_bits),
        read_only=found.read_only,
        owner=(array, capsule),
        pending_stream=stream,
        pending_device=found.device_id,
    )


def _require_gpu(kind: int, what: str) -> None:
    if kind != _CUDA:
        why = _NOT_ON_A_GPU.get(kind, f"lies on a device that isn't CUDA's (DLPack type {kind})")
        raise UsageError(f"this {what} {why}", hint="windows are for memory of an NVIDIA GPU")


def _export(array: DlpackExporter, stream: int) -> object:
    """Ask for a capsule, of DLPack 1 if the library knows it."""
    try:
        try:
            return array.__dlpack__(stream=stream, max_version=_VERSION)  # type: ignore[call-arg]
        except TypeError:  # from before DLPack 1
            return array.__dlpack__(stream=stream)
    except BufferError as refusal:
        raise UsageError(
            f"this {type(array).__name__} can't be exported: {refusal}",
            hint="of a tensor that needs a gradient, pass tensor.detach()",
        ) from refusal
