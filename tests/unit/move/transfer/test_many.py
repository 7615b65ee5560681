"""Lists, tuples and mappings of arrays, copied by one call."""

from collections import OrderedDict, UserDict
from collections.abc import Iterator, Mapping
from types import MappingProxyType
from typing import Any

import numpy as np
import pytest

import isthmus
from fakes.array_libraries import Torch
from fakes.blocked_stream import BlockedStream
from fakes.device_arrays import CudaArray
from isthmus import _native

pytestmark = pytest.mark.native

Bytes = np.ndarray[tuple[int], np.dtype[np.uint8]]


def on_device(memory: _native.DeviceMemory, at: int, size: int) -> CudaArray:
    return CudaArray(memory.pointer + at, (size,))


def numbered(size: int, first: int = 0) -> Bytes:
    return (np.arange(size) * 7 + first).astype(np.uint8)


def test_lists_are_copied_member_by_member(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    sources = [numbered(4096, i) for i in range(100)]
    devices = [on_device(memory, 5000 * i, 4096) for i in range(100)]
    transfers.copy(devices, sources)
    back = tuple(np.zeros(4096, np.uint8) for _ in range(100))
    transfers.copy(back, devices)
    assert all(np.array_equal(one, other) for one, other in zip(back, sources, strict=True))


def test_state_dicts_are_copied_by_their_names_whatever_their_order(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    sent = {"model": {"layers": [{"weight": numbered(70_000), "bias": numbered(10, 3)}]}}
    device = OrderedDict(
        model=OrderedDict(
            layers=[
                {"bias": on_device(memory, 0, 10), "weight": on_device(memory, 16, 70_000)},
            ]
        )
    )
    transfers.copy(device, sent)
    back = {"model": {"layers": ({"weight": bytearray(70_000), "bias": bytearray(10)},)}}
    transfers.copy(back, device)
    layer = back["model"]["layers"][0]
    assert layer["weight"] == numbered(70_000).tobytes()
    assert layer["bias"] == numbered(10, 3).tobytes()


@pytest.mark.parametrize("kind", [dict, OrderedDict, UserDict, MappingProxyType])
def test_every_mapping_is_one(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, kind: type
) -> None:
    back = {"a": bytearray(3), "b": bytearray(2)}
    device = kind({"b": on_device(memory, 8, 2), "a": on_device(memory, 0, 3)})
    transfers.copy(kind(back), device)
    assert back == {"a": b"\xee" * 3, "b": b"\xee" * 2}


def test_copies_of_many_are_one_future(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, blocked: BlockedStream
) -> None:
    back = [np.zeros(100, np.uint8), np.zeros(200_000, np.uint8)]
    device = [on_device(memory, 0, 100), on_device(memory, 100, 200_000)]
    future = transfers.copy_async(back, device, stream=blocked.handle)
    assert not future.done()
    blocked.go_on()
    future.result(60)
    assert all(np.all(array == 0xEE) for array in back)


def test_copies_of_many_keep_their_arrays(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, blocked: BlockedStream
) -> None:
    target = bytearray(1000)
    future = transfers.copy_async(
        {"a": target}, {"a": on_device(memory, 0, 1000)}, stream=blocked.handle
    )
    with pytest.raises(BufferError):
        target.extend(b"more")
    blocked.go_on()
    future.result(60)
    assert target == b"\xee" * 1000
    target.extend(b"more")


def test_the_sources_of_many_may_change_after_the_call(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, blocked: BlockedStream
) -> None:
    sources = [numbered(1000, i) for i in range(50)]
    expected = b"".join(source.tobytes() for source in sources)
    devices = [on_device(memory, 1000 * i, 1000) for i in range(50)]
    future = transfers.copy_async(devices, sources, stream=blocked.handle)
    for source in sources:
        source.fill(0)
    blocked.go_on()
    future.result(60)
    assert memory.read(50_000) == expected


def test_arrays_that_lie_differently_are_packed_among_many(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    whole = numbered(600).reshape(20, 30)
    device = [CudaArray(memory.pointer, (30, 20)), on_device(memory, 1000, 50)]
    transfers.copy(device, [whole.T, numbered(50)])
    back = [np.zeros((30, 20), np.uint8, order="F"), np.zeros(50, np.uint8)]
    transfers.copy_async(back, device).result(60)
    assert np.array_equal(back[0], whole.T)
    assert np.array_equal(back[1], numbered(50))


def test_a_plan_says_how_many_copies_take_each_path(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    before = memory.read(300_000)
    sources = [numbered(100, i) for i in range(40)] + [numbered(200_000)]
    devices = [on_device(memory, 100 * i, 100) for i in range(40)]
    plan = transfers.explain([*devices, on_device(memory, 5000, 200_000)], sources)
    assert sum(share.num_copies for share in plan.shares) == 41
    assert sum(share.size_bytes for share in plan.shares) == 204_000
    assert all(share.seconds > 0 for share in plan.shares)
    assert (plan.num_packed, plan.num_layouts) == (0, 0)
    assert str(plan).startswith("41 copies, 199.2 KiB in all\n")
    assert memory.read(300_000) == before


def test_a_plan_says_what_crosses_no_link(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    one, other = on_device(memory, 0, 100), on_device(memory, 100, 100)
    assert str(transfers.explain([bytearray(100)], [numbered(100)])) == (
        "1 copy, 100 B in all\n   cpu       1       100 B               -"
    )
    between = str(transfers.explain([one], [other]))
    assert between.splitlines()[1].split() == ["driver", "1", "100", "B", "-"]
    plan = transfers.explain([one, bytearray(100), bytearray(50)], [other, b"1" * 100, b"1" * 50])
    shares = {share.path: share for share in plan.shares}
    assert shares["cpu"].num_copies == 2
    assert (shares["driver"].num_copies, shares["driver"].size_bytes) == (1, 100)


def test_a_plan_counts_what_is_packed_and_what_is_copied_item_by_item(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    gaps = CudaArray(memory.pointer + 1000, (10, 10), strides=(20, 2))
    target = {"turned": CudaArray(memory.pointer, (30, 20)), "gaps": gaps}
    source = {"turned": numbered(600).reshape(20, 30).T, "gaps": numbered(100).reshape(10, 10)}
    plan = transfers.explain(target, source)
    assert (plan.num_packed, plan.num_layouts) == (1, 1)
    text = str(plan)
    assert text.startswith("1 copy, 600 B in all\n")
    assert "of these 1 with the host's array packed by NumPy" in text
    assert text.endswith("and 1 array item by item, after the others")


def test_a_plan_of_arrays_that_do_not_fit_is_refused_by_path(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    with pytest.raises(isthmus.UsageError, match=r"^b: can't copy shape"):
        transfers.explain(
            {"a": bytearray(1), "b": on_device(memory, 0, 4)}, {"a": b"1", "b": numbered(5)}
        )


def test_arrays_that_lie_differently_are_compared_with_the_others(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    seven, square, other = np.full((4, 4), 7, "u1"), numbered(16).reshape(4, 4), np.zeros((4, 4))
    before, target = square.copy(), other.astype("u1")
    one, two = (CudaArray(memory.pointer + at, (4, 4)) for at in (0, 16))
    pairs: list[tuple[Any, Any, str]] = [
        ([square, target], [seven, square.T], "1: one of its ends overlaps an end of 0"),
        ([target.T, target.T], [one, two], "1: its target overlaps the target of 0"),
        ({"x": square, "y": target}, {"x": one, "y": square[::-1]}, "y: one of its ends overlaps"),
    ]
    for targets, sources, message in pairs:
        with pytest.raises(isthmus.UsageError, match=message):
            transfers.copy(targets, sources)
    assert np.array_equal(square, before)
    assert not target.any()


def test_host_arrays_are_copied_among_many(transfers: isthmus.Transfers) -> None:
    source = [numbered(100), numbered(60).reshape(6, 10)]
    target = [np.zeros(100, np.uint8), np.zeros((6, 10), np.uint8, order="F")]
    transfers.copy(target, source)
    assert all(np.array_equal(one, other) for one, other in zip(target, source, strict=True))


def test_empty_structures_are_complete(transfers: isthmus.Transfers) -> None:
    transfers.copy([], ())
    transfers.copy({}, {})
    assert transfers.copy_async([[], {}], [[], {}]).done()


@pytest.mark.parametrize(
    ("target", "source", "message"),
    [
        ([1], (), "the target has 1 members and the source 0"),
        ({"a": [1, 2]}, {"a": [1]}, "a: the target has 2 members and the source 1"),
        ({"m": {"x": 1}}, {"m": {"y": 1}}, "m.x is in the target and not in the source"),
        ({"m": {"x": b"1"}}, {"m": {"x": b"1", "y": 1}}, "m.y is in the source and not in the"),
        ({"m": [1]}, {"m": {"0": 1}}, "m: the target's type is list, the source's dict"),
        ([b""], b"", "the target's type is list, the source's bytes"),
    ],
)
def test_structures_that_do_not_match_are_refused_by_path(
    transfers: isthmus.Transfers,
    target: Any,  # noqa: ANN401
    source: Any,  # noqa: ANN401
    message: str,
) -> None:
    with pytest.raises(isthmus.UsageError, match=message):
        transfers.copy(target, source)
    with pytest.raises(isthmus.UsageError, match=message):
        transfers.copy_async(target, source)


def nested(leaf: object) -> Any:  # noqa: ANN401 - any structure
    good = np.zeros(4, np.uint8)
    return {"model": {"layers": [{"bias": good}] * 3 + [{"bias": leaf}]}}


def state(memory: _native.DeviceMemory) -> Any:  # noqa: ANN401 - any structure
    layers = [{"bias": on_device(memory, 10 * i, 4)} for i in range(4)]
    return {"model": {"layers": layers}}


def test_a_list_of_short_arrays_is_made_at_once_unless_its_stream_has_work(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, blocked: BlockedStream
) -> None:
    sources = [numbered(4096, i) for i in range(8)]
    devices = [on_device(memory, 4096 * i, 4096) for i in range(8)]
    assert transfers.copy_async(devices, sources).done()
    assert memory.read(8 * 4096) == b"".join(array.tobytes() for array in sources)
    later = transfers.copy_async(devices, sources[::-1], stream=blocked.handle)
    assert not later.done()
    blocked.go_on()
    later.result(60)
    assert memory.read(8 * 4096) == b"".join(array.tobytes() for array in sources[::-1])


@pytest.mark.parametrize(
    ("leaf", "why"),
    [
        (np.zeros(5, np.uint8), "shape"),
        (np.zeros(4, np.int8), "int8"),
        (None, "no memory"),
        (3.5, "no memory"),
    ],
)
def test_an_array_that_does_not_fit_is_named_by_its_path(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, leaf: object, why: str
) -> None:
    with pytest.raises(isthmus.UsageError, match=rf"^model\.layers\.3\.bias: .*{why}") as refused:
        transfers.copy(state(memory), nested(leaf))
    assert refused.value.hint or why == "int8"
    assert memory.read(40) == b"\xee" * 40, "something was copied before"


def test_overlapping_targets_are_refused_by_their_paths(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    target = {"a": on_device(memory, 0, 10), "b": {"c": on_device(memory, 9, 10)}}
    source = {"a": bytes(10), "b": {"c": bytes(10)}}
    with pytest.raises(isthmus.UsageError, match=r"^b\.c: its target overlaps the target of a,"):
        transfers.copy(target, source)
    assert memory.read(20) == b"\xee" * 20


def test_a_tensor_that_appears_twice_as_a_target_is_refused(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    same = on_device(memory, 0, 10)
    with pytest.raises(isthmus.UsageError, match="1: its target overlaps the target of 0"):
        transfers.copy([same, same], [bytes(10), bytes(10)])


def test_freed_memory_is_refused_by_its_path(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    wrong = isthmus.HostPointer(16, 4)
    with pytest.raises(isthmus.UsageError, match=r"^x\.1: "):
        transfers.copy(
            {"x": [on_device(memory, 0, 4), on_device(memory, 8, 4)]}, {"x": [bytes(4), wrong]}
        )
    assert memory.read(4) == b"\xee" * 4


def test_a_structure_that_contains_itself_is_refused(transfers: isthmus.Transfers) -> None:
    circle: list[Any] = []
    circle.append(circle)
    with pytest.raises(isthmus.UsageError, match="contains itself"):
        transfers.copy(circle, circle)


def test_tensors_are_copied_in_their_librarys_stream(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, torch: Torch
) -> None:
    tensors = [torch.tensor(memory.pointer + 400 * i, (100,)) for i in range(3)]
    sources = [np.arange(100, dtype=np.float32) + i for i in range(3)]
    transfers.copy(tensors, sources)
    assert memory.read(1200) == b"".join(source.tobytes() for source in sources)


def test_many_small_copies_are_counted_as_the_kernels(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory
) -> None:
    pinned = [isthmus.pinned.empty(64, np.uint8) for _ in range(256)]
    devices = [on_device(memory, 100 * i, 64) for i in range(256)]
    transfers.copy(pinned, devices)
    paths = transfers.stats().paths
    assert sum(use.calls for use in paths.values()) == 256
    assert paths["kernel"].calls in {0, 256}


class Key:
    """A key that has the same hash as every other, and can't be compared once that is forbidden."""

    comparable = True

    def __hash__(self) -> int:
        return 1

    def __eq__(self, other: object) -> bool:
        if not Key.comparable:
            raise ZeroDivisionError("of the key")
        return self is other


def test_what_the_comparison_of_keys_raises_is_raised(
    transfers: isthmus.Transfers, monkeypatch: pytest.MonkeyPatch
) -> None:
    both, extra = Key(), Key()
    target, source = {both: bytearray(1)}, {both: b"1", extra: b"2"}
    monkeypatch.setattr(Key, "comparable", False)
    with pytest.raises(ZeroDivisionError, match="of the key"):
        transfers.copy(target, source)


class Made(Mapping[str, Bytes]):
    """Makes what it is asked for."""

    def __init__(self, **given: Bytes) -> None:
        self._given = given

    def __getitem__(self, key: str) -> Bytes:
        return self._given[key].copy()

    def __iter__(self) -> Iterator[str]:
        return iter(self._given)

    def __len__(self) -> int:
        return len(self._given)


def test_a_mapping_that_makes_its_arrays_is_a_source_but_no_target(
    transfers: isthmus.Transfers,
) -> None:
    made, target = Made(a=numbered(8)), {"a": numbered(8, 3)}
    for copy in (transfers.copy, transfers.copy_async):
        with pytest.raises(isthmus.UsageError, match="'a' of this Made is made anew"):
            copy(made, target)
    transfers.copy(target, made)
    assert np.array_equal(target["a"], numbered(8))
