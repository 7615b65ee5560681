"""Copies a file's bytes into a block of GPU memory, for every format."""

from collections.abc import Iterable
from pathlib import Path

from isthmus import _native
from isthmus.errors import DriverError, UsageError
from isthmus.ground.ranges import part
from isthmus.move.safetensors.frameworks import Block
from isthmus.move.safetensors.layout import Stretch
from isthmus.move.transfer.transfers import Transfers


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
        transfers.wait(block.stream, device)
    try:
        for run in runs:
            with part("copy from the file"):
                transfers.native.copy_file(
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
