"""
How many registers the kernels of programs take, plain and paged.

    python benchmarks/paging/registers.py --out benchmarks/paging/registers.json

NVRTC compiles kernels/workload_*.cu as Isthmus does, and says what each kernel takes. Needs no
GPU. Most paged kernels have bounds for 24 warps of a multiprocessor or more there; --unbounded
leaves them out.
"""

import argparse
import ctypes
import re
from pathlib import Path
from typing import Any

from isthmus.ground.extras import find_nvrtc
from isthmus.ground.json_text import json_text

ROOT = Path(__file__).parents[2]
FOLDERS = ("kernels", "cpp/include", "cpp/src")
ARCHITECTURE = "sm_90"
FOUND = re.compile(
    r"Compiling entry function '(\w+)'.*?(\d+) bytes stack frame, (\d+) bytes spill stores"
    r".*?Used (\d+) registers",
    re.DOTALL,
)
BOUNDS = re.compile(r"__launch_bounds__\(\d+, \d+\)")


def parsed() -> argparse.Namespace:
    """Read the arguments."""
    parser = argparse.ArgumentParser(description="Registers of the programs' kernels.")
    parser.add_argument("--unbounded", action="store_true", help="without bounds")
    parser.add_argument("--out", type=Path, help="a file for the result")
    return parser.parse_args()


def log_of(nvrtc: ctypes.CDLL, name: str, text: str) -> str:
    """Compile a file for the GPU, and give what the compiler says."""
    program, size = ctypes.c_void_p(), ctypes.c_size_t()
    given = (ctypes.byref(program), text.encode(), name.encode(), 0, None, None)
    assert nvrtc.nvrtcCreateProgram(*given) == 0  # noqa: S101 - or there is nothing to report
    options = [f"--gpu-architecture={ARCHITECTURE}", "--std=c++17", "--ptxas-options=-v"]
    options += ["--device-as-default-execution-space", *(f"-I{ROOT / one}" for one in FOLDERS)]
    array = (ctypes.c_char_p * len(options))(*(option.encode() for option in options))
    code = nvrtc.nvrtcCompileProgram(program, len(options), array)
    nvrtc.nvrtcGetProgramLogSize(program, ctypes.byref(size))
    log = ctypes.create_string_buffer(size.value)
    nvrtc.nvrtcGetProgramLog(program, log)
    said = log.value.decode()
    nvrtc.nvrtcDestroyProgram(ctypes.byref(program))
    if code:
        raise SystemExit(f"{name}: {said}")
    return said


def kernels_of(nvrtc: ctypes.CDLL, path: Path, *, unbounded: bool) -> list[dict[str, Any]]:
    """Give what each kernel of a file takes."""
    text = path.read_text("utf-8")
    if unbounded:
        text = BOUNDS.sub("", text)
    return [
        {
            "kernel": name.removeprefix("isthmus_workload_"),
            "registers": int(registers),
            "spilled_bytes": int(spilled),
            "stack_bytes": int(stack),
        }
        for name, stack, spilled, registers in FOUND.findall(log_of(nvrtc, path.name, text))
    ]


def main() -> None:
    """Compile all programs' kernels."""
    options = parsed()
    nvrtc = ctypes.CDLL(find_nvrtc(13))
    rows = []
    for path in sorted((ROOT / "kernels").glob("workload_*.cu")):
        for row in kernels_of(nvrtc, path, unbounded=options.unbounded):
            rows.append(row)
            print(row, flush=True)
    version = (ctypes.c_int(), ctypes.c_int())
    nvrtc.nvrtcVersion(*map(ctypes.byref, version))
    found = {
        "unbounded": options.unbounded,
        "nvrtc": f"{version[0].value}.{version[1].value}",
        "architecture": ARCHITECTURE,
        "kernels": rows,
    }
    if options.out:
        options.out.write_text(json_text(found), "utf-8")


if __name__ == "__main__":
    main()
