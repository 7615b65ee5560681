"""Files of torch.save, loaded into the host's memory beside torch.load. It needs PyTorch."""

import ctypes
import importlib
import os
import warnings
import zipfile
from pathlib import Path
from typing import Any

import isthmus
from fuzzing import Finding, fuzz, require, require_readable, temporary_folder
from isthmus.errors import UsageError

_WHOLE_FILE = 255
_PERTURB = -6  # malloc.h: M_PERTURB


def check(data: bytes) -> None:
    """
    See that a file is refused in a line, or gives what torch.load gives.

    The first byte: 255, the others are the whole file; else they are the pickle of a file with two
    storages.
    """
    if not data:
        return
    path = temporary_folder() / "model.pt"
    if data[0] == _WHOLE_FILE:
        path.write_bytes(data[1:])
    else:
        write(path, data[1:])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        try:
            found = isthmus.load_pt(path, "cpu")
        except UsageError as error:
            require(str(error).startswith(f"{path}: "), f"{error} names no file")
            require_readable(error)
            return
        _require_theirs(found, path)


def write(path: Path, pickled: bytes) -> None:
    """Write an archive of a pickle and two storages."""
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("model/data.pkl", pickled)
        archive.writestr("model/byteorder", "little")
        archive.writestr("model/data/0", bytes(range(64)))
        archive.writestr("model/data/1", bytes(10))
        archive.writestr("model/version", "3\n")


def _require_theirs(found: Any, path: Path) -> None:  # noqa: ANN401
    same = importlib.import_module("fakes.pt_trees").Same
    torch = importlib.import_module("torch")
    twice = [_loaded_over(byte, torch, path) for byte in (0x55, 0xAA)]
    try:
        same().require(*twice)
    except AssertionError:
        return  # PyTorch gives memory that nobody wrote
    try:
        same().require(found, twice[0])
    except AssertionError as error:
        raise Finding(f"{error} differs from torch.load's") from error


def _loaded_over(byte: int, torch: Any, path: Path) -> Any:  # noqa: ANN401
    """Load a file by PyTorch, into memory that glibc fills: else it may be equal by chance."""
    libc = ctypes.CDLL(None)
    libc.mallopt(_PERTURB, byte)
    try:
        return torch.load(path, weights_only=True, map_location="cpu")
    finally:
        libc.mallopt(_PERTURB, 0)


if __name__ == "__main__":
    os.environ["ISTHMUS_DRIVER"] = "emulated"
    os.environ["ISTHMUS_PROFILE"] = "off"
    fuzz(check, max_bytes=2048)
