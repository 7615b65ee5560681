"""Decides where in GPU memory the storages of a file are placed."""

from collections.abc import Iterable
from dataclasses import dataclass

from isthmus.pt.archive import Stored
from isthmus.safetensors.layout import RUN_ALIGNMENT_BYTES, VECTOR_BYTES, Stretch

# What lies between two storages (an entry's header and its padding) is copied with them: another
# copy takes longer than so many bytes.
_MAX_GAP_BYTES = 4096


@dataclass(frozen=True, kw_only=True)
class StorageLayout:
    """
    A file's storages in one block of GPU memory.

    Attributes:
        size_bytes: The size of the block.
        runs: What to copy; `first` counts from the file's beginning.
        places: The offset in the block of each storage, by its key.
    """

    size_bytes: int
    runs: tuple[Stretch, ...]
    places: dict[str, int]


def lay_out(storages: Iterable[tuple[str, Stored]]) -> StorageLayout:
    """Keep the file's order and its gaps; begin another run after a large gap."""
    places: dict[str, int] = {}
    runs: list[Stretch] = []
    for key, stored in sorted(storages, key=lambda item: item[1].first):
        if not runs or not _continues(runs[-1], stored):
            end = runs[-1].target + runs[-1].size_bytes if runs else 0
            target = -(-end // RUN_ALIGNMENT_BYTES) * RUN_ALIGNMENT_BYTES
            runs.append(Stretch(target=target, first=stored.first, size_bytes=0))
        run = runs[-1]
        offset = stored.first - run.first
        places[key] = run.target + offset
        size_bytes = max(run.size_bytes, offset + stored.size_bytes)
        runs[-1] = Stretch(target=run.target, first=run.first, size_bytes=size_bytes)
    size = runs[-1].target + runs[-1].size_bytes if runs else 0
    copied = tuple(run for run in runs if run.size_bytes)
    return StorageLayout(size_bytes=size, runs=copied, places=places)


def _continues(run: Stretch, stored: Stored) -> bool:
    # Storages of one run lie as in the file, where PyTorch aligns them to 64 bytes.
    offset = stored.first - run.first
    return offset % VECTOR_BYTES == 0 and offset - run.size_bytes <= _MAX_GAP_BYTES
