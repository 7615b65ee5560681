"""A stream of a device that stands still until it is told to go on."""

import ctypes
from collections.abc import Callable

from fakes.cuda_calls import Cuda

_GREATER_OR_EQUAL = 0


class BlockedStream:
    """Waits for a flag in pinned memory; what is launched in it afterwards waits with it."""

    def __init__(self, cuda: Cuda) -> None:
        self._cuda = cuda
        self._flag = ctypes.c_void_p()
        self._stream = ctypes.c_void_p()
        cuda.call("cuMemHostAlloc", ctypes.byref(self._flag), ctypes.c_size_t(4), 0)
        self._value = ctypes.c_uint32.from_address(self._flag.value or 0)
        self._value.value = 0
        cuda.call("cuStreamCreate", ctypes.byref(self._stream), 1)
        address = ctypes.c_uint64(self._flag.value or 0)
        cuda.call("cuStreamWaitValue32_v2", self._stream, address, 1, _GREATER_OR_EQUAL)

    @property
    def handle(self) -> int:
        return self._stream.value or 0

    def go_on(self) -> None:
        self._value.value = 1

    def end(self) -> None:
        self.go_on()
        self._cuda.call("cuStreamSynchronize", self._stream)
        self._cuda.call("cuStreamDestroy_v2", self._stream)
        self._cuda.call("cuMemFreeHost", self._flag)


BlockStream = Callable[[], BlockedStream]
