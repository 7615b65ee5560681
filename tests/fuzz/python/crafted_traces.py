"""Crafted traces: whole files with a correct checksum and arbitrary other errors."""

import json
import random
import zlib
from collections.abc import Callable, Sequence
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.ipc

from isthmus.sim.trace.file import record_trace
from isthmus.sim.trace.format import block_schema, schema_of
from isthmus.sim.trace.program import program_text
from isthmus.sim.trace.seal import UNSEALED

CRAFTED = "crafted.arrow"
_NUM_DIGITS = 8
_MARK = UNSEALED[:-_NUM_DIGITS]

# Values with which offsets, lengths and counts are likely to cause defects.
_EDGES = (
    *(0, 1, 2, 3, 4, 7, 8, 15, 16, 63, 64, 127, 128, 255, 256, 1000, 4096),
    *(0x7FFF, 0x8000, 0xFFFF, 0x10000, 0x7FFFFFFF, 0x80000000, 0xFFFFFFFF, 1 << 32),
    *(1 << 40, 1 << 57, (1 << 62) - 1, 1 << 62, (1 << 63) - 1, 1 << 63, (1 << 64) - 8),
)
_WIDTHS = (1, 2, 4, 4, 4, 8, 8)


def small_traces(folder: Path) -> list[bytes]:
    """Record traces of a few warps: plain and packed, of several blocks and of one."""
    from fakes import traces

    found = []
    for compression in (None, "zstd"):
        for blocks in (None, [traces.block(0, 0, 2), traces.block(1, 0, 1)]):
            path = folder / "small.arrow"
            record_trace(traces.source(blocks), path, compression=compression)
            found.append(path.read_bytes())
    return found


def crafted(number: int, originals: Sequence[bytes], folder: Path) -> Path:
    """
    Write the trace of a number; equal numbers and originals give equal files.

    Args:
        number: Which.
        originals: Whole files to change.
        folder: Where the file is written, under the name `CRAFTED`.
    """
    draw = random.Random(number)  # noqa: S311  (nothing is secret here)
    path = folder / CRAFTED
    craft = draw.choices(list(_CRAFTS), weights=list(_CRAFTS.values()))[0]
    craft(draw, originals, path)
    path.write_bytes(sealed(path.read_bytes()))
    return path


def sealed(trace: bytes) -> bytes:
    """Write the correct checksum into a trace, at both places; none if one place is gone."""
    places = [trace.find(_MARK) + len(_MARK), trace.rfind(_MARK) + len(_MARK)]
    if places[0] == places[1] or places[1] + _NUM_DIGITS > len(trace):
        return trace
    unsealed = _with_digits(trace, places, b"0" * _NUM_DIGITS)
    return _with_digits(unsealed, places, b"%08x" % zlib.crc32(unsealed))


def _with_digits(trace: bytes, places: Sequence[int], digits: bytes) -> bytes:
    for place in places:
        trace = trace[:place] + digits + trace[place + len(digits) :]
    return trace


def _with_wrong_numbers(draw: random.Random, originals: Sequence[bytes], path: Path) -> None:
    """Other bytes, or other integers, here and there."""
    data = bytearray(draw.choice(originals))
    for _ in range(draw.choice((1, 1, 1, 2, 2, 3, 5, 8))):
        _change(draw, data)
    path.write_bytes(data)


def _change(draw: random.Random, data: bytearray) -> None:
    width = draw.choice(_WIDTHS)
    place = draw.randrange(len(data) - width)
    if draw.random() < 0.8:
        place -= place % width
    old = int.from_bytes(data[place : place + width], "little")
    ways: tuple[Callable[[], int], ...] = (
        lambda: draw.choice(_EDGES),
        lambda: old + draw.choice((-64, -8, -4, -1, 1, 4, 8, 64)),
        lambda: old ^ (1 << draw.randrange(8 * width)),
        lambda: draw.getrandbits(8 * width),
    )
    new = draw.choice(ways)() % (1 << (8 * width))
    data[place : place + width] = new.to_bytes(width, "little")


