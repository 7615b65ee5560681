"""`load_pt` beside `torch.load(weights_only=True)`: the same object, or both refuse."""

import io
import pickle
import struct
import sys
import zipfile
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import isthmus
from isthmus.errors import Unavailable, UsageError
from isthmus.move.torch.bounds import require_bounded
from isthmus.move.torch.loading import groups_of

torch: Any = pytest.importorskip("torch", reason="PyTorch isn't installed")

from fakes.pt_trees import Same, Stranger, Trees  # noqa: E402 - it needs PyTorch

pytestmark = [pytest.mark.native, pytest.mark.filterwarnings("ignore")]


@pytest.fixture(autouse=True)
def driver_by_default(driver_source: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISTHMUS_DRIVER", driver_source)


def theirs(path: Path) -> Any:  # noqa: ANN401
    return torch.load(path, map_location="cpu", weights_only=True)


def ours(path: Path) -> Any:  # noqa: ANN401
    return isthmus.load_pt(path, "cpu")


def forget_sparse_tensors() -> None:
    utils = torch._utils
    if hasattr(utils, "_get_sparse_tensors_to_validate"):  # one list for each thread
        utils._get_sparse_tensors_to_validate().clear()
    else:  # older versions
        utils._sparse_tensors_to_validate.clear()


def require_same(path: Path, what: str = "object") -> bool:
    """Compare both; True if they gave something."""
    try:
        wanted = theirs(path)
    except Exception:  # noqa: BLE001 - whatever PyTorch raises
        # It would check what is left of this file after the next one.
        forget_sparse_tensors()
        with pytest.raises(UsageError) as refused:
            ours(path)
        assert str(refused.value).startswith(f"{path}: ")
        assert str(refused.value).isprintable()
        forget_sparse_tensors()
        return False
    Same().require(ours(path), wanted, what)
    return True


def test_random_objects_are_loaded_as_pytorch_loads_them_or_both_refuse(tmp_path: Path) -> None:
    path = tmp_path / "tree.pt"
    outcomes = Counter[bool]()
    for seed in range(300):
        try:
            torch.save(Trees(seed).tree(), path, _use_new_zipfile_serialization=seed % 5 > 0)
        except Exception:  # noqa: BLE001, S112 - PyTorch can't save it
            continue
        outcomes[require_same(path, f"tree {seed}")] += 1
    assert outcomes[True] > 150
    assert outcomes[False] > 3


PARAMETER = torch.nn.Parameter(torch.ones(3))
PARAMETER.tensor_model_parallel = True
TIED = torch.arange(60.0).reshape(5, 12)


def test_what_pytorch_loads_is_loaded(tmp_path: Path) -> None:
    for given in (
        {"storage": torch.arange(6.0).untyped_storage(), "tensor": torch.ones(2)},
        {"size": torch.Size([1]), "classes": [torch.Size, set]},
        {"milestones": Counter([1, 2]), "device": torch.device("cuda", 3), "layout": torch.strided},
        [PARAMETER, PARAMETER, TIED, TIED.t(), TIED[1:, 3:], torch.zeros(0, 3)],
        [torch.ones(2, dtype=torch.complex32), torch.ones(2, dtype=torch.complex64).conj()],
        torch.nn.Linear(4, 4).state_dict(),
    ):
        torch.save(given, tmp_path / "m.pt")
        assert require_same(tmp_path / "m.pt"), given


def test_of_two_saves_in_one_file_the_second_isnt_given(tmp_path: Path) -> None:
    for new in (True, False):
        with (tmp_path / "two.pt").open("wb") as file:
            for name in ("first", "second"):
                saved = {name: torch.ones(5)}
                torch.save(saved, file, _use_new_zipfile_serialization=new)
        try:
            given = ours(tmp_path / "two.pt")
        except UsageError:  # versions of PyTorch and of Python differ in which of them they refuse
            continue
        assert list(given) == ["first"]


def test_a_class_that_is_declared_safe_is_made(tmp_path: Path) -> None:
    torch.save(Stranger([torch.ones(3)]), tmp_path / "m.pt")
    assert not require_same(tmp_path / "m.pt")
    with pytest.raises(UsageError, match="add_safe_globals"):
        ours(tmp_path / "m.pt")
    with torch.serialization.safe_globals([Stranger]):
        assert require_same(tmp_path / "m.pt")


def test_files_of_other_kinds_are_loaded_as_by_pytorch(tmp_path: Path) -> None:
    path = tmp_path / "m.pt"
    given = {"a": torch.arange(3000), "tied": TIED, "part": TIED[1:]}
    torch.save(given, path)
    entries = {
        each.filename: zipfile.ZipFile(path).read(each) for each in zipfile.ZipFile(path).filelist
    }
    root = next(iter(entries)).partition("/")[0]
    for compression in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED):
        for order in (b"little", b"big"):
            entries[f"{root}/byteorder"] = order
            with zipfile.ZipFile(path, "w", compression) as archive:
                for name, content in entries.items():
                    archive.writestr(name, content)
            assert require_same(path, f"{compression}, {order!r}")


