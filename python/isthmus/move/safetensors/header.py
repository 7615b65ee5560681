"""
Reads the header of a safetensors file, and checks that it describes the file.

A file is the header's length (8 bytes, little-endian), the header (JSON), and the tensors' bytes,
which follow each other without gaps.

Source: safetensors 0.8, the format's README and the checks of its reference reader. Where this
one is stricter or more lenient: docs/model-loading.md.
"""

import json
import os
import re
import reprlib
from dataclasses import dataclass
from typing import Any

from isthmus.errors import UsageError
from isthmus.ground.spelling import shortened
from isthmus.move.safetensors.mistaken import LONGEST_SIGN, refuse_other_formats
from isthmus.move.safetensors.types import ITEM_BITS

LENGTH_BYTES = 8
MAX_HEADER_BYTES = 100_000_000
# GPU libraries count bytes in signed integers of 64 bits.
LAST_OFFSET = (1 << 63) - 1
# The limit of PyTorch and NumPy.
MAX_DIMENSIONS = 64
# An escape in a JSON text: of two that make one character, of one that makes none, any other.
_ESCAPE = re.compile(
    rb"\\(?:u[dD][89abAB]..\\u[dD][c-fC-F]|(?P<lone>u[dD][89a-fA-F])|.)", re.DOTALL
)


@dataclass(frozen=True, kw_only=True, slots=True)
class TensorEntry:
    """
    One tensor of a file.

    Attributes:
        dtype: In the format's spelling: "BF16".
        shape: Items along each dimension; () is a scalar.
        first: The offset of its bytes in the data.
        size_bytes: The number of its bytes; 0 if the shape has a 0.
    """

    name: str
    dtype: str
    shape: tuple[int, ...]
    first: int
    size_bytes: int

    @property
    def label(self) -> str:
        """Its name in messages."""
        return _label(self.name)


@dataclass(frozen=True, kw_only=True)
class Header:
    """
    The contents of a file.

    Attributes:
        entries: In the order of their bytes, which cover the data without gaps.
    """

    entries: tuple[TensorEntry, ...]
    metadata: dict[str, str]
    data_offset: int
    data_bytes: int


def read_header(descriptor: int, file: str) -> Header:
    """Read the header of an open file, whose position is not changed."""
    file_bytes = os.fstat(descriptor).st_size
    start = os.pread(descriptor, LONGEST_SIGN, 0)
    length = start[:LENGTH_BYTES]
    if len(length) < LENGTH_BYTES:
        raise UsageError(
            f"{file}: not a safetensors file: it has {file_bytes} bytes; a header's length has 8"
        )
    num_bytes = int.from_bytes(length, "little")
    if start[LENGTH_BYTES : LENGTH_BYTES + 1] != b"{":
        refuse_other_formats(start, file)
    if num_bytes > MAX_HEADER_BYTES:
        raise UsageError(
            f"{file}: not a safetensors file: it announces a header of {num_bytes} bytes; "
            f"the limit is {MAX_HEADER_BYTES}"
        )
    data_offset = LENGTH_BYTES + num_bytes
    text = _pread_all(descriptor, num_bytes, LENGTH_BYTES)
    if len(text) < num_bytes:
        raise UsageError(
            f"{file}: truncated: the header has {num_bytes} bytes, the whole file {file_bytes}"
        )
    return parse_header(text, file=file, data_offset=data_offset, file_bytes=file_bytes)


def parse_header(text: bytes, *, file: str, data_offset: int, file_bytes: int) -> Header:
    """Read a header's JSON, and check it against the file's size."""
    members = _members(text, file)
    metadata = _metadata(members.pop("__metadata__", None), file)
    entries = sorted(
        (_entry(name, member, file) for name, member in members.items()),
        key=lambda entry: (entry.first, entry.size_bytes),
    )
    data_bytes = file_bytes - data_offset
    _require_covered(entries, data_bytes, file)
    return Header(
        entries=tuple(entries), metadata=metadata, data_offset=data_offset, data_bytes=data_bytes
    )


def _pread_all(descriptor: int, num_bytes: int, offset: int) -> bytes:
    parts: list[bytes] = []
    while num_bytes > 0 and (part := os.pread(descriptor, num_bytes, offset)):
        parts.append(part)
        num_bytes -= len(part)
        offset += len(part)
    return b"".join(parts)


