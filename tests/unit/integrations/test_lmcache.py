"""
The adapter for LMCache, with stand-ins for its classes and PyTorch's tensors.

The interface is that of LMCache 0.5.6 (`lmcache-0.5.6-cp311-cp311-manylinux_2_27_x86_64...whl` from
PyPI): `GPUConnectorInterface` in `lmcache/v1/gpu_connector/gpu_connectors.py`, and `MemoryFormat`
in `lmcache/v1/memory_management.py`. test_installed.py has LMCache's own.
"""

# ruff: noqa: ANN401 - objects of LMCache

import abc
from collections.abc import Callable
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest
from numpy.typing import NDArray

import isthmus
from fakes.engine_tensors import Tensor, on_device, on_host
from isthmus.integrations import lmcache

pytestmark = [pytest.mark.native, pytest.mark.usefixtures("torch")]

BLOCKS, BLOCK, HEADS, ITEMS, LAYERS = 5, 4, 2, 8, 3
HIDDEN = HEADS * ITEMS
RNG = np.random.default_rng(3)
# Ten tokens of a sequence, somewhere in the cache.
SLOTS = np.array([13, 14, 15, 4, 5, 6, 7, 18, 0, 19], np.int64)
SPLIT, FUSED, MLA = "K and V apart", "K and V side by side", "MLA"
SHAPES = {
    SPLIT: (2, BLOCKS, BLOCK, HEADS, ITEMS),
    FUSED: (BLOCKS, BLOCK, HEADS, 2 * ITEMS),
    MLA: (BLOCKS, BLOCK, HIDDEN),
}


class GPUConnectorInterface(abc.ABC):
    @abc.abstractmethod
    def to_gpu(self, memory_obj: Any, start: int, end: int, **kwargs: Any) -> None: ...

    @abc.abstractmethod
    def from_gpu(self, memory_obj: Any, start: int, end: int, **kwargs: Any) -> None: ...

    @abc.abstractmethod
    def batched_from_gpu(self, memory_objs: Any, starts: Any, ends: Any, **kwargs: Any) -> None: ...

    @abc.abstractmethod
    def batched_to_gpu(
        self, memory_objs: Any = None, starts: Any = None, ends: Any = None, **kwargs: Any
    ) -> None: ...

    @abc.abstractmethod
    def get_shape(self, num_tokens: int) -> Any: ...

    def initialize_kvcaches_ptr(self, **kwargs: Any) -> None:
        """Take the caches; LMCache's own turns views into the order of memory first."""
        if "kvcaches" in kwargs:
            self.kvcaches = kwargs["kvcaches"]


@pytest.fixture(autouse=True)
def connectors(engine: Callable[..., ModuleType]) -> ModuleType:
    engine("lmcache.v1.memory_management", MemoryFormat=SimpleNamespace(KV_MLA_FMT="MLA"))
    return engine(
        "lmcache.v1.gpu_connector.gpu_connectors",
        GPUConnectorInterface=GPUConnectorInterface,
        VLLMPagedMemGPUConnectorV2=None,
    )


def made(layout: str, **hints: str) -> Any:
    planes = 1 if layout == MLA else 2
    metadata = SimpleNamespace(use_mla=layout == MLA, kv_shape=(LAYERS, planes, 256, HEADS, ITEMS))
    return lmcache.connector().from_metadata(metadata, use_gpu=True, layout_hints=hints)  # type: ignore[attr-defined]


def contents(layout: str) -> list[NDArray[np.float16]]:
    return [RNG.random(SHAPES[layout]).astype("f2") for _ in range(LAYERS)]


def memory_of(shape: tuple[int, ...]) -> Any:
    return SimpleNamespace(tensor=on_host(np.zeros(shape, "f2")), metadata=SimpleNamespace(fmt=""))


def rows(layout: str, caches: list[NDArray[np.float16]]) -> NDArray[np.float16]:
    """Give the tokens of the sequence: (planes and layers, tokens, items)."""
    planes = [[each[i] for each in caches] for i in range(2)] if layout == SPLIT else [caches]
    return np.stack([each.reshape(BLOCKS * BLOCK, -1)[SLOTS] for plane in planes for each in plane])


