"""Loads a model's safetensors files: `load_safetensors`, `safetensors_metadata`."""

import dataclasses
import json
import os
import reprlib
from collections.abc import Iterable, Iterator, Mapping
from contextlib import ExitStack, contextmanager
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from isthmus.errors import UsageError
from isthmus.files.regular import AnyPath, open_regular, path_of, read_regular
from isthmus.ground.spelling import one_line, shortened
from isthmus.move.arrays.ordinals import ordinal_of
from isthmus.move.arrays.streams import stream_handle
from isthmus.move.safetensors.frameworks import framework_of
from isthmus.move.safetensors.header import Header, read_header
from isthmus.move.safetensors.layout import fill, lay_out
from isthmus.move.safetensors.mistaken import refuse_other_formats
from isthmus.move.transfer.copying import default_transfers

if TYPE_CHECKING:
    from isthmus.move.arrays.accepted import DeviceLike, StreamLike

# As for a file's header.
_MAX_INDEX_BYTES = 100_000_000


def files_of(path: AnyPath | Iterable[AnyPath]) -> tuple[list[Path], Mapping[str, Path]]:
    """
    Find a model's files, each once, and the file of each tensor that an index (its name ends in
    ".json") names.
    """
    if isinstance(path, (str, bytes, os.PathLike)):
        one = path_of(path)
        return _of_index(one) if one.suffix == ".json" else ([one], {})
    if not isinstance(path, Iterable):
        raise UsageError(f"a path, or a list of paths, was expected, not {path!r}")
    files = [path_of(part) for part in path]
    if not files:
        raise UsageError("an empty list of files was given")
    return list(dict.fromkeys(files)), {}


def _of_index(index: Path) -> tuple[list[Path], Mapping[str, Path]]:
    try:
        text = read_regular(index, max_bytes=_MAX_INDEX_BYTES)
        found = json.loads(text.decode("utf-8"))
    except OSError as error:
        raise UsageError(f"{index}: this index can't be read: {error.strerror}") from None
    except (ValueError, RecursionError) as error:
        if not text.lstrip().startswith(b"{"):
            refuse_other_formats(text, str(index), "an index of shards")
        raise UsageError(f"{index}: this index can't be read: {error}") from None
    places = found.get("weight_map") if isinstance(found, dict) else None
    if not isinstance(places, dict) or not places:
        raise UsageError(f"{index}: this index has no 'weight_map' with tensors and their files")
    for tensor, name in places.items():
        # An index may come from anywhere, so it may only name files beside it.
        if not isinstance(name, str) or Path(name).name != name or name in {"", ".."}:
            raise UsageError(
                f"{index}: tensor '{shortened(tensor)}': {reprlib.repr(name)} isn't a file beside "
                "the index"
            )
    where = {tensor: index.parent / name for tensor, name in places.items()}
    return sorted(set(where.values())), where


class _Shard(NamedTuple):
    """An open file whose header has been checked."""

    file: Path
    descriptor: int
    header: Header


def load_safetensors(
    path: AnyPath | Iterable[AnyPath],
    device: "DeviceLike" = 0,
    *,
    framework: str = "torch",
    stream: "StreamLike | None" = None,
) -> dict[str, Any]:
    """
    Load a model's tensors into GPU memory, at the speed of the page cache or the disk.

    Every header is checked before memory is allocated. Each file's tensors are views of one
    block of the framework's own memory, which lives as long as any of them. Bytes that aren't in
    the page cache bypass it. All bytes have arrived when this returns.

    Args:
        path: A file, several files, or the index of a sharded model
            ("model.safetensors.index.json").
        device: As for `isthmus.device_empty`.
        framework: "torch", "cupy", or "dlpack": objects with `__dlpack__`, in memory of the
            driver.
        stream: The copies begin after the work in this stream; None is the framework's current
            stream, in whose order it allocated the memory.

    Returns:
        The tensors by name, in the order of the files and of their bytes.

    Raises:
        UsageError: A file doesn't exist, isn't a safetensors file, is damaged or truncated, or has
            a type that the framework lacks. The message names the file and the tensor.
        Unavailable: The framework isn't installed, or there is no driver.
    """
    files, where = files_of(path)
    transfers = default_transfers()
    ordinal = ordinal_of(device, transfers._driver)
    order = None if stream is None else stream_handle(stream)
    target = framework_of(framework, ordinal, transfers._driver)
    with ExitStack() as opened:
        shards = [opened.enter_context(_open(file, where)) for file in files]
        _require_names(shards, where)
        for shard in shards:
            for entry in shard.header.entries:
                target.require(entry, str(shard.file))
        tensors: dict[str, Any] = {}
        for shard in shards:
            layout = lay_out(shard.header)
            block = target.allocate(layout.size_bytes)
            offset = shard.header.data_offset
            runs = [dataclasses.replace(run, first=offset + run.first) for run in layout.runs]
            fill(block, runs, shard.descriptor, shard.file, transfers, device=ordinal, stream=order)
            for entry, place in zip(shard.header.entries, layout.places, strict=True):
                tensors[entry.name] = target.tensor(block, place, entry)
    return tensors


def safetensors_metadata(path: AnyPath) -> dict[str, str]:
    """
    Read the metadata that `save_safetensors` or another program has put into a file.

    Reads the header alone, and needs no GPU.

    Args:
        path: The file.

    Returns:
        The header's `__metadata__`; empty if there is none.

    Raises:
        UsageError: As for `load_safetensors`.
    """
    with _open(path_of(path), {}) as shard:
        return shard.header.metadata


@contextmanager
def _open(file: Path, where: Mapping[str, Path]) -> Iterator[_Shard]:
    try:
        opened = open_regular(file)
    except OSError as error:
        missing = next((name for name, place in where.items() if place == file), None)
        known = "" if missing is None else f"; the index says that it has '{shortened(missing)}'"
        # The name may be the index's.
        raise UsageError(
            f"{one_line(str(file))}: can't be opened: {error.strerror}{known}"
        ) from None
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
