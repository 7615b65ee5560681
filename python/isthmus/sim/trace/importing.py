"""Imports traces of Accel-Sim's tracer, block by block, in bounded memory."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING

from isthmus.errors import UsageError
from isthmus.ground.sizes import approximate_size
from isthmus.ground.spelling import one_line
from isthmus.sim.trace.format import BlockArrays, arrays_of_warps, require_arrow
from isthmus.sim.trace.kernels_list import MAX_PROGRAM_BYTES, Copy, KernelsList, read_kernels_list
from isthmus.sim.trace.storage import Compression
from isthmus.sim.trace.text import text_pieces
from isthmus.sim.trace.warnings import COUNTS, warnings_of
from isthmus.sim.trace.writing import TraceWriter

if TYPE_CHECKING:
    from isthmus import _native

# Called with the number of finished kernels, of all, and the bytes of text read.
ImportProgress = Callable[[int, int, int], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class ImportReport:
    """
    The outcome of an import.

    Attributes:
        path: The trace that was written.
        program: Its program.
        num_blocks: Its blocks.
        text_bytes: The size of the kernels' traces, unpacked.
        counts: Totals by name, over all kernels.
        warnings: What the import could not convert, or had to assume; shown to the user.
    """

    path: Path
    program: "_native.TraceProgram"
    num_blocks: int
    text_bytes: int
    counts: dict[str, int]
    warnings: tuple[str, ...]


def import_trace(
    kernels_list: Path,
    path: Path,
    *,
    compression: Compression | None = None,
    missing_ctas_do_nothing: bool = False,
    progress: ImportProgress | None = None,
) -> ImportReport:
    """
    Import an Accel-Sim trace.

    Args:
        kernels_list: The kernelslist.g, or its folder.
        path: The trace to write; an old one is replaced when the new one is complete.
        compression: "zstd", or None for a trace that is read without a copy.
        missing_ctas_do_nothing: A kernel's last CTAs may be absent. Otherwise such a file is
            assumed to be truncated.
        progress: Called with the progress.

    Raises:
        UsageError: A file can't be read, is truncated or corrupt, or no kernel accesses global
            memory. The message names the file and the line.
        WriteError: The trace can't be written; an old one is unchanged.
        Unavailable: pyarrow is missing.
    """
    require_arrow()
    commands = read_kernels_list(kernels_list)
    importing = _Import(commands, missing_ctas_do_nothing=missing_ctas_do_nothing)
    with TraceWriter(path, compression=compression) as writer:
        for number in range(len(commands.kernels)):
            importing.read_kernel(number, writer, progress)
        writer.program = program = importing.program(kernels_list)
    return ImportReport(
        path=path,
        program=program,
        num_blocks=0 if writer.summary is None else writer.summary.num_blocks,
        text_bytes=importing.text_bytes,
        counts=importing.counts,
        warnings=warnings_of(
            importing.counts,
            num_streams=len(importing.streams),
            num_lists=commands.num_lists,
            left_out=commands.left_out,
        ),
    )


@dataclass(slots=True)
class _Import:
    """The state of an import: totals of the kernels read so far."""

    commands: KernelsList
    missing_ctas_do_nothing: bool = field(kw_only=True)
    text_bytes: int = 0
    counts: dict[str, int] = field(default_factory=dict)
    launches: "list[_native.TraceLaunch]" = field(default_factory=list)
    streams: dict[int, int] = field(default_factory=dict)
    touched: "_native.TouchedLines" = field(init=False)

    def __post_init__(self) -> None:
        from isthmus import _native

        self.touched = _native.TouchedLines()

    def read_kernel(
        self, number: int, writer: TraceWriter, progress: ImportProgress | None
    ) -> None:
        """Write the blocks of a kernel."""
        from isthmus import _native

        file = self.commands.kernels[number].path
        kernel = _native.AccelSimKernel(one_line(str(file)), number, self.touched)
        for piece in text_pieces(file):
            self._read_piece(kernel, piece, number, writer)
            self.text_bytes += len(piece)
            if progress is not None:
                progress(number, len(self.commands.kernels), self.text_bytes)
        kernel.finish(missing_ctas_do_nothing=self.missing_ctas_do_nothing)
        _write_block(kernel, number, writer)
        self._end_kernel(kernel, number)
        if progress is not None:
            progress(number + 1, len(self.commands.kernels), self.text_bytes)

    def _read_piece(
        self, kernel: "_native.AccelSimKernel", piece: bytes, number: int, writer: TraceWriter
    ) -> None:
        rest = memoryview(piece)
        while rest:
            rest = rest[kernel.feed(rest) :]
            if kernel.block_full:
                _write_block(kernel, number, writer)
                kernel.drop_block()

    def _end_kernel(self, kernel: "_native.AccelSimKernel", number: int) -> None:
        from isthmus import _native

        launch = kernel.launch
        self.launches.append(
            _native.TraceLaunch(
                launch.name,
                num_ctas=launch.num_ctas,
                warps_per_cta=launch.warps_per_cta,
                threads_per_cta=launch.threads_per_cta,
                max_ctas_per_sm=launch.max_ctas_per_sm,
                local_bytes_per_thread=launch.local_bytes_per_thread,
                before=_steps(self.commands.kernels[number].before),
                stream=self.streams.setdefault(kernel.stream, len(self.streams)),
            )
        )
        for name in COUNTS:
            self.counts[name] = self.counts.get(name, 0) + getattr(kernel.counts, name)

    def program(self, kernels_list: Path) -> "_native.TraceProgram":
        """Collect the facts about the program."""
        from isthmus import _native

        if not self.counts["memory_operations"]:
            raise UsageError(
                f"no kernel of {kernels_list} accesses global memory: nothing would migrate"
            )
        copies = [copy for kernel in self.commands.kernels for copy in kernel.before]
        copies += self.commands.after
        allocations = self.touched.allocations(_steps(copies))
        total_bytes = sum(each.size_bytes for each in allocations)
        if total_bytes > MAX_PROGRAM_BYTES:
            raise UsageError(
                f"the copies and accesses of {kernels_list} need {approximate_size(total_bytes)}; "
                "no GPU has so much memory: "
                f"at most {approximate_size(MAX_PROGRAM_BYTES)} are read"
            )
        folder = kernels_list if kernels_list.is_dir() else kernels_list.parent
        return _native.TraceProgram(
            one_line(folder.resolve().name),
            description=f"imported from an Accel-Sim trace of {len(self.launches)} kernels",
            synthetic=False,
            allocations=allocations,
            launches=self.launches,
            after=_steps(self.commands.after),
            thread_instructions=self.counts["thread_instructions"],
        )


def _steps(copies: Iterable[Copy]) -> "list[_native.TraceHostStep]":
    from isthmus import _native

    return [_native.TraceHostStep(each.kind, each.address, each.size_bytes) for each in copies]


def _write_block(kernel: "_native.AccelSimKernel", number: int, writer: TraceWriter) -> None:
    first_cta, num_ctas, *arrays = kernel.block()
    if num_ctas == 0:
        return
    per_warp = arrays_of_warps(number, first_cta, num_ctas, kernel.launch.warps_per_cta)
    writer.append(BlockArrays(*per_warp, *arrays))  # type: ignore[arg-type]
