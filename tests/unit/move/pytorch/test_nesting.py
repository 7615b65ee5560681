"""Structures of tensors: followed, kept, and not changed."""

import sys
from collections import ChainMap, OrderedDict, UserDict, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple, Self

import numpy as np
import pytest

from isthmus.errors import UsageError
from isthmus.move.torch.nesting import changed


class Tensor:
    """As much of a tensor as is looked at."""

    def __init__(self, name: str) -> None:
        self.name = name


class Moved(NamedTuple):
    tensor: Any
    path: str


@pytest.fixture(autouse=True)
def torch(monkeypatch: pytest.MonkeyPatch) -> None:
    pytree = SimpleNamespace(SUPPORTED_NODES={Registered: Registered})
    fake = SimpleNamespace(Tensor=Tensor, utils=SimpleNamespace(_pytree=pytree))
    monkeypatch.setitem(sys.modules, "torch", fake)


A, B, C = Tensor("a"), Tensor("b"), Tensor("c")


def moved(value: Any) -> Any:  # noqa: ANN401
    return changed(
        value,
        lambda tensor, path: f"{tensor.name} at {path()}",
        lambda movable, path: movable.to(path()),
        "batch",
    ).value


def refusal(value: Any) -> str:  # noqa: ANN401
    with pytest.raises(UsageError) as refused:
        moved(value)
    assert "\n" not in str(refused.value)
    return str(refused.value)


def test_a_tensor_alone_is_changed() -> None:
    assert moved(A) == "a at batch"


def test_containers_are_followed_and_named() -> None:
    given = {"x": [A, (B, 7)], 3: {"y": C}, "text": "kept"}
    assert moved(given) == {
        "x": ["a at batch['x'][0]", ("b at batch['x'][1][0]", 7)],
        3: {"y": "c at batch[3]['y']"},
        "text": "kept",
    }
    assert given == {"x": [A, (B, 7)], 3: {"y": C}, "text": "kept"}


class Pair(NamedTuple):
    image: Any
    label: Any


class Size(NamedTuple("Size", [("image", Any), ("pixels", int)])):
    """A named tuple that is made of something else than its items."""

    __slots__ = ()

    def __new__(cls, image: Any) -> Self:  # noqa: ANN401
        return super().__new__(cls, image, 7)


@dataclass(frozen=True)
class Frozen:
    image: Any
    size: int
    hidden: Any = field(default=None, init=False)


@dataclass(slots=True)
class Slots:
    image: Any


def test_named_tuples_and_dataclasses_keep_their_types() -> None:
    assert moved(Pair(A, [B])) == Pair("a at batch.image", ["b at batch.label[0]"])
    size = moved(Size(A))
    assert (type(size), *size) == (Size, "a at batch.image", 7)
    assert moved(Frozen(A, 3)) == Frozen("a at batch.image", 3)
    assert moved(Slots(A)) == Slots("a at batch.image")
    assert moved(Slots) is Slots


def test_what_a_container_adds_is_kept() -> None:
    ordered = moved(OrderedDict(b=B, a=A))
    assert type(ordered) is OrderedDict
    assert list(ordered) == ["b", "a"]
    default = moved(defaultdict(list, a=A))
    assert default["new"] == []
    assert default["a"] == "a at batch['a']"


class Registered:
    """A container that a library registers, and the node that it registers."""

    def __init__(self, items: Any, size: int) -> None:  # noqa: ANN401
        self.items, self.size = items, size

    @staticmethod
    def flatten_fn(value: "Registered") -> tuple[Any, int]:
        return value.items, value.size

    @staticmethod
    def unflatten_fn(items: Any, size: int) -> "Registered":  # noqa: ANN401
        return Registered(items, size)


def test_what_libraries_register_is_followed_by_their_functions() -> None:
    found = moved(Registered([A, (B, 3)], 7))
    assert (type(found), found.items, found.size) == (
        Registered,
        ["a at batch[0]", ("b at batch[1][0]", 3)],
        7,
    )


class Encoding(UserDict[str, Any]):
    """As transformers' BatchEncoding is."""

    extra = "none"


class Items(list[Any]):
    """A list with more to it."""

    extra = "none"


def test_containers_of_other_types_are_copied_with_what_they_hold() -> None:
    given = Encoding(a=A)
    given.extra = "some"
    found = moved(given)
    assert (type(found), found["a"], found.extra) == (Encoding, "a at batch.data['a']", "some")
    assert given["a"] is A
    items = Items([A])
    items.extra = "some"
    found = moved(items)
    assert (type(found), found, found.extra) == (Items, ["a at batch[0]"], "some")
    assert items == [A]
    assert moved(MappingProxyType({"a": A})) == {"a": "a at batch['a']"}


class AttributesAreItems(dict[str, Any]):
    def __init__(self, **items: Any) -> None:  # noqa: ANN401
        super().__init__(**items)
        self.__dict__ = self


class AttributesAreLookedUp(dict[str, Any]):
    __getattr__ = dict.__getitem__


class ItemsAreAttributes(OrderedDict[str, Any]):
    """As transformers' ModelOutput is."""

    def __setitem__(self, name: str, item: Any) -> None:  # noqa: ANN401
        super().__setitem__(name, item)
        super().__setattr__(name, item)

    def update(self, *_: Any, **__: Any) -> None:  # noqa: ANN401
        raise NotImplementedError


