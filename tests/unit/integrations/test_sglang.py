"""
The adapter for SGLang, with stand-ins for its modules and PyTorch's tensors.

The names, signatures and layouts are those of SGLang 0.5.23 and sglang-kernel 0.4.10 (wheels of
PyPI): `sgl_kernel/kvcacheio.py`, `sglang/srt/mem_cache/pool_host/mha.py` and `mla.py`; what the
functions do is in `sgl-kernel/csrc/kvcacheio/transfer.cu` of
https://github.com/sgl-project/sglang (stored commit 1243cf3da37c). test_installed.py has SGLang's
own.
"""

from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest
from numpy.typing import NDArray

import isthmus
from fakes.engine_tensors import Tensor, on_device, on_host
from isthmus.integrations import sglang

pytestmark = [pytest.mark.native, pytest.mark.usefixtures("torch")]

PAGE, LAYERS, ITEM = 4, 3, (2, 8)
RNG = np.random.default_rng(2)


def tokens_of(pages: list[int]) -> NDArray[np.int64]:
    return (np.array(pages)[:, None] * PAGE + np.arange(PAGE)).ravel()


HOST_PAGES, DEVICE_PAGES = [5, 0, 2], [1, 4, 3]
HOST, DEVICE = Tensor(tokens_of(HOST_PAGES)), Tensor(tokens_of(DEVICE_PAGES))


def layers(num: int) -> list[NDArray[np.float16]]:
    # A page more than whole ones, as SGLang's pools have it.
    return [RNG.random((6 * PAGE + 1, *ITEM)).astype("f2") for _ in range(num)]


def page_first() -> NDArray[np.float16]:
    return RNG.random((6, LAYERS, PAGE, *ITEM)).astype("f2")


def test_tokens_of_layer_first_caches_are_copied_one_by_one() -> None:
    content = layers(2 * LAYERS)
    source, target = [on_device(each) for each in content], [on_host(each * 0) for each in content]
    odd, places = np.array([7, 3, 4, 20]), np.array([1, 2, 3, 0])
    # Indices on the GPU are read, too.
    sglang.transfer_kv_direct(source, target, on_device(odd), Tensor(places), page_size=1)
    source[0].content()  # a later copy in the same stream
    for given, got in zip(content, target, strict=True):
        np.testing.assert_array_equal(got.items[places], given[odd])
        assert np.count_nonzero(got.items) == np.count_nonzero(given[odd])


@pytest.mark.parametrize("planes", [1, 2])
def test_pages_of_all_layers_are_backed_up(planes: int) -> None:
    content = layers(planes * LAYERS)
    source = [on_device(each) for each in content]
    target = [on_host(page_first() * 0) for _ in range(planes)]
    sglang.transfer_kv_all_layer_direct_lf_pf(source, target, DEVICE, HOST, page_size=PAGE)
    source[0].content()
    for plane in range(planes):
        for layer in range(LAYERS):
            given = content[plane * LAYERS + layer][DEVICE.items].reshape(-1, PAGE, *ITEM)
            np.testing.assert_array_equal(target[plane].items[HOST_PAGES, layer], given)
        assert not target[plane].items[[1, 3, 4]].any()


@pytest.mark.parametrize("planes", [1, 2])
def test_pages_of_one_layer_are_loaded(planes: int) -> None:
    content = [page_first() for _ in range(planes)]
    source, target = [on_host(each) for each in content], [on_device(e * 0) for e in layers(planes)]
    sglang.transfer_kv_per_layer_direct_pf_lf(
        src_ptrs=source,
        dst_ptrs=target,
        src_indices=HOST,
        dst_indices=DEVICE,
        layer_id=2,
        page_size=PAGE,
    )
    for given, got in zip(content, target, strict=True):
        found = got.content()
        np.testing.assert_array_equal(
            found[DEVICE.items].reshape(-1, PAGE, *ITEM), given[HOST_PAGES, 2]
        )
        assert np.count_nonzero(found) == np.count_nonzero(given[HOST_PAGES, 2])


@pytest.mark.parametrize(
    ("begin", "number"), [(1, PAGE), (0, PAGE + 1)], ids=["within another", "a part"]
)
def test_pages_that_arent_whole_are_refused(begin: int, number: int) -> None:
    source, target = [on_device(each) for each in layers(LAYERS)], [on_host(page_first())]
    tokens = Tensor(np.arange(begin, begin + number)), Tensor(np.arange(number))
    with pytest.raises(isthmus.UsageError, match="whole pages"):
        sglang.transfer_kv_all_layer_direct_lf_pf(source, target, *tokens, PAGE)


def test_pageable_caches_are_complete_on_return() -> None:
    content = layers(1)
    source, target = [on_device(content[0])], [Tensor(content[0] * 0)]
    sglang.transfer_kv_direct(source, target, DEVICE, HOST, PAGE)
    np.testing.assert_array_equal(target[0].items[HOST.items], content[0][DEVICE.items])


def test_installing_replaces_the_functions_in_all_pools(engine: Callable[..., ModuleType]) -> None:
    pools = [
        engine(
            f"sglang.srt.mem_cache.{name}",
            transfer_kv_direct=print,
            transfer_kv_per_layer_direct_pf_lf=print,
            transfer_kv_all_layer_direct_lf_pf=print,
        )
        for name in ("pool_host.mha", "pool_host.mla", "pool_host.dsa", "memory_pool_host")
    ]
    undo = sglang.install()
    assert {pool.transfer_kv_direct for pool in pools} == {sglang.transfer_kv_direct}
    undo()
    assert {pool.transfer_kv_all_layer_direct_lf_pf for pool in pools} == {print}


def test_a_machine_without_a_gpu_goes_on_with_a_warning(engine: Callable[..., ModuleType]) -> None:
    """SGLang's pools import the functions only where there is one."""
    engine("sglang.srt.mem_cache.pool_host.mha")
    with pytest.warns(isthmus.IsthmusWarning, match=r"transfer_kv_direct.*with a GPU"):
        sglang.install()
