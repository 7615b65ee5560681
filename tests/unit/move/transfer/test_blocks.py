"""Copies of blocks by index, compared with NumPy, on the emulated device."""

import gc
import queue
import random
import warnings
import weakref
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import isthmus

pytestmark = pytest.mark.usefixtures("_emulated")


@pytest.fixture
def _emulated() -> Iterator[None]:
    with isthmus.emulated():
        yield


def on_device(array: NDArray[np.generic]) -> isthmus.DeviceArray:
    made = isthmus.device_empty(array.shape, array.dtype)
    isthmus.copy(made, np.ascontiguousarray(array))
    return made


def from_device(array: isthmus.DeviceArray) -> NDArray[np.generic]:
    back: NDArray[np.generic] = np.empty(array.shape, array.dtype)
    isthmus.copy(back, array)
    return back


def pinned(array: NDArray[np.generic]) -> NDArray[np.generic]:
    made: NDArray[np.generic] = isthmus.pinned.empty(array.shape, array.dtype)
    made[...] = array
    return made


def numbers(shape: tuple[int, ...], kind: str, seed: int) -> NDArray[np.generic]:
    return np.random.default_rng(seed).integers(0, 100, shape).astype(kind)


def indices(seed: int, count: int, size: int, kind: str) -> NDArray[np.generic]:
    return np.random.default_rng(seed).permutation(count)[:size].astype(kind)


@pytest.mark.parametrize("seed", range(40))
def test_blocks_of_any_pools_arrive_as_numpy_assigns_them(seed: int) -> None:
    chosen = random.Random(seed)  # noqa: S311 - no secrets
    count, layers = chosen.randint(1, 200), chosen.choice([1, 1, 2, 5])
    row = tuple(chosen.choice([1, 2, 3, 8, 64]) for _ in range(chosen.randint(0, 3)))
    kind = chosen.choice(["u1", "i2", "f4", "f8", "c16"])
    size = chosen.randint(0, count)
    target_index = indices(seed, count, size, chosen.choice(["i4", "i8"]))
    source_index = indices(seed + 1, count, size, chosen.choice(["i4", "i8"]))
    sources = [numbers((count, *row), kind, seed + layer) for layer in range(layers)]
    targets = [numbers((count, *row), kind, 99 + layer) for layer in range(layers)]
    places: dict[str, Callable[[NDArray[np.generic]], Any]]
    places = {"pinned": pinned, "pageable": np.array, "device": on_device}
    place, source_place = chosen.choice(
        [
            ("device", "pinned"),
            ("pinned", "device"),
            ("device", "device"),
            ("device", "pageable"),
            ("pageable", "device"),
            ("pageable", "pageable"),
        ]
    )
    to, of = [places[place](t) for t in targets], [places[source_place](s) for s in sources]
    where = on_device if chosen.random() < 0.5 else np.array
    single = layers == 1
    future = isthmus.copy_blocks(
        to[0] if single else to,
        of[0] if single else of,
        where(target_index),
        where(source_index),
        sms=chosen.choice([None, 1, 3]),
        priority=chosen.choice(["bulk", "urgent"]),
    )
    future.result()
    for got, target, source in zip(to, targets, sources, strict=True):
        target[target_index] = source[source_index]
        found = from_device(got) if isinstance(got, isthmus.DeviceArray) else got
        np.testing.assert_array_equal(found, target)


def test_layer_first_page_first_and_k_and_v_apart_are_lists_of_pools() -> None:
    layers, pages, page_bytes = 3, 20, 256
    page_first = pinned(numbers((pages, layers, 2, page_bytes), "u1", 1))
    layer_first = on_device(np.zeros((2, layers, pages, page_bytes), "u1"))
    of, to = [], []
    for layer in range(layers):
        for part in range(2):  # K and V
            of.append(page_first[:, layer, part])
            begin = layer_first.pointer + (part * layers + layer) * pages * page_bytes
            to.append(isthmus.Blocks(begin, pages, page_bytes))
    target_index, source_index = indices(1, pages, 9, "i4"), indices(2, pages, 9, "i4")
    isthmus.copy_blocks(to, of, target_index, source_index).result()
    expected = np.zeros((2, layers, pages, page_bytes), "u1")
    chosen = page_first[source_index]
    expected[:, :, target_index] = chosen.transpose(2, 1, 0, 3)
    np.testing.assert_array_equal(from_device(layer_first), expected)


def test_blocks_of_a_size_of_their_own_ignore_the_rows() -> None:
    source, target = pinned(numbers((10, 24), "i4", 3)), on_device(np.zeros((60, 4), "i4"))
    isthmus.copy_blocks(target, source, [3, 1], [0, 19], block_bytes=48).result()
    expected = np.zeros((20, 12), "i4")
    expected[[3, 1]] = source.reshape(20, 12)[[0, 19]]
    np.testing.assert_array_equal(from_device(target).reshape(20, 12), expected)


