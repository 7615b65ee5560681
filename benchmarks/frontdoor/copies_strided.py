"""Parts of arrays on the GPU, to and from the host."""

from typing import Any

import numpy as np
from copies_device import Device, Ways, medians

import isthmus


class Part:
    """A part of an array of float32 in device memory."""

    def __init__(self, pointer: int, whole: np.ndarray[Any, Any], where: Any) -> None:  # noqa: ANN401
        """Describe it."""
        view = whole[where]
        offset = view.__array_interface__["data"][0] - whole.__array_interface__["data"][0]
        self.__cuda_array_interface__ = {
            "shape": view.shape,
            "typestr": "<f4",
            "strides": view.strides,
            "data": (pointer + offset, False),
            "version": 3,
        }


STRIDED = {
    "[:, 1:1025] of 4096 x 4096": ((4096, 4096), np.s_[:, 1:1025]),
    "[:, ::2] of 4096 x 4096": ((4096, 4096), np.s_[:, ::2]),
    "[:, :, :64] of 64 x 512 x 512": ((64, 512, 512), np.s_[:, :, :64]),
    "[::3, :, ::-5] of 64 x 512 x 512": ((64, 512, 512), np.s_[::3, :, ::-5]),
}


def strided(device: Device, turns: int) -> dict[str, Any]:
    """Copy parts of arrays."""
    rows: dict[str, Any] = {}
    for name, (shape, where) in STRIDED.items():
        whole = np.zeros(shape, np.float32)
        [memory] = device.pieces([whole.nbytes])
        part = Part(memory.pointer, whole, where)
        for kind in ("pinned", "pageable"):
            made = isthmus.pinned.zeros if kind == "pinned" else np.ones
            home = made(whole[where].shape, np.float32)
            ways: dict[str, Ways] = {
                "H2D": {"isthmus.copy": lambda p=part, h=home: isthmus.copy(p, h)},
                "D2H": {"isthmus.copy": lambda p=part, h=home: isthmus.copy(h, p)},
            }
            # PyTorch's tensors have no negative strides.
            if "-5" not in name:
                add_torch(ways, shape, where, pinned=kind == "pinned")
            add_cupy(ways, shape, where, home)
            for direction, found in ways.items():
                row = medians(found, turns, 0.5)
                row["bytes"] = home.nbytes
                rows[f"{direction} {kind} {name}"] = row
        device.free()
    return rows


def add_torch(ways: dict[str, Ways], shape: tuple[int, ...], where: Any, *, pinned: bool) -> None:  # noqa: ANN401
    """Add PyTorch's copies, if it is there and sees a GPU."""
    try:
        import torch
    except ImportError:
        return
    if not torch.cuda.is_available():
        return
    part = torch.zeros(shape, device="cuda")[where]
    home = torch.ones(part.shape, pin_memory=pinned)

    def copy(target: Any, source: Any) -> None:  # noqa: ANN401
        target.copy_(source)
        torch.cuda.synchronize()

    ways["H2D"]["torch copy_"] = lambda: copy(part, home)
    ways["D2H"]["torch copy_"] = lambda: copy(home, part)


def add_cupy(
    ways: dict[str, Ways],
    shape: tuple[int, ...],
    where: Any,  # noqa: ANN401
    home: np.ndarray[Any, Any],
) -> None:
    """Add CuPy's copies, if it is there and sees a GPU."""
    try:
        import cupy

        part = cupy.zeros(shape, np.float32)[where]
    except Exception:  # noqa: BLE001 - not installed, or no GPU
        return

    def up() -> None:
        part[...] = cupy.asarray(home)
        cupy.cuda.get_current_stream().synchronize()

    ways["H2D"]["cupy assignment"] = up
    ways["D2H"]["cupy get"] = lambda: cupy.asnumpy(part)
