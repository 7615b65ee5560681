"""The project's kernels for a device, compiled once and kept in the user's cache."""

from typing import TYPE_CHECKING

from isthmus.errors import DriverError, Unavailable
from isthmus.ground.nvrtc import find_nvrtc
from isthmus.ground.spelling import cuda_major

if TYPE_CHECKING:
    from isthmus import _native


def open_kernels(
    driver: "_native.Driver", context: "_native.Context"
) -> "tuple[_native.Kernels | None, list[str]]":
    """
    Find the compiler of kernels, and compile; give the kernels, or None, and what to tell the user
    about it.
    """
    from isthmus import _native

    nvrtc = None if driver.emulated else find_nvrtc(cuda_major(driver.version))
    try:
        folder = _native.kernel_cache_folder()
        kernels = _native.Kernels(context, nvrtc=nvrtc, cache_folder=folder)
    except (Unavailable, DriverError) as error:
        note = f"no kernels, so the host verifies and 'visible' is waived: {error}"
        return None, [note]
    refusal = kernels.cache_refusal
    return kernels, [refusal] if refusal else []