def test_a_prepared_copy_moves_what_the_pools_hold_at_each_call() -> None:
    source, target = pinned(numbers((10, 8), "i4", 3)), on_device(np.zeros((10, 8), "i4"))
    index = np.array([1, 5])
    plan = isthmus.plan_blocks(target, source, index, [2, 3])
    index[:] = 0  # it has its own
    assert plan.explain().num_copies == 2
    assert repr(plan) == "PreparedCopy(num_copies=2, size_bytes=64, way='kernel')"
    for value in (7, 8):
        source[:] = value
        plan().result()
        assert (from_device(target)[[1, 5]] == value).all()
    assert not from_device(target)[0].any()


def test_a_wrong_index_on_the_gpu_is_told_with_its_position_and_writes_nothing() -> None:
    source, target = pinned(numbers((10, 8), "i4", 3)), on_device(np.zeros((10, 8), "i4"))
    wrong = on_device(np.array([1, 10, -1, 4]))
    future = isthmus.copy_blocks(target, source, wrong, on_device(np.array([1, 2, 3, 4])))
    for _ in range(2):
        with pytest.raises(isthmus.UsageError, match=r"target_index\[1\] of this copy"):
            future.result()
    assert isinstance(future.exception(), isthmus.UsageError)
    isthmus.check_blocks()
    expected = np.zeros((10, 8), "i4")
    expected[[1, 4]] = source[[1, 4]]
    np.testing.assert_array_equal(from_device(target), expected)


def test_a_wrong_index_on_the_gpu_fails_no_other_copy() -> None:
    source, target = pinned(numbers((10, 8), "i4", 3)), on_device(np.zeros((10, 8), "i4"))
    wrong, right = on_device(np.array([1, 10])), on_device(np.array([1, 4]))
    plan = isthmus.plan_blocks(target, source, right, wrong)
    futures = [plan(), isthmus.copy_blocks(target, source, wrong, right)]
    for index in (right, [1, 4]):
        isthmus.copy(target, np.zeros((10, 8), "i4"))
        isthmus.copy_blocks(target, source, index, index).result()
        np.testing.assert_array_equal(from_device(target)[[1, 4]], source[[1, 4]])
    with pytest.raises(isthmus.UsageError, match=r"source_index\[1\] of an earlier run of this"):
        plan()
    isthmus.copy(wrong, np.array([1, 5]))
    plan().result()
    futures[0].result()  # the call of the plan has told it
    with pytest.raises(isthmus.UsageError, match=r"target_index\[1\] of an earlier copy"):
        isthmus.check_blocks()
    futures[1].result()


def test_a_wrong_index_of_a_copy_whose_future_was_dropped_is_a_warning() -> None:
    source, target = pinned(numbers((10, 8), "i4", 3)), on_device(np.zeros((10, 8), "i4"))
    wrong = on_device(np.array([1, 10]))
    shown: queue.Queue[str] = queue.Queue()  # a thread warns
    with warnings.catch_warnings():
        warnings.simplefilter("always")
        warnings.showwarning = lambda message, *_: shown.put(str(message))
        isthmus.copy_blocks(target, source, wrong, wrong)
        assert "target_index[1] of this copy of blocks was outside" in shown.get(timeout=60)
    with pytest.raises(isthmus.UsageError, match=r"target_index\[1\]"):
        isthmus.check_blocks()


class Strange:
    __cuda_stream__ = (0,)


@pytest.mark.parametrize(
    ("change", "why"),
    [
        ({"target_index": [0, 10]}, r"target_index\[1\] is 10"),
        ({"target_index": [0, 0]}, "only one of the two could remain"),
        ({"target_index": [0]}, "1 indices and source_index 2"),
        ({"target_index": [0.5, 1]}, "int32 or int64, or a list of ints"),
        ({"target_index": np.zeros(2, "u4")}, "must be int32 or int64, not uint32"),
        ({"target_index": np.zeros((2, 1), "i4")}, "one dimension"),
        ({"target_index": np.zeros(4, "i4")[::2]}, "without gaps"),
        ({"target_index": [[1, 2], [3]]}, "int32 or int64, or a list of ints"),
        ({"stream": "x"}, "a stream must be an integer"),
        ({"stream": Strange()}, r"__cuda_stream__ of this Strange isn't \(version, handle\)"),
        ({"target_index": None}, "target_index is None"),
        ({"target_index": 3}, "target_index is 3"),
        ({"target_index": {}}, "target_index: pass an array, not a dict"),
        ({"source": np.zeros((10, 8), "f4")}, "items of"),
        ({"source": np.zeros((10, 9), "i4")}, "blocks of 36 bytes"),
        ({"source": np.zeros((8, 10), "i4").T}, "rows with gaps"),
        ({"source": np.zeros((10, 8), "i4")[::-1]}, "backwards"),
        ({"source": np.zeros((), "i4")}, "no axis 0"),
        ({"source": [[np.zeros((10, 8), "i4")]]}, "list of one for each layer"),
        ({"source": []}, "empty list"),
        ({"source": [np.zeros((10, 8), "i4")] * 2}, "same number"),
        ({"source": isthmus.Blocks(64, 10, 32, 16)}, "they overlap"),
        ({"block_bytes": 0}, "block_bytes must be"),
        ({"block_bytes": 1 << 70}, "block_bytes must be"),
        ({"block_bytes": 33}, "no whole number of blocks"),
        ({"sms": 0}, "sms must be"),
        ({"sms": 1 << 40}, "sms must be"),
        ({"priority": None}, "priority must be a word"),
        ({"priority": "high"}, "unknown priority"),
    ],
)
def test_what_is_wrong_is_refused_and_nothing_is_written(
    change: dict[str, object], why: str
) -> None:
    target = on_device(np.zeros((10, 8), "i4"))
    given = {
        "target": target,
        "source": pinned(np.ones((10, 8), "i4")),
        "target_index": [0, 1],
        "source_index": [2, 3],
    }
    with pytest.raises(isthmus.UsageError, match=why):
        isthmus.copy_blocks(**(given | change))  # type: ignore[arg-type]
    assert not from_device(target).any()


