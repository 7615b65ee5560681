"""Batches and models of PyTorch on a real GPU; files of torch.save; saved tensors."""

import gc
import mmap
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isthmus
import isthmus.torch
from isthmus import _native
from isthmus.errors import UsageError

pytestmark = pytest.mark.gpu

MIB = 1 << 20


@pytest.fixture(autouse=True)
def real(driver: _native.Driver) -> None:
    assert not driver.emulated


# --- prefetch -------------------------------------------------------------------------------------


def batches(torch: Any, count: int, *, pinned: bool = False) -> list[dict[str, Any]]:  # noqa: ANN401
    made = [
        {
            "images": torch.full((16, 3, 224, 224), i, dtype=torch.float32),
            "labels": torch.full((16,), i),
            "more": [torch.full((), float(i)), (torch.full((7, 5), i).t(), f"batch {i}")],
        }
        for i in range(count)
    ]
    if pinned:
        for batch in made:
            batch["images"] = batch["images"].pin_memory()
    return made


@pytest.mark.parametrize("pinned", [False, True])
def test_batches_arrive_in_order_while_earlier_ones_are_in_use(
    torch: Any,  # noqa: ANN401
    pinned: bool,
) -> None:
    sums = []
    for batch in isthmus.torch.prefetch(batches(torch, 12, pinned=pinned), 0):
        torch.cuda._sleep(20_000_000)
        assert batch["images"].is_cuda
        assert batch["more"][1][0].shape == (5, 7)
        sums.append(batch["images"].mean() + batch["labels"].float().mean() + batch["more"][0])
        assert batch["more"][1][1] == f"batch {len(sums) - 1}"
    assert torch.stack(sums).tolist() == [3.0 * i for i in range(12)]


def test_memory_in_use_is_not_given_to_a_later_batch(
    torch: Any,  # noqa: ANN401
) -> None:
    copies = []
    for batch in isthmus.torch.prefetch(batches(torch, 10), 0):
        torch.cuda._sleep(50_000_000)
        copies.append(batch["images"].clone())
        del batch
    for i, copy in enumerate(copies):
        assert bool((copy == i).all())


def test_a_consumer_in_a_stream_of_its_own_is_ordered_too(
    torch: Any,  # noqa: ANN401
) -> None:
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        sums = [batch["images"].sum() for batch in isthmus.torch.prefetch(batches(torch, 6), 0)]
    stream.synchronize()
    assert [value.item() for value in sums] == [i * 16 * 3 * 224 * 224.0 for i in range(6)]


def test_layouts_of_images_are_kept(
    torch: Any,  # noqa: ANN401
) -> None:
    image = torch.rand(8, 3, 32, 32).to(memory_format=torch.channels_last)
    (found,) = isthmus.torch.prefetch([image], 0)
    assert found.is_contiguous(memory_format=torch.channels_last)
    assert torch.equal(found.cpu(), image)


@pytest.mark.parametrize("kind", ["pageable", "pinned", "registered", "shared"])
def test_a_batch_that_somebody_else_holds_keeps_its_bytes(torch: Any, kind: str) -> None:  # noqa: ANN401
    batch = torch.full((4 * MIB,), 7, dtype=torch.float32)
    if kind == "pinned":
        batch = batch.pin_memory()
    if kind in {"registered", "shared"}:
        batch.share_memory_()
    if kind == "registered":
        torch.cuda.cudart().cudaHostRegister(batch.data_ptr(), batch.nbytes, 0)
    for _ in range(2):
        (copied,) = isthmus.torch.prefetch([batch], 0)
        assert bool((copied == 7).all())
        assert bool((batch == 7).all())
    batch.fill_(8)
    (copied,) = isthmus.torch.prefetch([batch], 0)
    assert bool((copied == 8).all())
    if kind == "registered":
        torch.cuda.cudart().cudaHostUnregister(batch.data_ptr())


def test_leaving_the_loop_gives_the_memory_back(
    torch: Any,  # noqa: ANN401
) -> None:
    before = torch.cuda.memory_allocated()
    for batch in isthmus.torch.prefetch(batches(torch, 50), 0):
        assert batch["images"].is_cuda
        break
    del batch
    gc.collect()
    torch.cuda.synchronize()
    assert torch.cuda.memory_allocated() == before


