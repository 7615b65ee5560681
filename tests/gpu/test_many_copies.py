"""Many copies by one call, futures, events and parts of arrays, on a GPU and with PyTorch."""

# ruff: noqa: ANN401 - modules of libraries

import concurrent.futures
from typing import Any

import numpy as np
import pytest

import isthmus

pytestmark = pytest.mark.gpu


def kernel_calls() -> int:
    return isthmus.stats().paths["kernel"].calls


@pytest.mark.parametrize("pinned", [False, True])
def test_a_state_dict_goes_there_and_comes_back(torch: Any, *, pinned: bool) -> None:
    generator = torch.Generator().manual_seed(1)
    sizes = [1, 3, 100, 1024, 4097, 65_536, 262_144, 3_000_001]
    state = {
        f"layers.{i}": torch.randn(sizes[i % len(sizes)], generator=generator) for i in range(80)
    }
    if pinned:
        state = {name: tensor.pin_memory() for name, tensor in state.items()}
    device = {name: torch.empty_like(tensor, device="cuda") for name, tensor in state.items()}
    isthmus.copy(device, state)
    assert all(torch.equal(device[name].cpu(), tensor) for name, tensor in state.items())
    back = {name: torch.empty_like(tensor) for name, tensor in state.items()}
    isthmus.copy_async(back, device).result(60)
    assert all(torch.equal(back[name], tensor) for name, tensor in state.items())


def test_many_small_pinned_copies_are_made_by_one_launch(torch: Any) -> None:
    sources = [torch.full((1024,), float(i)).pin_memory() for i in range(256)]
    targets = [torch.empty(1024, device="cuda") for _ in sources]
    before = kernel_calls()
    isthmus.copy(targets, sources)
    assert kernel_calls() - before == 256, "without NVRTC: pip install isthmus[cuda13]"
    assert all(target[7].item() == i for i, target in enumerate(targets))
    homes = [torch.empty(1024) for _ in sources]
    isthmus.copy(homes, targets)
    assert all(torch.equal(home, source) for home, source in zip(homes, sources, strict=True))


def test_pieces_at_odd_addresses_arrive(torch: Any) -> None:
    whole = torch.arange(1 << 20, dtype=torch.int64).to(torch.uint8).pin_memory()
    device = torch.zeros(1 << 20, dtype=torch.uint8, device="cuda")
    spans = [(i * 4001 + i % 7, i * 4001 + i % 7 + 1 + i * 13) for i in range(200)]
    isthmus.copy([device[a:b] for a, b in spans], [whole[a:b] for a, b in spans])
    assert all(torch.equal(device[a:b].cpu(), whole[a:b]) for a, b in spans)


def test_many_copies_begin_after_the_work_of_pytorchs_stream(torch: Any) -> None:
    tensors = [torch.zeros(1000, device="cuda") for _ in range(64)]
    homes = [torch.empty(1000).pin_memory() for _ in tensors]
    stream = torch.cuda.Stream()
    with torch.cuda.stream(stream):
        torch.cuda._sleep(50_000_000)
        for tensor in tensors:
            tensor.add_(3)
        isthmus.copy(homes, tensors)
    assert all(bool((home == 3).all()) for home in homes)


def test_an_event_makes_pytorchs_stream_wait(torch: Any) -> None:
    source = torch.ones(1 << 24).pin_memory()
    target = torch.zeros(1 << 24, device="cuda")
    copying, computing = torch.cuda.Stream(), torch.cuda.Stream()
    torch.cuda.synchronize()
    with torch.cuda.stream(copying):
        torch.cuda._sleep(50_000_000)
    future = isthmus.copy_async(target, source, stream=copying, source_order="stream")
    assert future.event.handle
    future.event.wait(computing)
    with torch.cuda.stream(computing):
        total = target.sum()
    computing.synchronize()
    assert total.item() == 1 << 24
    assert future.done()


def test_copies_are_futures(torch: Any) -> None:
    tensors = [torch.full((1 << 20,), float(i), device="cuda") for i in range(8)]
    homes = [np.empty(1 << 20, np.float32) for _ in tensors]
    futures = [
        isthmus.copy_async(home, tensor) for home, tensor in zip(homes, tensors, strict=True)
    ]
    assert set(concurrent.futures.as_completed(futures, timeout=60)) == set(futures)
    assert [home[5] for home in homes] == list(range(8))


@pytest.mark.parametrize("pinned", [False, True])
def test_parts_of_tensors_are_copied_both_ways(torch: Any, *, pinned: bool) -> None:
    tensor = torch.randn(64, 300, 70, device="cuda")
    for part in (
        np.s_[:, 1:5],
        np.s_[..., ::2],
        np.s_[3:60:7, :, 5],
        np.s_[10:20, 30:50],
        np.s_[:, :, :65],
    ):
        home = torch.empty(tensor[part].shape, pin_memory=pinned)
        isthmus.copy(home, tensor[part])
        assert torch.equal(home, tensor[part].cpu())
        expected = tensor.clone()
        expected[part] = 2 * expected[part]
        isthmus.copy(tensor[part], 2 * home)
        assert torch.equal(tensor, expected)
    transposed = torch.empty(70, 300, 64, device="cuda").permute(2, 1, 0)
    isthmus.copy(transposed, tensor)
    assert torch.equal(transposed, tensor)
