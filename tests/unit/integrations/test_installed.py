"""
The adapters with the engines' own modules, where these and PyTorch are installed.

They need no GPU: copies of PyTorch's tensors on the host are made by the CPU here.
"""

# ruff: noqa: ANN401 - objects of engines

import ast
import importlib.util
import inspect
from pathlib import Path
from types import ModuleType, SimpleNamespace
from typing import Any

import numpy as np
import pytest

import isthmus
from fakes.engine_tensors import on_device, on_host
from isthmus.integrations import lmcache, sglang, vllm

pytestmark = [pytest.mark.native, pytest.mark.filterwarnings("ignore")]  # the engines' own
RNG = np.random.default_rng(4)


def installed(name: str) -> ModuleType:
    """Import an engine's module, or skip the test."""
    try:
        return importlib.import_module(name)
    except ImportError as error:
        pytest.skip(f"{name} isn't installed: {error}")


def file_of(package: str, path: str) -> Path:
    found = importlib.util.find_spec(package)
    if not found or not found.submodule_search_locations:
        pytest.skip(f"{package} isn't installed")
    return Path(found.submodule_search_locations[0]) / path


def parameters(function: Any) -> list[tuple[str, Any]]:
    return [(each.name, each.kind) for each in inspect.signature(function).parameters.values()]


def test_vllms_functions_have_the_signatures_that_stand_in_for_them() -> None:
    ops, worker = (installed(name) for name in (vllm._OPS, vllm._WORKER))
    assert parameters(vllm.swap_blocks) == parameters(ops.swap_blocks)
    assert parameters(vllm.swap_blocks_batch)[:-1] == parameters(ops.swap_blocks_batch)
    triton = parameters(worker.swap_blocks_batch)
    assert [kind for _, kind in parameters(vllm.swap_blocks_batch)] == [kind for _, kind in triton]
    assert parameters(vllm.swap_blocks_batch)[3:] == triton[3:]


