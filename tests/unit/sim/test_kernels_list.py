"""Lists of kernels: they name files beside the list; others are refused with the line."""

import os
from pathlib import Path

import pytest

from isthmus.errors import UsageError
from isthmus.sim.trace.kernels_list import Copy, read_kernels_list
from isthmus.sim.trace.text import text_pieces


def written(folder: Path, contents: bytes) -> Path:
    path = folder / "kernelslist.g"
    path.write_bytes(contents)
    return path


def test_copies_come_before_the_kernel_that_follows_them(tmp_path: Path) -> None:
    found = read_kernels_list(
        written(
            tmp_path,
            b"MemcpyHtoD,0x10,4\r\n\nkernel-1.traceg\nMemcpyDtoH,0x10,0\nother\nkernel-2.traceg\n"
            b"MemcpyDtoH,0x20,8",
        )
    )
    assert [kernel.path.name for kernel in found.kernels] == ["kernel-1.traceg", "kernel-2.traceg"]
    assert [kernel.before for kernel in found.kernels] == [[Copy("upload", 0x10, 4)], []]
    assert found.after == [Copy("download", 0x20, 8)]
    assert found.left_out == ["other"]


@pytest.mark.parametrize(
    "name",
    [
        b"kernel/../../secret.traceg",
        b"kernel-1.traceg/",
        b"kernel/kernel-1.traceg",
        b"kernel/.traceg",
        b"kernel-//dev/zero.traceg",
    ],
)
def test_a_list_names_files_beside_it_and_nothing_else(tmp_path: Path, name: bytes) -> None:
    with pytest.raises(UsageError, match=r"line 1: '.*' isn't a file beside the list"):
        read_kernels_list(written(tmp_path, name))


@pytest.mark.parametrize("name", [b"../kernel-1.traceg", b"/tmp/kernel.traceg", b"~/a.traceg.xz"])
def test_a_kernel_in_another_folder_is_refused_and_not_overlooked(
    tmp_path: Path, name: bytes
) -> None:
    with pytest.raises(UsageError, match=r"line 1: '.*' isn't a file beside the list") as error:
        read_kernels_list(written(tmp_path, name))
    assert "into one folder" in str(error.value.hint)


def test_a_kernel_may_be_named_from_the_lists_folder(tmp_path: Path) -> None:
    found = read_kernels_list(written(tmp_path, b"./kernel-1.traceg"))
    assert [kernel.path for kernel in found.kernels] == [tmp_path / "kernel-1.traceg"]


@pytest.mark.parametrize("name", [b"/etc/passwd", b"../kernel-1.text", b"~/kernel", b"."])
def test_a_line_that_begins_otherwise_is_no_kernel(tmp_path: Path, name: bytes) -> None:
    found = read_kernels_list(written(tmp_path, name + b"\nkernel-1.traceg"))
    assert found.left_out == [name.decode()]
    assert len(found.kernels) == 1


@pytest.mark.parametrize(
    ("name", "why"),
    [
        (b"kernel-\0.traceg", "no file has such a name"),
        (b"kernel-" + b"x" * 300 + b".traceg", "File name too long"),
        (b"kernel-absent.traceg", "No such file"),
        (b"kernel-\xff.traceg", "No such file"),
        (b"kernel-folder.traceg", "it is not a regular file"),
        (b"kernel-pipe.traceg", "it is not a regular file"),
        (b"kernel-endless.traceg", "it is not a regular file"),
        (b"kernel-loop.traceg", "Too many levels"),
        (b"kernel-pipe.traceg.xz", "it is not a regular file"),
    ],
)
def test_a_kernel_that_can_not_be_read_is_refused_and_not_waited_for(
    tmp_path: Path, name: bytes, why: str
) -> None:
    (tmp_path / "kernel-folder.traceg").mkdir()
    os.mkfifo(tmp_path / "kernel-pipe.traceg")
    os.mkfifo(tmp_path / "kernel-pipe.traceg.xz")
    (tmp_path / "kernel-endless.traceg").symlink_to("/dev/zero")
    (tmp_path / "kernel-loop.traceg").symlink_to("kernel-loop.traceg")
    (kernel,) = read_kernels_list(written(tmp_path, name)).kernels
    with pytest.raises(UsageError, match=f"can't read .*{why}"):
        list(text_pieces(kernel.path))


def test_a_kernel_whose_name_is_no_utf8_is_read(tmp_path: Path) -> None:
    (tmp_path / os.fsdecode(b"kernel-\xff.traceg")).write_bytes(b"text")
    (kernel,) = read_kernels_list(written(tmp_path, b"kernel-\xff.traceg")).kernels
    assert list(text_pieces(kernel.path)) == [b"text"]


def test_what_is_no_list_is_refused_and_not_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    for path in (tmp_path / "pipe", Path("/dev/zero"), Path("x" * 5000), Path("null\0byte")):
        with pytest.raises(UsageError, match="can't read"):
            read_kernels_list(path)


def test_a_message_shows_a_strange_line_in_one_short_line(tmp_path: Path) -> None:
    for line in (b"kernel\x1b[31m" + b"x" * 9999, b"MemcpyHtoD,\x1b]0;" + b"x" * 9999):
        with pytest.raises(UsageError) as caught:
            read_kernels_list(written(tmp_path, line))
        assert str(caught.value).isprintable()
        assert len(str(caught.value)) < 400
