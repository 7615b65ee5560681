"""Writes a trace's file as a whole, and maps it into memory for reading."""

import contextlib
import mmap
import os
import struct
import weakref
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Literal

from pydantic import ValidationError

from isthmus.errors import UsageError, WriteError
from isthmus.files.folder import writing
from isthmus.files.regular import open_regular
from isthmus.files.whole import WholeFile
from isthmus.ground.sizes import approximate_size
from isthmus.ground.spelling import one_line
from isthmus.measure.run.record import first_fault
from isthmus.sim.trace.format import BlockArrays, batch_of, buffers_of, program_of, require_arrow
from isthmus.sim.trace.program import native_program
from isthmus.sim.trace.seal import check_seal, seal
from isthmus.sim.trace.unpacked_size import MAX_UNPACKED_BYTES, unpacked_bytes

if TYPE_CHECKING:
    import pyarrow as pa

    from isthmus import _native

Compression = Literal["zstd"]

# A mapped file counts as memory of the process until it is returned; this is the limit.
_MAX_MAPPED_BYTES = 16 << 20
_REFUSED = (
    OSError,
    ValueError,
    TypeError,
    KeyError,
    IndexError,
    MemoryError,
    OverflowError,
    struct.error,
)


class TraceFile:
    """An open file of a trace, whose batches are not copied."""

    def __init__(self, path: Path, *, sealed: bool = True) -> None:
        """
        Map a file, and, if it is sealed, compare it with its checksum: pyarrow may crash on a
        corrupt one.
        """
        pa = require_arrow()
        self.path = path
        self._mapping, self._descriptor = _mapped(path)
        weakref.finalize(self, os.close, self._descriptor)
        self._given_bytes = 0
        with _refusing(path, "can't read the trace"):
            if sealed:
                check_seal(self._mapping)
            options = pa.ipc.IpcReadOptions(use_threads=False)
            self._reader = pa.ipc.open_file(pa.py_buffer(self._mapping), options=options)
            self.num_blocks = self._reader.num_record_batches

    def program(self) -> "_native.TraceProgram":
        """Read the program."""
        with _refusing(self.path, "can't read the program"):
            return native_program(program_of(self._reader.schema))

    def source(
        self, program: "_native.TraceProgram | None" = None, *, label: str | None = None
    ) -> "_native.TraceSource":
        """Give a source of the blocks, of the file's program or another; it keeps the file open."""
        from isthmus import _native

        return _native.TraceSource(
            label or one_line(str(self.path)),
            program or self.program(),
            self.num_blocks,
            self.block,
            mapping=self._mapping,
            descriptor=self._descriptor,
        )

    @property
    def size_bytes(self) -> int:
        """The file's size."""
        return len(self._mapping)

    def block(self, index: int) -> list[memoryview]:
        """
        Give the memory of a block, in the order of `BlockArrays`; that of earlier ones is returned
        to the system.
        """
        with _refusing(self.path, f"can't read block {index}"):
            return buffers_of(self._validated(index))

    def _validated(self, index: int) -> "pa.RecordBatch":
        if self._given_bytes > _MAX_MAPPED_BYTES:
            # Only pages are returned, not addresses: if touched again, they are read again.
            self._mapping.madvise(mmap.MADV_DONTNEED)
            self._given_bytes = 0
        needed = unpacked_bytes(self._mapping, index)
        if needed > MAX_UNPACKED_BYTES:
            raise UsageError(
                f"unpacked it takes {approximate_size(needed)}: at most "
                f"{approximate_size(MAX_UNPACKED_BYTES)} are read",
                hint="write blocks of fewer CTAs, or without compression",
            )
        batch = self._reader.get_batch(index)
        # Its offsets may point anywhere, and Arrow's other functions trust them.
        batch.validate(full=True)
        self._given_bytes += batch.nbytes
        return batch


class BlockWriter:
    """Writes a trace's blocks. The file appears completely, or not at all."""

    def __init__(
        self, path: Path, schema: "pa.Schema", *, compression: Compression | None = None
    ) -> None:
        """Begin a file beside `path`."""
        pa = require_arrow()
        self._path = path
        self._file = WholeFile(path)
        try:
            with _writing(path):
                options = pa.ipc.IpcWriteOptions(compression=compression)
                self._writer = pa.ipc.new_file(self._file, schema, options=options)
        except BaseException:
            self._file.abandon()
            raise

    @property
    def unfinished(self) -> Path:
        """The file, until it gets its name."""
        return self._file.temporary

    def write(self, arrays: BlockArrays) -> None:
        """Append a block."""
        with _writing(self._path):
            self._writer.write_batch(batch_of(arrays))

    def finish(self) -> None:
        """End the file, write its checksum into it, and give it its name. It is then durable."""
        self.end_unnamed()
        with _writing(self._path):
            seal(self._file)
        self._file.keep()

    def end_unnamed(self) -> None:
        """End the file, but leave it without its checksum and under its temporary name."""
        with _writing(self._path):
            self._writer.close()

    def abandon(self) -> None:
        """Remove what was written, unless it has its name. Never raises."""
        # Its writer isn't closed, because that would write the file's end, perhaps a second time.
        self._file.abandon()


@contextlib.contextmanager
def whole_trace(
    path: Path, schema: "pa.Schema", compression: Compression | None
) -> Iterator[BlockWriter]:
    """Give a writer whose file gets its name at the end, and is removed on any failure."""
    writer = BlockWriter(path, schema, compression=compression)
    try:
        yield writer
        writer.finish()
    except BaseException:
        writer.abandon()
        raise


def _mapped(path: Path) -> tuple[mmap.mmap, int]:
    """Map a file, and open it: the descriptor is the caller's to close."""
    try:
        with open_regular(path) as file:
            if os.fstat(file.fileno()).st_size == 0:
                raise UsageError(f"{path} is empty, so it is not a trace")
            mapping = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
            return mapping, os.dup(file.fileno())
    except OSError as cause:
        raise UsageError(
            f"can't read trace {path}: {cause.strerror or cause}",
            hint="a trace is a file that `isthmus sim trace record` or `... import` wrote",
        ) from cause


@contextlib.contextmanager
def _refusing(path: Path, what: str) -> Iterator[None]:
    """Turn any error about a file's contents into one line that names the file."""
    pa = require_arrow()
    try:
        yield
    except ValidationError as cause:
        raise UsageError(f"{path}: can't read the program: {first_fault(cause)}") from cause
    except UsageError as cause:
        raise UsageError(f"{path}: {what}: {cause}", hint=cause.hint) from cause
    except (pa.ArrowException, *_REFUSED) as cause:
        raise UsageError(f"{path}: {what}: {_first_line(cause)}") from cause


@contextlib.contextmanager
def _writing(path: Path) -> Iterator[None]:
    pa = require_arrow()
    try:
        with writing(path):
            yield
    except pa.ArrowException as cause:
        raise WriteError(f"can't write {path}: {_first_line(cause)}") from cause


def _first_line(error: Exception) -> str:
    lines = str(error).splitlines()
    return one_line(lines[0]) if lines else type(error).__name__
