"""
Writes and reads GPU memory from the CPU, without a copy command.

Uses PyTorch's memory on a GPU, and otherwise the emulated driver's.
"""

import os
import struct
from types import SimpleNamespace

import isthmus

FLAG, DATA, TEXT = 0, 256, 1000


def gpu_memory() -> object:
    """Give 4 KiB of GPU memory: an array with DLPack or __cuda_array_interface__."""
    try:
        import torch
    except ImportError:
        return emulated_memory()
    if os.environ.get("ISTHMUS_DRIVER") or not torch.cuda.is_available():
        return emulated_memory()
    return torch.zeros(4096, dtype=torch.uint8, device="cuda")


def emulated_memory() -> object:
    """Give memory of the emulated driver, so that this runs on a laptop."""
    from isthmus import _native

    os.environ.setdefault("ISTHMUS_DRIVER", "emulated")
    memory = _native.DeviceMemory(_native.Context(_native.Driver.open(), 0), 4096)

    interface = {
        "shape": (memory.nbytes,),
        "typestr": "|u1",
        "data": (memory.pointer, False),
        "version": 3,
    }
    return SimpleNamespace(__cuda_array_interface__=interface, owner=memory)


def main() -> None:
    """Write, read, and tell a kernel that data has arrived."""
    tensor = gpu_memory()
    with isthmus.window(tensor) as window:
        window.write(b"hello, GPU", TEXT)
        print(window.read(10, TEXT))

        # Several stores, one fence; then the flag that a running kernel waits for.
        window.post(struct.pack("<4f", 1, 2, 3, 4), DATA)
        window.post(struct.pack("<4f", 5, 6, 7, 8), DATA + 16)
        window.fence()
        window.write(struct.pack("<I", 1), FLAG)

        # Into existing memory: NumPy arrays, bytearrays, shared memory.
        answer = bytearray(32)
        window.read_into(answer, DATA)
        print(*struct.unpack("<8f", answer))
        print(f"{window.nbytes} bytes, by way of {window.backend}")


if __name__ == "__main__":
    main()
