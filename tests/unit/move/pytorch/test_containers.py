"""Random structures of many libraries' containers: moved as PyTorch moves them."""

from typing import Any

import pytest

import isthmus.torch
import nests
from isthmus.move.torch.nesting import changed

torch: Any = pytest.importorskip("torch")
nests.add_libraries()

NUM_STRUCTURES = 1000
# What can be seen to have been moved without a GPU.
WHERE = torch.float64


def tensors() -> list[Any]:
    parameter = torch.nn.Parameter(torch.arange(3.0))
    return [*(torch.full((2,), float(i)) for i in range(4)), parameter, torch.tensor([True, False])]


def moved(value: Any) -> Any:  # noqa: ANN401
    return changed(
        value,
        lambda tensor, _: tensor.detach().to(WHERE).requires_grad_(tensor.requires_grad),
        lambda movable, _: movable.to(WHERE),
        "value",
    ).value


def like_pytorch(value: Any) -> Any:  # noqa: ANN401
    """Let PyTorch move a structure, each tensor once."""
    done: dict[int, Any] = {}

    def once(leaf: Any) -> Any:  # noqa: ANN401
        if id(leaf) not in done:
            if isinstance(leaf, torch.Tensor):
                done[id(leaf)] = leaf.detach().to(WHERE).requires_grad_(leaf.requires_grad)
            else:
                done[id(leaf)] = leaf
        return done[id(leaf)]

    return torch.utils._pytree.tree_map(once, value)


def test_random_pytrees_become_what_pytorch_makes_of_them() -> None:
    for seed in range(NUM_STRUCTURES):
        given = nests.nest(seed, tensors(), sorted(nests.PYTREES), [])
        text = nests.differences(moved(given), like_pytorch(given), torch)
        assert not text, f"seed {seed}: {text}"


@pytest.mark.parametrize("kind", sorted(nests.CONTAINERS))
def test_containers_in_containers_hold_what_was_moved(kind: str) -> None:
    given = tensors()
    wanted = like_pytorch(given)
    for seed in range(NUM_STRUCTURES // 20):
        kinds = [kind, *sorted(nests.CONTAINERS)]
        found = moved(nests.nest(seed, given, kinds, []))
        text = nests.differences(found, nests.nest(seed, wanted, kinds, []), torch)
        assert not text, f"seed {seed}: {text}"
        # Nothing moves, so that the tensors are the same ones.
        here = isthmus.torch.to(nests.nest(seed, given, kinds, []), "cpu")
        text = nests.differences(here, nests.nest(seed, given, kinds, []), torch)
        assert not text, f"seed {seed}: {text}"


@pytest.mark.parametrize("holder", sorted(nests.HOLDERS))
def test_objects_become_what_their_own_methods_give(holder: str) -> None:
    kinds = sorted(nests.PYTREES)
    tensor = torch.ones(3)

    def to(value: Any, _: Any = None) -> Any:  # noqa: ANN401
        return value.to("meta") if hasattr(value, "to") else value

    for seed in range(100):
        given = nests.nest(seed, [tensor], kinds, [holder])
        found = changed(given, to, to, "value").value
        given = nests.nest(seed, [tensor], kinds, [holder])
        wanted = torch.utils._pytree.tree_map(to, given, is_leaf=lambda leaf: hasattr(leaf, "to"))
        text = nests.differences(found, wanted, torch, {})
        assert not text, f"seed {seed}: {text}"


def test_the_originals_stay_as_they_are() -> None:
    for seed in range(NUM_STRUCTURES):
        given = tensors()
        value = nests.nest(seed, given, sorted(nests.CONTAINERS), [])
        moved(value)
        again = nests.nest(seed, given, sorted(nests.CONTAINERS), [])
        text = nests.differences(value, again, torch)
        assert not text, f"seed {seed}: {text}"


def test_what_pytorch_returns_keeps_its_type() -> None:
    size = torch.Size([2, 3])
    largest = torch.ones(2, 3).max(dim=1)
    found = moved({"size": size, "largest": largest})
    assert type(found["size"]) is torch.Size
    assert type(found["largest"]) is type(largest)
    assert found["largest"].values.dtype == WHERE
