"""The line of Python that a copy came from, in each version of CPython that is read."""

import re
import shutil
import subprocess
import sys
import textwrap
from functools import cache
from pathlib import Path

import pytest

from preloading import PRELOAD, PROGRAMS, Place, tool

VERSIONS = ("3.11", "3.12", "3.13")

# Each line that copies says so, and is found by that.
PROGRAM = """
import ctypes, sys, threading
cuda = ctypes.CDLL("libcuda.so.1")
address, context = ctypes.c_uint64(), ctypes.c_void_p()
assert cuda.cuInit(0) == 0
assert cuda.cuDevicePrimaryCtxRetain(ctypes.byref(context), 0) == 0
assert cuda.cuCtxSetCurrent(context) == 0
assert cuda.cuMemAlloc_v2(ctypes.byref(address), ctypes.c_size_t(1 << 20)) == 0
host = ctypes.create_string_buffer(1 << 20)
up = cuda.cuMemcpyHtoD_v2
up.argtypes = [ctypes.c_uint64, ctypes.c_void_p, ctypes.c_size_t]

def copy():
    up(address.value, ctypes.addressof(host), 4096)  # HERE copy

def größer():
    up(address.value, ctypes.addressof(host), 4096)  # HERE größer

def 名前():
    up(address.value, ctypes.addressof(host), 4096)  # HERE 名前

def generated():
    yield 1
    up(address.value, ctypes.addressof(host), 4096)  # HERE generated
    yield 2

def over_several_lines():
    return [
        1,
        up(  # HERE over_several_lines
            address.value,
            ctypes.addressof(host),
            4096,
        ),
    ]

class Copier:
    def __enter__(self):
        up(address.value, ctypes.addressof(host), 4096)  # HERE Copier.__enter__
    def __exit__(self, *error):
        up(address.value, ctypes.addressof(host), 4096)  # HERE Copier.__exit__

def in_thread():
    cuda.cuCtxSetCurrent(context)
    up(address.value, ctypes.addressof(host), 4096)  # HERE in_thread

def after_many_lines():
LINES
    up(address.value, ctypes.addressof(host), 4096)  # HERE after_many_lines

async def awaited():
    up(address.value, ctypes.addressof(host), 4096)  # HERE awaited

for _ in range(3):
    copy()
größer(), 名前(), list(generated()), over_several_lines(), after_many_lines()
with Copier():
    pass
thread = threading.Thread(target=in_thread)
thread.start(), thread.join()
try:
    awaited().send(None)
except StopIteration:
    pass
list(map(lambda _: up(address.value, ctypes.addressof(host), 4096), [1]))  # HERE <lambda>
up(address.value, ctypes.addressof(host), 4096)  # HERE <module>
text = "def made():\\n  up(address.value, ctypes.addressof(host), 4096)\\nmade()"
exec(compile(text, "made up", "exec"))
"""


@cache
def interpreter(version: str) -> Path:
    """Find an interpreter of a version: this one, pyenv's, or one on the path."""
    if f"{sys.version_info[0]}.{sys.version_info[1]}" == version:
        return Path(sys.executable).resolve()
    root = Path(sys.base_prefix).parent
    found = [
        *sorted(root.glob(f"{version}.*/bin/python{version}")),
        shutil.which(f"python{version}"),
    ]
    if found[0] is None:
        pytest.skip(f"no CPython {version} on this machine")
    return Path(found[0])


def expected_places(source: Path) -> set[str]:
    lines = source.read_text("utf-8").splitlines()
    places = {
        f"{source}:{number} {line.partition('# HERE ')[2]}"
        for number, line in enumerate(lines, 1)
        if "# HERE" in line
    }
    return places | {"made up:2 made"}


@pytest.mark.parametrize("version", VERSIONS)
def test_each_copy_has_its_line_and_function(place: Place, tmp_path: Path, version: str) -> None:
    source = tmp_path / "übung.py"
    body = "\n".join("    pass" if i % 2 else "    x = [1,\n         2]" for i in range(300))
    source.write_text(PROGRAM.replace("LINES", body), "utf-8")
    counters = place.watched([interpreter(version), source]).only
    assert counters.sites() == expected_places(source)
    assert (
        counters.sum(
            "calls",
            "cuMemcpy",
            site=next(site for site in counters.sites() if site.endswith(" copy")),
        )
        == 3
    )


def test_the_end_of_a_long_path_is_kept(place: Place, tmp_path: Path) -> None:
    """In whole characters: a path has up to three bytes each here, and places have 240."""
    folder = tmp_path / ("目" * 80)
    folder.mkdir()
    source = folder / "übung.py"
    source.write_text(PROGRAM.partition("def größer")[0] + "copy()\n", "utf-8")
    (found,) = place.watched([sys.executable, source]).only.sites()
    assert re.fullmatch(r"目{40,}/übung\.py:\d+ copy", found)


@pytest.mark.parametrize("version", VERSIONS)
def test_the_innermost_frame_that_is_no_librarys_is_named(
    place: Place, tmp_path: Path, version: str
) -> None:
    library = tmp_path / "site-packages" / "library.py"
    library.parent.mkdir()
    library.write_text(PROGRAM.partition("def größer")[0], "utf-8")
    source = tmp_path / "program.py"
    source.write_text(
        textwrap.dedent(f"""
        import sys
        sys.path.insert(0, {str(library.parent)!r})
        import library
        def mine():
            library.copy()  # HERE mine
        mine()
        """),
        "utf-8",
    )
    counters = place.watched([interpreter(version), source]).only
    assert counters.sites() == {f"{source}:6 mine"}


@pytest.mark.parametrize("version", VERSIONS)
def test_members_lie_where_that_interpreters_headers_say(place: Place, version: str) -> None:
    python = interpreter(version)
    include = subprocess.run(
        [python, "-c", "import sysconfig; print(sysconfig.get_path('include'))"],
        capture_output=True,
        text=True,
        check=True,
    ).stdout.strip()
    if not (Path(include) / "Python.h").exists():
        pytest.skip(f"no headers of CPython {version} on this machine")
    made = place.folder / f"python_offsets_{version}"
    subprocess.run(
        [tool("gcc"), "-w", f"-I{include}", "-o", made, PROGRAMS / "python_offsets.c"], check=True
    )
    row, constants = subprocess.run(
        [made], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    text = (PRELOAD / "python_frames.cpp").read_text("utf-8")
    assert f"{{{row}}}" in text
    names = ("CodeFile", "CodeName", "CodeLines", "BytesText", "Length", "StringState")
    found = [re.search(rf"k{name} = (\d+);", text) for name in names]
    assert [one[1] for one in found if one] == constants.split()
