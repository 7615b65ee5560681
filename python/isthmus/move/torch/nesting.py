"""Changes the tensors in a nested structure, and finds those of an object that moves itself."""

import copy
import dataclasses
import enum
import functools
import operator
from collections import ChainMap, OrderedDict, UserDict, UserList, defaultdict, deque
from collections.abc import Callable, Iterator, Mapping
from collections.abc import Set as AbstractSet
from types import MappingProxyType
from typing import Any, NamedTuple, NoReturn

from isthmus.errors import UsageError
from isthmus.move.arrays.loaded import loaded_type
from isthmus.move.torch.library import torch_module

Path = Callable[[], str]
Change = Callable[[Any, Path], Any]

_BUILT_IN = {dict, list, tuple, OrderedDict, defaultdict, deque}
_UNCHANGEABLE = (type(None), int, float, complex, str, bytes, enum.Enum, type)
_UNDER_WAY = object()
_HINT = (
    "give its type a method to(device), register it by torch.utils._pytree.register_pytree_node, "
    "or pass a list or dictionary of what it holds"
)


class Changed(NamedTuple):
    """
    A structure in which the tensors were changed.

    Attributes:
        is_new: Whether nothing of the former one is in it, except for what nobody can change.
    """

    value: Any
    is_new: bool


def changed(value: Any, change: Change, move: Change, name: str) -> Changed:  # noqa: ANN401
    """
    Give a copy of a structure in which `change`, given a tensor and what gives its path, changed
    each tensor once, and `move` what has a method `to`. Python's containers and subclasses of them,
    types that `torch.utils._pytree` knows, dataclasses and classes of attrs are followed, and keep
    their types; other objects stay as they are.
    """
    walk = _Walk(change, move)
    try:
        new = walk.changed(value, name)
    except RecursionError:
        raise UsageError(f"{name} is nested deeper than Python's recursion limit") from None
    if walk.other and not walk.has_found:
        raise UsageError(f"{name} holds no tensor: {walk.other}", hint=_HINT)
    return Changed(new, walk.is_new)


def has_method(value: object, name: str) -> bool:
    """Tell whether an object has a method; some dictionaries raise KeyError when they are asked."""
    try:
        return callable(getattr(value, name, None))
    except Exception:  # noqa: BLE001
        return False


