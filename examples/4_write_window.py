"""
Writes and reads GPU memory from the CPU, without a copy command.

Uses the first GPU. Without one: ISTHMUS_DRIVER=emulated python 4_write_window.py
"""

import struct

import isthmus

FLAG, DATA, TEXT = 0, 256, 1000  # places in the window, in bytes


def main() -> None:
    """Write, read, and tell a kernel that data has arrived."""
    # Or any library's array on a GPU: torch.empty(4096, dtype=torch.uint8, device="cuda")
    memory = isthmus.device_empty(4096, "uint8")
    with isthmus.window(memory) as window:
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
