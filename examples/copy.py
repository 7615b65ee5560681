"""
Copies between the host and a GPU, whatever the arrays are.

Uses PyTorch's memory on a GPU, and otherwise the emulated driver's.
"""

import asyncio
import os
from types import SimpleNamespace

import numpy as np

import isthmus

LENGTH = 1 << 20


def gpu_array() -> object:
    """Give a float32 array on a GPU: PyTorch, CuPy, JAX, Numba or RMM."""
    try:
        import torch
    except ImportError:
        return emulated_array()
    if os.environ.get("ISTHMUS_DRIVER") or not torch.cuda.is_available():
        return emulated_array()
    return torch.zeros(LENGTH, dtype=torch.float32, device="cuda")


def emulated_array() -> object:
    """Give memory of the emulated driver, so that this runs on a laptop."""
    from isthmus import _native

    os.environ.setdefault("ISTHMUS_DRIVER", "emulated")
    memory = _native.DeviceMemory(_native.Context(_native.Driver.open(), 0), 4 * LENGTH)

    interface = {
        "shape": (LENGTH,),
        "typestr": "<f4",
        "data": (memory.pointer, False),
        "version": 3,
    }
    return SimpleNamespace(__cuda_array_interface__=interface, owner=memory)


async def squares(tensor: object) -> float:
    """Download an array while other tasks continue."""
    home = isthmus.pinned.empty(LENGTH, np.float32)
    await isthmus.copy_async(home, tensor)
    return float(home[:100].sum())


def main() -> None:
    """Copy there and back, blocking and not, and print what was done."""
    tensor = gpu_array()
    numbers = np.arange(LENGTH, dtype=np.float32)
    isthmus.copy(tensor, numbers)

    back = np.empty_like(numbers)
    future = isthmus.copy_async(back, tensor)
    future.result(timeout=60)
    print(np.array_equal(back, numbers))

    # Pinned memory comes from a pool, and returns to it with the array.
    batch = isthmus.pinned.empty((4, LENGTH // 4), np.float32)
    batch[:] = numbers.reshape(batch.shape) ** 2
    isthmus.copy(tensor, batch.reshape(-1))
    print(asyncio.run(squares(tensor)))

    plan = isthmus.explain(tensor, numbers)
    print(plan.source, "to", plan.target)
    print(isthmus.stats().calls)


if __name__ == "__main__":
    main()
