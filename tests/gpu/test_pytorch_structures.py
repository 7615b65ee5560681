"""Structures of tensors on a real GPU: reused memory, objects that move themselves, optimizers."""

from collections.abc import Iterator
from typing import Any

import pytest

import isthmus.torch
import nests
from isthmus import _native

pytestmark = pytest.mark.gpu

MIB = 1 << 20


@pytest.fixture(autouse=True)
def real(driver: _native.Driver) -> None:
    assert not driver.emulated


class Reusing:
    """A loader that fills the same memory again, as readers with a ring of buffers do."""

    def __init__(self, torch: Any, device: str, *, pinned: bool = False) -> None:  # noqa: ANN401
        self._batch = torch.zeros(4 * MIB, device=device, pin_memory=pinned)

    def __iter__(self) -> Iterator[Any]:
        for number in range(12):
            self._batch.fill_(number)
            yield {"x": [self._batch]}


@pytest.mark.parametrize(("device", "pinned"), [("cpu", False), ("cpu", True), ("cuda", False)])
def test_a_loader_may_reuse_its_memory(torch: Any, device: str, pinned: bool) -> None:  # noqa: ANN401
    found = []
    for batch in isthmus.torch.prefetch(Reusing(torch, device, pinned=pinned), 0):
        torch.cuda._sleep(5_000_000)
        found.append(batch["x"][0].aminmax())
    assert [(low.item(), high.item()) for low, high in found] == [(i, i) for i in range(12)]


# In the whole suite JAX is imported, too: it warns of any fork, and the workers are forks.
@pytest.mark.filterwarnings("ignore:os.fork\\(\\) was called:RuntimeWarning")
@pytest.mark.parametrize("workers", [0, 1])
def test_objects_that_move_themselves_are_moved_and_their_memory_is_kept(
    torch: Any,  # noqa: ANN401
    workers: int,
) -> None:
    def packed(number: int) -> Any:  # noqa: ANN401
        return torch.nn.utils.rnn.pack_sequence([torch.full((MIB,), float(number))])

    given: Any = [[packed(number), torch.full((3,), number)] for number in range(12)]
    loader = torch.utils.data.DataLoader(given, batch_size=None, num_workers=workers)
    copies = []
    for batch in isthmus.torch.prefetch(loader, 0):
        torch.cuda._sleep(20_000_000)
        copies.append((batch[0].data.clone(), batch[1].clone()))
        del batch
    for number, (data, plain) in enumerate(copies):
        assert bool((data == number).all())
        assert bool((plain == number).all())


# Of the libraries whose types it uses.
@pytest.mark.filterwarnings("ignore::DeprecationWarning")
def test_random_structures_become_what_pytorch_makes_of_them(torch: Any) -> None:  # noqa: ANN401
    nests.add_libraries()
    given = [*(torch.full((2,), float(i)) for i in range(4)), torch.tensor([True, False])]
    there = [tensor.cuda() for tensor in given]
    kinds = sorted(nests.CONTAINERS)
    for seed in range(200):
        wanted = nests.nest(seed, there, kinds, [])
        value = nests.nest(seed, given, kinds, [])
        (uploaded,) = isthmus.torch.prefetch([value], 0)
        for found in (isthmus.torch.to(value, 0), uploaded):
            text = nests.differences(found, wanted, torch)
            assert not text, f"seed {seed}: {text}"


@pytest.mark.parametrize("options", [{}, {"fused": True}, {"capturable": True}])
def test_an_optimizer_goes_on_after_its_module_has_moved(
    torch: Any,  # noqa: ANN401
    options: dict[str, bool],
) -> None:
    net = torch.nn.Linear(300, 200)
    optimizer = torch.optim.AdamW(net.parameters())
    given = torch.rand(4, 300)

    def step() -> None:
        optimizer.zero_grad()
        net(given.to(net.weight.device)).pow(2).sum().backward()
        optimizer.step()

    step()
    optimizer.param_groups[0].update(options)
    moved = isthmus.torch.to({"net": net, "optimizer": optimizer}, 0)
    assert moved["optimizer"] is optimizer
    state = optimizer.state[net.weight]
    assert state["exp_avg"].is_cuda
    assert state["step"].is_cuda is bool(options)
    step()
    assert optimizer.state[net.weight]["step"].item() == 2
