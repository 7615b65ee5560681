"""
Time the shortest calls of an installed package, to compare two builds of it.

    PYTHONPATH=UNPACKED_WHEEL python -P benchmarks/frontdoor/call_times.py [--out FILE]

Prints and stores JSON: for each call the shortest mean of 2000 calls, of 40 times, in nanoseconds.
Run both builds in turns, several times: results/stable_abi.json has six turns of each.
"""

import json
import platform
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

import isthmus
from isthmus import _native

NUM_CALLS, NUM_TIMES, NUM_FIRST = 2000, 40, 200
SIZE = 64


def mean_ns(call: Callable[[], object], num_calls: int = NUM_CALLS) -> float:
    """Time calls in a row."""
    start = time.perf_counter_ns()
    for _ in range(num_calls):
        call()
    return (time.perf_counter_ns() - start) / num_calls


def calls() -> dict[str, Callable[[], object]]:
    """Give the calls by name, on the default device."""
    device, host = isthmus.device_empty(SIZE, "uint8"), np.zeros(SIZE, "uint8")
    pointer, buffer = isthmus.DevicePointer(device.pointer, SIZE), bytearray(SIZE)
    window = isthmus.window(device)
    pinned = isthmus.pinned.zeros(SIZE, "uint8")
    return {
        "upload of a NumPy array": lambda: isthmus.copy(device, host),
        "download to a NumPy array": lambda: isthmus.copy(host, device),
        "upload of a bytearray to a pointer": lambda: isthmus.copy(pointer, buffer),
        "host to host": lambda: isthmus.copy(buffer, memoryview(host)),
        "window.write": lambda: window.write(b"1234"),
        "pinned.empty(1000, 'float32')": lambda: isthmus.pinned.empty(1000, "float32"),
        "pinned.empty((10, 100))": lambda: isthmus.pinned.empty((10, 100)),
        "copy_async, an upload": lambda: isthmus.copy_async(device, host),
        "its result()": lambda: isthmus.copy_async(device, host).result(),
        "copy_async, a download": lambda: isthmus.copy_async(host, device),
        "its result(), too": lambda: isthmus.copy_async(host, device).result(),
        "copy_async from pinned memory": lambda: isthmus.copy_async(device, pinned).result(),
        "copy_async to pinned memory": lambda: isthmus.copy_async(pinned, device).result(),
    }


def main(arguments: list[str]) -> int:
    """Measure all calls."""
    measured = {}
    for name, call in calls().items():
        mean_ns(call, NUM_FIRST)
        measured[name] = round(min(mean_ns(call) for _ in range(NUM_TIMES)), 1)
    record = {
        "module": Path(str(_native.__file__)).name,
        "python": platform.python_version(),
        "device": isthmus.device_name(),
        "nanoseconds": measured,
    }
    text = json.dumps(record, indent=2) + "\n"
    print(text, end="")
    if arguments[:1] == ["--out"]:
        Path(arguments[1]).write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
