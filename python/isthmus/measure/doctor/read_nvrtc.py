"""Finds NVRTC, and compiles an empty kernel with it, which needs its builtins."""

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

from isthmus.measure.doctor.facts import Nvrtc

_EMPTY_KERNEL = b'extern "C" __global__ void empty() {}'


def read_nvrtc(
    find: Callable[[], str | None],
    load: Callable[[str], Any] = ctypes.CDLL,
) -> Nvrtc | None:
    """Read NVRTC's facts; None if there is no NVRTC."""
    path = find()
    if path is None:
        return None
    try:
        _open_builtins(Path(path).parent, load)
        library = load(path)
        return Nvrtc(
            path=path,
            version=_version(library),
            architectures=_architectures(library),
            compile_error=_compile_error(library),
        )
    except (OSError, AttributeError) as error:
        # It can't be loaded, or it lacks a function: no usable NVRTC.
        return Nvrtc(path=path, version=None, compile_error=str(error))


def _open_builtins(folder: Path, load: Callable[[str], Any]) -> None:
    """NVRTC opens its builtins by name, which fails in a wheel unless they are open already."""
    for file in sorted(folder.glob("libnvrtc-builtins.so.*")):
        load(str(file))


def _version(library: Any) -> tuple[int, int] | None:  # noqa: ANN401 - a ctypes library
    major, minor = ctypes.c_int(), ctypes.c_int()
    if library.nvrtcVersion(ctypes.pointer(major), ctypes.pointer(minor)) != 0:
        return None
    return major.value, minor.value


def _architectures(library: Any) -> list[int]:  # noqa: ANN401 - a ctypes library
    count = ctypes.c_int()
    if library.nvrtcGetNumSupportedArchs(ctypes.pointer(count)) != 0:
        return []
    known = (ctypes.c_int * count.value)()
    return list(known) if library.nvrtcGetSupportedArchs(known) == 0 else []


def _compile_error(library: Any) -> str | None:  # noqa: ANN401 - a ctypes library
    program = ctypes.c_void_p()
    code = library.nvrtcCreateProgram(
        ctypes.pointer(program), _EMPTY_KERNEL, b"empty.cu", 0, None, None
    )
    if code == 0:
        code = library.nvrtcCompileProgram(program, 0, None)
        library.nvrtcDestroyProgram(ctypes.pointer(program))
    if code == 0:
        return None
    describe = library.nvrtcGetErrorString
    describe.restype = ctypes.c_char_p
    return f"{(describe(code) or b'NVRTC error').decode()}, code {code}"
