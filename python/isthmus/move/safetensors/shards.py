"""Finds the files of a model: one, several, or those that an index names."""

import json
import os
import reprlib
from collections.abc import Iterable, Mapping
from pathlib import Path

from isthmus.errors import UsageError
from isthmus.files.regular import AnyPath, path_of, read_regular
from isthmus.ground.suggest import shortened
from isthmus.move.safetensors.mistaken import refuse_other_formats

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
