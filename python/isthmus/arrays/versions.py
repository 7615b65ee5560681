"""Tells PyTorch's autograd what was written: backward() then refuses what it had saved."""

import sys
from collections.abc import Callable, Iterable
from typing import Any

from isthmus.arrays.loaded import loaded_type

NoteWrites = Callable[[Iterable[Any]], None]


def note_writes() -> NoteWrites:
    """
    Give what raises the versions of PyTorch's tensors, as its `copy_` does.

    Tensors that were made for inference have none, and are left out.
    """
    increment: Callable[[Any], None] = sys.modules["torch"].autograd.graph.increment_version

    def increment_each(tensors: Iterable[Any]) -> None:
        for tensor in tensors:
            increment(tensor)

    try:
        increment(())
    except RuntimeError:  # older versions take one tensor
        return increment_each
    return increment


def note_write(array: object) -> None:
    """Raise the version of an array, if it is PyTorch's."""
    tensor = loaded_type("torch", "Tensor")
    if tensor is not None and isinstance(array, tensor):
        note_writes()((array,))
