"""Host memory of every kind that Python has, and how its owner gets rid of it."""

import array
import mmap
import os
import random
from pathlib import Path
from typing import Any

import numpy as np

import isthmus

Bytes = np.ndarray[Any, np.dtype[np.uint8]]

KINDS = ("numpy", "pinned", "bytearray", "array", "memoryview", "mmap", "file")
VICTIM = 0x5B
_NUM_VICTIMS = 12


def host_memory(kind: str, size: int, folder: Path) -> Any:  # noqa: ANN401, PLR0911 - any buffer
    """Take writable memory of a kind, with undefined contents."""
    match kind:
        case "numpy":
            return np.empty(size, np.uint8)
        case "pinned":
            return isthmus.pinned.empty(size, np.uint8)
        case "bytearray":
            return bytearray(size)
        case "array":
            return array.array("B", bytes(size))
        case "memoryview":
            return memoryview(bytearray(size))
        case "mmap":
            return mmap.mmap(-1, size)
        case "file":
            return _mapped_file(size, folder)
    raise ValueError(kind)


def _mapped_file(size: int, folder: Path) -> mmap.mmap:
    path = folder / f"mapped_{random.getrandbits(64):x}"
    descriptor = os.open(path, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600)
    try:
        path.unlink()
        os.truncate(descriptor, size)
        return mmap.mmap(descriptor, size)
    finally:
        os.close(descriptor)


def fill(memory: object, content: Bytes) -> None:
    np.frombuffer(memory, np.uint8)[:] = content  # type: ignore[call-overload]


def differs(memory: object, wanted: Bytes) -> str:
    """Say which byte differs first; nothing if none does."""
    found = np.frombuffer(memory, np.uint8)  # type: ignore[call-overload]
    if np.array_equal(found, wanted):
        return ""
    first = int(np.flatnonzero(found != wanted)[0])
    return f"byte {first} of {wanted.size} is {found[first]}, not {wanted[first]}"


def let_go(memory: Any) -> bool:  # noqa: ANN401 - any buffer
    """
    Free memory as its owner does who no longer needs it.

    Returns:
        False if it is still used: a buffer can't be resized, closed or released then.
    """
    try:
        match memory:
            case mmap.mmap():
                memory.close()
            case bytearray():
                memory.clear()
            case array.array():
                del memory[:]
            case memoryview():
                memory.release()
    except BufferError:
        return False
    return True


class Victims:
    """Memory that is taken right after other memory was let go, and that nobody may write to."""

    def __init__(self) -> None:
        self._memories: list[Bytes] = []

    def add(self, size: int, *, pinned: bool) -> None:
        take = isthmus.pinned.empty if pinned else np.empty
        memory: Bytes = take(size, np.uint8)
        memory.fill(VICTIM)
        self._memories.append(memory)

    def any_is_hurt(self) -> bool:
        """Look at the oldest, and let them go."""
        old = self._memories[:-_NUM_VICTIMS]
        del self._memories[:-_NUM_VICTIMS]
        return any(bool((memory != VICTIM).any()) for memory in old)