def test_what_surrounds_the_call_counts_as_for_pytorch(tmp_path: Path) -> None:
    path = tmp_path / "m.pt"
    torch.save({"a": TIED, "p": PARAMETER}, path)
    for surroundings in (torch.inference_mode(), torch.no_grad(), torch.device("meta")):
        with surroundings:
            found, wanted = ours(path), theirs(path)
        Same().require(found, wanted, str(surroundings))
        assert found["a"].is_inference() == wanted["a"].is_inference()
    with torch.serialization.skip_data():
        assert ours(path)["a"].shape == TIED.shape


def test_other_files_are_refused_with_the_reason(tmp_path: Path) -> None:
    isthmus.save_safetensors({"a": torch.ones(3)}, tmp_path / "saved")
    for name, content, message, hint in (
        ("pointer", b"version https://git-lfs.github.com/spec/v1\n", "a Git LFS", "git lfs pull"),
        ("page", b"\n<!DOCTYPE html>", "an HTML or XML page", "download it again"),
        ("saved", (tmp_path / "saved").read_bytes(), "a safetensors file", "load_safetensors"),
        ("text", b"hello", "not a file of torch.save$", ""),
        ("empty", b"", "not a file of torch.save: it is empty$", ""),
    ):
        (tmp_path / name).write_bytes(content)
        assert not require_same(tmp_path / name)
        with pytest.raises(UsageError, match=message) as refused:
            ours(tmp_path / name)
        assert hint in refused.value.hint
    for missing in (tmp_path / "missing", tmp_path, "with\0null"):
        with pytest.raises(UsageError, match="can't be opened"):
            ours(missing)  # type: ignore[arg-type]
    with pytest.raises(UsageError, match="a path was expected, not 7"):
        isthmus.load_pt(7, "cpu")  # type: ignore[arg-type]


@pytest.mark.parametrize("device", [None, [1], "gpu", 1.5, "meta"])
def test_what_names_no_device_is_refused_with_what_does(tmp_path: Path, device: object) -> None:
    with pytest.raises(UsageError, match=r"device .*: pass a GPU's ordinal, .* or a torch.device$"):
        isthmus.load_pt(tmp_path / "m.pt", device)


def test_other_frameworks_are_refused_with_the_way_to_them(tmp_path: Path) -> None:
    torch.save([1], tmp_path / "m.pt")
    for name in ("cupy", "dlpack", "tensorflow"):
        with pytest.raises(UsageError, match="PyTorch's objects alone") as refused:
            isthmus.load_pt(tmp_path / "m.pt", framework=name)
        assert "from_dlpack" in refused.value.hint


def test_without_pytorch_its_package_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "torch", None)
    with pytest.raises(Unavailable, match="pip install torch"):
        isthmus.load_pt(tmp_path / "m.pt", "cpu")


def test_storages_side_by_side_are_read_at_once() -> None:
    mib = 1 << 20
    assert groups_of({}) == []
    assert groups_of({64: 100, 256: 0, 320: 50, 5000: 9}) == [[(64, 100), (320, 50)], [(5000, 9)]]
    large = {0: 400 * mib, 400 * mib + 64: 99 * mib, 500 * mib: 600 * mib, 1101 * mib: 1}
    assert [len(group) for group in groups_of(large)] == [2, 1, 1]
    assert [len(group) for group in groups_of({0: 100, 50: 100})] == [1, 1]  # over each other


