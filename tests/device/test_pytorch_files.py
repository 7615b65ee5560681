"""PyTorch's tensors of the host in files, and its loaders. Its wheel for CPUs is enough."""

from collections import OrderedDict
from pathlib import Path
from typing import Any

import pytest

import isthmus
import isthmus.torch
from isthmus.errors import UsageError
from isthmus.safetensors.header import read_header

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


def test_files_of_torch_save_have_the_same_bytes_on_a_device(tmp_path: Path) -> None:
    model = torch.nn.Sequential(torch.nn.Linear(30, 20), torch.nn.BatchNorm1d(20))
    optimizer = torch.optim.AdamW(model.parameters())
    model(torch.rand(4, 30)).sum().backward()
    optimizer.step()
    given = {"model": model.state_dict(), "optimizer": optimizer.state_dict()}
    torch.save(given, tmp_path / "checkpoint.pt")
    found = isthmus.load_pt(tmp_path / "checkpoint.pt", framework="dlpack")
    assert type(found["model"]) is OrderedDict
    for name, wanted in given["model"].items():
        arrived = bytearray(wanted.nbytes)
        isthmus.copy(arrived, found["model"][name])
        assert list(arrived) == wanted.flatten().view(torch.uint8).tolist()
    assert found["optimizer"]["param_groups"] == given["optimizer"]["param_groups"]


def test_objects_that_torch_save_wrote_are_refused(tmp_path: Path) -> None:
    for value, name in (
        (torch.nn.Linear(2, 2), r"torch\.nn\.modules\.linear\.Linear"),
        (torch.eye(3).to_sparse(), "_rebuild_sparse_tensor"),
    ):
        torch.save({"a": value}, tmp_path / "file.pt")
        with pytest.raises(UsageError, match=f"{name}, which isn't allowed"):
            isthmus.load_pt(tmp_path / "file.pt", framework="dlpack")
    torch.save([1], tmp_path / "old.pt", _use_new_zipfile_serialization=False)
    with pytest.raises(UsageError, match="before PyTorch"):
        isthmus.load_pt(tmp_path / "old.pt", framework="dlpack")


def test_a_data_loader_is_read_ahead_on_the_host() -> None:
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
