"""The copies of each library, for the same arrays."""

import ctypes
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, TypeVar

import numpy as np
from rounds import Task

import isthmus
from isthmus import _native

HOST_TO_DEVICE, DEVICE_TO_HOST = 1, 2  # Source: cudaMemcpyKind

Way = TypeVar("Way")


class OwnDevice:
    """Memory of the driver, as an array that names its address; needs no other library."""

    def __init__(self, size_bytes: int) -> None:
        """Allocate."""
        self.driver = _native.Driver.open()
        self.context = _native.Context(self.driver, 0)
        self.memory = _native.DeviceMemory(self.context, size_bytes)
        self.pointer = self.memory.pointer
        self.size_bytes = size_bytes

    def first(self, size_bytes: int, offset: int = 0) -> "OwnArray":
        """Show some of the bytes."""
        return OwnArray(self, self.pointer + offset, size_bytes)


class OwnArray:
    """A range of OwnDevice, as `__cuda_array_interface__` shows it."""

    def __init__(self, owner: OwnDevice, pointer: int, size_bytes: int) -> None:
        """Describe it."""
        self.owner = owner
        self.pointer = pointer
        self.__cuda_array_interface__ = {
            "shape": (size_bytes,),
            "typestr": "|u1",
            "data": (pointer, False),
            "version": 3,
        }


def cudart() -> ctypes.CDLL | None:
    """Find the CUDA runtime of a wheel; None if there is none."""
    try:
        import nvidia
    except ImportError:
        return None
    for folder in map(Path, nvidia.__path__):
        for found in sorted(folder.glob("*/lib/libcudart.so.*")):
            return ctypes.CDLL(str(found))
    return None


def optional(name: str) -> Any:  # noqa: ANN401 - none of them need be installed
    """Import a library, or return None."""
    import importlib

    try:
        return importlib.import_module(name)
    except Exception as error:  # noqa: BLE001 - whatever keeps it from working here
        print(f"without {name}: {type(error).__name__}: {error}")
        return None


def working(ways: Mapping[str, Way], attempt: Callable[[Way], object]) -> dict[str, Way]:
    """Leave out what fails here in other libraries, and say so."""
    kept = {}
    for name, way in ways.items():
        try:
            attempt(way)
        except Exception as error:
            if name.startswith("isthmus"):
                raise
            print(f"without {name}: {type(error).__name__}: {error}")
            continue
        kept[name] = way
    return kept


Copies = dict[str, Task]


