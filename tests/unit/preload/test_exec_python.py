"""Programs in Python under exec: one that uses Isthmus itself, and one that forks workers."""

import sys

from preloading import EXEC, Place

OF_ISTHMUS = """
import numpy, isthmus
source = numpy.arange(3 << 20, dtype=numpy.uint8)
target = numpy.zeros_like(source)
memory = isthmus.device_empty(source.shape, source.dtype)
for _ in range(3):
    target[:] = 0
    isthmus.copy(memory, source)
    isthmus.copy(target, memory)
    assert (source == target).all()
print("equal")
"""

OF_WORKERS = """
import ctypes, multiprocessing
cuda = ctypes.CDLL("libcuda.so.1")
address, context = ctypes.c_uint64(), ctypes.c_void_p()
host = ctypes.create_string_buffer(b"x" * (3 << 20))

def copy():
    assert cuda.cuInit(0) == 0
    assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
    assert cuda.cuCtxSetCurrent(context) == 0
    assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(3 << 20)) == 0
    assert cuda.cuMemcpyHtoD_v2(address, host, ctypes.c_size_t(3 << 20)) == 0

if __name__ == "__main__":
    for method in ("spawn", "fork", "forkserver"):
        worker = multiprocessing.get_context(method).Process(target=copy)
        worker.start(), worker.join()
        print(method, worker.exitcode)
"""


def test_a_program_may_use_isthmus_itself(place: Place) -> None:
    command = [sys.executable, "-c", OF_ISTHMUS]
    watched = place.like_the_driver(*command, ISTHMUS_DRIVER="system")
    assert watched.outcome.out == "equal\n"
    counters = watched.only
    assert counters.sum("replaced") == 0  # what it stages is pinned
    assert counters.header["exec_failed"] == 0


def test_each_worker_has_its_own_counters_and_its_own_engine(place: Place) -> None:
    source = place.folder / "workers.py"
    source.write_text(OF_WORKERS, "utf-8")
    watched = place.watched([sys.executable, source], EXEC)
    assert watched.outcome.out == "spawn 0\nfork 0\nforkserver 0\n"
    assert [process.sum("replaced") for process in watched.processes] == [1, 1, 1]
