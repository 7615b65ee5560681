"""
The adapter for vLLM, with stand-ins for vLLM's modules and PyTorch's tensors.

The names and signatures are those of vLLM 0.33.0 (`vllm-0.33.0-cp38-abi3-manylinux_2_28_x86_64.whl`
from PyPI): `vllm/_custom_ops.py`, `vllm/v1/kv_offload/cpu/swap_blocks_triton.py` and
`vllm/v1/kv_offload/cpu/gpu_worker.py`. test_installed.py has vLLM's own.
"""

import importlib.util
from collections.abc import Callable
from types import ModuleType

import numpy as np
import pytest

import isthmus
from fakes.engine_tensors import EngineTorch, Tensor, on_device, on_host
from isthmus.integrations import lmcache, sglang, vllm

pytestmark = pytest.mark.native

OPS, WORKER = "vllm._custom_ops", "vllm.v1.kv_offload.cpu.gpu_worker"
RNG = np.random.default_rng(1)


def pointers(pool: Tensor, blocks: list[int]) -> Tensor:
    return Tensor(np.array([pool[block].data_ptr() for block in blocks], np.int64))


@pytest.mark.parametrize("to_gpu", [True, False])
@pytest.mark.parametrize("where", [on_host, Tensor])
@pytest.mark.usefixtures("torch")
def test_pieces_between_addresses_arrive_before_what_follows_in_the_stream(
    to_gpu: bool, where: Callable[..., Tensor]
) -> None:
    content = RNG.integers(-99, 99, (20, 4096)).astype("i1")
    blocks, others = [3, 0, 19], [7, 1, 2]
    host = where(np.zeros_like(content) if not to_gpu else content)
    device = on_device(np.zeros_like(content) if to_gpu else content)
    source, target = (host, device) if to_gpu else (device, host)
    vllm.swap_blocks_batch(
        pointers(source, blocks),
        pointers(target, others),
        Tensor(np.full(3, 4096, np.int64)),
        is_src_access_order_any=to_gpu,
    )
    found = device.content()  # a later copy in the same stream
    expected = np.zeros_like(content)
    expected[others] = content[blocks]
    np.testing.assert_array_equal(found if to_gpu else host.items, expected)


def test_pieces_are_put_into_the_current_stream(
    torch: EngineTorch, monkeypatch: pytest.MonkeyPatch
) -> None:
    torch.stream = 4711
    asked = []

    def copy_many(*_arrays: object, stream: object) -> isthmus.CopyFuture:
        asked.append(stream)
        return isthmus.copy_async(np.zeros(1), np.ones(1))

    monkeypatch.setattr(isthmus, "copy_many", copy_many)
    vllm.swap_blocks_batch(None, None, None)
    assert [stream.cuda_stream for stream in asked] == [4711]  # type: ignore[attr-defined]


@pytest.mark.usefixtures("torch")
def test_blocks_by_index_are_those_of_the_mapping() -> None:
    content = RNG.random((10, 8, 16)).astype("f4")
    source, target = on_host(content), on_device(np.zeros((30, 8, 16), "f4"))
    mapping = Tensor(np.array([[9, 0], [4, 29], [0, 3]], np.int64))
    vllm.swap_blocks(source, target, 8 * 16 * 4, mapping)
    expected = np.zeros((30, 8, 16), "f4")
    expected[[0, 29, 3]] = content[[9, 4, 0]]
    np.testing.assert_array_equal(target.content(), expected)
    with pytest.raises(isthmus.UsageError, match="10"):
        vllm.swap_blocks(source, target, 8 * 16 * 4, Tensor(np.array([[10, 0]], np.int64)))


def swap_blocks(
    src: object, dst: object, block_size_in_bytes: int, block_mapping: object
) -> None: ...


def swap_blocks_batch(
    src_ptrs: object, dst_ptrs: object, sizes: object, is_src_access_order_any: bool = False
) -> None: ...


def of_triton(
    src_addrs: object,
    dst_addrs: object,
    sizes: object,
    is_src_access_order_any: bool = False,
    *,
    bytes_per_chunk: int,
) -> None: ...


def test_installing_replaces_all_that_vllm_calls_and_can_be_undone(
    engine: Callable[..., ModuleType],
) -> None:
    ops = engine(OPS, swap_blocks=swap_blocks, swap_blocks_batch=swap_blocks_batch)
    worker = engine(WORKER, swap_blocks_batch=of_triton)
    undo = vllm.install()
    assert ops.swap_blocks is vllm.swap_blocks
    assert ops.swap_blocks_batch is worker.swap_blocks_batch is vllm.swap_blocks_batch
    undo()
    assert (ops.swap_blocks, ops.swap_blocks_batch) == (swap_blocks, swap_blocks_batch)
    assert worker.swap_blocks_batch is of_triton


@pytest.mark.parametrize("order", [(0, 1), (1, 0)])
def test_installing_twice_can_be_undone_in_any_order(
    engine: Callable[..., ModuleType], order: tuple[int, int]
) -> None:
    ops = engine(OPS, swap_blocks=swap_blocks, swap_blocks_batch=swap_blocks_batch)
    engine(WORKER, swap_blocks_batch=of_triton)
    undo = vllm.install(), vllm.install()
    for each in order:
        undo[each]()
    assert ops.swap_blocks is swap_blocks
    undo = vllm.install(), vllm.install()
    vars(ops)["swap_blocks"] = print  # another plugin's
    for each in order:
        undo[each]()
    assert ops.swap_blocks is print


def test_another_version_or_none_goes_on_with_its_own_functions_and_a_warning(
    engine: Callable[..., ModuleType], monkeypatch: pytest.MonkeyPatch
) -> None:
    ops = engine(OPS, swap_blocks=swap_blocks)
    with pytest.warns(isthmus.IsthmusWarning, match=r"swap_blocks_batch.*needs vLLM 0\.33\.0"):
        undo = vllm.install()
    undo()
    assert ops.swap_blocks is swap_blocks
    monkeypatch.undo()
    if not importlib.util.find_spec("vllm"):
        with pytest.warns(isthmus.IsthmusWarning, match="No module named 'vllm'"):
            vllm.install()


def test_an_engine_whose_import_fails_goes_on_with_a_warning_of_one_line(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    def fail(name: str) -> ModuleType:
        raise RuntimeError(f"{name}: no NVIDIA driver")

    monkeypatch.setattr(importlib, "import_module", fail)
    for install in (vllm.install, sglang.install, lmcache.install):
        with pytest.warns(isthmus.IsthmusWarning, match=r"keeps its own.*no NVIDIA driver") as told:
            install()
        assert "\n" not in str(told[0].message)
