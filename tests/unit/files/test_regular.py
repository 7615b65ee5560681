"""Files that a user named: they are read, or an OSError says why not."""

import os
from pathlib import Path

import pytest

from isthmus.errors import UsageError
from isthmus.files.regular import open_regular, path_of, read_regular


def test_a_file_is_read_whole(tmp_path: Path) -> None:
    path = tmp_path / "file"
    contents = os.urandom(3 << 20)
    path.write_bytes(contents)
    assert read_regular(path, max_bytes=3 << 20) == contents
    (tmp_path / "link").symlink_to(path)
    assert read_regular(str(tmp_path / "link"), max_bytes=3 << 20) == contents
    path.write_bytes(b"")
    assert read_regular(path, max_bytes=0) == b""


def test_strings_and_path_objects_are_paths(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (entry,) = os.scandir(tmp_path)
    assert path_of(str(tmp_path / "file")) == path_of(entry) == tmp_path / "file"


def test_what_is_no_path_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").touch()
    (of_bytes,) = os.scandir(os.fsencode(tmp_path))
    for wrong in (7, None, b"file", ["file"], of_bytes):
        with pytest.raises(UsageError, match="a path was expected, not"):
            path_of(wrong)


def test_a_file_that_is_too_large_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.write_bytes(bytes(101))
    with pytest.raises(OSError, match="it has more than 100 bytes"):
        read_regular(path, max_bytes=100)
    assert read_regular(path, max_bytes=101) == bytes(101)
    # Of a file that says it is empty, too.
    with pytest.raises(OSError, match="it has more than 10 bytes"):
        read_regular("/proc/self/maps", max_bytes=10)


def test_of_an_endless_file_no_more_than_a_piece_is_read(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    os.truncate(path, 1 << 40)
    with pytest.raises(OSError, match="it has more than"):
        read_regular(path, max_bytes=100)


def test_what_is_no_file_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", tmp_path, Path("/dev/zero"), Path("/dev/tty")):
        with pytest.raises(OSError, match="it is not a regular file"):
            open_regular(path)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("absent", "No such file"),
        ("null\0byte", "no file has such a name"),
        ("\ud800", "no file has such a name"),
        ("x" * 5000, "File name too long"),
        ("loop", "Too many levels"),
        ("loop/below", "Too many levels"),
    ],
)
def test_a_name_that_can_not_be_opened_is_an_oserror_that_says_why(
    tmp_path: Path, name: str, why: str
) -> None:
    (tmp_path / "loop").symlink_to("loop")
    with pytest.raises(OSError, match=why) as caught:
        open_regular(tmp_path / name)
    assert why in str(caught.value.strerror)


def test_a_name_of_any_bytes_can_be_opened(tmp_path: Path) -> None:
    path = tmp_path / os.fsdecode(b"caf\xe9")
    path.write_bytes(b"there")
    assert read_regular(path, max_bytes=10) == b"there"
