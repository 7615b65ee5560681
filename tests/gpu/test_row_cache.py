"""`isthmus.RowCache` on a GPU, and the modules of PyTorch that work on it."""

from typing import Any, Literal

import pytest

import isthmus

torch: Any = pytest.importorskip("torch")
pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="PyTorch sees no GPU")


def table_of(num_rows: int, width: int = 128) -> Any:  # noqa: ANN401
    return torch.randn(num_rows, width, pin_memory=True)


def some(num_rows: int, count: int, kind: Any = None) -> Any:  # noqa: ANN401
    return torch.randint(num_rows, (count,), device="cuda", dtype=kind or torch.int64)


@pytest.mark.parametrize("policy", ["lru", "clock"])
@pytest.mark.parametrize("width", [64, 128, 1000, 4096])
def test_random_calls_find_and_write_back_what_a_table_has(
    policy: Literal["lru", "clock"], width: int
) -> None:
    torch.manual_seed(width)
    table = table_of(60_000, width)
    wanted = table.cuda()
    with isthmus.RowCache(table, 20_000, policy=policy, write_back=True) as cache:
        rows = cache.rows
        other = torch.cuda.Stream()
        for turn in range(60):
            count = (50, 4096, 30_000)[turn % 3]
            keys = some(60_000 if turn % 2 else 9000, min(count, 19_000))
            slots = cache.ensure(keys)
            assert slots.dtype == torch.int32
            ahead = some(60_000, 2000, torch.int32)
            other.wait_stream(torch.cuda.current_stream())
            cache.prefetch(ahead, other)
            assert torch.equal(rows[slots], wanted[keys])
            once = keys.unique()[::3]
            held = torch.zeros(60_000, dtype=torch.int64, device="cuda")
            held[keys] = slots.long()
            values = torch.randn(len(once), width, device="cuda")
            cache.update(held[once], values)
            wanted[once] = values
            other.synchronize()
        torch.cuda.synchronize()
        cache.check()
        assert cache.stats().evicted > 0
    assert torch.equal(table, wanted.cpu())


def test_a_hundred_million_keys_find_their_rows_while_these_are_stored_to() -> None:
    num_rows, count = 2_000_000, 40_000
    table = torch.zeros(num_rows, 64, dtype=torch.int32, pin_memory=True)
    wanted = torch.zeros(num_rows, dtype=torch.int32, device="cuda")
    wrong = torch.zeros((), dtype=torch.int64, device="cuda")
    held = torch.zeros(num_rows, dtype=torch.int64, device="cuda")
    with isthmus.RowCache(table.numpy(), 500_000, write_back=True) as cache:
        rows = torch.from_dlpack(cache.rows)
        for turn in range(2500):
            keys = some(num_rows if turn % 2 else 400_000, count)
            slots = cache.ensure(keys)
            wrong += (rows[slots] != wanted[keys][:, None]).sum()
            held[keys] = slots.long()
            once = keys.unique()[::4]
            values = torch.full((len(once), 64), turn, dtype=torch.int32, device="cuda")
            cache.update(held[once], values)
            wanted[once] = turn
        assert int(wrong) == 0
        cache.check()
        assert cache.stats().keys == 100_000_000
    assert torch.equal(table, wanted.cpu()[:, None].expand(-1, 64))


def test_cupy_and_jax_get_slots_of_their_own() -> None:
    table = table_of(1000)
    with isthmus.RowCache(table.numpy(), 100) as cache:
        rows = torch.from_dlpack(cache.rows)
        cupy: Any = pytest.importorskip("cupy")
        slots = cache.ensure(cupy.arange(50))
        assert isinstance(slots, cupy.ndarray)
        assert torch.equal(rows[torch.from_dlpack(slots)].cpu(), table[:50])
        jax: Any = pytest.importorskip("jax")
        if not any(device.platform == "gpu" for device in jax.devices()):
            pytest.skip("JAX sees no GPU")
        found = cache.ensure(jax.numpy.arange(20, 70))
        assert isinstance(found, jax.Array)
        assert torch.equal(rows[torch.from_dlpack(found)].cpu(), table[20:70])


