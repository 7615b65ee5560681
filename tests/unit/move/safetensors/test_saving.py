"""Saved files: whatever the arrays are, wherever they lie, and whatever goes wrong."""

import json
import os
import resource
import signal
import subprocess
import sys
import textwrap
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

import isthmus
from fakes.safetensors_files import write_file
from isthmus import _native
from isthmus.errors import DriverError, UsageError, WriteError
from isthmus.move.safetensors.header import read_header

pytestmark = pytest.mark.native

MIB = 1 << 20
# Sizes beside each other that leave nothing aligned, and one of many pieces.
MODEL = {
    "large": ("BF16", [1024, 2049], os.urandom(1024 * 2049 * 2)),
    "mask": ("BOOL", [3], b"\x00\x01\x01"),
    "scalar": ("F32", [], os.urandom(4)),
    "steps": ("I64", [2, 1], os.urandom(16)),
    "empty": ("F16", [4, 0], b""),
    "bytes": ("U8", [3 * MIB + 1], os.urandom(3 * MIB + 1)),
    "head": ("F8_E4M3", [100, 100], os.urandom(10_000)),
    "complex": ("C64", [7], os.urandom(56)),
    "quarter": ("F4", [6, 2], os.urandom(6)),
}


@pytest.fixture(autouse=True)
def emulated(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ISTHMUS_DRIVER", "emulated")


@pytest.fixture
def on_device(tmp_path: Path) -> dict[str, Any]:
    """A model in device memory."""
    return isthmus.load_safetensors(write_file(tmp_path / "given", MODEL), framework="dlpack")


def read_back(path: Path) -> dict[str, tuple[str, list[int], bytes]]:
    """Read a file as its header describes it."""
    with path.open("rb") as file:
        header = read_header(file.fileno(), path.name)
        return {
            entry.name: (
                entry.dtype,
                list(entry.shape),
                os.pread(file.fileno(), entry.size_bytes, header.data_offset + entry.first),
            )
            for entry in header.entries
        }


def leftovers(folder: Path) -> list[str]:
    return [path.name for path in folder.iterdir() if path.name.startswith(".isthmus")]


# --- what is saved --------------------------------------------------------------------------------


@pytest.mark.parametrize("durable", [True, False])
def test_every_tensor_of_a_device_is_saved_with_its_name_type_shape_and_bytes(
    on_device: dict[str, Any], tmp_path: Path, durable: bool
) -> None:
    path = tmp_path / "saved.safetensors"
    isthmus.save_safetensors(on_device, path, {"format": "pt"}, durable=durable)
    assert read_back(path) == MODEL
    with path.open("rb") as file:
        assert read_header(file.fileno(), "saved").metadata == {"format": "pt"}


def test_what_was_saved_is_loaded_again(on_device: dict[str, Any], tmp_path: Path) -> None:
    isthmus.save_safetensors(on_device, tmp_path / "one")
    again = isthmus.load_safetensors(tmp_path / "one", framework="dlpack")
    isthmus.save_safetensors(again, tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()


def test_arrays_of_host_and_device_are_mixed(on_device: dict[str, Any], tmp_path: Path) -> None:
    arrays = {
        "here": np.arange(70_000, dtype="float32").reshape(7, -1),
        "large": on_device["large"],
        "raw": bytes(range(256)),
        "pinned": isthmus.pinned.zeros((3, 5), "int16"),
        "head": on_device["head"],
        "huge": np.frombuffer(os.urandom(9 * MIB), "uint8"),
    }
    isthmus.save_safetensors(arrays, tmp_path / "saved")
    found = read_back(tmp_path / "saved")
    assert found["here"] == ("F32", [7, 10_000], arrays["here"].tobytes())
    assert found["large"] == MODEL["large"]
    assert found["raw"] == ("U8", [256], arrays["raw"])
    assert found["pinned"] == ("I16", [3, 5], bytes(30))
    assert found["head"] == MODEL["head"]
    assert found["huge"] == ("U8", [9 * MIB], arrays["huge"].tobytes())


def test_each_tensor_is_aligned_to_its_items_and_the_data_to_pages(tmp_path: Path) -> None:
    arrays = {"a": np.zeros(3, "u1"), "b": np.zeros(3, "f8"), "c": np.zeros(1, "f4"), "d": b"xy"}
    isthmus.save_safetensors(arrays, tmp_path / "saved")
    with (tmp_path / "saved").open("rb") as file:
        header = read_header(file.fileno(), "saved")
    assert header.data_offset % 4096 == 0
    assert [entry.name for entry in header.entries] == ["b", "c", "a", "d"]


def test_an_array_in_another_order_is_saved_in_c_order(tmp_path: Path) -> None:
    array = np.arange(24, dtype="int32").reshape(2, 3, 4)
    given = {"fortran": np.asfortranarray(array), "part": array[:, ::2, 1:]}
    isthmus.save_safetensors(given, tmp_path / "saved")
    found = read_back(tmp_path / "saved")
    assert found["fortran"] == ("I32", [2, 3, 4], array.tobytes())
    assert found["part"] == ("I32", [2, 2, 3], array[:, ::2, 1:].tobytes())


def test_no_tensors_are_a_file_too(tmp_path: Path) -> None:
    isthmus.save_safetensors({}, tmp_path / "saved")
    assert read_back(tmp_path / "saved") == {}


def test_many_small_tensors_are_saved(tmp_path: Path) -> None:
    arrays = {f"layer.{i}.scale": np.full(i % 7, i, "float16") for i in range(2000)}
    isthmus.save_safetensors(arrays, tmp_path / "saved")
    found = read_back(tmp_path / "saved")
    assert {name: content for name, (_, _, content) in found.items()} == {
        name: array.tobytes() for name, array in arrays.items()
    }


def test_an_existing_file_is_replaced_and_keeps_its_permissions(tmp_path: Path) -> None:
    path = tmp_path / "saved"
    path.write_bytes(b"old")
    path.chmod(0o640)
    isthmus.save_safetensors({"a": b"new"}, path)
    assert read_back(path) == {"a": ("U8", [3], b"new")}
    assert path.stat().st_mode & 0o777 == 0o640


def test_the_types_of_ml_dtypes_are_known_by_their_names(tmp_path: Path) -> None:
    array: Any = np.zeros(3, "V2")
    shown = SimpleNamespace(
        __array_interface__=array.__array_interface__,
        dtype=SimpleNamespace(name="bfloat16"),
        kept=array,
    )
    isthmus.save_safetensors({"a": shown}, tmp_path / "saved")
    assert read_back(tmp_path / "saved") == {"a": ("BF16", [3], bytes(6))}
    with pytest.raises(UsageError, match="tensor 'a': safetensors has no type"):
        isthmus.save_safetensors({"a": array}, tmp_path / "saved")


# --- what is refused ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("tensors", "message"),
    [
        ({"a": np.zeros(2, "complex128")}, "tensor 'a': safetensors has no type for complex128"),
        ({"a": np.zeros(2, ">f4")}, "no type for big-endian float32"),
        ({"a": np.zeros(2, "M8[s]")}, "no type for datetime64"),
        ({"a": {"b": np.zeros(2)}}, "tensor 'a': .*dict"),
        ({"a": [1.0]}, "tensor 'a': .*list"),
        ({7: np.zeros(2)}, "a tensor's name must be a string, not 7"),
        ({"__metadata__": np.zeros(2)}, "no tensor can have the name __metadata__"),
        ({"\ud800": np.zeros(2)}, "isn't Unicode"),
        ([np.zeros(2)], "a mapping of names to arrays was expected, not list"),
    ],
)
def test_what_the_format_cant_hold_is_refused_by_name(
    tmp_path: Path,
    tensors: Any,  # noqa: ANN401
    message: str,
) -> None:
    with pytest.raises(UsageError, match=message):
        isthmus.save_safetensors(tensors, tmp_path / "saved")
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize("metadata", [{"a": 1}, {1: "a"}, "text", ["a"]])
def test_metadata_is_text(tmp_path: Path, metadata: Any) -> None:  # noqa: ANN401
    with pytest.raises(UsageError, match="metadata must be"):
        isthmus.save_safetensors({}, tmp_path / "saved", metadata)


@pytest.mark.parametrize("metadata", [None, {}, {"format": "pt", "Ä": "\n"}])
def test_metadata_is_read_again(tmp_path: Path, metadata: dict[str, str] | None) -> None:
    isthmus.save_safetensors({"a": b"x"}, tmp_path / "saved", metadata)
    assert isthmus.safetensors_metadata(tmp_path / "saved") == (metadata or {})


def test_the_metadata_of_what_is_no_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "text").write_text("{}")
    for wrong, message in (("missing", "can't be opened: No such file"), ("text", "not a safete")):
        with pytest.raises(UsageError, match=f"{wrong}: {message}"):
            isthmus.safetensors_metadata(tmp_path / wrong)
    with pytest.raises(UsageError, match="a path was expected"):
        isthmus.safetensors_metadata([tmp_path / "text"])  # type: ignore[arg-type]


