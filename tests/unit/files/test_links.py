"""A link at a name that no user has named is refused: whoever sent the folder chose its target."""

import os
from pathlib import Path

import pytest

from isthmus.errors import WriteError
from isthmus.files.folder import make_folder
from isthmus.files.journal import Journal
from isthmus.files.whole import whole_file, write_whole


@pytest.fixture
def kept(tmp_path: Path) -> Path:
    """Give a file that nothing may change."""
    path = tmp_path / "kept"
    path.write_text("three years of work")
    return path


def test_a_link_that_a_user_names_is_followed(tmp_path: Path, kept: Path) -> None:
    link = tmp_path / "link"
    link.symlink_to(kept)
    write_whole(link, "new")
    assert link.is_symlink()
    assert kept.read_text() == "new"


@pytest.mark.parametrize("exists", [True, False])
def test_a_link_at_another_name_is_refused(tmp_path: Path, kept: Path, *, exists: bool) -> None:
    link = tmp_path / "link"
    link.symlink_to(kept if exists else tmp_path / "nothing")
    with pytest.raises(WriteError, match="it is a link, which may lead anywhere"):
        write_whole(link, "new", follow_link=False)
    assert link.is_symlink()
    assert kept.read_text() == "three years of work"
    assert not (tmp_path / "nothing").exists()


def test_a_pipe_at_another_name_is_replaced_and_never_waited_for(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "pipe")
    write_whole(tmp_path / "pipe", "new", follow_link=False)
    assert (tmp_path / "pipe").read_text() == "new"


def test_a_pipe_that_a_user_names_is_never_replaced_by_a_file(tmp_path: Path) -> None:
    # Likewise a device: as root, /dev/null would become a file, for everybody.
    os.mkfifo(pipe := tmp_path / "pipe")
    (link := tmp_path / "link").symlink_to(pipe)
    for path in (pipe, link):
        with pytest.raises(WriteError, match="it is not a regular file"), whole_file(path):
            pytest.fail("nothing is written")
    assert pipe.is_fifo()
    assert sorted(tmp_path.iterdir()) == [link, pipe]


def test_a_second_name_of_a_file_becomes_a_file_of_its_own(tmp_path: Path, kept: Path) -> None:
    (tmp_path / "second").hardlink_to(kept)
    write_whole(tmp_path / "second", "new", follow_link=False)
    journal = Journal(tmp_path / "second", ["first"])
    journal.add("line")
    journal.close()
    assert (tmp_path / "second").read_text() == "first\nline\n"
    assert kept.read_text() == "three years of work"


def test_a_link_in_place_of_a_journal_is_refused(tmp_path: Path, kept: Path) -> None:
    (tmp_path / "x.journal").symlink_to(kept)
    with pytest.raises(WriteError, match="it is a link"):
        Journal(tmp_path / "x.journal", ["first"])
    assert kept.read_text() == "three years of work"


def test_a_link_in_place_of_a_folder_is_refused_unless_a_user_names_it(tmp_path: Path) -> None:
    (tmp_path / "elsewhere").mkdir()
    link = tmp_path / "link"
    link.symlink_to("elsewhere")
    assert make_folder(link) == link
    with pytest.raises(WriteError, match="it is a link"):
        make_folder(link, follow_link=False)