def test_what_finds_no_room_and_keys_beyond_the_table() -> None:
    table = table_of(100_000)
    with isthmus.RowCache(table.numpy(), 10_000) as cache:
        rows = torch.from_dlpack(cache.rows)
        keys = torch.randperm(100_000, device="cuda")[:30_000]
        slots = cache.ensure(keys)
        has_room = slots >= 0
        assert int(has_room.sum()) == 10_000
        assert torch.equal(rows[slots[has_room]].cpu(), table[keys[has_room].cpu()])
        with pytest.raises(isthmus.UsageError, match="20000 keys"):
            cache.ensure(keys[:10])
        assert cache.ensure(torch.tensor([5, -1, 100_000], device="cuda")).tolist()[1:] == [-1, -1]
        with pytest.raises(isthmus.UsageError, match=r"2 keys .* position 1"):
            cache.check()


def test_a_graphs_replays_are_the_eager_calls() -> None:
    table = table_of(200_000)
    with isthmus.RowCache(table.numpy(), 30_000) as cache:
        rows = torch.from_dlpack(cache.rows)
        keys = some(200_000, 20_000)
        graph = torch.cuda.CUDAGraph()
        with torch.cuda.graph(graph):
            slots = cache.ensure(keys)
            found = rows[slots]
        for _ in range(30):
            keys.copy_(some(200_000, 20_000))
            graph.replay()
            assert torch.equal(found.cpu(), table[keys.cpu()])
        torch.cuda.synchronize()
        cache.check()
        assert cache.stats().calls == 30


def test_calls_in_two_streams_follow_each_other() -> None:
    table = table_of(100_000)
    with isthmus.RowCache(table.numpy(), 20_000) as cache:
        rows = torch.from_dlpack(cache.rows)
        streams = [torch.cuda.Stream(), torch.cuda.Stream()]
        for turn in range(50):
            stream, last = streams[turn % 2], streams[(turn + 1) % 2]
            with torch.cuda.stream(stream):
                keys = some(100_000, 10_000)
                stream.wait_stream(last)
                assert torch.equal(rows[cache.ensure(keys)].cpu(), table[keys.cpu()])
        cache.check()


@pytest.mark.parametrize("mode", ["sum", "mean", None])
@pytest.mark.parametrize("dtype", ["float32", "bfloat16"])
def test_training_by_sgd_is_that_of_a_resident_table_bit_for_bit(
    mode: Literal["sum", "mean"] | None, dtype: str
) -> None:
    torch.manual_seed(1)
    table = torch.randn(50_000, 128).to(getattr(torch, dtype)).pin_memory()
    resident = table.cuda().requires_grad_()
    bag = isthmus.torch.CachedEmbedding(table, 9000, mode=mode)
    functional = torch.nn.functional
    for _ in range(40):
        keys = torch.randint(50_000, (800, 10), device="cuda")
        given = bag(keys)
        wanted = (
            functional.embedding_bag(keys, resident, mode=mode, sparse=True)
            if mode
            else functional.embedding(keys, resident, sparse=True)
        )
        assert torch.equal(given, wanted)
        gradient = torch.randn_like(given)
        given.backward(gradient)
        wanted.backward(gradient)
        bag.step(0.1)
        with torch.no_grad():
            resident.add_(resident.grad.coalesce(), alpha=-0.1)
        resident.grad = None
    bag.close()
    assert torch.equal(table, resident.detach().cpu())


def test_rowwise_adagrad_is_the_formula() -> None:
    table = table_of(20_000, 64)
    resident, sums = table.cuda(), torch.zeros(20_000, device="cuda")
    bag = isthmus.torch.CachedEmbedding(table, 3000, optimizer="rowwise_adagrad")
    for _ in range(20):
        keys = torch.randperm(20_000, device="cuda")[:2000].view(200, 10)
        given = bag(keys)
        gradient = torch.randn_like(given)
        given.backward(gradient)
        bag.step(0.1)
        of_rows, flat = gradient.repeat_interleave(10, 0), keys.flatten()
        sums[flat] += of_rows.square().mean(1)
        resident[flat] -= 0.1 * of_rows / (sums[flat].sqrt() + 1e-10)[:, None]
    bag.close()
    torch.testing.assert_close(bag.state, sums)
    torch.testing.assert_close(table, resident.cpu())


