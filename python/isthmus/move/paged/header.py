"""
The device's side of paged arrays: the kernels that are built in, and `isthmus.paged_header` for
others.
"""

import re
from weakref import WeakKeyDictionary

from isthmus import _native
from isthmus.ground.extras import find_nvrtc
from isthmus.ground.spelling import cuda_major
from isthmus.move.windows.opening import Windows

# Each includes some of those before.
_HEADERS = (
    "paged_machine.cuh",
    "paged_array.cuh",
    "held_array.cuh",
    "budgeted_array.cuh",
)


def paged_header() -> str:
    """
    Give the text of `isthmus/paged_array.cuh`, `held_array.cuh` and `budgeted_array.cuh`.

    Prepend it to the code of your own kernel. It needs no other file, and works with NVRTC
    (CuPy's `RawModule`) and nvcc.

    Returns:
        CUDA C++.

    Raises:
        ImportError: The package was installed without its native module.
    """
    texts = [_native.kernel_header(f"isthmus/{name}") for name in _HEADERS]
    return re.sub("#include <isthmus/.*>\n", "", "\n".join(texts))


_kernels: "WeakKeyDictionary[Windows, dict[int, _native.Kernels]]" = WeakKeyDictionary()


def kernels_of(windows: Windows, device: int) -> _native.Kernels:
    """Give the kernels of a device, compiled once for each driver."""
    of_devices = _kernels.setdefault(windows, {})
    if device not in of_devices:
        driver = windows._driver
        of_devices[device] = _native.Kernels(
            windows._pending_work.context(device),
            nvrtc=None if driver.emulated else find_nvrtc(cuda_major(driver.version)),
            cache_folder=_native.kernel_cache_folder(),
        )
    return of_devices[device]
