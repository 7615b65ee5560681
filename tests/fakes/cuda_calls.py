"""Calls of a driver that the package itself doesn't make."""

import ctypes


class Cuda:
    """A driver's own functions, with the first device's context current on this thread."""

    def __init__(self, path: str) -> None:
        self.library = ctypes.CDLL(path)
        self._context = ctypes.c_void_p()
        self.call("cuDevicePrimaryCtxRetain", ctypes.byref(self._context), 0)
        self.call("cuCtxPushCurrent_v2", self._context)

    def result(self, name: str, *arguments: object) -> int:
        code: int = getattr(self.library, name)(*arguments)
        return code

    def call(self, name: str, *arguments: object) -> None:
        code = self.result(name, *arguments)
        assert code == 0, f"{name} returned {code}"

    def current_device(self) -> int | None:
        """Give the device whose context is current on this thread; None without one."""
        context = ctypes.c_void_p()
        self.call("cuCtxGetCurrent", ctypes.byref(context))
        if context.value is None:
            return None
        device = ctypes.c_int(-1)
        self.call("cuCtxGetDevice", ctypes.byref(device))
        return device.value

    def end(self) -> None:
        self.call("cuCtxPopCurrent_v2", ctypes.byref(self._context))
        self.call("cuDevicePrimaryCtxRelease_v2", 0)
