"""Safetensors files: their headers, and some of them loaded on the emulated driver."""

import json
import os
import zlib
from io import FileIO

import isthmus
from fuzzing import fuzz, require, require_readable, temporary_folder
from isthmus.errors import UsageError
from isthmus.move.safetensors.header import Header, parse_header, read_header
from isthmus.move.safetensors.types import ITEM_BITS

# Of the files that are taken, one in so many is loaded, too.
_LOADED = 16
_WHOLE_FILE = 255
_FILE = "model"


def check(data: bytes) -> None:
    """
    See that a file is refused in a line, or that its tensors are its bytes.

    The first byte is how many bytes of data the file has; the others are its header. 255: the
    others are the whole file.
    """
    if not data:
        return
    if data[0] == _WHOLE_FILE:
        contents = data[1:]
    else:
        header = data[1:]
        contents = len(header).to_bytes(8, "little") + header + bytes(range(data[0]))
    try:
        found = _read(contents)
    except UsageError as error:
        require(str(error).startswith(f"{_FILE}: "), f"{error} names no file")
        require_readable(error)
        return
    _require_covered(found)
    _require_same_again(found)
    if zlib.crc32(data) % _LOADED == 0:
        _require_loaded(contents, found)


def _read(contents: bytes) -> Header:
    with FileIO(os.memfd_create(_FILE), "r+") as file:
        file.write(contents)
        return read_header(file.fileno(), _FILE)


def _require_covered(header: Header) -> None:
    end = 0
    for entry in header.entries:
        require(entry.first == end, f"{entry} begins elsewhere than at {end}")
        bits = ITEM_BITS[entry.dtype]
        for length in entry.shape:
            bits *= length
        require(bits == 8 * entry.size_bytes, f"{entry} has {bits} bits")
        entry.name.encode()
        end += entry.size_bytes
    require(end == header.data_bytes, f"{header.data_bytes - end} bytes belong to no tensor")
    require(len({entry.name for entry in header.entries}) == len(header.entries), "twins")


def _require_same_again(header: Header) -> None:
    members: dict[str, object] = {
        entry.name: {
            "dtype": entry.dtype,
            "shape": entry.shape,
            "data_offsets": [entry.first, entry.first + entry.size_bytes],
        }
        for entry in header.entries
    }
    text = json.dumps({"__metadata__": header.metadata, **members}).encode()
    size = header.data_offset + header.data_bytes
    again = parse_header(text, file=_FILE, data_offset=header.data_offset, file_bytes=size)
    require(again == header, f"{header} is read again as {again}")


def _require_loaded(contents: bytes, header: Header) -> None:
    path = temporary_folder() / _FILE
    path.write_bytes(contents)
    tensors = isthmus.load_safetensors(path, framework="dlpack")
    reader = isthmus.Windows()._reader
    require(list(tensors) == [entry.name for entry in header.entries], "other tensors are loaded")
    for entry in header.entries:
        described = reader.read(tensors[entry.name], ordered=False)
        require(described.shape == entry.shape, f"{entry} has {described.shape}")
        begin = header.data_offset + entry.first
        arrived = bytearray(entry.size_bytes)
        if arrived:
            isthmus.copy(arrived, isthmus.DevicePointer(described.pointer, len(arrived)))
        require(arrived == contents[begin : begin + entry.size_bytes], f"{entry} has other bytes")


if __name__ == "__main__":
    os.environ["ISTHMUS_DRIVER"] = "emulated"
    os.environ["ISTHMUS_PROFILE"] = "off"
    fuzz(check, max_bytes=2048)
