"""The kernels that are built into paged arrays."""

from weakref import WeakKeyDictionary

from isthmus import _native
from isthmus.ground.nvrtc import find_nvrtc
from isthmus.ground.spelling import cuda_major
from isthmus.move.windows.opening import Windows

_kernels: "WeakKeyDictionary[Windows, dict[int, _native.Kernels]]" = WeakKeyDictionary()


def kernels_of(windows: Windows, device: int) -> _native.Kernels:
    """Give the kernels of a device, compiled once for each driver."""
    of_devices = _kernels.setdefault(windows, {})
    if device not in of_devices:
        driver = windows.driver
        of_devices[device] = _native.Kernels(
            windows.pending_work.context(device),
            nvrtc=None if driver.emulated else find_nvrtc(cuda_major(driver.version)),
            cache_folder=_native.kernel_cache_folder(),
        )
    return of_devices[device]