# --- hostile files --------------------------------------------------------------------------------

P2 = b"\x80\x02"


def text(value: str) -> bytes:
    return b"X" + struct.pack("<I", len(value)) + value.encode()


def put(index: int) -> bytes:
    return b"r" + struct.pack("<I", index)


def get(index: int) -> bytes:
    return b"j" + struct.pack("<I", index)


def twice(levels: int) -> bytes:
    """Tuples of two references to the one before; the last is on top of the others."""
    return b")" + put(0) + b"".join(get(i) * 2 + b"\x86" + put(i + 1) for i in range(levels))


def storage(num_items: int, key: bytes = text("0")) -> bytes:
    kind = b"ctorch\nFloatStorage\n"
    return (
        b"("
        + text("storage")
        + kind
        + key
        + text("cpu")
        + b"J"
        + struct.pack("<i", num_items)
        + b"tQ"
    )


def tensor(num_items: int, of: bytes) -> bytes:
    items = b"J" + struct.pack("<i", num_items)
    empty = b"ccollections\nOrderedDict\n)R"
    return (
        b"ctorch._utils\n_rebuild_tensor_v2\n("
        + of
        + b"K\0("
        + items
        + b"t(K\1t\x89"
        + empty
        + b"tR"
    )


def write(path: Path, pickled: bytes, content: bytes = bytes(16), **more: Any) -> Path:  # noqa: ANN401
    with zipfile.ZipFile(path, "w", **more) as archive:
        archive.writestr("archive/data.pkl", pickled)
        archive.writestr("archive/byteorder", "little")
        archive.writestr("archive/data/0", content)
        archive.writestr("archive/version", "3\n")
    return path


LONG = b"](" + b"N" * 100_000 + b"e" + put(0)
BOMBS = {
    "a key of 2^60 items": P2 + b"}(" + twice(60) + b"tK\1s.",
    "a set's item of 2^60 items": P2 + b"cbuiltins\nset\n](" + twice(60) + b"e\x85R.",
    "a storage's key of 2^60 items": P2 + storage(4, b"(" + twice(60) + b"t") + b".",
    "a key of a million levels": P2 + b"})" + b"\x85" * 10**6 + b"Ns.",
    "20,000 sets of one list": P2
    + LONG
    + b"0"[:0]
    + b"cbuiltins\nset\n"
    + put(1)
    + b"("
    + (get(1) + get(0) + b"\x85R") * 20_000
    + b"t.",
    "20,000 times one text": P2
    + text("x" * 1_000_000)
    + put(0)
    + b"c_codecs\nencode\n"
    + put(1)
    + b"("
    + (get(1) + get(0) + b"\x85R") * 20_000
    + b"t.",
    "one state for 20,000 objects": P2
    + b"}("
    + b"".join(text(str(i)) + b"N" for i in range(50_000))
    + b"u"
    + put(0)
    + (b"ccollections\nOrderedDict\n)R" + get(0) + b"b") * 20_000
    + b".",
    "a list that grows after its use": P2 + b"(]" + put(0) + get(0) + b"Nat.",
}


@pytest.mark.parametrize("name", BOMBS)
def test_a_bomb_is_refused_before_pytorch_reads_it(tmp_path: Path, name: str) -> None:
    with pytest.raises(UsageError, match=r"its pickle (would take|is nested|changes)"):
        ours(write(tmp_path / "m.pt", BOMBS[name]))


def test_a_bomb_in_the_format_of_before_pytorch_1_6_is_refused(tmp_path: Path) -> None:
    torch.save([1], tmp_path / "m.pt", _use_new_zipfile_serialization=False)
    stream = io.BytesIO((tmp_path / "m.pt").read_bytes())
    for _ in range(3):
        pickle.load(stream)  # noqa: S301 - written just before
    head = stream.getvalue()[: stream.tell()]
    (tmp_path / "m.pt").write_bytes(head + BOMBS["a key of 2^60 items"])
    with pytest.raises(UsageError, match="would take far more work"):
        ours(tmp_path / "m.pt")


