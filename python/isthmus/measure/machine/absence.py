"""Distinguishes a machine without a GPU from one whose driver is broken."""

import re

from isthmus.errors import DriverError, Unavailable

_NO_DEVICE_CODE = 100
# The messages of dlopen if there is no such file: glibc's, then musl's. If a driver lacks one of
# its own libraries, the message names that one; a damaged file exists.
_ABSENT = re.compile(
    r"(?:libcuda\.so\.1: cannot open shared object file"
    r"|Error loading shared library libcuda\.so\.1): No such file or directory"
)


def no_driver_library(error: Unavailable) -> bool:
    """Whether a driver didn't open because there is none: no `libcuda.so.1` at all."""
    return _ABSENT.match(error.reason) is not None


def means_no_gpu(error: Unavailable | DriverError) -> bool:
    """Whether a driver that didn't open means that there is no GPU, and not a defect."""
    if isinstance(error, DriverError):
        return error.code == _NO_DEVICE_CODE
    return no_driver_library(error)