def test_a_header_beyond_the_format_s_limit_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("isthmus.move.safetensors.saved.MAX_HEADER_BYTES", 8000)
    with pytest.raises(UsageError, match="limit is 8000"):
        isthmus.save_safetensors({}, tmp_path / "saved", {"text": "x" * 8000})


def test_a_device_or_a_folder_is_never_replaced(tmp_path: Path) -> None:
    for path in ("/dev/full", "/dev/null", str(tmp_path)):
        with pytest.raises(UsageError, match="not a regular file"):
            isthmus.save_safetensors({"a": b"x"}, path)
    for wrong in (7, b"name", None, "with\0null"):
        with pytest.raises(UsageError):
            isthmus.save_safetensors({"a": b"x"}, wrong)  # type: ignore[arg-type]


def test_a_folder_that_isnt_there_is_named(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match="missing/saved: No such file") as raised:
        isthmus.save_safetensors({"a": b"x"}, tmp_path / "missing" / "saved")
    assert raised.value.hint == "make the folder first, or choose another path"


def test_a_name_that_no_file_can_have_is_a_write_error_with_advice(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match="File name too long") as raised:
        isthmus.save_safetensors({"a": b"x"}, tmp_path / ("x" * 300))
    assert raised.value.hint == "choose another path"


@pytest.mark.parametrize("name", ["first", "first/file"])
def test_links_that_form_a_loop_are_a_write_error_and_stay(tmp_path: Path, name: str) -> None:
    (tmp_path / "first").symlink_to("second")
    (tmp_path / "second").symlink_to("first")
    with pytest.raises(WriteError, match=f"{name}: Too many levels of symbolic links") as raised:
        isthmus.save_safetensors({"a": b"x"}, tmp_path / name)
    assert raised.value.hint == "choose another path"
    assert sorted(path.name for path in tmp_path.iterdir()) == ["first", "second"]
    assert (tmp_path / "first").is_symlink()


