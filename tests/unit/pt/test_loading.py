"""Files of torch.save in the emulated device's memory, without PyTorch."""

import os
import pickle
import pickletools
import zipfile
from collections import OrderedDict
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import isthmus
from fakes.device_arrays import read_capsule
from fakes.pt_files import PARAMETER, Call, Named, Storage, pickled, save, tensor, write_pt
from isthmus.errors import UsageError

pytestmark = pytest.mark.native

FLOATS = np.arange(60, dtype="float32")
LARGE = os.urandom(3 << 20)
WEIGHTS = Storage("0", "FloatStorage", FLOATS.tobytes(), 60)
HALVES = Storage("1", "BFloat16Storage", LARGE, len(LARGE) // 2)
BYTES = Storage("2", "UntypedStorage", bytes(range(64)), 64)
EMPTY = Storage("3", "LongStorage", b"", 0)


@pytest.fixture(autouse=True)
def emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISTHMUS_DRIVER", "emulated")


def load(path: Path | str) -> Any:  # noqa: ANN401
    return isthmus.load_pt(path, framework="dlpack")


def described(found: Any) -> Any:  # noqa: ANN401
    return read_capsule(found.__dlpack__(max_version=(1, 1)))


def content(found: Any) -> bytes:  # noqa: ANN401
    """Read a tensor's items in C order, through its strides."""
    shown = described(found)
    shape, strides = list(shown.shape), shown.strides
    item_bytes = shown.item_bits // 8
    if strides is None:
        strides = [int(np.prod(shape[i + 1 :], initial=1)) for i in range(len(shape))]
    if 0 in shape:
        return b""
    span = 1 + sum((n - 1) * step for n, step in zip(shape, strides, strict=True))
    memory = bytearray(span * item_bytes)
    isthmus.copy(memory, isthmus.DevicePointer(shown.pointer, len(memory)))
    items = np.frombuffer(memory, f"V{item_bytes}")
    steps = [step * item_bytes for step in strides]
    return np.lib.stride_tricks.as_strided(items, shape, steps).tobytes()


# --- what is loaded -------------------------------------------------------------------------------


def test_a_state_dict_comes_with_its_names_shapes_and_bytes(tmp_path: Path) -> None:
    state = OrderedDict(weight=tensor(WEIGHTS, [3, 20]), bias=tensor(HALVES, [len(LARGE) // 2]))
    path = save(tmp_path / "model.pt", state, [WEIGHTS, HALVES])
    found = load(path)
    assert type(found) is OrderedDict
    assert list(found) == ["weight", "bias"]
    assert list(described(found["weight"]).shape) == [3, 20]
    assert content(found["weight"]) == FLOATS.tobytes()
    assert content(found["bias"]) == LARGE


def test_what_torch_adds_to_a_state_dict_is_kept(tmp_path: Path) -> None:
    state: Any = OrderedDict(weight=tensor(WEIGHTS, [60]))
    state._metadata = OrderedDict({"": {"version": 1}})  # noqa: SLF001 - PyTorch's
    found = load(save(tmp_path / "m", state, [WEIGHTS]))
    assert found._metadata == {"": {"version": 1}}  # noqa: SLF001


def test_views_keep_their_strides_and_offsets(tmp_path: Path) -> None:
    views = {
        "transposed": tensor(WEIGHTS, [12, 5], [1, 12]),
        "part": tensor(WEIGHTS, [3, 4], [20, 2], offset=5),
        "scalar": tensor(WEIGHTS, [], offset=59),
        "broadcast": tensor(WEIGHTS, [4, 3], [0, 1], offset=7),
        "empty": tensor(WEIGHTS, [0, 7]),
        "nothing": tensor(EMPTY, [0]),
    }
    found = load(save(tmp_path / "m", views, [WEIGHTS, EMPTY]))
    assert content(found["transposed"]) == FLOATS.reshape(5, 12).T.tobytes()
    parts = np.lib.stride_tricks.as_strided(FLOATS[5:], [3, 4], [80, 8])
    assert content(found["part"]) == parts.tobytes()
    assert content(found["scalar"]) == FLOATS[59:].tobytes()
    assert content(found["broadcast"]) == np.tile(FLOATS[7:10], 4).tobytes()
    assert content(found["empty"]) == content(found["nothing"]) == b""
    assert list(described(found["empty"]).shape) == [0, 7]


def test_tensors_that_shared_memory_share_it_again(tmp_path: Path) -> None:
    tied = tensor(WEIGHTS, [60])
    state = {"embedding": tied, "head": tied, "half": tensor(WEIGHTS, [30], offset=30)}
    found = load(save(tmp_path / "m", state, [WEIGHTS]))
    assert found["embedding"] is found["head"]
    first = described(found["embedding"]).pointer
    assert described(found["half"]).pointer == first + 120


def test_plain_values_of_every_kind_are_kept(tmp_path: Path) -> None:
    values = {
        "numbers": [1, -(2**70), 0.5, True, None, 2j],
        "texts": ("ä", b"\x00\xff", bytearray(b"ab"), {1, 2}),
        "nested": {7: [{"deep": tensor(WEIGHTS, [1])}]},
        "dtype": Named("float16"),
        "optimizer": {"state": {0: {"step": 3}}, "param_groups": [{"lr": 1e-3, "params": [0]}]},
    }
    found = load(save(tmp_path / "m", values, [WEIGHTS], named=[values["dtype"]]))
    assert found["numbers"] == values["numbers"]
    assert found["texts"] == values["texts"]
    assert content(found["nested"][7][0]["deep"]) == FLOATS[:1].tobytes()
    assert found["dtype"] == "float16"
    assert found["optimizer"] == values["optimizer"]


def test_a_structure_that_contains_itself_is_loaded(tmp_path: Path) -> None:
    loop: list[Any] = [tensor(WEIGHTS, [2])]
    loop.append(loop)
    found = load(save(tmp_path / "m", loop, [WEIGHTS]))
    assert found[1] is found


def test_new_types_lie_in_untyped_storages(tmp_path: Path) -> None:
    named = [Named("float8_e4m3fn"), Named("uint16")]
    given = [
        tensor(BYTES, [8, 8], extra=(named[0],)),
        tensor(BYTES, [4], offset=2, extra=(named[1],)),
    ]
    found = load(save(tmp_path / "m", given, [BYTES], named=named))
    assert content(found[0]) == bytes(range(64))
    assert content(found[1]) == bytes(range(4, 12))
    assert (described(found[0]).type_code, described(found[1]).type_code) == (10, 1)


def test_parameters_are_tensors_without_pytorch(tmp_path: Path) -> None:
    parameter = Call(PARAMETER, (tensor(WEIGHTS, [60]), True, OrderedDict()))
    assert content(load(save(tmp_path / "m", [parameter], [WEIGHTS]))[0]) == FLOATS.tobytes()


def test_storages_of_any_alignment_and_distance_arrive(tmp_path: Path) -> None:
    many = [
        Storage(str(i), "ByteStorage", os.urandom(17 * i % 9001 + 1), 17 * i % 9001 + 1)
        for i in range(40)
    ]
    given = [tensor(one, [one.num_items]) for one in many[::3]]  # the others are gaps
    for aligned in (True, False):
        found = load(save(tmp_path / "m", given, many, aligned=aligned))
        assert [content(one) for one in found] == [one.content for one in many[::3]]


def test_a_file_without_tensors_is_loaded(tmp_path: Path) -> None:
    assert load(save(tmp_path / "m", {"epoch": 3}, [])) == {"epoch": 3}


def test_archives_of_before_the_byte_order_was_written_are_little_endian(tmp_path: Path) -> None:
    path = save(tmp_path / "m", [tensor(WEIGHTS, [60])], [WEIGHTS], byteorder=None)
    assert content(load(path)[0]) == FLOATS.tobytes()


RECORDED = Path(__file__).parent / "recorded" / "torch_2_4_1.pt"


def test_a_file_that_pytorch_has_written_is_loaded() -> None:
    """Written by PyTorch 2.4.1, as recorded.py beside the file shows."""
    found = load(RECORDED)
    floats = np.arange(60, dtype="float32").reshape(5, 12)
    assert type(found) is OrderedDict
    assert content(found["weight"]) == floats.tobytes()
    assert content(found["tied"]) == floats.T.tobytes()
    assert described(found["tied"]).pointer == described(found["weight"]).pointer
    assert content(found["part"]) == floats[::2, 3:9].tobytes()
    assert content(found["parameter"]) == np.arange(7, dtype="float32").tobytes()
    assert (
        content(found["half"])
        == (np.arange(9, dtype="float32").view("u4") >> 16).astype("u2").tobytes()
    )
    assert (described(found["half"]).type_code, described(found["half"]).item_bits) == (4, 16)
    assert content(found["fp8"]) == bytes([0, 0x38, 0x40, 0x44, 0x48])
    assert content(found["complex"]) == np.array([1 + 2j, 3], "complex128").tobytes()
    assert content(found["bool"]) == b"\1\0"
    assert content(found["scalar"]) == np.int64(3).tobytes()
    assert list(described(found["empty"]).shape) == [0, 3]
    assert found["dtype"] == "float16"
    assert found["size"] == (2, 3)
    assert found["values"] == {"step": 3, "more": [("text", b"\x00\xff", {1, 2}, None, 2j)]}
    assert found["model"]._metadata[""] == {"version": 1}  # noqa: SLF001
    assert found["optimizer"]["param_groups"][0]["lr"] == 1e-3
    assert content(found["optimizer"]["state"][0]["exp_avg"]) == bytes(24)


# --- what is refused ------------------------------------------------------------------------------


class Evil:
    def __reduce__(self) -> Any:  # noqa: ANN401
        return os.system, ("echo evil > evil",)


@pytest.mark.parametrize(
    ("value", "name"),
    [
        (Evil(), "(posix|nt).system"),
        (Path("a"), r"pathlib\.\w+"),
        (slice(1), "slice"),
        (np.float64(1), r"numpy\..*"),
        (print, "print"),
        (ValueError, "ValueError"),
    ],
)
def test_everything_but_tensors_and_containers_is_refused_by_its_name(
    tmp_path: Path, value: object, name: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    path = write_pt(tmp_path / "m.pt", pickle.dumps({"a": value}, 2))
    with pytest.raises(UsageError, match=rf"m\.pt: its pickle needs '?.*{name}.*isn't allowed"):
        load(path)
    assert not Path("evil").exists()


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (tensor(WEIGHTS, [61]), r"shape \[61\] ends at byte 244 of storage '0', which has 240"),
        (tensor(WEIGHTS, [2, 2], [59, 2]), "ends at byte 248"),
        (tensor(WEIGHTS, [2], offset=59), "ends at byte 244"),
        (tensor(WEIGHTS, [2], [-1]), "strides must be numbers"),
        (tensor(WEIGHTS, [1 << 62, 4], [0, 0]), r"takes more than 2\^63"),
        (tensor(WEIGHTS, [1] * 65), "65 dimensions"),
        (tensor(WEIGHTS, [2, 2], [1]), "2 dimensions has 1 strides"),
        (tensor(WEIGHTS, [1], extra=({"conj": True},)), "only PyTorch knows.*conj"),
        (tensor(BYTES, [1], extra=("float32",)), "no type of PyTorch"),
        (Call(PARAMETER, (7, True, {})), "a parameter has no tensor"),
    ],
)
def test_a_tensor_that_isnt_in_its_storage_is_refused(
    tmp_path: Path,
    given: Any,  # noqa: ANN401
    message: str,
) -> None:
    path = save(tmp_path / "m.pt", [given], [WEIGHTS, BYTES])
    with pytest.raises(UsageError, match=rf"m\.pt: .*{message}"):
        load(path)


def test_a_storage_that_the_file_lacks_is_named(tmp_path: Path) -> None:
    text = pickled([tensor(WEIGHTS, [60])], [WEIGHTS])
    with pytest.raises(UsageError, match="m: storage '0' is missing"):
        load(write_pt(tmp_path / "m", text, [HALVES]))
    short = Storage("0", "FloatStorage", bytes(100), 60)
    with pytest.raises(UsageError, match="storage '0' has 100 bytes; its 60 items"):
        load(write_pt(tmp_path / "m", text, [short]))


def test_a_compressed_archive_is_refused(tmp_path: Path) -> None:
    with zipfile.ZipFile(tmp_path / "m", "w", zipfile.ZIP_DEFLATED) as archive:
        archive.writestr("archive/data.pkl", pickle.dumps({}, 2) * 10)
    with pytest.raises(UsageError, match=r"entry 'archive/data\.pkl' is compressed"):
        load(tmp_path / "m")


def test_other_files_are_refused_with_what_they_are(tmp_path: Path) -> None:
    legacy = tmp_path / "legacy.pt"
    legacy.write_bytes(pickle.dumps(119547037146038801333356, 2))
    with pytest.raises(UsageError, match=r"before PyTorch 1\.6"):
        load(legacy)
    script = write_pt(tmp_path / "script", pickle.dumps({}, 2), more={"constants.pkl": b""})
    with pytest.raises(UsageError, match="TorchScript"):
        load(script)
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("readme", "hello")
    with pytest.raises(UsageError, match=r"other\.zip: .*no entry data\.pkl"):
        load(tmp_path / "other.zip")
    big = write_pt(tmp_path / "big", pickle.dumps({}, 2), byteorder=b"big")
    with pytest.raises(UsageError, match="byte order is b'big'"):
        load(big)
    for missing in (tmp_path / "missing", tmp_path, "with\0null"):
        with pytest.raises(UsageError, match="can't be opened"):
            load(missing)
    with pytest.raises(UsageError, match="a path was expected, not 7"):
        load(7)  # type: ignore[arg-type]


def test_a_truncated_file_is_refused_at_any_length(tmp_path: Path) -> None:
    path = save(tmp_path / "m.pt", [tensor(WEIGHTS, [60])], [WEIGHTS])
    whole = path.read_bytes()
    for size in range(0, len(whole), 7):
        path.write_bytes(whole[:size])
        with pytest.raises(UsageError, match=r"m\.pt: "):
            load(path)


def refusal(path: Path) -> str:
    try:
        load(path)
    except UsageError as error:
        return str(error)
    return ""  # what is damaged may be a name that nobody reads


def test_a_damaged_pickle_is_refused_in_a_line(tmp_path: Path) -> None:
    text = pickled([tensor(WEIGHTS, [60])], [WEIGHTS])
    for place in range(2, len(text)):
        damaged = text[:place] + bytes([text[place] ^ 0x15]) + text[place + 1 :]
        path = write_pt(tmp_path / "m.pt", damaged, [WEIGHTS])
        message = refusal(path)
        assert message.startswith(f"{path}: ") or not message
        assert "\n" not in message


def test_a_pickle_is_searched_for_a_large_memo_once(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    searched: list[bytes] = []
    search = pickletools.genops

    def noticed(text: bytes) -> Any:  # noqa: ANN401
        searched.append(text)
        return search(text)

    monkeypatch.setattr(pickletools, "genops", noticed)
    load(save(tmp_path / "m.pt", [tensor(WEIGHTS, [60])], [WEIGHTS]))
    assert len(searched) == 1


def test_a_pickle_cant_take_memory_that_the_file_hasnt(tmp_path: Path) -> None:
    memo = b"\x80\x02]r\xff\xff\xff\x7f."  # the item 2^31 - 1 of the memo
    with pytest.raises(UsageError, match="it has no 2147483647 items"):
        load(write_pt(tmp_path / "m", memo))
    zeros = b"\x80\x02cbuiltins\nbytearray\n\x8a\x05\x00\x00\x00\x00\x10\x85R."
    with pytest.raises(UsageError, match="a bytearray is made of bytes alone"):
        load(write_pt(tmp_path / "m", zeros))


def test_a_pickle_cant_change_a_function(tmp_path: Path) -> None:
    text = b"\x80\x02ctorch._utils\n_rebuild_tensor_v2\n}b."
    with pytest.raises(UsageError, match="changes a function"):
        load(write_pt(tmp_path / "m", text))


def test_a_file_that_becomes_shorter_meanwhile_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = save(tmp_path / "m.pt", [tensor(HALVES, [len(LARGE) // 2])], [HALVES])
    allocate = isthmus._native.DeviceMemory  # noqa: SLF001

    def cutting(*given: Any) -> Any:  # noqa: ANN401
        os.truncate(path, 5000)
        return allocate(*given)

    monkeypatch.setattr("isthmus.safetensors.frameworks._native.DeviceMemory", cutting)
    with pytest.raises(UsageError, match=r"m\.pt: the file has 5000 bytes"):
        load(path)
