"""The preloaded library: its table against cuda.h, what it needs and exports, and its walls."""

import platform
import re
import subprocess
from pathlib import Path

import pytest

from preloading import PRELOAD, WATCH, cuda_headers, libraries, tool

TYPES = re.findall(r"ISTHMUS_ENTRY\((\w+), (\w+),", (PRELOAD / "entries.inc").read_text("utf-8"))[
    1:
]
# Of CUDA 2 and 3.0, whose sizes have 32 bits.
OBSOLETE = re.compile(
    r"^(cuMemcpy|cuMemAlloc|cuMemFree|cuStreamDestroy|cuCtxDestroy)\w*_v[23]000$"
    r"|^cuMemHostRegister_v4000$"
)
WATCHED = re.compile(
    r"cuMemcpy|cuStream(Begin|End)\w*[Cc]apture|cuStreamSynchronize|cuStreamDestroy|cuCtxSynchronize"
    r"|cuLaunch(Cooperative)?Kernel(Ex)?_v|cuGraphLaunch|cuMemHost(Alloc|Register|Unregister)|"
    r"cuMem(Alloc|Free)|cuDevicePrimaryCtxRe(set|lease)|cuCtxDestroy|cuGetProcAddress"
)


def headers() -> str:
    return (cuda_headers() / "cudaTypedefs.h").read_text("utf-8")


def test_every_function_that_cuda_declares_of_these_kinds_has_a_row() -> None:
    declared = {
        name
        for name in re.findall(r"\(CUDAAPI \*PFN_(\w+)\)", headers())
        if WATCHED.match(name) and not OBSOLETE.search(name)
    }
    assert len(declared) > 100
    assert declared - {name for _, name in TYPES} == set()


def test_a_function_with_a_default_stream_has_both_variants() -> None:
    symbols = {symbol for symbol, _ in TYPES}
    for symbol in symbols:
        if symbol.startswith(("cuMemcpy", "cuStreamSynchronize", "cuLaunch", "cuGraphLaunch")):
            plain = re.sub(r"_pt[ds][sz]$", "", symbol)
            assert symbols & {f"{plain}_ptds", f"{plain}_ptsz"}, symbol
            assert plain in symbols


def test_no_row_stands_twice() -> None:
    symbols = [symbol for symbol, _ in TYPES]
    assert len(symbols) == len(set(symbols))


built = pytest.mark.skipif(
    platform.machine() != "x86_64", reason="the library is built for x86-64 alone"
)


def output_of(*command: object) -> str:
    return subprocess.run(
        [str(part) for part in command], capture_output=True, text=True, check=True
    ).stdout


@built
def test_the_library_needs_the_c_library_alone() -> None:
    needed = re.findall(
        r"\(NEEDED\).*\[(.*)\]", output_of(tool("readelf"), "-d", libraries() / WATCH)
    )
    assert set(needed) <= {"libc.so.6", "libdl.so.2", "libpthread.so.0", "ld-linux-x86-64.so.2"}


@built
def test_the_library_exports_the_drivers_names_and_those_that_the_linker_asks_for() -> None:
    listed = output_of(tool("nm"), "-D", "--defined-only", libraries() / WATCH)
    exported = set(re.findall(r" T (\w+)", listed))
    assert len(listed.splitlines()) == len(exported)
    asked_for = {"dlsym", "la_version", "la_objopen", "la_symbind64"}
    version = re.search(r"#define CUDA_VERSION (\d+)", (cuda_headers() / "cuda.h").read_text())
    assert version
    assert exported - asked_for <= {symbol for symbol, _ in TYPES}
    if int(version[1]) >= 13030:
        assert exported == asked_for | {symbol for symbol, _ in TYPES}


def test_the_library_includes_nothing_of_the_core() -> None:
    """Except what it says to the engine, in C."""
    own = re.compile(r'#include "(?!preload/|capi/exec_engine\.h")')
    for path in PRELOAD.iterdir():
        assert not own.search(path.read_text("utf-8")), path
        assert "isthmus/" not in path.read_text("utf-8").replace("isthmus/isthmus.h", ""), path


def test_nothing_in_the_core_knows_the_library() -> None:
    core = PRELOAD.parent / "src"
    for path in [*core.rglob("*.hpp"), *core.rglob("*.cpp"), *core.rglob("*.h")]:
        assert '#include "preload/' not in path.read_text("utf-8"), path


@pytest.mark.parametrize("name", ["std::", " = new ", "throw ", "malloc(", "printf("])
def test_the_library_does_without_what_a_programs_thread_may_be_in_the_middle_of(name: str) -> None:
    """It runs in signal handlers, in forked children, and below allocators."""
    for path in PRELOAD.glob("*.?pp"):
        code = re.sub(r"//.*|\"[^\"]*\"", "", Path(path).read_text("utf-8"))
        assert name not in code, path