# --- what fails -----------------------------------------------------------------------------------


def test_device_memory_that_was_freed_leaves_the_old_file(
    tmp_path: Path, context: _native.Context
) -> None:
    path = tmp_path / "saved"
    path.write_bytes(b"old")
    memory = _native.DeviceMemory(context, MIB)
    gone = isthmus.DevicePointer(memory.pointer, MIB)
    del memory
    with pytest.raises(DriverError, match="tensor 'gone' can't be read"):
        isthmus.save_safetensors({"fine": b"x" * 5000, "gone": gone}, path)
    assert path.read_bytes() == b"old"
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("size_bytes", [5000, 9 * MIB])
def test_a_mapped_file_that_became_shorter_leaves_nothing(tmp_path: Path, size_bytes: int) -> None:
    (tmp_path / "source").write_bytes(bytes(size_bytes))
    array = np.memmap(tmp_path / "source", mode="r")
    os.truncate(tmp_path / "source", 0)
    with pytest.raises(UsageError, match="tensor 'mapped': its memory can't be read"):
        isthmus.save_safetensors({"mapped": array}, tmp_path / "saved")
    assert not (tmp_path / "saved").exists()
    assert leftovers(tmp_path) == []


@pytest.mark.parametrize("durable", [True, False])
def test_a_disk_without_room_leaves_the_old_file(tmp_path: Path, durable: bool) -> None:
    """The limit of a file's size is refused in the same calls as a full disk."""
    path = tmp_path / "saved"
    path.write_bytes(b"old")
    array = np.frombuffer(os.urandom(3 * MIB), "u1")
    before = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (MIB, before[1]))
    try:
        with pytest.raises(WriteError, match="File too large") as raised:
            isthmus.save_safetensors({"a": array}, path, durable=durable)
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
    assert "or choose another path" in raised.value.hint
    assert path.read_bytes() == b"old"
    assert leftovers(tmp_path) == []
    isthmus.save_safetensors({"a": array}, path, durable=durable)
    assert read_back(path)["a"][2] == array.tobytes()


