"""What a copy writes into a PyTorch tensor: autograd is told, as `copy_` tells it."""

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import isthmus
from fakes.array_libraries import Torch
from isthmus import _native

pytestmark = pytest.mark.native

ITEMS = np.arange(100, dtype=np.float32)
Write = Callable[[isthmus.Transfers, Any, Any], object]

WRITES: dict[str, Write] = {
    "copy": lambda transfers, target, source: transfers.copy(target, source),
    "copy of a list": lambda transfers, target, source: transfers.copy([target], [source]),
    "copy of a mapping": lambda transfers, target, source: transfers.copy(
        {"a": target}, {"a": source}
    ),
    "copy_async": lambda transfers, target, source: transfers.copy_async(target, source).result(),
    "copy_async of a list": lambda transfers, target, source: transfers.copy_async(
        [target], [source]
    ).result(),
    "copy that converts": lambda transfers, target, source: transfers.copy(
        target, source.astype(np.float64), casting="same_kind"
    ),
    "copy_async that converts": lambda transfers, target, source: transfers.copy_async(
        target, source.astype(np.float64), casting="same_kind"
    ).result(),
    "copy of a list that converts": lambda transfers, target, source: transfers.copy(
        [target], [source.astype(np.float64)], casting="same_kind"
    ),
    "copy that packs": lambda transfers, target, source: transfers.copy(
        target, np.repeat(source, 2)[::2]
    ),
    "copy of a list that packs": lambda transfers, target, source: transfers.copy(
        [target], [np.repeat(source, 2)[::2]]
    ),
}


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
@pytest.mark.parametrize("library", ["torch", "old_torch"])
def test_the_version_of_each_tensor_that_is_written_is_raised(
    library: str,
    write: Write,
    transfers: isthmus.Transfers,
    memory: _native.DeviceMemory,
    request: pytest.FixtureRequest,
) -> None:
    torch: Torch = request.getfixturevalue(library)
    tensor = torch.tensor(memory.pointer, (100,))
    write(transfers, tensor, ITEMS)
    assert torch.written == [tensor]


def test_a_source_keeps_its_version(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, torch: Torch
) -> None:
    tensor = torch.tensor(memory.pointer, (100,))
    transfers.copy(np.zeros_like(ITEMS), tensor)
    transfers.copy([np.zeros_like(ITEMS)], [tensor])
    transfers.explain(tensor, ITEMS)
    assert torch.written == []


def test_a_refused_copy_keeps_the_version(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, torch: Torch
) -> None:
    tensor = torch.tensor(memory.pointer, (100,))
    for target, source in ((tensor, ITEMS[1:]), ([tensor], [ITEMS[1:]])):
        with pytest.raises(isthmus.UsageError):
            transfers.copy(target, source)
        with pytest.raises(isthmus.UsageError):
            transfers.copy_async(target, source)
    assert torch.written == []


def test_copies_that_are_refused_once_they_are_examined_keep_the_versions(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, torch: Torch
) -> None:
    one, other = (torch.tensor(memory.pointer + offset, (100,)) for offset in (0, 4))
    for target, source in ((other, one), ([one, other], [ITEMS, ITEMS])):
        with pytest.raises(isthmus.UsageError, match="overlap"):
            transfers.copy(target, source)
        with pytest.raises(isthmus.UsageError, match="overlap"):
            transfers.copy_async(target, source)
    assert torch.written == []


def test_a_pytorch_that_takes_one_tensor_at_a_time_is_told_of_each(
    transfers: isthmus.Transfers, memory: _native.DeviceMemory, torch: Torch
) -> None:
    def refuse(_tensors: object) -> None:
        raise RuntimeError("increment_version expect tensor")

    torch.module._C._increment_version = refuse
    one, other = (torch.tensor(memory.pointer + offset, (100,)) for offset in (0, 400))
    transfers.copy([one, other], [ITEMS, ITEMS])
    transfers.copy(one, ITEMS)
    assert torch.written == [one, other, one]


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_backward_refuses_a_saved_tensor_that_a_copy_has_overwritten(
    write: Write, transfers: isthmus.Transfers
) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    weight = torch.ones(100, requires_grad=True)
    saved = torch.full((100,), 2.0)
    total = (weight * saved).sum()
    write(transfers, saved, ITEMS)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        total.backward()


@pytest.mark.parametrize("write", WRITES.values(), ids=WRITES.keys())
def test_a_tensor_made_for_inference_is_written_where_pytorch_writes_it(
    write: Write, transfers: isthmus.Transfers
) -> None:
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    with torch.inference_mode():
        tensor, other = torch.zeros(100), torch.zeros(100)
        write(transfers, tensor, ITEMS)
    assert np.array_equal(tensor.numpy(), ITEMS)
    with pytest.raises(RuntimeError, match="inference"):
        tensor.copy_(other)
    with pytest.raises(isthmus.UsageError, match="was made in inference_mode") as refused:
        write(transfers, other, ITEMS)
    assert "inference_mode()" in refused.value.hint
    first = torch.zeros(100)
    with pytest.raises(isthmus.UsageError, match="1: this Tensor was made in inference_mode"):
        transfers.copy([first, other], [ITEMS, ITEMS])
    assert not first.any()
    assert not other.numpy().any()
