"""Lists of kernels of Accel-Sim's traces, beside files of every kind."""

import lzma
import os
from functools import cache
from itertools import islice
from pathlib import Path

from fuzzing import fuzz, require, require_readable, temporary_folder
from isthmus.errors import UsageError
from isthmus.sim.trace.kernels_list import Copy, parse_kernels_list
from isthmus.sim.trace.text import text_pieces

_ADDRESSES_END = 1 << 57


@cache
def _folder() -> Path:
    """Make a folder with a list's neighbours."""
    folder = temporary_folder() / "trace"
    folder.mkdir()
    (folder / "kernel-1.traceg").write_text("text")
    (folder / "kernel-2.traceg.xz").write_bytes(lzma.compress(b"text"))
    (folder / "kernel-d.traceg").mkdir()
    os.mkfifo(folder / "kernel-p.traceg")
    (folder / "kernel-z.traceg").symlink_to("/dev/zero")
    (folder / "kernel-l.traceg").symlink_to("kernel-l.traceg")
    (folder / "kernel-u.traceg").symlink_to("..")
    return folder


def check(data: bytes) -> None:
    """Check that a list is refused in one line, or names possible copies and files beside it."""
    path = _folder() / "kernelslist.g"
    try:
        found = parse_kernels_list(data, path)
    except UsageError as error:
        require_readable(error)
        return
    require(found.kernels, "a list without kernels")
    for copy in (*(copy for kernel in found.kernels for copy in kernel.before), *found.after):
        _require_possible(copy)
    for kernel in found.kernels[:8]:
        require(kernel.path.parent == path.parent, f"{kernel.path} is elsewhere")
        try:
            list(islice(text_pieces(kernel.path), 4))
        except UsageError as error:
            require_readable(error)


def _require_possible(copy: Copy) -> None:
    require(copy.kind in {"upload", "download"}, f"{copy} is of no kind")
    require(0 < copy.size_bytes <= _ADDRESSES_END - copy.address, f"{copy} lies nowhere")


if __name__ == "__main__":
    fuzz(check)
