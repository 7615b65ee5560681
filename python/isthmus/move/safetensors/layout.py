"""Decides where in GPU memory the tensors of a file are placed, and copies a file's bytes there."""

from collections.abc import Iterable
from dataclasses import dataclass
from pathlib import Path

from isthmus import _native
from isthmus.errors import DriverError, UsageError
from isthmus.ground.ranges import part
from isthmus.move.safetensors.frameworks import Block
from isthmus.move.safetensors.header import Header, TensorEntry
from isthmus.move.safetensors.types import ITEM_BITS
from isthmus.move.transfer.transfers import Transfers

# A run begins where a separate allocation would, as far as kernels are concerned.
# Source: CUDA C++ Programming Guide 13.0, "Device Memory Accesses": allocations are 256-byte
# aligned.
RUN_ALIGNMENT_BYTES = 256
# Vector loads and cuBLAS's fast kernels need 16 bytes. For small tensors alignment doesn't matter,
# and files may have thousands of them side by side: the scales of a quantised model, for instance.
VECTOR_BYTES = 16
_MIN_VECTOR_TENSOR_BYTES = 4096


@dataclass(frozen=True, kw_only=True, slots=True)
class Stretch:
    """
    Bytes that are contiguous in the file and in GPU memory.

    Attributes:
        target: Their offset in the memory.
        first: Their offset in the file's data.
    """

    target: int
    first: int
    size_bytes: int


@dataclass(frozen=True, kw_only=True)
class FileLayout:
    """
    A file's tensors in one block of GPU memory.

    Attributes:
        runs: What to copy, in the order of the file.
        places: The offset of each tensor in the block, in the order of the header.
    """

    size_bytes: int
    runs: tuple[Stretch, ...]
    places: tuple[int, ...]


def lay_out(header: Header) -> FileLayout:
    """Keep the file's order; begin another run if a tensor would be badly aligned."""
    places: list[int] = []
    starts: list[tuple[int, int]] = []  # of each run, in the memory and in the file
    shift = 0
    for entry in header.entries:
        target = entry.first + shift
        if not starts or (entry.size_bytes and target % _alignment_bytes(entry)):
            target = -(-target // RUN_ALIGNMENT_BYTES) * RUN_ALIGNMENT_BYTES
            shift = target - entry.first
            starts.append((target, entry.first))
        places.append(target)
    ends = [first for _, first in starts[1:]] + [header.data_bytes] * bool(starts)
    runs = tuple(
        Stretch(target=target, first=first, size_bytes=end - first)
        for (target, first), end in zip(starts, ends, strict=True)
        if end > first
    )
    return FileLayout(size_bytes=header.data_bytes + shift, runs=runs, places=tuple(places))


def _alignment_bytes(entry: TensorEntry) -> int:
    if entry.size_bytes >= _MIN_VECTOR_TENSOR_BYTES:
        return VECTOR_BYTES
    return max(1, ITEM_BITS[entry.dtype] // 8)


def fill(  # noqa: PLR0913 - a copy has two ends and an order
    block: Block,
    runs: Iterable[Stretch],
    descriptor: int,
    file: Path,
    transfers: Transfers,
    *,
    device: int,
    stream: int | None,
) -> None:
    """
    Copy runs of a file's bytes (`first` counts from its beginning) to a block on the device;
    complete on return. The copies begin after the work in the stream, if there is one, and in the
    block's.
    """
    if stream not in {None, block.stream}:
        transfers._wait(block.stream, device)
    try:
        for run in runs:
            with part("copy from the file"):
                transfers._native.copy_file(
                    block.pointer + run.target,
                    descriptor,
                    run.first,
                    run.size_bytes,
                    stream=block.stream if stream is None else stream,
                )
    except UsageError as error:
        raise UsageError(f"{file}: {error}") from error
    except DriverError as failure:
        if failure.memory_in_use:
            _native.keep_forever(block.owner)
        raise
