"""Tells a machine without a GPU from one whose driver is broken."""

import re

from isthmus.errors import DriverError, Unavailable

_NO_DEVICE_CODE = 100
# What dlopen says when there is no such file: glibc's words, then musl's. A driver that lacks one
# of its own libraries names that one instead, and a damaged file is there, after all.
_ABSENT = re.compile(
    r"(?:libcuda\.so\.1: cannot open shared object file"
    r"|Error loading shared library libcuda\.so\.1): No such file or directory"
)


def no_driver_library(error: Unavailable) -> bool:
    """Say whether a driver didn't open because there is none: no `libcuda.so.1` at all."""
    return _ABSENT.match(error.reason) is not None


def means_no_gpu(error: Unavailable | DriverError) -> bool:
    """Say whether a driver that didn't open means that there is no GPU, rather than trouble."""
    if isinstance(error, DriverError):
        return error.code == _NO_DEVICE_CODE
    return no_driver_library(error)
