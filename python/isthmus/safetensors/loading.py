"""Loads the tensors of safetensors files: `load_safetensors`."""

import re
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import Any, NamedTuple

from isthmus import _native
from isthmus.arrays.streams import stream_handle
from isthmus.errors import DriverError, UsageError
from isthmus.files.regular import AnyPath, open_regular
from isthmus.safetensors.frameworks import Block, framework_of
from isthmus.safetensors.header import Header, read_header
from isthmus.safetensors.layout import Stretch, lay_out
from isthmus.safetensors.shards import files_of
from isthmus.spelling import counted
from isthmus.suggest import shortened
from isthmus.transfer.copying import Transfers, default_transfers

_DEVICE_NAME = re.compile(r"cuda(?::([0-9]{1,5}))?")


class _Shard(NamedTuple):
    """An open file whose header has been checked."""

    file: Path
    descriptor: int
    header: Header


def load_safetensors(
    path: AnyPath | Iterable[AnyPath],
    device: int | str = 0,
    *,
    framework: str = "torch",
    stream: object = None,
) -> dict[str, Any]:
    """
    Load a model's tensors into GPU memory, at the speed of the page cache or of the disk.

    Every header is checked before memory is allocated. Each file's tensors are views of one
    block of the framework's own memory, which lives as long as any of them. Bytes that aren't in
    the page cache bypass it. All bytes have arrived when this returns.

    Args:
        path: A file, several files, or the index of a sharded model
            ("model.safetensors.index.json").
        device: The GPU's ordinal, or "cuda:ORDINAL".
        framework: "torch", "cupy", or "dlpack": objects with `__dlpack__`, in memory of the
            driver.
        stream: The copies begin after the work in this stream; None is the framework's current
            stream, in whose order it allocated the memory.

    Returns:
        The tensors by name, in the order of the files and of their bytes.

    Raises:
        UsageError: A file doesn't exist, isn't a safetensors file, is damaged or truncated, or has
            a type that the framework doesn't have. The message names the file and the tensor.
        Unavailable: The framework isn't installed, or there is no driver.
    """
    files, where = files_of(path)
    transfers = default_transfers()
    ordinal = _ordinal(device, transfers.driver.device_count())
    order = None if stream is None else stream_handle(stream)
    target = framework_of(framework, ordinal, transfers.driver)
    with ExitStack() as opened:
        shards = [opened.enter_context(_open(file)) for file in files]
        _require_names(shards, where)
        for shard in shards:
            for entry in shard.header.entries:
                target.require(entry, str(shard.file))
        tensors: dict[str, Any] = {}
        for shard in shards:
            layout = lay_out(shard.header)
            block = target.allocate(layout.size_bytes)
            if order not in {None, block.stream}:
                transfers.wait(block.stream, ordinal)
            for run in layout.runs:
                _copy(shard, run, block, transfers, order)
            for entry, place in zip(shard.header.entries, layout.places, strict=True):
                tensors[entry.name] = target.tensor(block, place, entry)
    return tensors


def _ordinal(device: object, num_devices: int) -> int:
    found = _DEVICE_NAME.fullmatch(device) if isinstance(device, str) else None
    ordinal = int(found[1] or 0) if found else device
    if isinstance(ordinal, bool) or not isinstance(ordinal, int):
        raise UsageError(f"device {device!r}: give the GPU's ordinal, or 'cuda:ORDINAL'")
    if not 0 <= ordinal < num_devices:
        raise UsageError(
            f"device {device!r}: the driver shows {counted(num_devices, 'device')}, from 0 on"
        )
    return ordinal


@contextmanager
def _open(file: Path) -> Iterator[_Shard]:
    try:
        opened = open_regular(file)
    except OSError as error:
        raise UsageError(f"{file}: can't be opened: {error.strerror}") from None
    with opened:
        yield _Shard(file, opened.fileno(), _checked_header(opened.fileno(), file))


def _checked_header(descriptor: int, file: Path) -> Header:
    try:
        return read_header(descriptor, str(file))
    except OSError as error:
        raise UsageError(f"{file}: can't be read: {error.strerror}") from None


def _require_names(shards: list[_Shard], where: Mapping[str, Path]) -> None:
    """Refuse a tensor that is in two files, and one that isn't where the index says."""
    found: dict[str, Path] = {}
    for shard in shards:
        for entry in shard.header.entries:
            if entry.name in found:
                raise UsageError(f"{shard.file}: {entry.label} is in {found[entry.name]} too")
            found[entry.name] = shard.file
    for name, file in where.items():
        if found.get(name) != file:
            raise UsageError(
                f"{file}: tensor '{shortened(name)}' isn't in it, though the index says so"
            )


def _copy(
    shard: _Shard, run: Stretch, block: Block, transfers: Transfers, order: int | None
) -> None:
    try:
        transfers.native.copy_file(
            block.pointer + run.target,
            shard.descriptor,
            shard.header.data_offset + run.first,
            run.size_bytes,
            stream=block.stream if order is None else order,
        )
    except UsageError as error:
        raise UsageError(f"{shard.file}: {error}") from error
    except DriverError as failure:
        if failure.memory_in_use:
            _native.keep_forever(block.owner)
        raise
