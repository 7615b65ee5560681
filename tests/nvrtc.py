"""Compiles device code as tests write it, to see that headers of the core are GPU code too."""

import ctypes
from pathlib import Path

import pytest

from isthmus.ground.extras import find_nvrtc

SOURCES = Path(__file__).parents[1] / "cpp" / "src"
_PUBLIC = SOURCES.parent / "include"


def compile_for_gpu(source: bytes, *options: str) -> tuple[int, str]:
    """Give NVRTC's status, 0 if it went well, and its log. Headers come from cpp."""
    path = find_nvrtc()
    if path is None:
        pytest.skip("no NVRTC: the test extra brings it")
    library = ctypes.CDLL(path)
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    given = [f"-I{SOURCES}", f"-I{_PUBLIC}", "--std=c++20", *options]
    encoded = (ctypes.c_char_p * len(given))(*(option.encode() for option in given))
    library.nvrtcCreateProgram(ctypes.byref(program), source, b"test.cu", 0, None, None)
    status = library.nvrtcCompileProgram(program, len(given), encoded)
    library.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    library.nvrtcGetProgramLog(program, log)
    library.nvrtcDestroyProgram(ctypes.byref(program))
    return status, log.value.decode()