def test_items_that_are_attributes_too_are_both_changed() -> None:
    found = moved(AttributesAreItems(a=A))
    assert found.a is found["a"] == "a at batch['a']"
    found.more = 3
    assert found["more"] == 3
    looked_up = moved(AttributesAreLookedUp(a=A))
    assert (type(looked_up), looked_up.a) == (AttributesAreLookedUp, "a at batch['a']")
    given = ItemsAreAttributes()
    given["a"] = A
    found = moved(given)
    assert (type(found), found.a) == (ItemsAreAttributes, "a at batch['a']")
    assert found["a"] is found.a
    assert given.a is A  # type: ignore[attr-defined]


def test_all_maps_of_a_chain_are_changed() -> None:
    found = moved(ChainMap({"a": A}, {"a": B, "b": B}))
    assert found.maps == [
        {"a": "a at batch.maps[0]['a']"},
        {"a": "b at batch.maps[1]['a']", "b": "b at batch.maps[1]['a']"},
    ]


@dataclass(frozen=True, slots=True)
class Late:
    image: Any
    later: Any = field(init=False)


def test_fields_that_are_not_set_stay_so() -> None:
    found = moved(Late(A))
    assert found.image == "a at batch.image"
    assert not hasattr(found, "later")


class Movable:
    def to(self, where: str) -> Any:  # noqa: ANN401
        return Moved(self, where)


class MovableDict(Movable, dict[str, Any]):
    pass


def test_what_can_move_itself_does() -> None:
    for value in (Movable(), MovableDict(a=A)):
        assert moved([value]) == [Moved(value, "batch[0]")]
    assert moved([A, Movable]) == ["a at batch[0]", Movable]


def test_a_tensor_that_occurs_twice_is_changed_once() -> None:
    made = changed([A, {"again": A}], lambda tensor, _: Moved(tensor, ""), none, "batch").value
    assert made[0] is made[1]["again"]


def none(_: object, __: object) -> None:
    raise AssertionError


def test_a_container_that_occurs_often_is_changed_once() -> None:
    nest: Any = [A]
    for _ in range(100):
        nest = [nest, nest]
    found = moved(nest)
    assert found[0] is found[1]


def test_a_structure_that_is_a_part_of_itself_is_refused_by_its_path() -> None:
    cyclic: list[Any] = [A, {}]
    cyclic[1]["again"] = cyclic
    assert refusal(cyclic) == "batch[1]['again'] is a list that holds itself"


def test_a_structure_that_is_nested_too_deep_is_refused() -> None:
    nest: Any = A
    for _ in range(sys.getrecursionlimit()):
        nest = [nest]
    assert refusal(nest) == "batch is nested deeper than Python's recursion limit"


class Stored(Mapping[str, Any]):
    """A mapping that makes its items when it is asked, as a memory-mapped store does."""

    def __init__(self, make: Any) -> None:  # noqa: ANN401
        self.make = make

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401
        return self.make(name)

    def __iter__(self) -> Iterator[str]:
        return iter("ab")

    def __len__(self) -> int:
        return 2


class Unchangeable(dict[str, Any]):
    def __setitem__(self, *_: object) -> None:
        raise TypeError("nobody changes this")


def test_containers_of_tensors_that_cant_be_made_anew_are_refused() -> None:
    refused = "with tensors, of which Isthmus can't make a new one"
    assert refusal([Stored(Tensor)]) == f"batch[0] is a Stored {refused}"
    assert refusal([Stored(lambda name: {name: [A]})]) == f"batch[0] is a Stored {refused}"
    assert refusal({"x": {A}}) == f"batch['x'] is a set {refused}"
    assert refusal([Unchangeable(a=A)]) == "batch[0] can't be made anew: nobody changes this"
    store = Stored(str)
    assert moved([A, store])[1] is store


def test_other_objects_stay_the_same_objects() -> None:
    for other in (None, "text", 3.5, object(), {3}, range(3), b"bytes", Stored(str)):
        assert moved([A, other])[1] is other


def test_objects_without_any_tensor_are_refused_by_the_path_of_the_first() -> None:
    assert refusal({"a": [1, object()], "b": object()}) == (
        "batch holds no tensor: batch['a'][1] is a object"
    )


def test_what_holds_nothing_to_move_passes() -> None:
    values: list[Any] = [None, 3, "text", {}, [], {"lr": 0.1, "names": ["a", ("b",)]}]
    for value in values:
        assert moved(value) == value


@pytest.mark.parametrize(
    ("value", "is_new"),
    [
        ([A, {"text": (1, "a", None, b"", 2.5)}], True),
        ([A, np.float32(3)], True),
        ([A, np.zeros(3)], False),
        ([A, Movable()], False),
    ],
)
def test_it_is_told_whether_the_new_one_shares_something(value: Any, is_new: bool) -> None:  # noqa: ANN401
    found = changed(value, lambda tensor, _: tensor.name, lambda one, _: one, "batch")
    assert found.is_new is is_new


class Closed(tuple[int, ...]):
    """A tuple that can't be made of items."""

    __slots__ = ()

    def __init__(self) -> None:
        raise TypeError


def test_tuples_without_tensors_stay_the_same() -> None:
    size = Closed.__new__(Closed, (1, 2))
    assert moved(size) is size
