"""The list of commands of an Accel-Sim trace: copies to the GPU, and kernels."""

import os
import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path

from isthmus.errors import UsageError
from isthmus.files.regular import read_regular
from isthmus.ground.sizes import approximate_size
from isthmus.ground.spelling import shortened
from isthmus.sim.trace.format import ADDRESSES_END

_COPY = re.compile(
    r"Memcpy(?P<way>HtoD|DtoH),0[xX](?P<address>[0-9a-fA-F]{1,16}),(?P<size>[0-9]{1,19})"
)
_WAYS = {"HtoD": "upload", "DtoH": "download"}
_PACKED = (".xz", ".gz", ".zst")
_SUFFIXES = (".traceg", ".tracez", *(f".traceg{packed}" for packed in _PACKED))
# More than any GPU has. As in cpp/src/trace/touched_lines.hpp: the simulator takes no more.
MAX_PROGRAM_BYTES = 512 << 30
_MAX_LIST_BYTES = 256 << 20


@dataclass(frozen=True, slots=True)
class Copy:
    """An explicit copy: "upload" or "download"."""

    kind: str
    address: int
    size_bytes: int


@dataclass(frozen=True, slots=True)
class KernelFile:
    """A kernel's trace, and the copies before its launch."""

    path: Path
    before: list[Copy]


@dataclass(slots=True)
class KernelsList:
    """
    A program's commands, in order.

    Attributes:
        kernels: Each with the copies before it.
        after: Copies after the last kernel.
        num_lists: The lists in the folder, if a folder was given: one for each CUDA context.
    """

    kernels: list[KernelFile] = field(default_factory=list)
    after: list[Copy] = field(default_factory=list)
    left_out: list[str] = field(default_factory=list)
    num_lists: int = 1


def read_kernels_list(path: Path) -> KernelsList:
    """Read a kernelslist.g, or that of a folder."""
    is_folder = os.path.isdir(path)  # noqa: PTH112 - of any name at all
    if is_folder:
        path /= "kernelslist.g"
    try:
        contents = read_regular(path, max_bytes=_MAX_LIST_BYTES)
    except OSError as cause:
        raise UsageError(
            f"can't read {path}: {cause.strerror or cause}",
            hint="give the kernelslist.g of an Accel-Sim trace, or its folder",
        ) from cause
    found = parse_kernels_list(contents, path)
    if is_folder:
        found.num_lists = len(list(path.parent.glob("kernelslist*.g")))
    return found


def parse_kernels_list(contents: bytes, path: Path) -> KernelsList:
    """
    Read a list's text, in which names of files may be any bytes; the kernels are in the list's
    folder.
    """
    found = KernelsList()
    for number, line in enumerate(_lines(contents), start=1):
        if line.startswith(("MemcpyHtoD", "MemcpyDtoH")):
            found.after += _copies(line, f"{path}, line {number}")
        elif (line := line.removeprefix("./")).startswith("kernel") or line.endswith(_SUFFIXES):
            kernel = _kernel_file(path.parent, line, f"{path}, line {number}")
            found.kernels.append(KernelFile(kernel, found.after))
            found.after = []
        elif line:
            found.left_out.append(line)
    if not found.kernels:
        raise UsageError(
            f"{path} names no kernel",
            hint="give the kernelslist.g that Accel-Sim's post-traces-processing wrote",
        )
    return found


def _lines(contents: bytes) -> Iterator[str]:
    return (line.strip() for line in contents.decode(errors="surrogateescape").split("\n"))


def _copies(line: str, where: str) -> list[Copy]:
    match = _COPY.fullmatch(line)
    if match is None:
        raise UsageError(
            f"{where}: a copy is 'MemcpyHtoD,0xADDRESS,BYTES', not '{shortened(line)}'"
        )
    copy = Copy(_WAYS[match["way"]], int(match["address"], 16), int(match["size"]))
    if copy.address + copy.size_bytes > ADDRESSES_END:
        raise UsageError(f"{where}: the copy lies beyond the 57 bits of a GPU's addresses")
    if copy.size_bytes > MAX_PROGRAM_BYTES:
        raise UsageError(
            f"{where}: a copy of {approximate_size(copy.size_bytes)} is more than any GPU's "
            f"memory: at most {approximate_size(MAX_PROGRAM_BYTES)} are read",
            hint="the line is corrupt: trace the program again, or correct the size",
        )
    return [copy] if copy.size_bytes else []


def _kernel_file(folder: Path, name: str, where: str) -> Path:
    # A list may come from anywhere, so it may only name files beside it.
    if "/" in name:
        raise UsageError(
            f"{where}: '{shortened(name)}' isn't a file beside the list",
            hint="put the list and its kernels into one folder, and name the files alone",
        )
    if not name.endswith(_SUFFIXES):
        raise UsageError(
            f"{where}: '{shortened(name)}' is not a .traceg or .tracez file",
            hint="raw .trace files are not grouped by warp: run post-traces-processing on "
            "kernelslist, and import the kernelslist.g that it writes",
        )
    # People compress traces to save room and leave the list unchanged.
    candidates = [folder / name, *(folder / f"{name}{packed}" for packed in _PACKED)]
    present = (path for path in candidates if os.path.exists(path))  # noqa: PTH110 - as above
    return next(present, candidates[0])