@pytest.mark.parametrize("layout", SHAPES)
def test_tokens_come_from_the_cache_and_go_back(layout: str) -> None:
    given, connector = contents(layout), made(layout)
    caches, slots = [on_device(each) for each in given], on_device(SLOTS)
    objects = [memory_of(connector.get_shape(num)) for num in (6, 4)]
    connector.batched_from_gpu(objects, [0, 6], [6, 10], kvcaches=caches, slot_mapping=slots)
    expected = rows(layout, given)
    for memory, part in zip(objects, (slice(0, 6), slice(6, 10)), strict=True):
        found = memory.tensor.items.reshape(len(expected), len(SLOTS[part]), -1)
        np.testing.assert_array_equal(found, expected[:, part])
        assert memory.metadata.fmt == ("MLA" if layout == MLA else "")

    caches = [on_device(each * 0) for each in given]
    connector.batched_to_gpu(
        objects, [0, 6], [6, 10], kvcaches=caches, slot_mapping=slots, vllm_cached_tokens=2
    )
    back = rows(layout, [each.content() for each in caches])
    assert not back[:, :2].any(), "vLLM has these"
    np.testing.assert_array_equal(back[:, 2:], expected[:, 2:])
    assert sum(np.count_nonzero(each.content()) for each in caches) == np.count_nonzero(back)


def test_one_memory_object_is_copied_alone() -> None:
    given, connector = contents(FUSED), made(FUSED)
    caches, memory = [on_device(each) for each in given], memory_of((2, LAYERS, 3, HIDDEN))
    connector.from_gpu(memory, 2, 5, kvcaches=caches, slot_mapping=on_device(SLOTS))
    found = memory.tensor.items.reshape(LAYERS, 3, -1)
    np.testing.assert_array_equal(found, rows(FUSED, given)[:, 2:5])
    zeros = [on_device(each * 0) for each in given]
    connector.to_gpu(memory, 2, 5, kvcaches=zeros, slot_mapping=on_device(SLOTS))
    np.testing.assert_array_equal(
        rows(FUSED, [each.content() for each in zeros])[:, 2:5], rows(FUSED, given)[:, 2:5]
    )


def test_all_that_vllm_has_already_is_left_alone() -> None:
    connector, caches = made(MLA), [on_device(each * 0) for each in contents(MLA)]
    memory = memory_of((1, LAYERS, 3, HIDDEN))
    memory.tensor.items[...] = 1
    connector.to_gpu(
        memory, 0, 3, kvcaches=caches, slot_mapping=on_device(SLOTS), vllm_cached_tokens=9
    )
    assert not any(each.content().any() for each in caches)


def test_a_slot_outside_the_cache_is_told_by_the_call_that_has_it() -> None:
    connector, caches = made(MLA), [on_device(each * 0) for each in contents(MLA)]
    memory, slots = memory_of((1, LAYERS, 3, HIDDEN)), np.array([1, -1, 2])
    with pytest.raises(isthmus.UsageError, match=r"target_index\[1\]"):
        connector.to_gpu(memory, 0, 3, kvcaches=caches, slot_mapping=on_device(slots))


def test_layouts_without_a_row_for_each_token_are_refused() -> None:
    with pytest.raises(isthmus.Unavailable, match="layout HND") as refusal:
        made(FUSED, kv_layout="HND")
    assert "VLLM_KV_CACHE_LAYOUT=NHD" in str(refusal.value)
    connector, memory = made(SPLIT, kv_layout="NHD"), memory_of((2, LAYERS, 10, HIDDEN))
    blocks_first = [Tensor(np.zeros((BLOCKS, 2, BLOCK, HEADS, ITEMS), "f2"))]
    with_gaps = [Tensor(np.zeros((2 * BLOCKS, BLOCK, HEADS, ITEMS), "f2"))[::2]]
    for caches in (blocks_first, with_gaps):
        with pytest.raises(isthmus.UsageError, match="one row after another"):
            connector.from_gpu(memory, 0, 10, kvcaches=caches, slot_mapping=on_device(SLOTS))


def test_installing_makes_lmcache_take_this_connector(connectors: ModuleType) -> None:
    undo = lmcache.install()
    assert issubclass(connectors.VLLMPagedMemGPUConnectorV2, GPUConnectorInterface)
    assert issubclass(connectors.VLLMPagedMemGPUConnectorV2, lmcache.BlockCopies)
    again = lmcache.install()
    undo()
    again()
    assert connectors.VLLMPagedMemGPUConnectorV2 is None
