"""Tensors made natively: an impossible shape is an error, and doesn't end the process."""

from collections.abc import Iterator
from typing import Any

import pytest

from fakes.device_arrays import read_capsule
from isthmus import _native
from isthmus.errors import UsageError

pytestmark = pytest.mark.native

U8 = (1, 8)


@pytest.fixture
def memory(context: _native.Context) -> _native.DeviceMemory:
    return _native.DeviceMemory(context, 64)


def tensor_of(memory: _native.DeviceMemory, shape: Any) -> Any:  # noqa: ANN401 - wrong on purpose
    return _native.device_tensor(memory.pointer, shape, *U8, 0, memory)


def test_a_tensor_has_up_to_64_dimensions_and_the_shape_that_was_given(
    memory: _native.DeviceMemory,
) -> None:
    for shape in ([], [64], [0, 5], [2] * 6 + [1] * 58):
        described = read_capsule(tensor_of(memory, shape).__dlpack__())
        assert list(described.shape) == shape


class Liar:
    """A sequence with a small length that never ends."""

    def __len__(self) -> int:
        return 1

    def __getitem__(self, index: int) -> int:
        return 1

    def __iter__(self) -> Iterator[int]:
        while True:
            yield 1


@pytest.mark.parametrize("shape", [[1] * 65, [1] * 129, [1] * 1_000_000, Liar()])
def test_more_dimensions_are_refused(memory: _native.DeviceMemory, shape: Any) -> None:  # noqa: ANN401
    with pytest.raises(UsageError, match="at most 64 dimensions"):
        tensor_of(memory, shape)


@pytest.mark.parametrize(
    "shape",
    [
        [-1],
        [1 << 63],
        [1 << 64],
        [10**400],
        [(1 << 63) - 1, 2],
        [1 << 32, 1 << 32],
        [0, 1 << 62, 1 << 62],
        [1.5],
        ["1"],
        [None],
        "11",
    ],
)
def test_lengths_that_no_memory_has_are_refused(
    memory: _native.DeviceMemory,
    shape: Any,  # noqa: ANN401
) -> None:
    with pytest.raises(UsageError, match="of a tensor's shape"):
        tensor_of(memory, shape)
