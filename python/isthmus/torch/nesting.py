"""Changes the tensors in a nested structure, and keeps the rest of it."""

import copy
import dataclasses
from collections import UserDict
from collections.abc import Callable, Mapping
from typing import Any

from isthmus.arrays.loaded import loaded_type

Change = Callable[[Any, str], Any]


def changed(value: Any, change: Change, path: str) -> Any:  # noqa: ANN401 - any structure
    """
    Give a copy of a structure in which each tensor was changed.

    Mappings, lists, tuples, named tuples and dataclasses are followed, and keep their types. Other
    objects stay as they are. A tensor that occurs twice is changed once.

    Args:
        value: The structure, which isn't changed.
        change: From a tensor and its path to another tensor.
        path: The structure's name in messages: "batch" gives "batch['image'][0]".
    """
    return _Walk(change).changed(value, path)


class _Walk:
    def __init__(self, change: Change) -> None:
        self._change = change
        # A tensor, and what it became, by its identity. Kept, so that its identity stays its own: a
        # mapping may make tensors when it is asked.
        self._done: dict[int, tuple[Any, Any]] = {}
        self._tensor = loaded_type("torch", "Tensor")
        self._sequence = loaded_type("torch", "nn.utils.rnn.PackedSequence")

    def changed(self, value: Any, path: str) -> Any:  # noqa: ANN401
        if self._tensor is not None and isinstance(value, self._tensor):
            return self._changed_tensor(value, path)
        if isinstance(value, Mapping):
            return self._changed_mapping(value, path)
        if isinstance(value, tuple):
            return self._changed_tuple(value, path)
        if isinstance(value, list):
            return self._changed_list(value, path)
        if dataclasses.is_dataclass(value) and not isinstance(value, type):
            return self._changed_dataclass(value, path)
        return value

    def _changed_tensor(self, tensor: Any, path: str) -> Any:  # noqa: ANN401
        key = id(tensor)
        if key not in self._done:
            self._done[key] = tensor, self._change(tensor, path)
        return self._done[key][1]

    def _changed_mapping(self, value: Mapping[Any, Any], path: str) -> Any:  # noqa: ANN401
        items = {name: self.changed(item, f"{path}[{name!r}]") for name, item in value.items()}
        if type(value) is dict:
            return items
        if isinstance(value, (dict, UserDict)):
            # Keeps what the type adds, such as the factory of a defaultdict.
            clone: Any = copy.copy(value)
            clone.update(items)
            return clone
        made: Any = type(value)
        return made(items)

    def _changed_tuple(self, value: tuple[Any, ...], path: str) -> Any:  # noqa: ANN401
        if self._sequence is not None and isinstance(value, self._sequence):
            return self._changed_sequence(value, path)
        if hasattr(value, "_fields"):
            named: Any = value
            items = [
                self.changed(item, f"{path}.{name}")
                for name, item in zip(named._fields, named, strict=True)
            ]
            # Not by its constructor, which may take something else than its items.
            return named._make(items)
        items = [self.changed(item, f"{path}[{index}]") for index, item in enumerate(value)]
        if all(new is old for new, old in zip(items, value, strict=True)):
            return value  # also a type that can't be made of items
        return tuple(items) if type(value) is tuple else type(value)(items)

    def _changed_sequence(self, value: Any, path: str) -> Any:  # noqa: ANN401
        """Change a PackedSequence, whose batch_sizes must stay on the host."""
        names = ("data", "sorted_indices", "unsorted_indices")
        data, first, last = (self.changed(getattr(value, n), f"{path}.{n}") for n in names)
        return type(value)(data, value.batch_sizes, first, last)

    def _changed_list(self, value: list[Any], path: str) -> Any:  # noqa: ANN401
        items = [self.changed(item, f"{path}[{index}]") for index, item in enumerate(value)]
        if type(value) is list:
            return items
        clone = copy.copy(value)
        clone[:] = items
        return clone

    def _changed_dataclass(self, value: Any, path: str) -> Any:  # noqa: ANN401
        clone = copy.copy(value)
        for field in dataclasses.fields(value):
            item = getattr(value, field.name)
            # Not by setattr: it may be frozen.
            object.__setattr__(clone, field.name, self.changed(item, f"{path}.{field.name}"))
        return clone
