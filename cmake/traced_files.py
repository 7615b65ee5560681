"""
Counts the files that a copy, and a number of `isthmus bench`, run a function of.

    cmake -S . -B build/traced -G Ninja -DCMAKE_BUILD_TYPE=Debug -DISTHMUS_BUILD_PYTHON=ON \
        -DPython_EXECUTABLE=$PWD/.venv/bin/python -DISTHMUS_BUILD_TESTS=OFF \
        -DCMAKE_CXX_FLAGS="-O0 --coverage" -DCMAKE_MODULE_LINKER_FLAGS=--coverage \
        -DCMAKE_SHARED_LINKER_FLAGS=--coverage
    cmake --build build/traced --target _native isthmus_emulator
    .venv/bin/python cmake/traced_files.py build/traced [-v]

After eight calls, against nine, five times: whether a plan is known depends on the pauses
between copies. With the emulated driver, whose own files don't count.
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

ROOT = Path(__file__).parents[1]
_BEGIN = """
import sys
sys.meta_path = [one for one in sys.meta_path if "editable" not in repr(one).lower()]
sys.path.insert(0, sys.argv[1])
import numpy as np, isthmus
"""
CALLS = {
    "a pinned copy of 4 MiB": "h, d = isthmus.pinned.empty(1 << 22, 'u1'), "
    "isthmus.device_empty(1 << 22, 'u1'); call = lambda: isthmus.copy(d, h)",
    "a staged copy of 64 MiB": "h, d = np.zeros(1 << 26, 'u1'), "
    "isthmus.device_empty(1 << 26, 'u1'); call = lambda: isthmus.copy(d, h)",
    "a gather of two indices": "a = isthmus.PagedArray(np.arange(1 << 20, dtype='f4')); "
    "call = lambda: a.gather([3, 5])",
}


def counts_after(build: Path, package: Path, call: str, times: int) -> Counter[tuple[str, str]]:
    """Count how often each function of the repository was run."""
    for old in build.rglob("*.gcda"):
        old.unlink()
    program = f"{_BEGIN}{call}\nfor _ in range({times}): call()"
    environment = os.environ | {"ISTHMUS_DRIVER": "emulated"}
    subprocess.run([sys.executable, "-c", program, package], check=True, env=environment)  # noqa: S603
    found: Counter[tuple[str, str]] = Counter()
    with tempfile.TemporaryDirectory() as folder:
        for data in build.rglob("*.gcda"):
            done = subprocess.run(["gcov", "-j", "-t", data], cwd=folder, capture_output=True)  # noqa: S603, S607, PLW1510
            for line in done.stdout.splitlines():
                for file in json.loads(line)["files"]:
                    name = os.path.relpath(build / file["file"], ROOT)
                    for function in file["functions"]:
                        found[name, function["name"]] += function["execution_count"]
    return found


def files_of(build: Path, package: Path, call: str) -> set[str]:
    """Give the files of which the ninth call runs a function."""
    before, after = (counts_after(build, package, call, times) for times in (8, 9))
    files = {file for (file, function), n in after.items() if n > before[file, function]}
    ours = {file for file in files if file.startswith(("bindings/", "cpp/", "kernels/"))}
    return {file for file in ours if not file.startswith("cpp/emulator/")}


# Functions that run while modules are imported don't count.
_BENCH = """
import contextlib, os, runpy, sys
seen = set()
def note(frame, event, _):
    name, of = frame.f_code.co_filename, frame.f_code.co_name
    if event == "call" and "/isthmus/" in name and not of.startswith("<"):
        while frame and "importlib" not in frame.f_code.co_filename:
            frame = frame.f_back
        if frame is None:
            seen.add(name)
sys.argv = ["isthmus", "bench", "-t", "host_to_device_memcpy_ce", "--sizes", "1MiB", "--no-save"]
sys.setprofile(note)
with contextlib.redirect_stdout(open(os.devnull, "w")), contextlib.suppress(SystemExit):
    runpy.run_module("isthmus", run_name="__main__")
sys.setprofile(None)
print(f"a number of `isthmus bench`: {len(seen)} files in Python")
"""


def main() -> None:
    """Print the numbers for each call, with -v the files, too."""
    build = Path(sys.argv[1]).resolve()
    with tempfile.TemporaryDirectory() as folder:
        package = Path(folder)
        ignored = shutil.ignore_patterns("*.so*", "__pycache__")
        shutil.copytree(ROOT / "python" / "isthmus", package / "isthmus", ignore=ignored)
        for made in (*build.glob("bindings/_native*.so"), build / "bin/libisthmus_emulator.so"):
            shutil.copy(made, package / "isthmus")
        for name, call in CALLS.items():
            rounds = [files_of(build, package, call) for _ in range(5)]
            most = max(rounds, key=len)
            print(f"{name}: {len(min(rounds, key=len))} to {len(most)} files")
            print(*(f"  {file}\n" for file in sorted(most) if "-v" in sys.argv), sep="", end="")
    environment = os.environ | {"ISTHMUS_DRIVER": "emulated"}
    subprocess.run([sys.executable, "-c", _BENCH], check=True, env=environment)  # noqa: S603


if __name__ == "__main__":
    main()
