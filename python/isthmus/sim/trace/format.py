"""
The format of trace files: an Arrow IPC file whose record batches are blocks.

A row is a warp: its launch, its CTA, and its operations, a list of {kind, compute, lines}. So the
buffers of a batch are exactly the arrays of `isthmus::trace::Block`, and any tool that reads Arrow
reads traces. The schema's metadata holds the program as JSON, the format's version, and the file's
checksum (seal.py).
"""

from itertools import zip_longest
from typing import TYPE_CHECKING, NamedTuple

from isthmus.errors import UsageError
from isthmus.ground.extras import packages_for
from isthmus.ground.spelling import shortened
from isthmus.sim.trace.seal import UNSEALED

if TYPE_CHECKING:
    from collections.abc import Sequence
    from types import ModuleType
    from typing import Any

    import numpy as np
    import pyarrow as pa
    from numpy.typing import NDArray

PROGRAM_KEY = b"isthmus.trace.program"
VERSION_KEY = b"isthmus.trace.version"
SEAL_KEY = b"isthmus.trace.seal"
VERSION = b"2"
# Version 1 has no streams.
_READ_VERSIONS = (b"1", VERSION)
_FORMAT = "docs/traces.md has the format"
# As in cpp/src/trace/checking.hpp; the simulator puts local memory behind.
ADDRESSES_END = 1 << 57
# As in cpp/src/trace/trace.hpp, where the number behind means all streams.
STREAMS_END = (1 << 32) - 1
# By the number in the file. As `OpKind` in cpp/src/trace/trace.hpp.
KINDS = ("load", "store", "atomic", "local_load", "local_store", "barrier", "end")

# The indexes of a block's arrays among the buffers of the column of operations. The buffers between
# them say which rows are null, and none is.
_ARRAYS = {"op_begin": 1, "kinds": 4, "compute": 6, "line_begin": 8, "lines": 10}
_NUM_BUFFERS = 11


class BlockArrays(NamedTuple):
    """A block's memory: per warp, then as in `isthmus::trace::Block`."""

    launch: "NDArray[np.uint32]"
    cta: "NDArray[np.uint32]"
    op_begin: "NDArray[np.uint32]"
    kinds: "NDArray[np.uint8]"
    compute: "NDArray[np.uint32]"
    line_begin: "NDArray[np.uint32]"
    lines: "NDArray[np.uint64]"


def require_arrow() -> "ModuleType":
    """Import pyarrow with its IPC."""
    with packages_for("trace files", "pyarrow and numpy: pip install 'isthmus[sim]'"):
        import numpy as np
        import pyarrow as pa
        import pyarrow.ipc  # makes pa.ipc
    del np
    arrow: ModuleType = pa
    return arrow


def block_schema() -> "pa.Schema":
    """Give the columns of a trace, without metadata."""
    pa = require_arrow()
    operation = pa.struct(
        [
            pa.field("kind", pa.uint8(), nullable=False),
            pa.field("compute", pa.uint32(), nullable=False),
            pa.field("lines", _list_of(pa.uint64()), nullable=False),
        ]
    )
    return pa.schema(
        [
            pa.field("launch", pa.uint32(), nullable=False),
            pa.field("cta", pa.uint32(), nullable=False),
            pa.field("operations", _list_of(operation), nullable=False),
        ]
    )


def schema_of(program: bytes) -> "pa.Schema":
    """Give the schema of a trace of a program, which is JSON."""
    return block_schema().with_metadata(
        {PROGRAM_KEY: program, VERSION_KEY: VERSION, SEAL_KEY: UNSEALED}
    )


def program_of(schema: "pa.Schema") -> bytes:
    """Read the program's JSON from a file's schema."""
    metadata = schema.metadata or {}
    program = metadata.get(PROGRAM_KEY)
    if program is None:
        raise UsageError(f"its schema's metadata has no {PROGRAM_KEY.decode()}", hint=_FORMAT)
    for wanted, found in zip_longest(block_schema(), schema):
        if wanted is None or found is None or not found.equals(wanted):
            texts = (
                "absent" if each is None else str(each)[len("pyarrow.Field<") : -1]
                for each in (found, wanted)
            )
            one, other = (shortened(text, most=200) for text in texts)
            raise UsageError(f"a column is {one}, and has to be {other}", hint=_FORMAT)
    if metadata.get(VERSION_KEY) not in _READ_VERSIONS:
        shown = shortened(metadata.get(VERSION_KEY, b"none").decode(errors="replace"))
        raise UsageError(f"its isthmus.trace.version is {shown}: versions 1 and 2 are read")
    return bytes(program)


