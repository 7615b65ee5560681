"""Files of torch.save: archives and pickles, and some of them loaded on the emulated driver."""

import os
import zlib
from io import FileIO
from pathlib import Path

import isthmus
from fuzzing import fuzz, require, require_readable, temporary_folder
from isthmus.errors import UsageError
from isthmus.pt.archive import read_archive
from isthmus.pt.making import Checker
from isthmus.pt.pickles import read_pickle
from isthmus.safetensors.header import TensorEntry

# Of the files that are taken, one in so many is loaded, too.
_LOADED = 16
_WHOLE_FILE = 255
_STORAGES = (("0", "FloatStorage", bytes(range(64)), 16), ("1", "UntypedStorage", bytes(10), 10))


class AnyType:
    """A framework that has every type."""

    name = "none"

    def require(self, entry: TensorEntry, file: str) -> None:
        """Remember nothing."""


def check(data: bytes) -> None:
    """
    See that a file is refused in a line, or that its tensors are in it.

    The first byte: 255, the others are the whole file; else they are the pickle of a file with two
    storages.
    """
    if not data:
        return
    from fakes.pt_files import Storage, write_pt

    path = temporary_folder() / "model.pt"
    if data[0] == _WHOLE_FILE:
        path.write_bytes(data[1:])
    else:
        write_pt(path, data[1:], [Storage(*one) for one in _STORAGES])
    try:
        _require_inside(path)
    except UsageError as error:
        require(str(error).startswith(f"{path}: "), f"{error} names no file")
        require_readable(error)
        return
    if zlib.crc32(data) % _LOADED == 0:
        isthmus.load_pt(path, framework="dlpack")


def _require_inside(path: Path) -> None:
    with FileIO(path) as opened:
        archive = read_archive(opened, str(path))
        size_bytes = path.stat().st_size
        checker = Checker(AnyType(), str(path))  # type: ignore[arg-type] # it makes no tensors
        read_pickle(archive.pickle, archive.storages, str(path), checker)
    for stored in archive.storages.values():
        require(stored.first + stored.size_bytes <= size_bytes, f"{stored} is outside of the file")
    require(checker.storages.items() <= archive.storages.items(), "storages of nowhere")


if __name__ == "__main__":
    os.environ["ISTHMUS_DRIVER"] = "emulated"
    os.environ["ISTHMUS_PROFILE"] = "off"
    fuzz(check, max_bytes=2048)
