"""Structures of tensors: followed, kept, and not changed."""

import sys
from collections import OrderedDict, UserDict, defaultdict
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from types import MappingProxyType, SimpleNamespace
from typing import Any, NamedTuple, Self

import pytest

from isthmus.torch.nesting import changed


class Tensor:
    """As much of a tensor as is looked at."""

    def __init__(self, name: str) -> None:
        self.name = name


class Moved(NamedTuple):
    tensor: Any
    path: str


class PackedSequence(NamedTuple):
    """PyTorch's, as far as it matters."""

    data: Any
    batch_sizes: Any
    sorted_indices: Any
    unsorted_indices: Any


@pytest.fixture(autouse=True)
def torch(monkeypatch: pytest.MonkeyPatch) -> None:
    rnn = SimpleNamespace(PackedSequence=PackedSequence)
    nn = SimpleNamespace(utils=SimpleNamespace(rnn=rnn))
    monkeypatch.setitem(sys.modules, "torch", SimpleNamespace(Tensor=Tensor, nn=nn))


A, B, C = Tensor("a"), Tensor("b"), Tensor("c")


def moved(value: Any) -> Any:  # noqa: ANN401
    return changed(value, lambda tensor, path: f"{tensor.name} at {path}", "batch")


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
    assert (type(found), found["a"], found.extra) == (Encoding, "a at batch['a']", "some")
    assert given["a"] is A
    items = Items([A])
    items.extra = "some"
    found = moved(items)
    assert (type(found), found, found.extra) == (Items, ["a at batch[0]"], "some")
    assert items == [A]
    assert moved(MappingProxyType({"a": A})) == {"a": "a at batch['a']"}


def test_the_sizes_of_a_packed_sequence_stay_on_the_host() -> None:
    found = moved(PackedSequence(A, B, None, C))
    assert found == PackedSequence("a at batch.data", B, None, "c at batch.unsorted_indices")


def test_a_tensor_that_occurs_twice_is_changed_once() -> None:
    made = changed([A, {"again": A}], lambda tensor, _: Moved(tensor, ""), "batch")
    assert made[0] is made[1]["again"]


class Lazy(Mapping[str, Any]):
    """A mapping that makes its tensors when it is asked, as a memory-mapped store does."""

    def __init__(self, items: Any) -> None:  # noqa: ANN401 - names, or what they became
        self.items_by_name = dict.fromkeys(items) if isinstance(items, str) else items

    def __getitem__(self, name: str) -> Any:  # noqa: ANN401
        return self.items_by_name[name] or Tensor(name)

    def __iter__(self) -> Iterator[str]:
        return iter(self.items_by_name)

    def __len__(self) -> int:
        return len(self.items_by_name)


def test_each_tensor_that_a_mapping_makes_when_asked_is_changed() -> None:
    names = "abcdefgh"
    made = changed(Lazy(names), lambda tensor, _: tensor.name, "batch")
    assert dict(made) == {name: name for name in names}


def test_other_objects_stay_the_same_objects() -> None:
    for other in (None, "text", 3.5, object(), {A}, range(3), b"bytes"):
        assert moved(other) is other


class Closed(tuple[int, ...]):
    """A tuple that can't be made of items."""

    __slots__ = ()

    def __init__(self) -> None:
        raise TypeError


def test_tuples_without_tensors_stay_the_same() -> None:
    size = Closed.__new__(Closed, (1, 2))
    assert moved(size) is size
