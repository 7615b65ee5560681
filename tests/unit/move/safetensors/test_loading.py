"""Models in the emulated device's memory: PyTorch's, CuPy's, and by DLPack."""

import json
import os
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import isthmus
from fakes.device_arrays import read_capsule
from fakes.safetensors_files import write_file
from fakes.tensor_libraries import Cupy, Tensor, Torch, Type
from isthmus import _native
from isthmus.errors import Unavailable, UsageError

pytestmark = pytest.mark.native

MODEL = {
    "embedding": ("BF16", [300, 40], os.urandom(24_000)),
    "mask": ("BOOL", [3], b"\x00\x01\x01"),
    "norm": ("F32", [5], os.urandom(20)),
    "scalar": ("F32", [], os.urandom(4)),
    "steps": ("I64", [2, 1], os.urandom(16)),
    "empty": ("F16", [4, 0], b""),
    "head": ("F8_E4M3", [100, 100], os.urandom(10_000)),
}
TORCH_TYPES = {
    "BF16": "bfloat16",
    "BOOL": "bool",
    "F32": "float32",
    "I64": "int64",
    "F16": "float16",
    "F8_E4M3": "float8_e4m3fn",
}


@pytest.fixture(autouse=True)
def emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISTHMUS_DRIVER", "emulated")


@pytest.fixture(autouse=True)
def torch(context: _native.Context, monkeypatch: pytest.MonkeyPatch) -> Torch:
    fake = Torch(context)
    monkeypatch.setitem(sys.modules, "torch", fake)
    return fake


@pytest.fixture(autouse=True)
def cupy(context: _native.Context, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "cupy", Cupy(context))