def test_a_read_only_target_is_refused() -> None:
    target = np.zeros((4, 4))
    target.flags.writeable = False
    with pytest.raises(isthmus.UsageError, match="read-only"):
        isthmus.copy_blocks(target, np.ones((4, 4)), [0], [0])


def test_arrays_are_kept_until_the_copy_has_ended_and_no_longer() -> None:
    target, source = on_device(np.zeros((4, 4))), pinned(np.ones((4, 4)))
    known = weakref.ref(target)
    future = isthmus.copy_blocks(target, source, [0], [1])
    del target
    future.result()
    gc.collect()
    assert known() is None


def test_blocks_written_twice_from_one_source_are_no_mistake() -> None:
    target, source = on_device(np.zeros((4, 4))), pinned(np.ones((4, 4)))
    isthmus.copy_blocks(target, source, [2, 2], [1, 1]).result()
    assert from_device(target)[2].all()


def test_pieces_by_addresses_arrive() -> None:
    target, source = on_device(np.zeros(1000, "u1")), pinned(numbers((1000,), "u1", 5))
    begins, sizes = np.array([0, 100, 500]), np.array([7, 256, 500])
    to, of = begins + target.pointer, begins + source.ctypes.data
    isthmus.copy_many(to.astype(np.uint64), of, sizes).result()
    expected = np.zeros(1000, "u1")
    for begin, size in zip(begins, sizes, strict=True):
        expected[begin : begin + size] = source[begin : begin + size]
    np.testing.assert_array_equal(from_device(target), expected)
    with pytest.raises(isthmus.UsageError, match="3 items, and sizes 2"):
        isthmus.copy_many(to, of, sizes[:2])
    with pytest.raises(isthmus.UsageError, match="uint64 or int64"):
        isthmus.copy_many(to, of, sizes.astype("f8"))
    with pytest.raises(isthmus.UsageError, match=r"copy 1 of the call: .* asked for"):
        isthmus.copy_many(to, of, sizes + np.array([0, 10**9, 10**9]))
    with pytest.raises(isthmus.UsageError, match="negative"):
        isthmus.copy_many(to, of, -sizes)
    with pytest.raises(isthmus.UsageError, match="target_pointers: pass an array, not a list"):
        isthmus.copy_many([1], [1], [1])  # type: ignore[arg-type]


def test_many_arrays_are_prepared_once() -> None:
    targets = {f"w{i}": on_device(np.zeros(8)) for i in range(20)}
    sources = {f"w{i}": pinned(np.full(8, float(i))) for i in range(20)}
    plan = isthmus.plan_many(targets, sources)
    plan().result()
    assert all((from_device(targets[f"w{i}"]) == i).all() for i in range(20))
    sources["w3"][:] = 77
    plan().result()
    assert (from_device(targets["w3"]) == 77).all()
    with pytest.raises(isthmus.UsageError, match=r"^0: plan_many takes"):
        isthmus.plan_many([on_device(np.zeros((2, 3)))], [np.zeros((3, 2)).T])
    with pytest.raises(isthmus.UsageError, match="lists, tuples or mappings"):
        isthmus.plan_many(np.zeros(3), np.zeros(3))


def test_tensors_that_blocks_were_written_to_are_known_to_autograd() -> None:
    torch = pytest.importorskip("torch")
    target, source = torch.zeros(4, 4), torch.ones(4, 4)
    isthmus.copy_blocks(target, source, torch.tensor([0, 2]), torch.tensor([1, 1])).result()
    assert target._version == 1
    assert target.sum() == 8
    with pytest.raises(isthmus.UsageError):
        isthmus.copy_blocks(target, source, torch.tensor([9]), torch.tensor([1]))
    assert target._version == 1


def test_a_pool_by_its_address_that_was_freed_is_refused_by_its_plan() -> None:
    target, source = isthmus.device_empty(1 << 24, np.uint8), pinned(np.ones(4096, "u1"))
    pool = isthmus.Blocks(target.pointer, 4, 64)
    plans = [
        isthmus.plan_blocks(pool, rows, [1], [0], block_bytes=64)
        for rows in (source, np.ones(4096, "u1"))
    ]
    for plan in plans:
        plan().result()
    del target
    gc.collect()
    for plan in plans:
        with pytest.raises(isthmus.UsageError, match="was freed since"):
            plan()
