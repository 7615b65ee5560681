"""Writes traces whose programs become known as they are written: a user's, or an imported one."""

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import TYPE_CHECKING, Self, get_args

from isthmus.errors import UsageError
from isthmus.files.regular import path_of
from isthmus.ground.spelling import one_line, shortened, writable
from isthmus.sim.trace.file import TraceSummary, record_trace
from isthmus.sim.trace.format import (
    ADDRESSES_END,
    STREAMS_END,
    BlockArrays,
    block_schema,
    require_arrow,
)
from isthmus.sim.trace.storage import BlockWriter, Compression, TraceFile

if TYPE_CHECKING:
    from collections.abc import Sequence

    from numpy.typing import ArrayLike

    from isthmus import _native

_WARP_THREADS = 32
# As in cpp/src/trace/checking.hpp.
_MAX_THREADS = 1024
_COUNTS_END = 1 << 32
# cudaMalloc gives large allocations addresses of such multiples; the modelled pages are as large.
_ALIGNMENT = 2 << 20
_FIRST_ADDRESS = 0x7F00_0000_0000


class TraceWriter:
    """
    Writes a program of your own as a trace, from NumPy arrays.

    Use it as a context, and call in the program's order: allocations, what the host does, a launch,
    its operations. At the context's end the whole trace is checked, sealed and durable. After an
    exception, Ctrl-C included, nothing is stored, and an old file is unchanged. A call that is
    refused changes nothing, so another may follow.
    """

    # Blocks are written to a file beside the path, and again after their program, which a trace has
    # at its beginning: only at the end is the program known.

    def __init__(
        self,
        path: str | Path,
        *,
        name: str = "",
        description: str = "",
        synthetic: bool = False,
        thread_instructions: int = 0,
        compression: Compression | None = None,
    ) -> None:
        """
        Prepare a trace; `Unavailable` if pyarrow is missing.

        Args:
            path: The file; an old one is replaced when the new one is complete.
            name: The program's name.
            description: What it does, and with which input.
            synthetic: Whether inputs or `compute` are made up; `isthmus sim run` then says so.
            thread_instructions: Of all threads together; 0: unknown.
            compression: "zstd" for a smaller file, which can't be read without a copy.
        """
        require_arrow()
        self.path = path_of(path)
        self.program: _native.TraceProgram | None = None
        """If set, it is written instead of what calls have described."""
        self.summary: TraceSummary | None = None
        """What was stored."""
        with _refusing(str(self.path)):
            self._name, self._description = _text("name", name), _text("description", description)
            self._instructions = _count("thread_instructions", thread_instructions, 0, 1 << 64)
            if compression not in {None, *get_args(Compression)}:
                raise UsageError(f"compression is {compression!r}: None or 'zstd' is needed")
            if not isinstance(synthetic, bool):
                raise UsageError(f"synthetic is {synthetic!r}: True or False is needed")
        self._synthetic = synthetic
        self._compression = compression
        self._is_new = True
        self._blocks: BlockWriter | None = None
        self._allocations: list[tuple[int, int, str]] = []
        self._launches: list[_native.TraceLaunch] = []
        self._steps: list[_native.TraceHostStep] = []
        self._next_cta = 0

    def __enter__(self) -> Self:
        """Begin the file beside its path; WriteError if that can't be written."""
        if not self._is_new:
            raise UsageError(
                f"{self.path}: a TraceWriter writes one trace, once", hint="make another one"
            )
        self._is_new = False
        self._blocks = BlockWriter(self.path, block_schema())
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Check the whole trace and store it; after an exception, store nothing."""
        blocks = self._open_blocks()
        self._blocks = None
        try:
            if kind is None:
                program = self._described() if self.program is None else self.program
                blocks.end_unnamed()
                written = TraceFile(blocks.unfinished, sealed=False)
                source = written.source(program, label=one_line(str(self.path)))
                self.summary = record_trace(source, self.path, compression=self._compression)
        finally:
            blocks.abandon()

    def allocate(self, name: str, size_bytes: int, *, address: int | None = None) -> int:
        """
        Declare memory that the program allocates, and give its address: by default behind all
        others, at a multiple of 2 MiB. UsageError if it overlaps another allocation, or lies beyond
        a GPU's 57 bits.
        """
        if address is None:
            last = max((begin + size for begin, size, _ in self._allocations), default=0)
            address = -(-max(last, _FIRST_ADDRESS) // _ALIGNMENT) * _ALIGNMENT
        with _refusing(str(self.path)):
            name = _text("name", name)
            begin, length = _range(address, size_bytes)
            for other, size, named in self._allocations:
                if begin < other + size and other < begin + length:
                    raise UsageError(
                        f"allocation '{shortened(name)}' at {begin:#x} overlaps "
                        f"'{shortened(named)}' at {other:#x}: a byte belongs to one allocation"
                    )
        self._allocations.append((begin, length, name))
        return begin

    def host(self, kind: str, address: int, size_bytes: int, *, stream: int | None = None) -> None:
        """
        Declare what the host does before the next launch, or after the last one: "upload" or
        "download", an explicit copy; "read" or "write", the CPU's access to data that isn't copied;
        or "upload_again", a copy of data that the CPU never changes.

        A copy in a `stream` comes after the copies and launches before it in that stream. Any other
        step waits for all that comes before it, and all that follows waits for it.
        """
        from isthmus import _native

        with _refusing(str(self.path)):
            place = None if stream is None else _count("stream", stream, 0, STREAMS_END)
            if place is not None and kind in {"read", "write"}:
                raise UsageError(f"a {kind} has stream {place}: only copies have a stream")
            step = _native.TraceHostStep(_text("kind", kind), *_range(address, size_bytes), place)
        self._steps.append(step)

    def launch(
        self,
        name: str,
        *,
        num_ctas: int,
        threads_per_cta: int,
        max_ctas_per_sm: int = 0,
        local_bytes_per_thread: int = 0,
        stream: int = 0,
    ) -> None:
        """
        Begin a kernel; `write` then gives its operations. UsageError if a number is impossible, or
        the kernel before lacks CTAs.

        Args:
            name: Its name.
            num_ctas: Thread blocks of its grid.
            threads_per_cta: 1 to 1024.
            max_ctas_per_sm: As many run on a core at once by registers and shared memory; 0: as
                many as the modelled machine allows.
            local_bytes_per_thread: What "local_load" and "local_store" may access.
            stream: Kernels of one stream run one after the other, those of different streams at the
                same time. Any number names one.
        """
        from isthmus import _native

        self._check_complete()
        with _refusing(f"{self.path}, launch {len(self._launches)}"):
            threads = _count("threads_per_cta", threads_per_cta, 1, _MAX_THREADS + 1)
            local = _count("local_bytes_per_thread", local_bytes_per_thread, 0, _COUNTS_END)
            launch = _native.TraceLaunch(
                _text("name", name),
                num_ctas=_count("num_ctas", num_ctas, 1, _COUNTS_END),
                warps_per_cta=-(-threads // _WARP_THREADS),
                threads_per_cta=threads,
                max_ctas_per_sm=_count("max_ctas_per_sm", max_ctas_per_sm, 0, _COUNTS_END),
                local_bytes_per_thread=local,
                before=self._steps,
                stream=_count("stream", stream, 0, STREAMS_END),
            )
        self._launches.append(launch)
        self._steps, self._next_cta = [], 0

    def write(  # noqa: PLR0913 - keyword arguments, each with a default
        self,
        kinds: "str | Sequence[str] | ArrayLike",
        addresses: "ArrayLike | None" = None,
        *,
        warps: "ArrayLike",
        size_bytes: "ArrayLike" = 4,
        compute: "ArrayLike" = 0,
        active: "ArrayLike | None" = None,
        num_ctas: int | None = None,
    ) -> None:
        """
        Write all operations of the launch's next CTAs. A row is one operation of one warp; rows of
        a warp are in its order, and rows of different warps may be mixed.

        Args:
            kinds: "load", "store", "atomic", "local_load", "local_store", "barrier" or "end", or
                their numbers, 0 to 6; one for all rows, or shape (rows,). A warp without an "end"
                ends after its last row.
            addresses: Of the lanes, shape (rows, lanes) with up to 32 lanes, or (rows,) for one run
                of bytes. Local ones count from the start of the thread's local memory. Barriers and
                ends have none: what stands there isn't looked at.
            warps: Shape (rows,): each row's warp, counted through the launch, CTA by CTA:
                ceil(threads_per_cta / 32) in each.
            size_bytes: What each lane accesses, 1 to 4096; one for all rows, or shape (rows,).
            compute: Warp instructions before the operation; likewise.
            active: Which lanes access, bool of the shape of `addresses`; all by default.
            num_ctas: Of how many CTAs these are all operations; the rest of the launch by default.
                Fewer at a time take less memory.

        Raises:
            UsageError: A shape, type or number is wrong, or a lane accesses what isn't allocated;
                the message names the row.
            WriteError: The file can't be written.
        """
        from isthmus.sim.trace.operations import blocks_of, check_allocated, rows_of

        blocks = self._open_blocks()
        if not self._launches:
            raise UsageError(f"{self.path}: operations come before any launch")
        launch = self._launches[-1]
        per_cta, left = launch.warps_per_cta, launch.num_ctas - self._next_cta
        with _refusing(self._place()):
            if left == 0:
                raise UsageError(f"all of its {launch.num_ctas} CTAs are written already")
            count = left if num_ctas is None else _count("num_ctas", num_ctas, 1, left + 1)
            ctas = range(self._next_cta, self._next_cta + count)
            arrays = {"warps": warps, "size_bytes": size_bytes, "compute": compute}
            all_warps = range(ctas.start * per_cta, ctas.stop * per_cta)
            rows = rows_of(all_warps, kinds, addresses, active, **arrays)
            check_allocated(rows, sorted((begin, size) for begin, size, _ in self._allocations))
            made = list(blocks_of(rows, len(self._launches) - 1, ctas, per_cta))
        for block in made:
            blocks.write(block)
        self._next_cta = ctas.stop

    def append(self, arrays: BlockArrays) -> None:
        """Write a block as the file has it; it is checked at the end, with `program`."""
        self._open_blocks().write(arrays)

    def _open_blocks(self) -> BlockWriter:
        if self._blocks is None:
            raise UsageError(
                f"the trace {self.path} isn't open", hint="write it within `with TraceWriter(...)`"
            )
        return self._blocks

    def _place(self) -> str:
        last = shortened(self._launches[-1].name)
        return f"{self.path}, launch {len(self._launches) - 1} '{last}'"

    def _check_complete(self) -> None:
        if self._launches and self._next_cta < self._launches[-1].num_ctas:
            raise UsageError(
                f"{self._place()} has {self._next_cta} of its {self._launches[-1].num_ctas} CTAs",
                hint="write the operations of all of them first; CTAs may do nothing",
            )

    def _described(self) -> "_native.TraceProgram":
        from isthmus import _native

        self._check_complete()
        return _native.TraceProgram(
            self._name,
            description=self._description,
            synthetic=self._synthetic,
            allocations=[_native.TraceAllocation(name, *of) for *of, name in self._allocations],
            launches=self._launches,
            after=self._steps,
            thread_instructions=self._instructions,
        )


def seal_trace(path: str | Path, *, compression: Compression | None = None) -> None:
    """
    Check a trace that another program has written, without a seal or with a wrong one, and seal it:
    the file is replaced when all of it was checked. Only for files of your own: no checksum
    protects Arrow's reader here, which may crash on corrupt ones.

    Raises:
        UsageError: It isn't a trace, or breaks a rule of docs/traces.md: what, and where. The file
            is unchanged.
        Unavailable: pyarrow is missing.
    """
    source = TraceFile(Path(path), sealed=False).source()
    record_trace(source, Path(path), compression=compression)


@contextmanager
def _refusing(place: str) -> Iterator[None]:
    """Name the place in errors."""
    try:
        yield
    except UsageError as cause:
        raise UsageError(f"{place}: {cause}", hint=cause.hint) from cause
    except MemoryError as cause:
        hint = "write fewer CTAs at a time: num_ctas"
        raise UsageError(f"{place}: {one_line(str(cause))}", hint=hint) from cause


def _text(name: str, value: object) -> str:
    if not isinstance(value, str) or writable(value) != value:
        raise UsageError(f"{name} is {shortened(repr(value))}, not a text that UTF-8 can hold")
    return str(value)


def _range(address: int, size_bytes: int) -> tuple[int, int]:
    size = _count("size_bytes", size_bytes, 1, ADDRESSES_END)
    return _count("address", address, 0, ADDRESSES_END - size + 1), size


def _count(name: str, value: int, least: int, past: int) -> int:
    if isinstance(value, bool) or not hasattr(value, "__index__"):
        raise UsageError(f"{name} is {shortened(repr(value))}, not a whole number")
    number = value.__index__()
    if not least <= number < past:
        raise UsageError(f"{name} is {number}: {least} to {past - 1} are possible")
    return number
