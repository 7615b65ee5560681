"""Copies of blocks with PyTorch on a GPU: streams, graphs, autograd, priorities."""

from typing import Any

import pytest

import isthmus

torch: Any = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch sees no GPU")


def pools(rows: int = 2000, items: int = 2048) -> tuple[Any, Any]:
    host = torch.randn(rows, items, dtype=torch.bfloat16, pin_memory=True)
    return host, torch.zeros(rows, items, dtype=torch.bfloat16, device="cuda")


def some(count: int, number: int, device: str = "cuda") -> Any:  # noqa: ANN401
    return torch.randperm(count)[:number].to(device, torch.int32)


@pytest.mark.parametrize("where", ["cuda", "cpu"])
@pytest.mark.parametrize("items", [8, 256, 2048, 20_000])
def test_blocks_arrive_in_the_current_stream(where: str, items: int) -> None:
    host, device = pools(items=items)
    to, of = some(2000, 1500, where), some(2000, 1500, where)
    stream = torch.cuda.Stream()
    stream.wait_stream(torch.cuda.current_stream())
    with torch.cuda.stream(stream):
        isthmus.copy_blocks(device, host, to, of)
        found = device[to.cuda().long()].clone()
    stream.synchronize()
    assert torch.equal(found.cpu(), host[of.cpu().long()])
    isthmus.copy_blocks(host, device, of, to)
    torch.cuda.synchronize()
    isthmus.check_blocks()
    assert torch.equal(host[of.cpu().long()], found.cpu())


@pytest.mark.parametrize("number", [8192, 100_000, (1 << 20) + 777])  # sorted in one or two rounds
@pytest.mark.parametrize("where", ["cuda", "cpu"])
def test_short_blocks_of_a_long_pool_arrive(where: str, number: int) -> None:
    host = torch.randint(1 << 30, ((2 << 30) // 512, 128), dtype=torch.int32).pin_memory()
    device = torch.zeros(number, 128, dtype=torch.int32, device="cuda")
    to, of = torch.randperm(number).to(where), some(host.shape[0], number, where)
    wanted = host[of.cpu().long()]
    isthmus.copy_blocks(device, host, to, of.long()).result()
    assert torch.equal(device[to.cuda()].cpu(), wanted)
    device.neg_()
    isthmus.copy_blocks(host, device, of.long(), to).result()
    assert torch.equal(host[of.cpu().long()], -wanted)


def test_a_graph_reads_the_indices_of_each_replay() -> None:
    host, device = pools()
    to, of = some(2000, 100), some(2000, 100)
    here = to.cpu()
    plan = isthmus.plan_blocks(device, host, [0, 1], [2, 3])
    isthmus.copy_blocks(device, host, to, of).result()  # compiles the kernel
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        isthmus.copy_blocks(device, host, to, of)
        plan()
        with pytest.raises(isthmus.UsageError, match="a graph doesn't repeat"):
            isthmus.copy_blocks(device, host, here, here)
    for _ in range(3):
        to.copy_(some(1998, 100) + 2)
        of.copy_(some(2000, 100))
        device.zero_()
        graph.replay()
        torch.cuda.synchronize()
        assert torch.equal(device[to.long()].cpu(), host[of.long().cpu()])
        assert torch.equal(device[:2].cpu(), host[2:4])


def test_pageable_pools_are_refused_in_a_capture() -> None:
    _, device = pools(100)
    pageable = torch.ones(100, 2048, dtype=torch.bfloat16)
    index = some(100, 10)
    graph = torch.cuda.CUDAGraph()
    with torch.cuda.graph(graph):
        index.add_(0)  # PyTorch warns of an empty graph
        with pytest.raises(isthmus.UsageError, match="captured"):
            isthmus.copy_blocks(device, pageable, index, index)


def test_a_tensor_that_was_saved_for_backward_is_known_to_be_overwritten() -> None:
    host, device = pools(100)
    device = device.float()
    weight = torch.ones(100, 2048, device="cuda", requires_grad=True)
    loss = (weight * device).sum()
    isthmus.copy_blocks(device, host.float().pin_memory(), [0], [1])
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        loss.backward()


def test_memory_that_nobody_keeps_is_not_given_out_during_a_copy() -> None:
    host, device = pools(20_000)
    expected = host.clone()
    for _ in range(5):
        to = torch.randperm(20_000, device="cuda", dtype=torch.int32)
        isthmus.copy_blocks(device, host, to, to.clone())
        del to
        torch.full((20_000,), 7, device="cuda", dtype=torch.int32)
    torch.cuda.synchronize()
    isthmus.check_blocks()
    assert torch.equal(device.cpu(), expected)


@pytest.mark.parametrize("way", ["kernel", "batch"])
@pytest.mark.parametrize("priority", ["bulk", "urgent"])
@pytest.mark.parametrize("sms", [1, 4, 16])
def test_each_way_moves_the_same_bytes(way: str, priority: str, sms: int) -> None:
    if (way, priority) == ("batch", "urgent"):
        pytest.skip("a batch is never urgent")
    native = isthmus.Transfers()._native
    stream = torch.cuda.Stream()
    for items in (256, 2048, 8192, 33_000):
        host, device = pools(500, items)
        to, of = some(500, 400, "cpu"), some(500, 400, "cpu")
        torch.cuda.synchronize()
        native.copy_blocks(device, host, to, of, None, stream, sms, priority, way).wait(60)
        assert torch.equal(device[to.long().cuda()].cpu(), host[of.long()]), items
        host.zero_()
        native.copy_blocks(host, device, of, to, None, stream, sms, priority, way).wait(60)
        assert torch.equal(host[of.long()], device[to.long().cuda()].cpu()), items