class Contestants:
    """Every installed library, with host arrays of one size and device memory of each library."""

    def __init__(self, max_bytes: int) -> None:
        """Take device memory, and find the libraries."""
        self.device = OwnDevice(max_bytes)
        emulated = self.device.driver.emulated
        self.runtime = None if emulated else cudart()
        self.torch = None if emulated else optional("torch")
        self.cupy = None if emulated else optional("cupy")
        self.rmm = None if emulated else optional("rmm")

    def to_device(self, source: "np.ndarray[Any, Any]", *, pinned: bool) -> Copies:
        """List the calls that copy a host array to the device."""
        size = source.nbytes
        target = self.device.first(size)
        there = isthmus.DevicePointer(target.pointer, size)
        copies: Copies = {"isthmus": Task(lambda _: isthmus.copy(there, source))}
        if self.runtime is not None:
            copies["cudaMemcpy"] = self._memcpy(
                target.pointer, source.ctypes.data, size, HOST_TO_DEVICE
            )
        if self.torch is not None:
            copies |= self._torch_to_device(source, pinned=pinned)
        if self.cupy is not None:
            array = self.cupy.empty(size, dtype="uint8")
            copies["cupy set"] = Task(lambda _: array.set(source))
            copies["cupy asarray"] = Task(lambda _: self.cupy.asarray(source))
        if self.rmm is not None:
            copies["rmm to_device"] = Task(lambda _: self.rmm.DeviceBuffer.to_device(source))
        return copies

    def to_host(self, target: "np.ndarray[Any, Any]", *, pinned: bool) -> Copies:
        """List the calls that copy from the device into a host array that was touched before."""
        size = target.nbytes
        source = self.device.first(size)
        there = isthmus.DevicePointer(source.pointer, size)
        copies: Copies = {"isthmus": Task(lambda _: isthmus.copy(target, there))}
        if self.runtime is not None:
            copies["cudaMemcpy"] = self._memcpy(
                target.ctypes.data, source.pointer, size, DEVICE_TO_HOST
            )
        if self.torch is not None:
            tensor = self.torch.zeros(size, dtype=self.torch.uint8, device="cuda")
            host = self._pinned_tensor(size) if pinned else self.torch.from_numpy(target)
            copies["isthmus, of a torch tensor"] = Task(lambda _: isthmus.copy(target, tensor))
            copies["torch copy_"] = Task(lambda _: host.copy_(tensor))
        if self.cupy is not None:
            array = self.cupy.zeros(size, dtype="uint8")
            copies["cupy get(out=)"] = Task(lambda _: array.get(out=target))
        if self.rmm is not None:
            buffer = self.rmm.DeviceBuffer(size=size)
            copies["rmm copy_to_host"] = Task(lambda _: buffer.copy_to_host(target))
        return copies

    def to_fresh_host(self, size: int) -> Copies:
        """List the calls that copy from the device into untouched host memory."""
        source = self.device.first(size)

        def fresh() -> "np.ndarray[Any, Any]":
            return np.empty(size, dtype=np.uint8)

        there = isthmus.DevicePointer(source.pointer, size)
        copies: Copies = {
            "isthmus": Task(lambda new: isthmus.copy(new, there), fresh, repeatable=False)
        }
        if self.runtime is not None:
            memcpy = self._memcpy_function(DEVICE_TO_HOST)
            copies["cudaMemcpy"] = Task(
                lambda new: memcpy(new.ctypes.data, source.pointer, size), fresh, repeatable=False
            )
        if self.torch is not None:
            tensor = self.torch.zeros(size, dtype=self.torch.uint8, device="cuda")
            copies["torch .cpu()"] = Task(lambda _: tensor.cpu(), repeatable=False)
        if self.cupy is not None:
            array = self.cupy.zeros(size, dtype="uint8")
            copies["cupy asnumpy"] = Task(lambda _: self.cupy.asnumpy(array), repeatable=False)
        return copies

    def _torch_to_device(self, source: "np.ndarray[Any, Any]", *, pinned: bool) -> Copies:
        here = self.torch.from_numpy(source)
        if pinned:
            here = self._pinned_tensor(source.nbytes)
        there = self.torch.empty(source.nbytes, dtype=self.torch.uint8, device="cuda")
        return {
            "isthmus, to a torch tensor": Task(lambda _: isthmus.copy(there, source)),
            "torch copy_": Task(lambda _: there.copy_(here)),
            "torch .to('cuda')": Task(lambda _: here.to("cuda")),
        }

    def _pinned_tensor(self, size: int) -> Any:  # noqa: ANN401 - a torch.Tensor
        return self.torch.ones(size, dtype=self.torch.uint8).pin_memory()

    def _memcpy_function(self, kind: int) -> Callable[[int, int, int], None]:
        memcpy = self.runtime.cudaMemcpy  # type: ignore[union-attr] - asked for by the callers
        memcpy.argtypes = [ctypes.c_void_p, ctypes.c_void_p, ctypes.c_size_t, ctypes.c_int]

        def copy(target: int, source: int, size: int) -> None:
            if memcpy(target, source, size, kind) != 0:
                raise RuntimeError("cudaMemcpy failed")

        return copy

    def _memcpy(self, target: int, source: int, size: int, kind: int) -> Task:
        copy = self._memcpy_function(kind)
        return Task(lambda _: copy(target, source, size))
