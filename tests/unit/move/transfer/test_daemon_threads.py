"""Daemon threads at the interpreter's exit: Python ends them when they request the GIL."""

import sys
import textwrap
from pathlib import Path

import pytest

from program import EMULATED, run_process

pytestmark = pytest.mark.native

_LOOPING = """
import sys, threading, time
sys.path.insert(0, {tests!r})
import numpy as np
import isthmus
from isthmus import _native
memory = _native.DeviceMemory(_native.Context(_native.Driver.open(), 0), 8 << 20)
class Shown:
    def __init__(self, size):
        self.__cuda_array_interface__ = {{"shape": (size,), "typestr": "|u1",
                                         "data": (memory.pointer, False), "version": 3}}
class Slow:
    '''Whose array takes Python code to be told of, in the middle of a native call.'''
    @property
    def __cuda_array_interface__(self):
        sum(range(2000))
        return Shown(64).__cuda_array_interface__
host = np.zeros(8 << 20, np.uint8)
begun = threading.Event()
def loop():
    while True:
        {what}
        begun.set()
threading.Thread(target=loop, daemon=True).start()
assert begun.wait(60)
print("end", flush=True)
"""

_IN_A_LOOP = {
    "blocking copies": "isthmus.copy(Shown(1 << 20), host[:1 << 20])",
    "small copies": "isthmus.copy(Shown(64), host[:64])",
    "long copies": "isthmus.copy(host, Shown(8 << 20))",
    "asynchronous copies": "isthmus.copy_async(host[:1 << 20], Shown(1 << 20))",
    "waiting for copies": "isthmus.copy_async(host, Shown(8 << 20)).result()",
    "windows": "window = isthmus.window(Shown(4096)); window.write(b'abc'); window.close()",
    "pinned memory": "isthmus.pinned.empty(4 << 20, 'u1')",
    "strided copies": "isthmus.copy_async(host[:128:2], Shown(64))",
    "refused copies": textwrap.dedent("""
        try: isthmus.copy(Shown(64), host[:63])
                except isthmus.UsageError: pass""").strip(),
    "arrays in Python code": "isthmus.copy(Slow(), host[:64])",
    "allocations": "_native.DeviceMemory(_native.Context(_native.Driver.open(), 0), 100)",
    "measuring": "memory.write(b'abc'); memory.read(3)",
}


# Each starts three processes.
_LONG = {
    *("small copies", "long copies", "waiting for copies", "strided copies", "pinned memory"),
    *("refused copies", "allocations", "measuring", "asynchronous copies", "windows"),
}


@pytest.mark.parametrize(
    "what",
    [pytest.param(what, marks=pytest.mark.long if what in _LONG else ()) for what in _IN_A_LOOP],
)
def test_a_daemon_thread_does_not_end_the_process(what: str) -> None:
    code = _LOOPING.format(tests=str(Path(__file__).parents[3]), what=_IN_A_LOOP[what])
    for _ in range(3):  # one of them may end between two calls
        done = run_process([sys.executable, "-c", code], EMULATED)
        assert (done.code, done.out, done.err) == (0, "end\n", "")
