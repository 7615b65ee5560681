"""How many contexts of the emulated driver are alive in this process."""

import ctypes
import functools
import gc
import sys
import threading
from pathlib import Path

_MAX_TRIES, _BETWEEN_SECONDS = 50, 0.01


class _Live(ctypes.Structure):
    """IsthmusEmulatorLive of cpp/emulator/include/emulator.h: eight numbers."""

    _fields_ = (("contexts", ctypes.c_size_t), ("others", ctypes.c_size_t * 7))


def live_contexts() -> int:
    """Count them. A process that hasn't loaded the native module has none."""
    native = sys.modules.get("isthmus._native")
    if native is None or native.__file__ is None:
        return 0
    live: _Live = _emulator(native.__file__).isthmus_emulator_live()
    return int(live.contexts)


def settled_contexts(most: int) -> int:
    """
    Count them once garbage is gone, and threads have let go of what they had.

    Args:
        most: Any count up to this one is given back at once.
    """
    for _ in range(_MAX_TRIES):
        if live_contexts() <= most:
            break
        gc.collect()
        threading.Event().wait(_BETWEEN_SECONDS)
    return live_contexts()


@functools.cache
def _emulator(native: str) -> ctypes.CDLL:
    # Not by Driver.open, which would choose a profile.
    library = ctypes.CDLL(str(Path(native).with_name("libisthmus_emulator.so")))
    library.isthmus_emulator_live.restype = _Live
    return library
