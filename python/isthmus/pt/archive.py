"""
Finds the entries of a file of `torch.save`: a zip archive whose entries are stored as they are.

    NAME/data.pkl       the pickle: what was saved, with references to storages
    NAME/data/KEY       the bytes of a storage
    NAME/byteorder      "little" or "big", since PyTorch 2.1
    NAME/version        "3"

Source: PyTorch 2.4, torch/serialization.py (_save), caffe2/serialize/inline_container.cc.
"""

import os
import zipfile
from dataclasses import dataclass
from io import FileIO

from isthmus.errors import UsageError
from isthmus.suggest import shortened

# As for a safetensors header. The pickle of a large model has some megabytes.
_MAX_PICKLE_BYTES = 100_000_000
_MAX_WORD_BYTES = 64
# A local header, up to the lengths of name and extra field, which follow it.
# Source: .ZIP File Format Specification 6.3.10, 4.3.7.
_HEADER_BYTES = 30
_HEADER_MAGIC = b"PK\x03\x04"
_ENCRYPTED = 1
_ZIP_MAGICS = (b"PK\x03\x04", b"PK\x05\x06")


@dataclass(frozen=True, kw_only=True, slots=True)
class Stored:
    """
    Bytes of an entry.

    Attributes:
        first: Their offset in the file.
        size_bytes: Their number.
    """

    first: int
    size_bytes: int


@dataclass(frozen=True, kw_only=True)
class Archive:
    """
    What a file contains.

    Attributes:
        pickle: The bytes of data.pkl.
        storages: Where the bytes of each storage are, by its key.
    """

    pickle: bytes
    storages: dict[str, Stored]


def read_archive(opened: FileIO, file: str) -> Archive:
    """
    Read what a file contains, but not the storages' bytes.

    Args:
        opened: The file.
        file: Its name, for messages.

    Raises:
        UsageError: It isn't a file of `torch.save`, or is damaged, or has another byte order.
        OSError: It can't be read.
    """
    if os.pread(opened.fileno(), 4, 0) not in _ZIP_MAGICS:
        raise UsageError(
            f"{file}: not a zip archive: not a file of torch.save, or one of before PyTorch 1.6",
            hint="load it with torch.load, and save it again",
        )
    entries = _entries(opened, file)
    root = _root(entries, file)
    if f"{root}/constants.pkl" in entries:
        raise UsageError(f"{file}: a TorchScript program, and not a file of torch.save")
    order = _word(opened, entries.get(f"{root}/byteorder"))
    if order not in {b"little", b""}:
        raise UsageError(f"{file}: its byte order is {order!r}, and not little")
    pickled = entries[f"{root}/data.pkl"]
    if pickled.size_bytes > _MAX_PICKLE_BYTES:
        raise UsageError(
            f"{file}: its pickle has {pickled.size_bytes} bytes; the limit is {_MAX_PICKLE_BYTES}"
        )
    prefix = f"{root}/data/"
    storages = {
        name.removeprefix(prefix): stored
        for name, stored in entries.items()
        if name.startswith(prefix)
    }
    _require_apart(storages, file)
    return Archive(pickle=_read(opened, pickled), storages=storages)


def _entries(opened: FileIO, file: str) -> dict[str, Stored]:
    try:
        with zipfile.ZipFile(opened) as archive:
            listed = archive.infolist()
    except (zipfile.BadZipFile, ValueError, NotImplementedError, UnicodeDecodeError) as error:
        raise UsageError(f"{file}: its zip archive can't be read: {error}") from None
    file_bytes = os.fstat(opened.fileno()).st_size
    entries: dict[str, Stored] = {}
    for entry in listed:
        where = f"{file}: entry '{shortened(entry.filename)}'"
        if entry.compress_type != zipfile.ZIP_STORED or entry.flag_bits & _ENCRYPTED:
            raise UsageError(f"{where} is compressed or encrypted, which torch.save never does")
        if entry.filename in entries:
            raise UsageError(f"{where} occurs twice")
        first = _data_offset(opened, entry.header_offset, where)
        if entry.file_size != entry.compress_size or first + entry.file_size > file_bytes:
            raise UsageError(
                f"{where} ends at byte {first + entry.file_size}, and the file has {file_bytes}: "
                "it is truncated or damaged"
            )
        entries[entry.filename] = Stored(first=first, size_bytes=entry.file_size)
    return entries


def _data_offset(opened: FileIO, header_offset: int, where: str) -> int:
    """Skip the local header, whose extra field aligns the bytes after it."""
    header = os.pread(opened.fileno(), _HEADER_BYTES, header_offset) if header_offset >= 0 else b""
    if len(header) < _HEADER_BYTES or header[:4] != _HEADER_MAGIC:
        raise UsageError(f"{where} has no header at byte {header_offset}: the file is damaged")
    name_bytes = int.from_bytes(header[26:28], "little")
    extra_bytes = int.from_bytes(header[28:30], "little")
    return header_offset + _HEADER_BYTES + name_bytes + extra_bytes


def _root(entries: dict[str, Stored], file: str) -> str:
    roots = [name.removesuffix("/data.pkl") for name in entries if name.endswith("/data.pkl")]
    if len(roots) != 1 or "/" in roots[0]:
        raise UsageError(f"{file}: not a file of torch.save: it has no entry data.pkl, or several")
    return roots[0]


def _require_apart(storages: dict[str, Stored], file: str) -> None:
    """Refuse storages that share bytes: a small file could take any amount of memory."""
    end, before = 0, ""
    for key, stored in sorted(storages.items(), key=lambda item: item[1].first):
        if stored.first < end and stored.size_bytes:
            raise UsageError(f"{file}: storage '{shortened(key)}' overlaps '{shortened(before)}'")
        end, before = max(end, stored.first + stored.size_bytes), key


def _word(opened: FileIO, stored: Stored | None) -> bytes:
    if stored is None:
        return b""
    return os.pread(opened.fileno(), min(stored.size_bytes, _MAX_WORD_BYTES), stored.first)


def _read(opened: FileIO, stored: Stored) -> bytes:
    parts: list[bytes] = []
    first, left = stored.first, stored.size_bytes
    while left > 0 and (part := os.pread(opened.fileno(), left, first)):
        parts.append(part)
        first, left = first + len(part), left - len(part)
    return b"".join(parts)