# In the whole suite JAX is imported, too: it warns of any fork, and the workers are forks.
@pytest.mark.filterwarnings("ignore:os.fork\\(\\) was called:RuntimeWarning")
@pytest.mark.filterwarnings("ignore::pytest.PytestUnraisableExceptionWarning")
def test_a_data_loader_with_workers_is_read_to_its_end(
    torch: Any,  # noqa: ANN401
) -> None:
    data = torch.utils.data.TensorDataset(torch.arange(1000.0).reshape(-1, 1))
    loader = torch.utils.data.DataLoader(data, batch_size=64, num_workers=2)
    prefetch = isthmus.torch.prefetch(loader, 0)
    assert len(prefetch) == 16
    for _ in range(2):
        found = torch.cat([batch for (batch,) in prefetch])
        assert torch.equal(found.cpu().flatten(), torch.arange(1000.0))


def test_a_sparse_tensor_is_refused_by_its_path(
    torch: Any,  # noqa: ANN401
) -> None:
    given = [{"graph": [torch.eye(3).to_sparse()]}]
    with pytest.raises(UsageError, match=r"batch\['graph'\]\[0\]"):
        list(isthmus.torch.prefetch(given, 0))


# --- to -------------------------------------------------------------------------------------------


def test_a_module_moves_to_the_gpu_and_back(
    torch: Any,  # noqa: ANN401
) -> None:
    net = torch.nn.Sequential(
        torch.nn.Conv2d(3, 8, 3), torch.nn.BatchNorm2d(8), torch.nn.LSTM(8, 16, 2)
    ).to(memory_format=torch.channels_last)
    net[0].tied = net[0].weight
    wanted = {name: tensor.clone() for name, tensor in net.state_dict().items()}
    assert isthmus.torch.to(net, 0) is net
    assert all(tensor.is_cuda for tensor in net.state_dict().values())
    assert net[0].tied is net[0].weight
    assert net[0].weight.is_contiguous(memory_format=torch.channels_last)
    isthmus.torch.to(net, "cpu")
    for name, tensor in net.state_dict().items():
        assert torch.equal(tensor, wanted[name]), name
    assert net[0].weight.requires_grad


def test_tensors_of_all_layouts_and_types_move(
    torch: Any,  # noqa: ANN401
) -> None:
    given = {
        "large": torch.rand(3000, 1000),
        "transposed": torch.rand(30, 50).t(),
        "part": torch.rand(30, 50)[::2, 3:40],
        "expanded": torch.rand(5, 1).expand(5, 7),
        "complex": torch.rand(9, dtype=torch.complex64).conj(),
        "half": torch.rand(1001).bfloat16(),
        "fp8": torch.rand(1001).to(torch.float8_e4m3fn),
        "bool": torch.rand(77) > 0.5,
        "empty": torch.rand(0, 3),
        "scalar": torch.tensor(3),
        "sparse": torch.eye(4).to_sparse(),
    }
    there = isthmus.torch.to(given, "cuda:0")
    for name, tensor in there.items():
        assert tensor.is_cuda, name
        back, wanted = tensor.cpu().to_dense(), given[name].to_dense()
        assert back.dtype == wanted.dtype, name
        assert torch.equal(back.to(torch.complex64), wanted.to(torch.complex64)), name
    assert isthmus.torch.to(there["large"], 0) is there["large"]
    back = isthmus.torch.to(there, "cpu")
    assert torch.equal(back["large"], given["large"])


def test_autograd_sees_a_move_that_it_records(
    torch: Any,  # noqa: ANN401
) -> None:
    leaf = torch.ones(5, requires_grad=True)
    (isthmus.torch.to(leaf, 0) * 2).sum().backward()
    assert leaf.grad.tolist() == [2.0] * 5


# --- files ----------------------------------------------------------------------------------------


def model(torch: Any) -> dict[str, Any]:  # noqa: ANN401
    large = torch.randint(-(2**15), 2**15 - 1, (2049, 3000), dtype=torch.int16, device="cuda")
    return {
        "large": large.view(torch.bfloat16),
        "transposed": torch.rand(300, 200, device="cuda").t(),
        "part": torch.rand(30, 50, device="cuda")[::2, 3:40],
        "parameter": torch.nn.Parameter(torch.rand(77, device="cuda")),
        "host": torch.rand(1001),
        "fp8": torch.rand(100, device="cuda").to(torch.float8_e4m3fn),
        "numpy": np.arange(10.0),
    }


@pytest.mark.parametrize("durable", [True, False])
def test_saved_tensors_are_what_safetensors_reads(
    torch: Any,  # noqa: ANN401
    tmp_path: Path,
    durable: bool,
) -> None:
    given = model(torch)
    path = tmp_path / "model.safetensors"
    isthmus.save_safetensors(given, path, {"format": "pt"}, durable=durable)
    found = isthmus.load_safetensors(path)
    for name, tensor in given.items():
        wanted = torch.as_tensor(tensor).detach().cuda().contiguous()
        assert found[name].dtype == wanted.dtype, name
        assert torch.equal(found[name].view(torch.uint8), wanted.view(torch.uint8)), name
    reference = pytest.importorskip("safetensors.torch").load_file(str(path))
    assert reference.keys() == found.keys()
    for name, tensor in reference.items():
        assert torch.equal(found[name].cpu().view(torch.uint8), tensor.view(torch.uint8)), name


