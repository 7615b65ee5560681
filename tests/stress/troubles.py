"""What goes on beside the copies, to disturb them. Each runs on a thread of its own."""

import ctypes
import gc
import os
import random
import signal
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import suppress

import numpy as np

import isthmus
from fakes.cuda_calls import Cuda
from isthmus import _native
from stress.place import Place, Refused

_GLOBAL = 0  # mode of a capture, and PyTorch's default
_CHILD_SECONDS = 60

# Not those that wait: where none of them works twice in a row, memory stays in use for good.
_CALLS = (
    b"cuMemcpyHtoDAsync",
    b"cuMemcpyDtoHAsync",
    b"cuMemcpyHtoD",
    b"cuMemcpyDtoH",
    b"cuEventRecord",
    b"cuEventCreate",
    b"cuStreamQuery",
    b"cuMemHostAlloc",
    b"cuMemHostRegister",
    b"cuStreamWriteValue32",
    b"cuStreamWaitEvent",
    b"cuPointerGetAttributes",
)
_CODES = (700, 2, 719, 999)  # illegal address, out of memory, launch failed, unknown


def capture(place: Place) -> None:
    """Capture a stream again and again; nothing may end the capture."""
    cuda = Cuda(place.driver.path)
    stream = ctypes.c_void_p()
    cuda.call("cuStreamCreate", ctypes.byref(stream), 1)
    while place.going_on:
        graph = ctypes.c_void_p()
        cuda.call("cuStreamBeginCapture_v2", stream, _GLOBAL)
        time.sleep(0.0005)
        code = cuda.result("cuStreamEndCapture", stream, ctypes.byref(graph))
        if code != 0:
            place.tally.fail(f"a capture was ended: {code}")
            return
        cuda.call("cuGraphDestroy", graph)
        place.tally.count("capture")


def capture_by_torch(place: Place) -> None:
    """Capture and replay a graph of PyTorch's, in its default mode."""
    import torch  # type: ignore[import-not-found]

    numbers = torch.arange(1 << 16, device="cuda", dtype=torch.float32)
    result = torch.zeros_like(numbers)
    while place.going_on:
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            result.copy_(numbers * 2)
            time.sleep(0.0005)
        graph.replay()
        torch.cuda.current_stream().synchronize()
        if not torch.equal(result, numbers * 2):
            place.tally.fail("a graph of PyTorch's gave a wrong result")
        place.tally.count("capture by PyTorch")


def collect_and_trim(place: Place) -> None:
    """Collect garbage, close what is cached, ask for all numbers."""
    while place.going_on:
        time.sleep(0.02)
        gc.collect()
        with suppress(Refused), place.allowed("trim"):
            isthmus.trim()
            isthmus.pinned.trim(random.choice((0, 1 << 20, 1 << 24)))  # noqa: S311
        isthmus.stats()
        isthmus.pinned.stats()
        place.tally.count("collection and trim")


def fork(place: Place) -> None:
    """Fork while copies are under way: a child that touches them is told that it may not."""
    memory = _native.DeviceMemory(place.context, 1 << 16)
    target = np.zeros(1 << 16, np.uint8)
    there = isthmus.DevicePointer(memory.pointer, 1 << 16)
    stream = _native.Stream(place.context)
    while place.going_on:
        time.sleep(0.25)
        with suppress(Refused), place.allowed("copy beside a fork"):
            future = isthmus.copy_async(target, there, stream=stream.handle)
            _fork_once(place, future, target, there)


def _fork_once(
    place: Place,
    future: isthmus.CopyFuture,
    target: isthmus.ArrayLike,
    there: isthmus.DevicePointer,
) -> None:
    child = os.fork()
    if child == 0:
        _be_a_child(future, target, there)
    _, status = os.waitpid(child, 0)
    code = os.waitstatus_to_exitcode(status)
    if code != 0:
        place.tally.fail(f"a forked child ended with {code}")
    place.tally.count("fork")


def _be_a_child(
    future: isthmus.CopyFuture, target: isthmus.ArrayLike, there: isthmus.DevicePointer
) -> None:
    """End the process with 0 if every call is refused."""
    signal.signal(signal.SIGALRM, signal.SIG_DFL)
    signal.alarm(_CHILD_SECONDS)
    num_failures = 255
    try:
        calls: tuple[Callable[[], object], ...] = (
            future.result,
            lambda: isthmus.copy(target, there),
            lambda: isthmus.copy_async(target, there),
            lambda: isthmus.window(there),
        )
        num_failures = sum(not _is_refused(call) for call in calls)
    finally:
        os._exit(num_failures)


def _is_refused(call: Callable[[], object]) -> bool:
    try:
        call()
    except isthmus.UsageError:
        return True
    return False


def signal_threads(place: Place, threads: Sequence[threading.Thread]) -> None:
    """Interrupt the threads' system calls."""
    while place.going_on:
        time.sleep(0.003)
        for thread in threads:
            if thread.is_alive() and thread.ident is not None:
                signal.pthread_kill(thread.ident, signal.SIGUSR1)
                place.tally.count("signal")


def fail_calls(place: Place, seed: int) -> None:
    """Let the emulated driver's calls fail now and then."""
    library = ctypes.CDLL(place.driver.path)
    chance = random.Random(seed)  # noqa: S311 - reproducible on purpose
    while place.going_on:
        time.sleep(0.01)
        library.isthmus_emulator_fail_call(
            chance.choice(_CALLS), chance.randrange(1, 21), chance.choice(_CODES)
        )
        place.tally.count("call made to fail")
    library.isthmus_emulator_reset()


class CopyInSignalHandler:
    """Copies in the handler of a timer's signal, wherever the main thread is then."""

    def __init__(self, place: Place) -> None:
        self.place = place
        self.memory = _native.DeviceMemory(place.context, 64)
        self.there = isthmus.DevicePointer(self.memory.pointer, 64)
        self.stream = _native.Stream(place.context)
        self.number = 0
        self.busy = False

    def __call__(self, *_: object) -> None:
        if self.busy:  # the next signal has come, and is handled in the midst of this
            return
        self.busy = True
        self.copy()
        self.busy = False

    def copy(self) -> None:
        self.number = (self.number + 1) % 251
        wanted = np.full(64, self.number, np.uint8)
        found = np.zeros(64, np.uint8)
        with suppress(Refused), self.place.allowed("copy in a signal handler"):
            isthmus.copy(self.there, wanted, stream=self.stream.handle)
            isthmus.copy(found, self.there, stream=self.stream.handle)
            self.place.tally.count("copy in a signal handler")
            if not np.array_equal(found, wanted):
                self.place.tally.fail("a copy in a signal handler differs")
