"""Tells PyTorch's autograd what was written: backward() then refuses what it had saved."""

import sys
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from typing import Any

from isthmus.errors import Unavailable, UsageError
from isthmus.move.arrays.loaded import loaded_type

NoteWrites = Callable[[Iterable[Any]], None]


def note_writes() -> NoteWrites:
    """
    Give what raises the versions of PyTorch's tensors, as its `copy_` does; those that were made
    for inference have none, and are left out.
    """
    torch = sys.modules["torch"]
    one: Callable[[Any], None] = torch.autograd.graph.increment_version

    def each(tensors: Iterable[Any]) -> None:
        for tensor in tensors:
            one(tensor)

    # What that calls: to ask for the type of a sequence takes longer than the rest.
    many: NoteWrites = getattr(torch._C, "_increment_version", each)  # noqa: SLF001
    try:
        many(())
    except (RuntimeError, TypeError):  # older versions take one tensor
        return each
    return many


@contextmanager
def noting_write(array: object) -> Iterator[None]:
    """Raise the version of an array, if it is PyTorch's, unless what writes it is refused."""
    try:
        yield
    except (UsageError, Unavailable):
        raise
    except BaseException:
        _note(array)
        raise
    _note(array)


def _note(array: object) -> None:
    tensor = loaded_type("torch", "Tensor")
    if tensor is not None and isinstance(array, tensor):
        note_writes()((array,))