FILLING = """
    import os, numpy as np, isthmus
    os.chdir({folder!r})
    open("saved", "wb").write(b"old")
    for durable in (True, False):
        try:
            isthmus.save_safetensors({{"a": np.zeros(3 << 20, "u1")}}, "saved", durable=durable)
        except isthmus.Error as error:
            print(type(error).__name__, str(error).rpartition(": ")[2], end=";")
    print(open("saved").read(), os.listdir("."))
"""


def test_a_really_full_disk_leaves_the_old_file(tmp_path: Path) -> None:
    script = textwrap.dedent(FILLING.format(folder=str(tmp_path)))
    mount = f'mount -t tmpfs -o size=1m none {tmp_path} && exec {sys.executable} -c "$0"'
    command = ["unshare", "--user", "--map-root-user", "--mount", "sh", "-c", mount, script]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if "unshare" in done.stderr or "mount" in done.stderr:
        pytest.skip(f"no file system can be made here: {done.stderr.strip()}")
    full = "WriteError No space left on device;"
    assert done.stdout.strip() == f"{full}{full}old ['saved']", done.stderr


KILLED = """
    import os, signal, numpy as np, isthmus
    from isthmus.files.whole import WholeFile
    WholeFile.keep = lambda self, **_: os.kill(os.getpid(), signal.SIGKILL)
    isthmus.save_safetensors({{"a": np.zeros(3 << 20, "u1")}}, {path!r})
"""


def test_a_process_that_is_killed_leaves_the_old_file(tmp_path: Path) -> None:
    path = tmp_path / "saved"
    path.write_bytes(b"old")
    script = textwrap.dedent(KILLED.format(path=str(path)))
    done = subprocess.run([sys.executable, "-c", script], check=False)
    assert done.returncode == -signal.SIGKILL
    assert path.read_bytes() == b"old"


def test_ctrl_c_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, request: pytest.FixtureRequest
) -> None:
    path = tmp_path / "saved"
    path.write_bytes(b"old")
    save = _native.save_ranges

    def interrupted(*given: Any, **named: Any) -> bool:  # noqa: ANN401
        os.kill(os.getpid(), signal.SIGINT)
        return save(*given, **named)

    monkeypatch.setattr("isthmus._native.save_ranges", interrupted)
    # A shell's background jobs ignore it.
    before = signal.signal(signal.SIGINT, signal.default_int_handler)
    request.addfinalizer(lambda: signal.signal(signal.SIGINT, before))
    with pytest.raises(KeyboardInterrupt):
        isthmus.save_safetensors({"a": b"new"}, path)
    assert path.read_bytes() == b"old"
    assert leftovers(tmp_path) == []


def test_a_file_that_may_not_be_written_directly_gets_the_bytes_through_the_cache() -> None:
    """A file in memory; a tmpfs before Linux 6.6 is another."""
    descriptor = os.memfd_create("saved")
    staging = isthmus.pinned.empty(1 * MIB, "u1")
    array = np.frombuffer(os.urandom(3 * MIB + 77), "u1")
    ranges = [(array.ctypes.data, array.nbytes, -1, "array")]
    _native.save_ranges(
        None, descriptor, ranges, staging=staging, piece_bytes=64 << 10, directly=True
    )
    assert os.pread(descriptor, 4 * MIB, 0) == array.tobytes()
    os.close(descriptor)


def test_the_header_is_json_that_other_readers_take(tmp_path: Path) -> None:
    isthmus.save_safetensors({"ä": b"xy"}, tmp_path / "saved", {})
    contents = (tmp_path / "saved").read_bytes()
    length = int.from_bytes(contents[:8], "little")
    assert json.loads(contents[8 : 8 + length]) == {
        "__metadata__": {},
        "ä": {"dtype": "U8", "shape": [2], "data_offsets": [0, 2]},
    }