class _Walk:
    def __init__(self, change: Change, move: Change) -> None:
        self._change, self._move = change, move
        # What was changed, and what it became, by its identity. Kept, so that its identity stays
        # its own: a mapping may make tensors when it is asked.
        self._done: dict[int, tuple[Any, Any]] = {}
        self._keys: list[str | tuple[Any]] = []  # names with a dot, and what stands in brackets
        self._tensor = loaded_type("torch", "Tensor") or ()
        self._optimizer = loaded_type("torch", "optim.Optimizer") or ()
        self._nodes = loaded_type("torch", "utils._pytree.SUPPORTED_NODES") or {}
        more = (("numpy", "generic"), ("torch", "dtype"), ("torch", "device"))
        self._unchangeable = (*_UNCHANGEABLE, *filter(None, (loaded_type(*each) for each in more)))
        self.has_found = False
        self.is_new = True
        self.other = ""
        """Which object, that isn't followed, came first."""

    def path(self) -> str:
        return "".join(key if isinstance(key, str) else f"[{key[0]!r}]" for key in self._keys)

    def changed(self, value: Any, key: str | tuple[Any]) -> Any:  # noqa: ANN401
        if isinstance(value, self._unchangeable):
            return value
        self._keys.append(key)
        done = self._done.get(id(value))
        if done is None:
            self._done[id(value)] = value, _UNDER_WAY
            done = self._done[id(value)] = value, self._new(value)
        if done[1] is _UNDER_WAY:
            raise UsageError(f"{self.path()} is a {type(value).__name__} that holds itself")
        self._keys.pop()
        return done[1]

    def _new(self, value: Any) -> Any:  # noqa: ANN401
        kind = type(value)
        if kind not in _BUILT_IN:
            if isinstance(value, self._tensor):
                self.has_found = True
                return self._change(value, self.path)
            if has_method(value, "to") or isinstance(value, self._optimizer):
                self.has_found, self.is_new = True, False
                return self._move(value, self.path)
            if kind in self._nodes:
                return self._new_node(value, self._nodes[kind])
        for kinds, rule in _RULES:
            if isinstance(value, kinds):
                return rule(self, value)
        if dataclasses.is_dataclass(kind) or hasattr(kind, "__attrs_attrs__"):
            return self.new_object(value)
        return self._same(value)

    def _new_node(self, value: Any, node: Any) -> Any:  # noqa: ANN401
        """Change what a library has registered, by its own functions."""
        items, context = node.flatten_fn(value)
        new = [self.changed(item, (index,)) for index, item in enumerate(items)]
        if isinstance(value, tuple) and all(map(operator.is_, new, items)):
            return value  # PyTorch 2.15 makes a tuple of a torch.Size
        return self._made(node.unflatten_fn, new, context)

    def new_tuple(self, value: tuple[Any, ...]) -> Any:  # noqa: ANN401
        names = getattr(type(value), "_fields", None)
        items = [
            self.changed(item, f".{names[index]}" if names else (index,))
            for index, item in enumerate(value)
        ]
        if all(map(operator.is_, items, value)):
            return value
        # Not by a constructor of its own, which may take something else than its items.
        return self._with_attributes(value, self._made(tuple.__new__, type(value), items))

    def new_container(self, value: Any) -> Any:  # noqa: ANN401
        clone = self._made(copy.copy, value)  # keeps the factory of a defaultdict, and the like
        if isinstance(value, dict):
            for key, item in value.items():
                self._made(clone.__setitem__, key, self.changed(item, (key,)))
        else:
            items = [self.changed(item, (index,)) for index, item in enumerate(value)]
            self._made(clone.clear)
            self._made(clone.extend, items)
        return self._with_attributes(value, clone)

    def new_proxy(self, value: Any) -> Any:  # noqa: ANN401
        return MappingProxyType(self.new_container(dict(value)))

    def new_object(self, value: Any) -> Any:  # noqa: ANN401
        return self._with_attributes(value, self._made(object.__new__, type(value)))

    def _with_attributes(self, value: Any, clone: Any) -> Any:  # noqa: ANN401
        if type(value) in _BUILT_IN:
            return clone
        if getattr(value, "__dict__", None) is value:
            clone.__dict__ = clone
            return clone
        for name, item in _attributes(value):
            # Not by setattr: it may be frozen.
            object.__setattr__(clone, name, self.changed(item, f".{name}"))
        return clone

    def _made(self, make: Callable[..., Any], *arguments: Any) -> Any:  # noqa: ANN401
        try:
            return make(*arguments)
        except RecursionError:
            raise
        except Exception as error:
            raise UsageError(f"{self.path()} can't be made anew: {error}", hint=_HINT) from error

    def _same(self, value: Any) -> Any:  # noqa: ANN401
        self.is_new = False
        self.other = self.other or f"{self.path()} is a {type(value).__name__}"
        if isinstance(value, Mapping | AbstractSet):
            self._require_no_tensors(value)
        return value

    def _require_no_tensors(self, value: Any) -> None:  # noqa: ANN401
        def refuse(_value: Any, _path: Path) -> NoReturn:  # noqa: ANN401
            raise UsageError(
                f"{self.path()} is a {type(value).__name__} with tensors, of which Isthmus "
                "can't make a new one",
                hint=_HINT,
            )

        items = value.values() if isinstance(value, Mapping) else value
        _Walk(refuse, refuse).changed(list(items), "")


# Not by bound methods, by which a walk would hold itself, and the tensors, until it is collected.
_RULES: tuple[tuple[Any, Callable[[_Walk, Any], Any]], ...] = (
    (tuple, _Walk.new_tuple),
    ((dict, list, deque), _Walk.new_container),
    ((UserDict, UserList, ChainMap), _Walk.new_object),
    (MappingProxyType, _Walk.new_proxy),
)


def _attributes(value: Any) -> Iterator[tuple[str, Any]]:  # noqa: ANN401
    """Give those that are set, slots too; a type's own __getstate__ may want all of them."""
    state = object.__getstate__(value)
    for part in state if isinstance(state, tuple) else (state,):
        yield from list((part or {}).items())


_PARTS = {
    "torch.sparse_coo": ("_indices", "_values"),
    "torch.sparse_csr": ("crow_indices", "col_indices", "values"),
    "torch.sparse_bsr": ("crow_indices", "col_indices", "values"),
    "torch.sparse_csc": ("ccol_indices", "row_indices", "values"),
    "torch.sparse_bsc": ("ccol_indices", "row_indices", "values"),
}


def recording(made: list[Any], device: Any) -> Any:  # noqa: ANN401 - of PyTorch
    """
    In a `with` statement, add to a list what this thread makes on a device; of a sparse tensor,
    what it consists of. The allocator must be told which other stream uses them, and not every
    object can do that for its own.
    """
    return _recorder(torch_module())(made, device)


@functools.cache
def _recorder(torch: Any) -> Any:  # noqa: ANN401 - a type
    class Recorder(torch.utils._python_dispatch.TorchDispatchMode):  # type: ignore[misc]
        def __init__(self, made: list[Any], device: Any) -> None:  # noqa: ANN401
            super().__init__()
            self._made, self._device = made, device

        def __torch_dispatch__(self, operation: Any, _: Any, arguments: Any, options: Any) -> Any:  # noqa: ANN401
            result = operation(*arguments, **(options or {}))
            for each in result if isinstance(result, tuple | list) else (result,):
                if isinstance(each, torch.Tensor) and each.device == self._device:
                    parts = _PARTS.get(str(each.layout))
                    self._made += [getattr(each, name)() for name in parts] if parts else [each]
            return result

    return Recorder
