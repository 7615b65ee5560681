"""Models on a real GPU, against what safetensors' own loader gives."""

import os
from pathlib import Path
from typing import Any

import pytest

import isthmus
from fakes.safetensors_files import write_file
from isthmus import _native

pytestmark = pytest.mark.gpu

MIB = 1 << 20
# Sizes beside each other that leave nothing aligned, and one of many pieces.
MODEL = {
    "scale": ("F32", [], os.urandom(4)),
    "mask": ("BOOL", [3], b"\x00\x01\x01"),
    "large": ("BF16", [4096, 2049], os.urandom(4096 * 2049 * 2)),
    "steps": ("I64", [2, 1], os.urandom(16)),
    "empty": ("F16", [4, 0], b""),
    "bytes": ("U8", [17 * MIB + 1], os.urandom(17 * MIB + 1)),
    "weights": ("F8_E4M3", [100, 100], os.urandom(10_000)),
    "others": ("F8_E5M2", [64], os.urandom(64)),
}
DTYPES = {
    "F32": "float32",
    "BOOL": "bool",
    "BF16": "bfloat16",
    "I64": "int64",
    "F16": "float16",
    "U8": "uint8",
    "F8_E4M3": "float8_e4m3fn",
    "F8_E5M2": "float8_e5m2",
}


@pytest.fixture
def model(driver: _native.Driver, tmp_path: Path) -> Path:
    assert not driver.emulated
    return write_file(tmp_path / "model.safetensors", MODEL)


def bytes_of(tensor: Any) -> bytes:  # noqa: ANN401 - a torch.Tensor
    import torch  # type: ignore[import-not-found]

    flat: bytes = tensor.reshape(-1).contiguous().view(torch.uint8).cpu().numpy().tobytes()
    return flat


@pytest.mark.parametrize("cached", [True, False])
def test_pytorchs_tensors_have_their_types_shapes_and_bytes(
    torch: Any,  # noqa: ANN401
    model: Path,
    cached: bool,
) -> None:
    if not cached:
        with model.open("rb") as file:
            os.fsync(file.fileno())
            os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    tensors = isthmus.load_safetensors(model)
    assert list(tensors) == list(MODEL)
    for name, (dtype, shape, content) in MODEL.items():
        tensor = tensors[name]
        assert tensor.dtype == getattr(torch, DTYPES[dtype])
        assert list(tensor.shape) == shape
        assert tensor.is_cuda
        assert tensor.is_contiguous()
        assert bytes_of(tensor) == content
    assert tensors["large"].data_ptr() % 16 == 0
    assert tensors["bytes"].data_ptr() % 16 == 0


@pytest.mark.usefixtures("torch")
def test_the_tensors_are_those_of_safetensors_own_loader(model: Path) -> None:
    reference = pytest.importorskip("safetensors.torch").load_file(str(model), device="cuda:0")
    tensors = isthmus.load_safetensors(str(model), "cuda:0")
    assert tensors.keys() == reference.keys()
    for name, wanted in reference.items():
        assert tensors[name].dtype == wanted.dtype
        assert tensors[name].shape == wanted.shape
        assert bytes_of(tensors[name]) == bytes_of(wanted)


def test_tensors_are_ordinary_ones_of_pytorch(
    torch: Any,  # noqa: ANN401
    model: Path,
) -> None:
    large = isthmus.load_safetensors(model)["large"]
    before = large.float().nan_to_num().clamp(-1, 1).sum().item()
    other = large.clone()
    del large
    torch.cuda.empty_cache()
    assert other.float().nan_to_num().clamp(-1, 1).sum().item() == before


def test_memory_that_pytorch_still_uses_in_its_stream_is_not_overwritten_too_early(
    torch: Any,  # noqa: ANN401
    model: Path,
) -> None:
    size = sum(len(content) for _, _, content in MODEL.values())
    old = torch.full((size,), 7, dtype=torch.uint8, device="cuda")
    kept = torch.zeros_like(old)
    torch.cuda._sleep(200_000_000)
    kept.copy_(old)
    del old  # its memory may be given out again at once, in stream order
    tensors = isthmus.load_safetensors(model)
    assert bool((kept == 7).all())
    assert bytes_of(tensors["bytes"]) == MODEL["bytes"][2]


def test_a_model_comes_after_the_work_of_a_stream_that_is_named(
    torch: Any,  # noqa: ANN401
    model: Path,
) -> None:
    stream = torch.cuda.Stream()
    tensors = isthmus.load_safetensors(model, stream=stream)
    assert bytes_of(tensors["bytes"]) == MODEL["bytes"][2]


def test_cupy_gets_arrays(model: Path, tmp_path: Path) -> None:
    cupy = pytest.importorskip("cupy")
    with pytest.raises(isthmus.UsageError, match="tensor 'large': CuPy has no type for BF16"):
        isthmus.load_safetensors(model, framework="cupy")
    known = {name: MODEL[name] for name in ("scale", "mask", "steps", "empty", "bytes")}
    path = write_file(tmp_path / "known", known)
    arrays = isthmus.load_safetensors(path, framework="cupy")
    for name, (dtype, shape, content) in known.items():
        assert isinstance(arrays[name], cupy.ndarray)
        assert arrays[name].dtype.name == DTYPES[dtype]
        assert list(arrays[name].shape) == shape
        assert cupy.asnumpy(arrays[name]).tobytes() == content


def test_pytorch_takes_tensors_over_by_dlpack(
    torch: Any,  # noqa: ANN401
    model: Path,
) -> None:
    tensors = isthmus.load_safetensors(model, framework="dlpack")
    for name in ("large", "bytes", "steps", "scale"):
        dtype, shape, content = MODEL[name]
        taken = torch.from_dlpack(tensors[name])
        assert taken.dtype == getattr(torch, DTYPES[dtype])
        assert list(taken.shape) == shape
        assert bytes_of(taken) == content


def test_a_device_that_is_full_says_so_and_takes_nothing(
    torch: Any,  # noqa: ANN401
    model: Path,
) -> None:
    torch.cuda.empty_cache()
    before = torch.cuda.memory_allocated()
    _, total = torch.cuda.mem_get_info()
    # The process may have less than the model takes: its larger half doesn't fit.
    torch.cuda.set_per_process_memory_fraction((torch.cuda.memory_reserved() + 8 * MIB) / total)
    try:
        with pytest.raises(torch.OutOfMemoryError):
            isthmus.load_safetensors(model)
    finally:
        torch.cuda.set_per_process_memory_fraction(1.0)
    assert torch.cuda.memory_allocated() == before
    assert bytes_of(isthmus.load_safetensors(model)["bytes"]) == MODEL["bytes"][2]