def _members(text: bytes, file: str) -> dict[str, Any]:
    if text[:1] != b"{":
        raise UsageError(f"{file}: not a safetensors file: its header doesn't begin with '{{'")
    if any(escape["lone"] for escape in _ESCAPE.finditer(text)):
        raise UsageError(f"{file}: its header can't be read: half of a surrogate pair in a string")
    try:
        members: dict[str, Any] = json.loads(
            text.decode("utf-8"), object_pairs_hook=_without_twins, parse_constant=_no_constant
        )
    except (ValueError, RecursionError) as error:
        raise UsageError(f"{file}: its header can't be read: {error}") from None
    return members


def _without_twins(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
    members: dict[str, Any] = {}
    for name, value in pairs:
        if name in members:
            raise ValueError(f"'{shortened(name)}' occurs twice")
        members[name] = value
    return members


def _no_constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


def _metadata(member: object, file: str) -> dict[str, str]:
    if member is None:
        return {}
    if not isinstance(member, dict) or not all(isinstance(v, str) for v in member.values()):
        raise UsageError(f"{file}: __metadata__ must be an object whose values are strings")
    return member


def _label(name: str) -> str:
    return f"tensor '{shortened(name)}'"


def _entry(name: str, member: object, file: str) -> TensorEntry:
    where = f"{file}: {_label(name)}"
    if not isinstance(member, dict):
        raise UsageError(f"{where}: its description is not an object")
    for key in ("dtype", "shape", "data_offsets"):
        if key not in member:
            raise UsageError(f"{where}: its description has no '{key}'")
    dtype = member["dtype"]
    if not isinstance(dtype, str) or dtype not in ITEM_BITS:
        raise UsageError(
            f"{where}: {reprlib.repr(dtype)} is not a type of the format ({', '.join(ITEM_BITS)})"
        )
    shape = _integers(member["shape"], f"{where}: 'shape'")
    offsets = _integers(member["data_offsets"], f"{where}: 'data_offsets'")
    if len(offsets) != 2:  # noqa: PLR2004 - where it begins and where it ends
        raise UsageError(f"{where}: 'data_offsets' must be two numbers, not {len(offsets)}")
    first, end = offsets
    _require_size(dtype, shape, end - first, where)
    return TensorEntry(name=name, dtype=dtype, shape=shape, first=first, size_bytes=end - first)


def _integers(member: object, what: str) -> tuple[int, ...]:
    if not isinstance(member, list) or not all(_is_count(value) for value in member):
        raise UsageError(f"{what} must be a list of integers from 0 to 2^63 - 1")
    return tuple(member)


def _is_count(value: object) -> bool:
    return type(value) is int and 0 <= value <= LAST_OFFSET


def _require_size(dtype: str, shape: tuple[int, ...], size_bytes: int, where: str) -> None:
    if len(shape) > MAX_DIMENSIONS:
        raise UsageError(f"{where}: it has {len(shape)} dimensions; the limit is {MAX_DIMENSIONS}")
    # A length of 0 leaves no bytes, but the others make the strides, which must fit too.
    stride_bits = ITEM_BITS[dtype]
    for length in shape:
        stride_bits *= max(1, length)
    if stride_bits // 8 > LAST_OFFSET:
        raise UsageError(f"{where}: shape {list(shape)} of {dtype} takes more than 2^63 - 1 bytes")
    bits = 0 if 0 in shape else stride_bits
    if bits % 8:
        raise UsageError(f"{where}: shape {list(shape)} of {dtype} doesn't end at a whole byte")
    if bits // 8 != size_bytes:
        raise UsageError(
            f"{where}: shape {list(shape)} of {dtype} takes {bits // 8} bytes; "
            f"'data_offsets' gives it {size_bytes}"
        )


def _require_covered(entries: list[TensorEntry], data_bytes: int, file: str) -> None:
    """Refuse overlaps, gaps, and data without a tensor."""
    end, before = 0, ""
    for entry in entries:
        if entry.first < end:
            raise UsageError(f"{file}: {entry.label} overlaps {_label(before)}")
        if entry.first > end:
            raise UsageError(
                f"{file}: {entry.first - end} bytes before {entry.label} belong to no tensor"
            )
        end, before = entry.first + entry.size_bytes, entry.name
        if end > data_bytes:
            raise UsageError(
                f"{file}: truncated: {entry.label} ends at byte {end} of the data, "
                f"which has only {data_bytes}"
            )
    if end != data_bytes:
        raise UsageError(f"{file}: {data_bytes - end} bytes at the end belong to no tensor")