def arrays_of_warps(
    launch: int, first_cta: int, num_ctas: int, warps_per_cta: int
) -> "list[NDArray[np.uint32]]":
    """Give the launch and the CTA of every warp of a block."""
    import numpy as np

    ctas = np.arange(first_cta, first_cta + num_ctas, dtype=np.uint32)
    return [
        np.full(num_ctas * warps_per_cta, launch, dtype=np.uint32),
        np.repeat(ctas, warps_per_cta),
    ]


def batch_of(arrays: BlockArrays) -> "pa.RecordBatch":
    """Make a record batch over a block's memory, without a copy."""
    pa = require_arrow()
    schema = block_schema()
    operations = schema.field("operations").type
    lines_type = operations.value_type.field("lines").type
    num_operations = len(arrays.kinds)
    lines = _array(
        lines_type, num_operations, [arrays.line_begin], [_flat(pa.uint64(), arrays.lines)]
    )
    columns = [_flat(pa.uint8(), arrays.kinds), _flat(pa.uint32(), arrays.compute), lines]
    rows = _array(
        operations,
        len(arrays.launch),
        [arrays.op_begin],
        [_array(operations.value_type, num_operations, [], columns)],
    )
    return pa.record_batch(
        [_flat(pa.uint32(), arrays.launch), _flat(pa.uint32(), arrays.cta), rows], schema=schema
    )


def buffers_of(batch: "pa.RecordBatch") -> "list[memoryview]":
    """Get a block's memory from a validated record batch, in the order of `BlockArrays`."""
    launch, cta, rows = batch.columns
    operations = rows.values
    lines = operations.field(2)
    held = rows.buffers()
    nulls = [*launch.buffers()[:1], *cta.buffers()[:1]]
    nulls += [each for place, each in enumerate(held) if place not in _ARRAYS.values()]
    if len(held) != _NUM_BUFFERS or any(each is not None for each in nulls):
        raise UsageError("rows are null")
    op_begin, kinds, compute, line_begin, addresses = (held[place] for place in _ARRAYS.values())
    return [
        _bytes_of(launch.buffers()[1], 4 * len(launch), "launch"),
        _bytes_of(cta.buffers()[1], 4 * len(cta), "cta"),
        _bytes_of(op_begin, 4 * (len(rows) + 1), "op_begin"),
        _bytes_of(kinds, len(operations), "kinds"),
        _bytes_of(compute, 4 * len(operations), "compute"),
        _bytes_of(line_begin, 4 * (len(operations) + 1), "line_begin"),
        _bytes_of(addresses, 8 * len(lines.values), "lines"),
    ]


def _list_of(item: "pa.DataType") -> "pa.ListType":
    pa = require_arrow()
    return pa.list_(pa.field("item", item, nullable=False))


def _flat(kind: "pa.DataType", numbers: "NDArray[Any]") -> "pa.Array":
    pa = require_arrow()
    return pa.Array.from_buffers(kind, len(numbers), [None, pa.py_buffer(numbers)])


def _array(
    kind: "pa.DataType", length: int, buffers: "Sequence[NDArray[Any]]", children: "list[pa.Array]"
) -> "pa.Array":
    pa = require_arrow()
    held = [None, *(pa.py_buffer(each) for each in buffers)]
    return pa.Array.from_buffers(kind, length, held, children=children)


def _bytes_of(buffer: "pa.Buffer | None", size_bytes: int, name: str) -> memoryview:
    """Give the used bytes of a buffer: writers may pad it, or omit an empty one."""
    view = memoryview(b"" if buffer is None else buffer)
    if len(view) < size_bytes:
        raise UsageError(f"{name} has {len(view)} bytes, {size_bytes} are needed")
    return view[:size_bytes]
