"""
What a call of a window costs in Python: the median of repeated loops, in nanoseconds.

    python benchmarks/windows/python_calls.py

Compare with `isthmus bench -t window_write`, which times the same copy in C++: the rest is Python.
The thread has a current context, like one that uses PyTorch.
"""

import ctypes
import statistics
import timeit

import isthmus
from isthmus import _native

LOOPS, REPEATS = 20_000, 9
STATEMENTS = {
    "nothing": "pass",
    "write(4 bytes)": "w.write(four)",
    "write(4 bytes, offset)": "w.write(four, 64)",
    "write(bytearray of 4)": "w.write(array)",
    "write(4096 bytes)": "w.write(page)",
    "post(4 bytes)": "w.post(four)",
    "fence()": "w.fence()",
    "read(4)": "w.read(4)",
    "read_into(bytearray of 4)": "w.read_into(array)",
}


def make_context_current(driver: _native.Driver) -> None:
    """Make the first device's primary context current on this thread, as the CUDA runtime does."""
    library, context = ctypes.CDLL(driver.path), ctypes.c_void_p()
    library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0)
    library.cuCtxSetCurrent(context)


def nanoseconds(statement: str, window: isthmus.Window) -> float:
    """Time one statement."""
    names = {"w": window, "four": b"1234", "page": bytes(4096), "array": bytearray(4)}
    timer = timeit.Timer(statement, globals=names)
    return statistics.median(timer.repeat(REPEATS, LOOPS)) / LOOPS * 1e9


def main() -> None:
    """Print a line for each statement, with and without the check for freed memory."""
    driver = _native.Driver.open()
    make_context_current(driver)
    context = _native.Context(driver, 0)
    memory = _native.DeviceMemory(context, 65536)
    windows = [isthmus.window(memory.pointer, 65536, check=check) for check in (True, False)]
    kind = "EMULATED, modelled" if driver.emulated else context.device.name
    print(f"{kind}, {windows[0].backend}, {windows[0].instructions}")
    print(f"{'ns':<28}{'check':>10}{'check=False':>14}")
    for name, statement in STATEMENTS.items():
        checked, unchecked = (nanoseconds(statement, window) for window in windows)
        print(f"{name:<28}{checked:>10.0f}{unchecked:>14.0f}")


if __name__ == "__main__":
    main()