def test_vllms_worker_takes_the_functions_and_its_addresses_are_copied(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    torch, worker = installed("torch"), installed(vllm._WORKER)
    monkeypatch.setattr(torch.cuda, "current_stream", lambda _device: 0)
    undo = vllm.install()
    chosen = [worker._select_swap_blocks_fn([[]], gpu_to_cpu=way) for way in (True, False)]
    undo()
    assert chosen == [vllm.swap_blocks_batch] * 2
    assert worker.ops.swap_blocks_batch.__module__ == vllm._OPS

    # Chunks of two blocks on the host, as its offloading connector has them.
    content = RNG.integers(-99, 99, (6, 128)).astype("i1")
    host, device = on_host(content), on_device(np.zeros((20, 64), "i1"))
    of, to = torch.empty(5, dtype=torch.int64), torch.empty(5, dtype=torch.int64)
    chunks, blocks = np.array([4, 0, 2]), np.array([19, 0, 7, 3, 11])
    for tensor, numbers, count, out, skip in (
        (host, chunks, 2, of, 1),
        (device, blocks, 1, to, 0),
    ):
        tensor.stride = lambda _axis, tensor=tensor: tensor.shape[1]  # type: ignore[attr-defined]
        worker.compute_sub_block_ptrs(numbers, count, out.numpy(), tensor, skip)
    chosen[1](of, to, torch.full((5,), 64), is_src_access_order_any=True)
    expected = np.zeros((20, 64), "i1")
    expected[blocks] = content.reshape(12, 64)[[9, 0, 1, 4, 5]]
    np.testing.assert_array_equal(device.content(), expected)


def test_vllms_mappings_are_read() -> None:
    torch = installed("torch")
    source, target = torch.arange(40.0).reshape(10, 4), torch.zeros(10, 4)
    vllm.swap_blocks(source, target, 16, torch.tensor([[3, 0], [1, 9]]))
    assert target[[0, 9]].tolist() == source[[3, 1]].tolist()


def test_sglangs_functions_have_the_signatures_that_stand_in_for_them() -> None:
    path = file_of("sgl_kernel", "kvcacheio.py")
    installed("torch")
    spec = importlib.util.spec_from_file_location("kvcacheio", path)
    assert spec
    assert spec.loader
    theirs = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(theirs)
    for name in dir(sglang):
        if name.startswith("transfer_"):
            assert parameters(getattr(sglang, name)) == parameters(getattr(theirs, name))


def test_sglangs_pools_import_the_functions_that_are_replaced() -> None:
    for module in sglang._MODULES:
        path = file_of("sglang", f"srt/mem_cache/{module.replace('.', '/')}.py")
        imported = {
            name.name
            for node in ast.walk(ast.parse(path.read_text("utf-8")))
            if isinstance(node, ast.ImportFrom) and node.module == "sgl_kernel.kvcacheio"
            for name in node.names
        }
        assert {name for name in dir(sglang) if name.startswith("transfer_")} <= imported


def test_sglangs_tensors_are_read() -> None:
    torch = installed("torch")
    device = [torch.rand(9, 2, 4) for _ in range(4)]
    host = [torch.zeros(3, 2, 2, 2, 4) for _ in range(2)]
    pages = torch.tensor([6, 7, 2, 3]), torch.tensor([0, 1, 4, 5])
    sglang.transfer_kv_all_layer_direct_lf_pf(device, host, *pages, page_size=2)
    for layer in range(4):
        found = host[layer // 2][[0, 2], layer % 2].reshape(4, 2, 4)
        assert torch.equal(found, device[layer][pages[0]])
    back = [torch.zeros(9, 2, 4) for _ in range(2)]
    sglang.transfer_kv_per_layer_direct_pf_lf(host, back, *pages[::-1], layer_id=1, page_size=2)
    assert torch.equal(back[1][pages[0]], device[3][pages[0]])
    again = [torch.zeros(9, 2, 4)]
    sglang.transfer_kv_direct(device[:1], again, torch.tensor([5]), torch.tensor([8]), page_size=1)
    assert torch.equal(again[0][8], device[0][5])


def memory_object(lmc: ModuleType, torch: Any, shape: Any) -> Any:
    size = shape.numel() * 2
    told = lmc.MemoryObjMetadata(shape, torch.float16, 0, size, 1, fmt=lmc.MemoryFormat.KV_2LTD)
    return lmc.TensorMemoryObj(torch.zeros(size, dtype=torch.uint8), told, None)


@pytest.mark.parametrize("layout", ["K and V apart", "K and V side by side", "MLA"])
def test_lmcaches_connector_moves_its_memory_objects(layout: str) -> None:
    torch, lmc = installed("torch"), installed("lmcache.v1.memory_management")
    connectors = installed(lmcache._CONNECTORS)
    shape = {"K and V apart": (2, 5, 4, 2, 8), "K and V side by side": (5, 4, 2, 16)}
    caches = [torch.rand(shape.get(layout, (5, 4, 16))).half() for _ in range(3)]
    is_mla = layout == "MLA"
    metadata = installed("lmcache.v1.metadata").LMCacheMetadata(
        model_name="m", world_size=1, local_world_size=1, worker_id=0, local_worker_id=0,
        kv_dtype=torch.float16, kv_shape=(3, 2 - is_mla, 256, 2, 8), use_mla=is_mla,
    )  # fmt: skip
    undo = lmcache.install()
    connector = connectors.VLLMPagedMemGPUConnectorV2.from_metadata(metadata, layout_hints={})
    undo()
    assert isinstance(connector, connectors.GPUConnectorInterface)
    assert connectors.VLLMPagedMemGPUConnectorV2.__module__ == lmcache._CONNECTORS
    slots = torch.tensor([13, 14, 15, 4, 19])
    memory = memory_object(lmc, torch, connector.get_shape(5))
    # vLLM shows (blocks, heads, tokens, K and V), whatever the order in memory is.
    seen = [each.transpose(1, 2) if each.ndim == 4 else each for each in caches]
    connector.from_gpu(memory, 0, 5, kvcaches=seen, slot_mapping=slots)
    assert (memory.metadata.fmt == lmc.MemoryFormat.KV_MLA_FMT) == is_mla
    zeros = [torch.zeros_like(each) for each in caches]
    connector.batched_to_gpu(
        [memory], [0], [5], kvcaches=zeros, slot_mapping=slots, vllm_cached_tokens=1
    )
    planes: list[Any] = [lambda each: each]
    if layout == "K and V apart":
        planes = [lambda each: each[0], lambda each: each[1]]
    for plane, part in enumerate(planes):
        for layer, (cache, zero) in enumerate(zip(caches, zeros, strict=True)):
            rows = part(cache).reshape(20, -1)[slots]
            found = memory.tensor.reshape(len(planes) * 3, 5, -1)[plane * 3 + layer]
            assert torch.equal(found, rows)
            assert torch.equal(part(zero).reshape(20, -1)[slots[1:]], rows[1:])
            assert not part(zero).reshape(20, -1)[slots[0]].any()
    with pytest.raises(isthmus.UsageError, match="one row after another"):
        connector.from_gpu(memory, 0, 5, kvcaches=[torch.zeros(5, 2, 4, 2, 8)], slot_mapping=slots)


@pytest.mark.parametrize("is_mla", [True, False])
def test_memory_objects_hold_what_lmcaches_own_copies_write(is_mla: bool) -> None:
    torch, lmc = installed("torch"), installed("lmcache.v1.memory_management")
    theirs = installed("lmcache.v1.platform.torch_ops.mem_kernels")
    caches = [torch.rand((5, 4, 16) if is_mla else (2, 5, 4, 2, 8)).half() for _ in range(3)]
    slots = torch.tensor([13, 14, 15, 4, 19])
    told = SimpleNamespace(use_mla=is_mla, kv_shape=(3, 2 - is_mla, 256, 2, 8))
    make: Any = lmcache.connector()
    connector = make(told, None)
    ours, other = (memory_object(lmc, torch, connector.get_shape(5)) for _ in range(2))
    connector.from_gpu(ours, 0, 5, kvcaches=caches, slot_mapping=slots)
    formats = theirs.EngineKVFormat
    theirs.multi_layer_kv_transfer(
        other.tensor,
        [each.view(*(() if is_mla else (2,)), 20, 16) for each in caches],
        slots,
        torch.device("cpu"),
        20,
        theirs.TransferDirection.D2H,
        formats.NL_X_NB_BS_HS if is_mla else formats.NL_X_TWO_NB_BS_NH_HS,
        block_size=4,
    )
    assert torch.equal(ours.tensor, other.tensor)
    assert ours.tensor.any()


def test_lmcaches_interface_has_the_methods_that_the_connector_gives() -> None:
    base = installed(lmcache._CONNECTORS).GPUConnectorInterface
    assert not lmcache.connector().__abstractmethods__  # type: ignore[attr-defined]
    for name in base.__abstractmethods__:
        theirs, ours = (parameters(getattr(each, name)) for each in (base, lmcache.BlockCopies))
        assert ours == theirs, name