def test_pending_work_on_a_tensor_comes_before_it_is_saved(
    torch: Any,  # noqa: ANN401
    tmp_path: Path,
) -> None:
    tensor = torch.zeros(8 * MIB, dtype=torch.uint8, device="cuda")
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(200_000_000)
        tensor.fill_(7)
        isthmus.save_safetensors({"a": tensor}, tmp_path / "saved")
    found = isthmus.load_safetensors(tmp_path / "saved")["a"]
    assert bool((found == 7).all())


def test_random_files_of_torch_save_are_loaded_as_pytorch_loads_them(
    torch: Any,  # noqa: ANN401
    tmp_path: Path,
) -> None:
    from fakes.pt_trees import Same, Trees

    path, compared = tmp_path / "tree.pt", 0
    for seed in range(200):
        try:
            torch.save(Trees(seed).tree(), path, _use_new_zipfile_serialization=seed % 5 > 0)
            wanted = torch.load(path, weights_only=True, map_location="cuda")
        except Exception:  # noqa: BLE001, S112 - tests/device/test_load_pt.py looks at refusals
            continue
        Same().require(isthmus.load_pt(path), wanted, f"tree {seed}")
        compared += 1
    assert compared > 100


def test_a_tensor_beyond_its_storage_is_refused(torch: Any, tmp_path: Path) -> None:  # noqa: ANN401
    path = tmp_path / "m.pt"
    torch.save(torch.zeros(77), path)
    content = path.read_bytes()
    assert content.count(b"K\x4d\x85") == 1
    path.write_bytes(content.replace(b"K\x4d\x85", b"K\x4e\x85"))
    with pytest.raises(isthmus.UsageError, match="outside of its storage of 308 bytes"):
        isthmus.load_pt(path)


def test_the_state_of_a_model_and_its_optimizer_is_loaded(
    torch: Any,  # noqa: ANN401
    tmp_path: Path,
) -> None:
    net = torch.nn.Linear(300, 200).cuda()
    optimizer = torch.optim.AdamW(net.parameters())
    net(torch.rand(4, 300, device="cuda")).sum().backward()
    optimizer.step()
    path = tmp_path / "checkpoint.pt"
    torch.save({"net": net.state_dict(), "optimizer": optimizer.state_dict()}, path)
    found = isthmus.load_pt(path)
    assert found["net"]._metadata == net.state_dict()._metadata
    other = torch.nn.Linear(300, 200).cuda()
    other.load_state_dict(found["net"])
    assert torch.equal(other.weight, net.weight)
    torch.optim.AdamW(other.parameters()).load_state_dict(found["optimizer"])


# --- memory of which PyTorch has pinned some pages ------------------------------------------------

PAGE = mmap.PAGESIZE


@pytest.mark.parametrize(
    ("size", "first", "count"),
    [
        (8 * MIB, 100, 1),
        (8 * MIB, 0, 1),
        (8 * MIB, 1, 64),
        (MIB, 3, 100),
        (16 * PAGE, 5, 2),
        (4 * MIB, 512, 512),
        (12 * MIB, 2900, 172),
    ],
)
def test_pageable_memory_with_pinned_pages_arrives_and_comes_back(
    torch: Any,  # noqa: ANN401
    size: int,
    first: int,
    count: int,
) -> None:
    host = np.frombuffer(mmap.mmap(-1, size), np.uint8)
    begin, runtime = host.ctypes.data + first * PAGE, torch.cuda.cudart()
    assert int(runtime.cudaHostRegister(begin, count * PAGE, 0)) == 0
    parts = [(0, size), (123, size - 77), (first * PAGE + 10, size), (0, first * PAGE + PAGE // 2)]
    try:
        for part in (slice(*ends) for ends in parts):
            host[:] = np.random.default_rng(size).integers(0, 256, size, np.uint8)
            before = host.copy()
            there = torch.zeros(part.stop - part.start, dtype=torch.uint8, device="cuda")
            isthmus.copy(there, host[part])
            assert np.array_equal(there.cpu().numpy(), before[part])
            there += 1
            isthmus.copy_async(host[part], there).result()
            before[part] += 1
            assert np.array_equal(host, before)
    finally:
        assert int(runtime.cudaHostUnregister(begin)) == 0