@pytest.fixture
def no_frameworks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Remove the frameworks again."""
    monkeypatch.delitem(sys.modules, "torch")
    monkeypatch.delitem(sys.modules, "cupy")


@pytest.fixture
def model(tmp_path: Path) -> Path:
    return write_file(tmp_path / "model.safetensors", MODEL, metadata={"format": "pt"})


def contents(tensors: Mapping[str, Tensor]) -> dict[str, tuple[tuple[int, ...], bytes]]:
    return {name: (tensor.shape, tensor.content()) for name, tensor in tensors.items()}


def expected(model: Mapping[str, tuple[str, list[int], bytes]]) -> dict[str, Any]:
    return {name: (tuple(shape), content) for name, (_, shape, content) in model.items()}


# --- PyTorch ------------------------------------------------------------------------------------


def test_every_tensor_arrives_with_its_name_type_shape_and_bytes(torch: Torch, model: Path) -> None:
    tensors = isthmus.load_safetensors(model)
    assert contents(tensors) == expected(MODEL)
    assert {name: tensor.dtype.name for name, tensor in tensors.items()} == {
        name: TORCH_TYPES[dtype] for name, (dtype, _, _) in MODEL.items()
    }
    assert list(tensors) == list(MODEL)
    assert len(torch.blocks) == 1


def test_a_file_that_is_not_in_the_page_cache_is_loaded_all_the_same(model: Path) -> None:
    with model.open("rb") as file:
        os.fsync(file.fileno())
        os.posix_fadvise(file.fileno(), 0, 0, os.POSIX_FADV_DONTNEED)
    assert contents(isthmus.load_safetensors(model)) == expected(MODEL)


def test_where_the_data_begins_in_the_file_changes_nothing(tmp_path: Path) -> None:
    for padding in (1, 5, 8, 4090):
        path = write_file(tmp_path / "model", MODEL, padding=padding)
        assert contents(isthmus.load_safetensors(path)) == expected(MODEL)


def test_pairs_of_4_bit_items_are_counted_as_pytorch_counts_them(tmp_path: Path) -> None:
    path = write_file(tmp_path / "model", {"q": ("F4", [3, 8], b"0123456789ab")})
    assert contents(isthmus.load_safetensors(path)) == {"q": ((3, 4), b"0123456789ab")}
    odd = write_file(tmp_path / "odd", {"q": ("F4", [2, 1], b"0")})
    with pytest.raises(UsageError, match=r"tensor 'q': F4 of shape \[2, 1\]"):
        isthmus.load_safetensors(odd)


def test_a_file_without_data_is_loaded(tmp_path: Path) -> None:
    assert isthmus.load_safetensors(write_file(tmp_path / "none", {})) == {}
    empty = write_file(tmp_path / "empty", {"t": ("F32", [0], b"")})
    assert contents(isthmus.load_safetensors(empty)) == {"t": ((0,), b"")}


def test_a_type_that_pytorch_hasnt_is_refused_before_memory_is_taken(
    torch: Torch, tmp_path: Path
) -> None:
    path = write_file(tmp_path / "m", {"a": ("F32", [1], b"abcd"), "b": ("F6_E2M3", [4], b"xyz")})
    with pytest.raises(UsageError, match=r"m: tensor 'b': PyTorch 2\.0 has no type for F6_E2M3"):
        isthmus.load_safetensors(path)
    assert torch.blocks == []


@pytest.mark.parametrize("device", [0, "cuda", "cuda:0"])
def test_a_device_is_named_by_number_or_as_pytorch_does(model: Path, device: int | str) -> None:
    assert contents(isthmus.load_safetensors(model, device)) == expected(MODEL)


@pytest.mark.parametrize("device", [-1, 99, True, 0.0, None, "cpu", "cuda:", "cuda:x", "cuda:-1"])
def test_a_device_that_isnt_there_is_refused(model: Path, device: object) -> None:
    with pytest.raises(UsageError, match="device"):
        isthmus.load_safetensors(model, device)  # type: ignore[arg-type]


def test_the_copies_come_after_the_stream_that_is_named(
    model: Path, context: _native.Context
) -> None:
    stream = _native.Stream(context)
    tensors = isthmus.load_safetensors(model, stream=stream.handle)
    assert contents(tensors) == expected(MODEL)
    with pytest.raises(UsageError, match="stream"):
        isthmus.load_safetensors(model, stream="fast")  # type: ignore[arg-type]


# --- shards -------------------------------------------------------------------------------------


def shards(folder: Path) -> list[Path]:
    names = list(MODEL)
    halves = names[:3], names[3:]
    return [
        write_file(folder / f"{index}.safetensors", {name: MODEL[name] for name in half})
        for index, half in enumerate(halves)
    ]


def test_a_pytorch_without_a_gpu_is_refused_with_what_to_do(
    torch: Torch, model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(*_: object, **__: object) -> None:
        raise AssertionError("Torch not compiled with CUDA enabled. Please do.\nframe #0")

    monkeypatch.setattr(torch, "empty", refuse)
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False, raising=False)
    words = r"PyTorch shows no GPU: Torch not compiled with CUDA enabled \(needs "
    with pytest.raises(isthmus.Unavailable, match=words) as failure:
        isthmus.load_safetensors(model)
    assert 'framework="dlpack"' in failure.value.hint
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    with pytest.raises(AssertionError, match="not compiled"):  # its own affair
        isthmus.load_safetensors(model)


def test_several_files_are_one_model(torch: Torch, tmp_path: Path) -> None:
    assert contents(isthmus.load_safetensors(shards(tmp_path))) == expected(MODEL)
    assert len(torch.blocks) == 2


def test_an_index_names_the_files_of_a_model(tmp_path: Path) -> None:
    first, second = shards(tmp_path)
    where = {name: (first if index < 3 else second).name for index, name in enumerate(MODEL)}
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"metadata": {}, "weight_map": where}))
    assert contents(isthmus.load_safetensors(index)) == expected(MODEL)


def test_a_tensor_that_isnt_where_the_index_says_is_refused(torch: Torch, tmp_path: Path) -> None:
    first, second = shards(tmp_path)
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"mask": second.name, "head": first.name}}))
    with pytest.raises(UsageError, match=r"1\.safetensors: tensor 'mask' isn't in it"):
        isthmus.load_safetensors(index)
    assert torch.blocks == []


def test_a_shard_that_is_missing_is_named_with_what_it_should_have(
    torch: Torch, tmp_path: Path
) -> None:
    first, second = shards(tmp_path)
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"mask": first.name, "head": second.name}}))
    second.unlink()
    with pytest.raises(UsageError, match=r"1\.safetensors: can't be opened: .* it has 'head'"):
        isthmus.load_safetensors(index)
    assert torch.blocks == []


def test_a_tensor_that_is_in_two_files_is_refused(tmp_path: Path) -> None:
    one = write_file(tmp_path / "one", {"t": ("U8", [1], b"a")})
    two = write_file(tmp_path / "two", {"t": ("U8", [1], b"b")})
    with pytest.raises(UsageError, match=r"two: tensor 't' is in .*one too"):
        isthmus.load_safetensors([one, two])


# --- what is no file ----------------------------------------------------------------------------


def test_a_file_that_isnt_there_is_refused_by_name(tmp_path: Path) -> None:
    for path in (tmp_path / "missing", tmp_path, "with\0null"):
        with pytest.raises(UsageError, match=r"can't be (opened|read)"):
            isthmus.load_safetensors(path)


def test_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    with pytest.raises(UsageError, match="pipe"):
        isthmus.load_safetensors(tmp_path / "pipe")


def test_one_damaged_shard_is_noticed_before_memory_is_taken(torch: Torch, tmp_path: Path) -> None:
    first, second = shards(tmp_path)
    os.truncate(second, second.stat().st_size - 1)
    with pytest.raises(UsageError, match=r"1\.safetensors: truncated: tensor 'head'"):
        isthmus.load_safetensors([first, second])
    assert torch.blocks == []


def test_a_file_that_becomes_shorter_meanwhile_is_an_error(torch: Torch, model: Path) -> None:
    allocate = torch.empty

    def cutting(size: int, *, dtype: Type, device: str) -> Tensor:
        os.truncate(model, 5000)
        return allocate(size, dtype=dtype, device=device)

    torch.empty = cutting  # type: ignore[method-assign]
    with pytest.raises(UsageError, match=r"model\.safetensors: .*the file has 5000 bytes"):
        isthmus.load_safetensors(model)


def num_descriptors() -> int:
    return len(list(Path("/proc/self/fd").iterdir()))


def test_descriptors_are_given_back_whatever_happens(model: Path) -> None:
    isthmus.load_safetensors(model)  # what is opened for all copies isn't meant
    before = num_descriptors()
    isthmus.load_safetensors(model)
    os.truncate(model, 100)
    with pytest.raises(UsageError):
        isthmus.load_safetensors(model)
    assert num_descriptors() == before


# --- CuPy, DLPack, others -----------------------------------------------------------------------


def test_cupy_gets_arrays_of_its_own_memory(tmp_path: Path) -> None:
    known = {"a": MODEL["mask"], "b": MODEL["norm"], "c": MODEL["empty"]}
    tensors = isthmus.load_safetensors(write_file(tmp_path / "m", known), framework="cupy")
    assert contents(tensors) == expected(known)
    assert tensors["b"].dtype.name == "float32"


def test_a_type_that_cupy_hasnt_is_refused(model: Path) -> None:
    with pytest.raises(UsageError, match="tensor 'embedding': CuPy has no type for BF16"):
        isthmus.load_safetensors(model, framework="cupy")


def of_dimensions(path: Path, count: int) -> Path:
    return write_file(path, {"t": ("U8", [*[1] * (count - 1), 3], b"abc")})


@pytest.mark.parametrize(("framework", "most"), [("torch", 64), ("cupy", 32), ("dlpack", 64)])
def test_a_tensor_has_as_many_dimensions_as_the_framework_can_bear(
    tmp_path: Path, framework: str, most: int
) -> None:
    """At 129 a file of 441 bytes ended the process."""
    isthmus.load_safetensors(of_dimensions(tmp_path / "most", most), framework=framework)
    for count in (most + 1, 129, 1000):
        file = of_dimensions(tmp_path / "more", count)
        with pytest.raises(UsageError, match=rf"tensor 't'.* has {count} dimensions"):
            isthmus.load_safetensors(file, framework=framework)


@pytest.mark.usefixtures("no_frameworks")
def test_dlpack_needs_no_framework(model: Path) -> None:
    tensors = isthmus.load_safetensors(model, framework="dlpack")
    assert list(tensors) == list(MODEL)
    for name, (_, shape, content) in MODEL.items():
        assert tensors[name].__dlpack_device__() == (2, 0)
        found = read_capsule(tensors[name].__dlpack__(max_version=(1, 1)))
        assert list(found.shape) == shape
        assert (found.device, found.read_only) == ((2, 0), False)
        if content:
            target = bytearray(len(content))
            isthmus.copy(target, isthmus.DevicePointer(found.pointer, len(content)))
            assert bytes(target) == content


@pytest.mark.usefixtures("no_frameworks")
def test_tensors_by_dlpack_keep_the_memory_of_their_file(model: Path) -> None:
    head = isthmus.load_safetensors(model, framework="dlpack")["head"]
    isthmus.load_safetensors(model, framework="dlpack")  # would take the memory, were it free
    content = MODEL["head"][2]
    target = bytearray(len(content))
    isthmus.copy(target, head)
    assert bytes(target) == content


def test_an_unknown_framework_is_refused_with_the_known_ones(model: Path) -> None:
    with pytest.raises(UsageError, match="torch, cupy, dlpack"):
        isthmus.load_safetensors(model, framework="jax")


def test_a_framework_that_isnt_installed_is_unavailable(
    model: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(Unavailable, match="the package torch"):
        isthmus.load_safetensors(model)


def test_a_shards_name_in_an_index_moves_no_cursor(torch: Torch, tmp_path: Path) -> None:
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"a": "\x1b[2J\u202e.safetensors"}}))
    with pytest.raises(UsageError, match="can't be opened") as caught:
        isthmus.load_safetensors(index)
    assert str(caught.value).isprintable()
    assert torch.blocks == []