def _with_parts_moved(draw: random.Random, originals: Sequence[bytes], path: Path) -> None:
    """A part of one file replaces a part of another, or is removed, or inserted."""
    data = bytearray(draw.choice(originals))
    other = draw.choice(originals)
    length = 8 * draw.randrange(1, 64)
    place = 8 * draw.randrange(len(data) // 8)
    source = 8 * draw.randrange(len(other) // 8)
    part = other[source : source + length]
    taken = draw.choice((0, length, len(part)))
    data[place : place + taken] = draw.choice((part, b""))
    if draw.random() < 0.5:
        _change(draw, data)
    path.write_bytes(data)


def _with_another_program(draw: random.Random, originals: Sequence[bytes], path: Path) -> None:
    """Whole and well-formed, but of a program that can't be, or isn't that of the blocks."""
    from fakes import traces

    del originals
    program = json.loads(program_text(traces.program()))
    for _ in range(draw.choice((1, 1, 2, 4))):
        _change_json(draw, program)
    text = json.dumps(program)
    if draw.random() < 0.2:
        cut = draw.randrange(len(text))
        text = (
            text[:cut] + draw.choice(("", "[" * 5000, "\\ud800", "NaN", "1e999", '"')) + text[cut:]
        )
    with pa.ipc.new_file(str(path), schema_of(text.encode())) as writer:
        for number in range(draw.randrange(4)):
            writer.write_batch(_batch(traces.block(number // 2, number % 2, 1)))


def _change_json(draw: random.Random, part: dict[str, object] | list[object]) -> None:
    while True:
        if not part:
            return
        place = draw.choice(list(part)) if isinstance(part, dict) else draw.randrange(len(part))
        value = part[place]  # type: ignore[index]
        if isinstance(value, dict | list) and value and draw.random() < 0.8:
            part = value
            continue
        other: tuple[object, ...] = (
            *_EDGES,
            -1,
            1.5,
            None,
            True,
            "",
            "x" * 1000,
            [],
            {},
            [value, value],
            "\x1b[31m\xff",
        )
        part[place] = draw.choice(other)  # type: ignore[index]
        return


def _with_other_columns(draw: random.Random, originals: Sequence[bytes], path: Path) -> None:
    """Well-formed Arrow, with null rows, other types, more columns, or a packing of its own."""
    from fakes import traces

    del originals
    batch = _batch(traces.block(0, 0, 2))
    columns = dict(zip(batch.schema.names, batch.columns, strict=True))
    name = draw.choice(list(columns))
    column = columns[name]
    length = len(column)
    columns[name] = draw.choice(
        (
            pa.array([None] * length, column.type),
            pa.array([*column.to_pylist()[:-1], None], column.type),
            pa.array(column.to_pylist()),
            pa.array(["x"] * length).dictionary_encode(),
            pa.nulls(length),
            column,
        )
    )
    if draw.random() < 0.2:
        columns["more"] = pa.array(range(length))
    metadata = schema_of(program_text(traces.program()).encode()).metadata
    schema = pa.schema(
        [
            pa.field(each, array.type, nullable=array.null_count > 0 or draw.random() < 0.7)
            for each, array in columns.items()
        ],
        metadata=metadata,
    )
    options = pa.ipc.IpcWriteOptions(compression=draw.choice((None, "zstd", "lz4")))
    with pa.ipc.new_file(str(path), schema, options=options) as writer:
        rebuilt = pa.record_batch(list(columns.values()), schema=schema)
        writer.write_batch(draw.choice((rebuilt, rebuilt.slice(1), rebuilt.slice(0, 0))))


def _batch(block: "list[np.ndarray]") -> pa.RecordBatch:
    """Make a block's batch as any tool would: row by row."""
    launch, cta, op_begin, kinds, compute, line_begin, lines = (each.tolist() for each in block)
    operations = [
        {"kind": kinds[i], "compute": compute[i], "lines": lines[line_begin[i] : line_begin[i + 1]]}
        for i in range(len(kinds))
    ]
    rows = [operations[op_begin[w] : op_begin[w + 1]] for w in range(len(launch))]
    schema = block_schema()
    arrays = [
        pa.array(part, field.type) for part, field in zip((launch, cta, rows), schema, strict=True)
    ]
    return pa.record_batch(arrays, schema=schema)


_CRAFTS = {
    _with_wrong_numbers: 70,
    _with_parts_moved: 15,
    _with_another_program: 10,
    _with_other_columns: 5,
}
