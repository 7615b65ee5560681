"""What PyTorch makes while an object moves itself is found, whatever the object is."""

from typing import Any

import pytest

from isthmus.move.torch.nesting import recording

torch: Any = pytest.importorskip("torch")
HERE, THERE = torch.device("cpu"), torch.device("meta")


def test_all_that_is_made_on_the_device_is_found() -> None:
    packed = torch.nn.utils.rnn.pack_sequence([torch.ones(3), torch.ones(2)])
    made: list[Any] = []
    with recording(made, THERE):
        moved = packed.to(THERE, non_blocking=True)
        torch.ones(3) + 1
    torch.ones(3, device=THERE)
    assert [tensor.shape for tensor in made] == [moved.data.shape]


@pytest.mark.filterwarnings("ignore:Sparse")
@pytest.mark.parametrize("name", ["coo", "csr", "csc", "bsr", "bsc"])
def test_of_a_sparse_tensor_its_parts_are_found(name: str) -> None:
    size = {"blocksize": (2, 2)} if name.startswith("bs") else {}
    sparse = torch.eye(4).to_sparse(layout=getattr(torch, f"sparse_{name}"), **size)
    made: list[Any] = []
    with recording(made, HERE):
        copied = sparse.to(HERE, copy=True)
    assert all(tensor.layout == torch.strided for tensor in made)
    values = copied._values() if name == "coo" else copied.values()
    assert values.data_ptr() in {tensor.data_ptr() for tensor in made}
    assert len(made) == (2 if name == "coo" else 3)
