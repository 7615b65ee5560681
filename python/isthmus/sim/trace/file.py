"""Traces in files: recorded, opened for a simulation, described."""

from collections import Counter
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

from isthmus.sim.trace.format import KINDS, BlockArrays, arrays_of_warps, schema_of
from isthmus.sim.trace.program import program_text
from isthmus.sim.trace.storage import BlockWriter, Compression, TraceFile, whole_trace

if TYPE_CHECKING:
    from isthmus import _native

Progress = Callable[[int, int], None]


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceSummary:
    """
    A summary of a trace.

    Attributes:
        num_blocks: Record batches of the file.
        num_ctas: CTAs of all launches.
        num_warps: Warps of all launches.
        operations: The number of each kind; kinds without any are left out.
        num_lines: Requests for lines of 128 bytes, before any cache.
        warp_instructions: Compute instructions, and one for each operation except the ends.
    """

    num_blocks: int
    num_ctas: int
    num_warps: int
    operations: dict[str, int]
    num_lines: int
    warp_instructions: int


@dataclass(frozen=True, kw_only=True, slots=True)
class TraceInfo:
    """A trace's file: its program, its summary, and its size."""

    path: Path
    size_bytes: int
    program: "_native.TraceProgram"
    summary: TraceSummary


def open_trace(path: Path) -> "_native.TraceSource":
    """
    Open a trace's file. Blocks are read when needed, without a copy.

    While the file is open it may be replaced, but not modified.

    Raises:
        UsageError: It can't be read, isn't a trace, or is truncated or corrupt. The source raises
            it too, for a block that breaks a rule; the message names the block.
        Unavailable: pyarrow is missing.
    """
    return TraceFile(path).source()


def record_trace(
    source: "_native.TraceSource",
    path: Path,
    *,
    compression: Compression | None = None,
    progress: Progress | None = None,
) -> TraceSummary:
    """
    Write a trace into a file.

    Args:
        source: From a workload or another file; from its first block.
        path: The file; an old one is replaced when the new one is complete.
        compression: "zstd", for smaller files that can't be read without a copy.
        progress: Called with the number of CTAs that are written, and of all.

    Raises:
        WriteError: The file can't be written; an old one is unchanged.
        Unavailable: pyarrow is missing.
    """
    program = source.program
    total = sum(launch.num_ctas for launch in program.launches)
    tally = _Tally()
    with whole_trace(path, schema_of(program_text(program).encode()), compression) as writer:
        source.rewind()
        while _record_block(source, writer, tally):
            if progress is not None:
                progress(tally.num_ctas, total)
    return tally.summary()


def trace_info(path: Path) -> TraceInfo:
    """
    Read and check a whole trace file, and summarise it.

    Raises:
        UsageError: It can't be read, isn't a trace, or is corrupt.
        Unavailable: pyarrow is missing.
    """
    file = TraceFile(path)
    source = file.source()
    tally = _Tally()
    while (block := source.next()) is not None:
        tally.add(block, _arrays_of(block, source.program))
    return TraceInfo(
        path=path, size_bytes=file.size_bytes, program=source.program, summary=tally.summary()
    )


class _Tally:
    def __init__(self) -> None:
        self._num_blocks = self.num_ctas = self._num_warps = 0
        self._num_lines = self._compute = 0
        self._kinds: Counter[str] = Counter()

    def add(self, block: "_native.TraceBlock", arrays: BlockArrays) -> None:
        import numpy as np

        self._num_blocks += 1
        self.num_ctas += block.num_ctas
        self._num_warps += len(arrays.launch)
        self._num_lines += len(arrays.lines)
        self._compute += int(arrays.compute.sum(dtype=np.uint64))
        counts = np.bincount(arrays.kinds, minlength=len(KINDS))
        self._kinds.update(dict(zip(KINDS, counts.tolist(), strict=True)))

    def summary(self) -> TraceSummary:
        operations = {kind: count for kind, count in self._kinds.items() if count}
        accesses = sum(operations.values()) - operations.get("end", 0)
        return TraceSummary(
            num_blocks=self._num_blocks,
            num_ctas=self.num_ctas,
            num_warps=self._num_warps,
            operations=operations,
            num_lines=self._num_lines,
            warp_instructions=self._compute + accesses,
        )


def _arrays_of(block: "_native.TraceBlock", program: "_native.TraceProgram") -> BlockArrays:
    warps_per_cta = program.launches[block.launch].warps_per_cta
    per_warp = arrays_of_warps(block.launch, block.first_cta, block.num_ctas, warps_per_cta)
    held = [block.op_begin, block.kinds, block.compute, block.line_begin, block.lines]
    return BlockArrays(*per_warp, *held)  # type: ignore[arg-type]


def _record_block(source: "_native.TraceSource", writer: BlockWriter, tally: _Tally) -> bool:
    """Write the next block, if there is one. Its arrays are gone when this returns."""
    block = source.next()
    if block is None:
        return False
    arrays = _arrays_of(block, source.program)
    writer.write(arrays)
    tally.add(block, arrays)
    return True
