"""PyTorch's tensors of the host in files, and its loaders. Its wheel for CPUs is enough."""

from pathlib import Path
from typing import Any

import pytest

import isthmus
import isthmus.torch
from isthmus.errors import UsageError
from isthmus.move.safetensors.header import read_header

torch: Any = pytest.importorskip("torch", reason="PyTorch isn't installed")

pytestmark = pytest.mark.native


@pytest.fixture(autouse=True)
def driver_by_default(driver_source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISTHMUS_DRIVER", driver_source)


def test_tensors_of_all_types_and_layouts_are_saved(tmp_path: Path) -> None:
    given = {
        "half": torch.rand(1001).bfloat16(),
        "transposed": torch.rand(30, 50).t(),
        "parameter": torch.nn.Parameter(torch.rand(7)),
        "fp8": torch.rand(20).to(torch.float8_e4m3fn),
        "scalar": torch.tensor(3),
        "empty": torch.zeros(0, 3),
    }
    isthmus.save_safetensors(given, tmp_path / "saved")
    contents = (tmp_path / "saved").read_bytes()
    with (tmp_path / "saved").open("rb") as file:
        header = read_header(file.fileno(), "saved")
    assert {entry.name: entry.dtype for entry in header.entries} == {
        "half": "BF16",
        "transposed": "F32",
        "parameter": "F32",
        "fp8": "F8_E4M3",
        "scalar": "I64",
        "empty": "F32",
    }
    for entry in header.entries:
        wanted = given[entry.name].detach().contiguous()
        begin = header.data_offset + entry.first
        assert entry.shape == tuple(wanted.shape)
        found = contents[begin : begin + entry.size_bytes]
        assert found == bytes(wanted.flatten().view(torch.uint8).tolist() if found else b"")


def test_a_data_loader_is_read_to_its_end_on_the_host() -> None:
    data = torch.utils.data.TensorDataset(torch.arange(100.0).reshape(-1, 1))
    prefetch = isthmus.torch.prefetch(torch.utils.data.DataLoader(data, batch_size=7), "cpu")
    assert len(prefetch) == 15
    assert torch.cat([batch for (batch,) in prefetch]).flatten().tolist() == list(range(100))


def test_modules_and_tensors_that_are_there_stay_the_same() -> None:
    module, tensor = torch.nn.Linear(2, 2), torch.rand(3)
    weight = module.weight
    assert isthmus.torch.to(module, "cpu") is module
    assert module.weight is weight
    assert isthmus.torch.to([{"a": tensor}], "cpu")[0]["a"] is tensor


def test_devices_that_pytorch_hasnt_are_refused_in_a_line() -> None:
    for device in (None, 1.5, "mps", "cuda:x", "cuda:99", 99):
        with pytest.raises(UsageError, match="device") as refused:
            isthmus.torch.to(torch.rand(1), device)
        assert "\n" not in str(refused.value)