def test_a_table_of_a_type_that_numpy_does_not_know_is_a_tensor_of_it_on_the_gpu() -> None:
    table = torch.randn(3000, 4, 128).bfloat16()
    with isthmus.RowCache(table, 500) as cache:
        assert "table=(3000, 4, 128), dtype=torch.bfloat16" in repr(cache)
        keys = some(3000, 400)
        assert torch.equal(cache.rows[cache.ensure(keys)].cpu(), table[keys.cpu()])


def test_tensors_with_gaps_and_on_the_gpu_are_no_tables() -> None:
    for table in (torch.empty(100, 256)[:, :128], torch.empty(100, 128, device="cuda")):
        with pytest.raises(isthmus.UsageError, match="contiguous tensor in host memory"):
            isthmus.RowCache(table, 10)


def test_autograd_is_told_that_rows_and_the_table_may_have_changed() -> None:
    table = table_of(1000)
    factor = torch.ones(100, 128, device="cuda", requires_grad=True)
    with isthmus.RowCache(table, 100, write_back=True) as cache:
        product = (factor * cache.rows).sum()
        before = table._version
        slots = cache.ensure(some(1000, 50))
        with pytest.raises(RuntimeError, match="modified by an inplace operation"):
            product.backward()
        cache.mark_dirty(slots)
        assert table._version > before


def test_a_prefetch_before_the_backward_pass_leaves_weights_of_samples_their_gradients() -> None:
    table = table_of(1000)
    bag = isthmus.torch.CachedEmbedding(table, 100)
    keys = some(1000, 20).view(4, 5)
    weights = torch.ones(4, 5, device="cuda", requires_grad=True)
    given = bag(keys, per_sample_weights=weights)
    bag.prefetch(some(1000, 20))
    given.sum().backward()
    torch.testing.assert_close(weights.grad, table.cuda()[keys].sum(2))
    bag.step(0.0)
    bag.close()


def test_a_forward_pass_before_a_step_is_refused() -> None:
    bag = isthmus.torch.CachedEmbedding(table_of(1000), 100)
    keys = torch.zeros((2, 3), dtype=torch.int64, device="cuda")
    bag(keys).sum().backward()
    with pytest.raises(isthmus.UsageError, match="step"):
        bag(keys)
    bag.step(0.1)
    with torch.no_grad():
        bag(keys)
    bag(keys)
    bag.close()


def test_what_a_block_raises_wins_over_a_wrong_key_of_an_embedding() -> None:
    bag = isthmus.torch.CachedEmbedding(table_of(1000), 100)

    def work() -> None:
        with bag, torch.no_grad():
            bag(torch.full((2, 3), 5000, device="cuda"))
            raise ZeroDivisionError

    with pytest.raises(ZeroDivisionError) as raised:
        work()
    assert "no rows of the table" in raised.value.__notes__[0]


def test_keys_in_a_stream_of_the_callers_are_not_given_out_meanwhile() -> None:
    table, stream = table_of(100_000), torch.cuda.Stream()
    cache = isthmus.RowCache(table.numpy(), 50_000)
    for _ in range(20):
        keys = some(100_000, 40_000)
        wanted = keys.cpu()
        torch.cuda.synchronize()
        slots = cache.ensure(keys, stream)
        del keys
        torch.full((40_000,), 7, device="cuda")
        torch.cuda.synchronize()
        found = torch.from_dlpack(cache.rows)[slots.long()].cpu()
        assert torch.equal(found, table[wanted.long()])
    cache.close()


def test_experts_are_those_that_a_router_chooses() -> None:
    table = torch.randn(64, 1024, 512).bfloat16().pin_memory()
    experts = isthmus.torch.CachedExperts(table, 16)
    inputs = torch.randn(32, 512, 1, device="cuda").bfloat16()
    for _ in range(20):
        chosen = torch.randint(64, (8,), device="cuda").repeat(4)
        given = experts(chosen, lambda weight, slots, x: weight[slots] @ x, inputs)
        assert torch.equal(given, table.cuda()[chosen] @ inputs)
    experts.close()
