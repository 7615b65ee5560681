"""Safetensors files, right and wrong, written byte by byte."""

import json
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any


def encoded(header: bytes, data: bytes, *, length: int | None = None) -> bytes:
    """Put a file together; `length` is what it says of its header, right unless given."""
    announced = len(header) if length is None else length
    return announced.to_bytes(8, "little") + header + data


def description(dtype: str, shape: Sequence[int], first: int, end: int) -> dict[str, Any]:
    """Describe a tensor."""
    return {"dtype": dtype, "shape": list(shape), "data_offsets": [first, end]}


def write_file(
    path: Path,
    tensors: Mapping[str, tuple[str, Sequence[int], bytes]],
    *,
    metadata: Mapping[str, str] | None = None,
    padding: int = 0,
) -> Path:
    """
    Write tensors one after the other.

    Args:
        path: The file.
        tensors: By name: type, shape, bytes.
        metadata: Free text.
        padding: Spaces behind the header, which move the data.
    """
    members: dict[str, Any] = {} if metadata is None else {"__metadata__": dict(metadata)}
    data = b""
    for name, (dtype, shape, content) in tensors.items():
        members[name] = description(dtype, shape, len(data), len(data) + len(content))
        data += content
    header = json.dumps(members).encode() + b" " * padding
    path.write_bytes(encoded(header, data))
    return path
