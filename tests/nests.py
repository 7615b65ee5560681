"""Random structures of tensors, in the containers of many libraries."""

import random
from collections import ChainMap, OrderedDict, UserDict, defaultdict, deque, namedtuple
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from importlib import import_module
from typing import Any

Pair = namedtuple("Pair", "first second")  # noqa: PYI024 - as its users write it


@dataclass
class Fields:
    first: Any
    second: Any = None
    later: Any = field(init=False)


@dataclass(frozen=True, slots=True)
class Slots:
    first: Any
    later: Any = field(init=False)


class Encoding(UserDict[str, Any]):
    pass


class Named(dict[str, Any]):
    extra: Any = None


class Movable:
    """Moves itself, as batches of graphs do."""

    def __init__(self, item: Any) -> None:  # noqa: ANN401 - of PyTorch
        self.item = item

    def to(self, where: Any, *, non_blocking: bool = False) -> "Movable":  # noqa: ANN401
        return Movable(self.item.to(where, non_blocking=non_blocking))


def _named(items: list[Any]) -> Named:
    made = Named(_named_items(items))
    made.extra = items[-1]
    return made


def _named_items(items: list[Any]) -> dict[str, Any]:
    return {f"name {index}": item for index, item in enumerate(items)}


def _defaultdict(items: list[Any]) -> Any:  # noqa: ANN401
    return defaultdict(list, _named_items(items))


# Of any items.
CONTAINERS: dict[str, Callable[[list[Any]], Any]] = {
    "list": list,
    "tuple": tuple,
    "named tuple": lambda items: Pair(items[0], items[-1]),
    "dict": _named_items,
    "OrderedDict": lambda items: OrderedDict(_named_items(items)),
    "defaultdict": _defaultdict,
    "deque": lambda items: deque(items, maxlen=9),
    "dataclass": lambda items: Fields(items[0], items[-1]),
    "dataclass with slots": lambda items: Slots(items[0]),
    "UserDict": lambda items: Encoding(_named_items(items)),
    "ChainMap": lambda items: ChainMap({"a": items[0]}, _named_items(items)),
    "subclass of dict": _named,
}
PYTREES = {"list", "tuple", "named tuple", "dict", "OrderedDict", "defaultdict", "deque"}
# Of a tensor.
HOLDERS: dict[str, Callable[[Any], Any]] = {"object with to()": Movable}


def _pair_of(kind: Any, items: list[Any]) -> Any:  # noqa: ANN401
    return kind(items[0], items[-1])


def _attrs() -> None:
    attrs = import_module("attrs")
    for name, options in (("attrs", {"slots": False}), ("attrs, frozen", {"frozen": True})):
        made = attrs.make_class("Attrs", ["first", "second"], **options)
        CONTAINERS[name] = partial(_pair_of, made)


def _tensordict() -> None:
    kind = import_module("tensordict").TensorDict
    HOLDERS["TensorDict"] = lambda item: kind({"a": item, "b": {"c": item}}, [len(item)])


def _model_output() -> None:
    kind = import_module("transformers.modeling_outputs").BaseModelOutput
    CONTAINERS["ModelOutput"] = lambda items: kind(items[0], tuple(items))


def _batch_encoding() -> None:
    kind = import_module("transformers").BatchEncoding
    HOLDERS["BatchEncoding"] = lambda item: kind({"ids": item, "more": item})


def _graph() -> None:
    kind = import_module("torch_geometric.data").Data
    HOLDERS["PyTorch Geometric"] = lambda item: kind(x=item, name="graph")


def _packed_sequence() -> None:
    rnn = import_module("torch.nn.utils.rnn")
    HOLDERS["PackedSequence"] = lambda item: rnn.pack_sequence([item, item[:1]])


def add_libraries() -> None:
    """Add the containers of the libraries that are installed."""
    for add in (_attrs, _tensordict, _model_output, _batch_encoding, _graph, _packed_sequence):
        try:
            add()
        except ImportError:
            continue


def nest(
    seed: int,
    tensors: list[Any],
    kinds: list[str],
    holders: list[str],
) -> Any:  # noqa: ANN401
    """
    Make a structure.

    Args:
        seed: Of its shape: which of the tensors, and what else, is where in what.
        tensors: Some of these are in it, often more than once.
        kinds: Of CONTAINERS.
        holders: Of HOLDERS.
    """
    random_ = random.Random(seed)  # noqa: S311

    def part(depth: int) -> Any:  # noqa: ANN401
        if depth and random_.random() < 0.7:
            items = [part(depth - 1) for _ in range(random_.randint(1, 4))]
            return CONTAINERS[random_.choice(kinds)](items)
        if holders and random_.random() < 0.2:
            return HOLDERS[random_.choice(holders)](random_.choice(tensors))
        if random_.random() < 0.2:
            return random_.choice([None, 3, 2.5, "text", b"bytes", True])
        return random_.choice(tensors)

    return [tensors[0], part(4)]


def differences(found: Any, wanted: Any, torch: Any, same: dict[int, Any] | None = None) -> str:  # noqa: ANN401
    """
    Compare two structures: types, values, and which tensors are the same.

    Returns:
        What differs first; nothing if they are alike.
    """
    same = {} if same is None else same
    if type(found) is not type(wanted):
        return f"{type(found).__name__} instead of {type(wanted).__name__}"
    if isinstance(wanted, torch.Tensor):
        alike = (
            same.setdefault(id(wanted), found) is found
            and found.device == wanted.device
            and found.dtype == wanted.dtype
            and found.requires_grad == wanted.requires_grad
            and found.shape == wanted.shape
            and (found.is_meta or torch.equal(found, wanted))
        )
        return "" if alike else f"{found} instead of {wanted}"
    state, wanted_state = _parts(found), _parts(wanted)
    if list(state) != list(wanted_state) or (not state and found != wanted):
        return f"{found} instead of {wanted}"
    for key in wanted_state:
        text = differences(state[key], wanted_state[key], torch, same)
        if text:
            return f"{key!r} of {type(wanted).__name__}: {text}"
    return ""


def _parts(value: Any) -> dict[Any, Any]:  # noqa: ANN401
    if hasattr(value, "batch_size"):  # a TensorDict
        return {"batch_size": value.batch_size, **dict(value.items())}
    if isinstance(value, Mapping):
        items = dict(value.items())
        if isinstance(value, ChainMap):
            items = {"maps": value.maps}
        if isinstance(value, defaultdict):
            items["default_factory"] = value.default_factory
        return items | getattr(value, "__dict__", {})
    if isinstance(value, list | tuple | deque):
        parts: dict[Any, Any] = dict(enumerate(value))
        return parts | {"maxlen": getattr(value, "maxlen", None)}
    to_dict = getattr(value, "to_dict", None)
    if callable(to_dict):  # PyTorch Geometric's
        return dict(to_dict())
    state: Any = None if isinstance(value, type) else object.__getstate__(value)
    return (state[1] if isinstance(state, tuple) else state) or {}