def test_shared_values_of_real_files_are_no_bombs(tmp_path: Path) -> None:
    name, shared = "module." * 40, [(0.9, 0.999)] * 3
    state = {f"{name}{i}": {"betas": shared, "name": name, i: (i, i)} for i in range(20_000)}
    torch.save([state, state, state], tmp_path / "m.pt")
    Same().require(ours(tmp_path / "m.pt"), theirs(tmp_path / "m.pt"))


def test_entries_that_take_more_memory_than_the_file_are_refused(tmp_path: Path) -> None:
    options = {"compression": zipfile.ZIP_DEFLATED}
    path = write(tmp_path / "m.pt", P2 + b"N.", bytes(10**7), **options)
    with pytest.raises(UsageError, match="16 times as many bytes"):
        ours(path)


@pytest.mark.parametrize("num_items", [0, 3, 5, 40, 2**30, -4])
def test_a_storage_of_another_length_than_its_entry_is_refused(
    tmp_path: Path, num_items: int
) -> None:
    for shown in (0, num_items):
        path = write(tmp_path / "m.pt", P2 + tensor(shown, storage(num_items)) + b".")
        with pytest.raises(UsageError, match=r"m\.pt: "):
            ours(path)


def test_a_tensor_outside_of_its_storage_is_refused(tmp_path: Path) -> None:
    assert require_same(write(tmp_path / "m.pt", P2 + tensor(4, storage(4)) + b"."))
    assert not require_same(write(tmp_path / "m.pt", P2 + tensor(5, storage(4)) + b"."))
    forged = storage(4) + b"](" + text("0") + b"NNe" + b"b"  # what changed a storage once
    assert not require_same(write(tmp_path / "m.pt", P2 + tensor(4, forged) + b"."))


def is_the_same(one: Any, other: Any) -> bool:  # noqa: ANN401
    """Tell whether PyTorch has read a file: of some damages it gives memory that nobody wrote."""
    try:
        Same().require(one, other)
    except AssertionError:
        return False
    return True


def damaged(whole: bytes) -> list[bytes]:
    cut = [whole[:size] for size in range(0, len(whole), 97)]
    turned = [
        whole[:place] + bytes([whole[place] ^ mask]) + whole[place + 1 :]
        for place in range(0, len(whole), 3)
        for mask in (0x01, 0x15)
    ]
    return cut + turned


@pytest.mark.parametrize("new", [True, False], ids=["zip", "legacy"])
def test_of_damaged_files_none_is_loaded_that_pytorch_refuses(tmp_path: Path, *, new: bool) -> None:
    path = tmp_path / "m.pt"
    torch.save(
        {"w": PARAMETER, "t": (torch.arange(3), torch.Size([1]))},
        path,
        _use_new_zipfile_serialization=new,
    )
    loaded = 0
    for content in damaged(path.read_bytes()):
        path.write_bytes(content)
        found, refusal = None, ""
        try:
            found = ours(path)
        except UsageError as error:
            refusal = str(error)
        if refusal:
            assert refusal.startswith(f"{path}: ")
            assert refusal.isprintable()
        elif is_the_same(theirs(path), theirs(path)):
            Same().require(found, theirs(path))
            loaded += 1
    assert loaded


def test_a_file_that_becomes_shorter_meanwhile_is_an_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = tmp_path / "m.pt"
    torch.save(torch.zeros(1 << 20), path)
    empty: Callable[..., Any] = torch.empty

    def cutting(*given: Any, **options: Any) -> Any:  # noqa: ANN401
        path.open("r+b").truncate(5000)
        return empty(*given, **options)

    monkeypatch.setattr(torch, "empty", cutting)
    with pytest.raises(UsageError, match=r"m\.pt: "):
        ours(path)


def test_a_file_that_is_replaced_meanwhile_is_loaded_as_it_was_opened(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    file, other = tmp_path / "step.pt", tmp_path / "next.pt"
    for path, step in ((file, 1.0), (other, 2.0)):
        torch.save({"weights": torch.full((1000,), step)}, tmp_path / "step")
        (tmp_path / "step").rename(path)

    def replaced(*arguments: Any, **others: Any) -> bool:  # noqa: ANN401
        if other.exists():
            other.rename(file)
        return require_bounded(*arguments, **others)

    monkeypatch.setattr("isthmus.move.torch.loading.require_bounded", replaced)
    assert torch.equal(ours(file)["weights"], torch.ones(1000))
