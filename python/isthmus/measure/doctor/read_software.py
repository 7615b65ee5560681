"""
Finds NVRTC, how GPU memory can be mapped for the CPU, and the figures with which copies are
planned.
"""

import ctypes
from collections.abc import Callable
from pathlib import Path
from typing import Any

from isthmus.errors import Error, Unavailable
from isthmus.ground.spelling import one_line
from isthmus.measure.doctor.facts import (
    Nvrtc,
    ProfileFacts,
    WindowBackend,
    WindowFacts,
    WindowMemory,
)
from isthmus.measure.doctor.read_driver import OpenDriver
from isthmus.measure.doctor.sources import Sources

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


def read_profile(sources: Sources, driver: OpenDriver, ordinal: int) -> ProfileFacts:
    """Look for the stored profile of one device."""
    try:
        identity = sources.native.profile_identity(driver.native, ordinal)
        used = sources.native.profile_in_use(driver.native, ordinal)
        age = sources.profile_age(Path(identity.file)) if used.measured else None
    except Error as failure:
        return ProfileFacts(ordinal=ordinal, source=str(failure))
    return ProfileFacts(
        ordinal=ordinal,
        measured=used.measured,
        source=used.source,
        file=one_line(identity.file),
        age=age,
    )


_SETTING = "ISTHMUS_WINDOW"


def read_windows(sources: Sources, driver: OpenDriver, ordinal: int) -> WindowFacts:
    """Try every backend on one device."""
    setting = sources.environment.get(_SETTING, "")
    try:
        windows = sources.native.Windows(driver.native)
        reports = windows.backends(ordinal)
        memory = _read_memory(windows, ordinal)
        limit_bytes = windows.bar1_limit_bytes(ordinal)
    except Error as failure:
        return WindowFacts(ordinal=ordinal, setting=setting, failure=str(failure))
    backends = [
        WindowBackend(name=report.backend, usable=report.usable, reason=report.reason)
        for report in reports
    ]
    return WindowFacts(
        ordinal=ordinal,
        setting=setting,
        backends=backends,
        memory=memory,
        limit_bytes=limit_bytes or None,
    )


def _read_memory(windows: Any, ordinal: int) -> list[WindowMemory]:  # noqa: ANN401 - native, or a fake
    try:
        reports = windows.memory_kinds(ordinal)
    except Unavailable:
        return []  # Windows are off, or no backend works: the backends' own reasons say why.
    return [
        WindowMemory(memory=report.memory, usable=report.usable, reason=report.reason)
        for report in reports
    ]
