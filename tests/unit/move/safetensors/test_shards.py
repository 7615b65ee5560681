"""From a path to a model's files."""

import json
import os
from pathlib import Path

import pytest

from isthmus.errors import UsageError
from isthmus.move.safetensors.loading import files_of


def test_one_path_is_one_file() -> None:
    assert files_of("a.safetensors") == ([Path("a.safetensors")], {})
    assert files_of(Path("a.safetensors")) == ([Path("a.safetensors")], {})


def test_several_paths_are_as_many_files_in_their_order_each_once() -> None:
    assert files_of(["b", Path("a"), "b"]) == ([Path("b"), Path("a")], {})


def test_a_pointer_of_git_lfs_in_place_of_an_index_is_named(tmp_path: Path) -> None:
    index = tmp_path / "model.safetensors.index.json"
    index.write_text("version https://git-lfs.github.com/spec/v1\noid sha256:0\nsize 4\n")
    with pytest.raises(UsageError, match="but a Git LFS pointer") as failure:
        files_of(index)
    assert "git lfs pull" in failure.value.hint


def test_an_index_names_files_beside_it(tmp_path: Path) -> None:
    index = tmp_path / "model.safetensors.index.json"
    index.write_text(json.dumps({"weight_map": {"x": "2.st", "y": "1.st", "z": "2.st"}}))
    one, two = tmp_path / "1.st", tmp_path / "2.st"
    assert files_of(index) == ([one, two], {"x": two, "y": one, "z": two})


@pytest.mark.parametrize("name", ["../x", "/etc/passwd", "a/b", "", "..", ".", 5, None])
def test_an_index_that_names_files_elsewhere_is_refused(tmp_path: Path, name: object) -> None:
    index = tmp_path / "index.json"
    index.write_text(json.dumps({"weight_map": {"x": name}}))
    with pytest.raises(UsageError, match=r"tensor 'x'.*isn't a file beside the index"):
        files_of(index)


@pytest.mark.parametrize(
    "text",
    [
        b"",
        b"{",
        b"[]",
        b"{}",
        b'{"weight_map": {}}',
        b'{"weight_map": []}',
        b"[" * 100_000,
        b"\xff",
    ],
)
def test_an_index_without_a_map_of_tensors_is_refused(tmp_path: Path, text: bytes) -> None:
    index = tmp_path / "index.json"
    index.write_bytes(text)
    with pytest.raises(UsageError, match="index"):
        files_of(index)


def test_an_index_that_is_a_pipe_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "index.json")
    with pytest.raises(UsageError, match="it is not a regular file"):
        files_of(tmp_path / "index.json")


def test_an_index_that_isnt_there_is_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(UsageError, match=r"missing\.json"):
        files_of(tmp_path / "missing.json")


@pytest.mark.parametrize("path", [b"model", 5, None, [], ["a", 5], ["a", b"b"]])
def test_what_is_no_path_is_refused(path: object) -> None:
    with pytest.raises(UsageError, match=r"path|files"):
        files_of(path)  # type: ignore[arg-type]
