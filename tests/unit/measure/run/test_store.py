import errno
import json
import os
import stat
import subprocess
import sys
from pathlib import Path

import pytest

from fakes import runs
from isthmus.errors import WriteError
from isthmus.files.whole import check_writable, write_whole
from isthmus.measure.run.reading import read_run_file
from isthmus.measure.run.store import check_runs_folder, run_text, runs_folder, save_run
from program import run_process

# A process that may write no file beyond 4096 bytes: what a full disk looks like from inside.
FULL_DISK = """
import resource, signal, sys
from pathlib import Path
from isthmus.errors import WriteError
from isthmus.files.whole import write_whole
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096))
try:
    write_whole(Path(sys.argv[1]), "x" * 100_000)
except WriteError as error:
    sys.exit(f"refused: {error}")
"""


def test_a_run_is_kept_under_the_user_s_data_folder_by_time_and_name(own_environment: Path) -> None:
    path = save_run(runs.run())
    assert path == own_environment / "data/isthmus/runs/20250102T030405Z-0badcafe.json"
    assert read_run_file(path) == runs.run()


def test_without_a_data_folder_in_the_environment_it_is_the_usual_one(
    own_environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    usual = own_environment / ".local/share/isthmus/runs"
    monkeypatch.delenv("XDG_DATA_HOME")
    assert runs_folder() == usual
    monkeypatch.setenv("XDG_DATA_HOME", "relative/is/ignored")
    assert runs_folder() == usual


def test_a_written_file_replaces_the_old_one_and_leaves_nothing_beside_it(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text("old")
    path.chmod(0o640)
    assert write_whole(path, "new") == path
    assert path.read_text() == "new"
    assert stat.S_IMODE(path.stat().st_mode) == 0o640
    assert list(tmp_path.iterdir()) == [path]


def test_a_new_file_has_the_permissions_that_the_user_wants(tmp_path: Path) -> None:
    before = os.umask(0o027)
    try:
        path = write_whole(tmp_path / "run.json", "new")
    finally:
        os.umask(before)
    assert stat.S_IMODE(path.stat().st_mode) == 0o640


def test_a_full_disk_leaves_the_old_file_as_it_was(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    path.write_text("old")
    done = run_process([sys.executable, "-c", FULL_DISK, str(path)])
    assert done.code == 1
    assert f"refused: can't write {path}: File too large" in done.err
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_crash_between_writing_and_renaming_leaves_the_old_file(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    path = tmp_path / "run.json"
    path.write_text("old")
    monkeypatch.setattr(os, "fsync", fail)
    with pytest.raises(WriteError, match="Input/output error"):
        write_whole(path, "new")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_link_is_followed_not_replaced(tmp_path: Path) -> None:
    target, link = tmp_path / "target.json", tmp_path / "link.json"
    link.symlink_to(target)
    write_whole(link, "new")
    assert link.is_symlink()
    assert target.read_text() == "new"


def test_a_device_file_is_written_to_not_replaced(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    reader = os.open(pipe, os.O_RDONLY | os.O_NONBLOCK)
    try:
        write_whole(pipe, "new")
        assert os.read(reader, 16) == b"new"
    finally:
        os.close(reader)
    assert stat.S_ISFIFO(pipe.stat().st_mode)


def test_a_folder_that_cannot_be_made_is_a_write_error(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(WriteError, match="can't write"):
        save_run(runs.run(), blocked / "runs")


def test_a_missing_folder_is_named(tmp_path: Path) -> None:
    with pytest.raises(WriteError, match="missing") as caught:
        write_whole(tmp_path / "missing" / "run.json", "new")
    assert "--output" in caught.value.hint


def test_the_text_of_a_run_is_json_that_ends_with_a_newline() -> None:
    text = run_text(runs.run())
    assert text.endswith("}\n")
    assert json.loads(text)["run"]["id"] == "0badcafe"


WRITE_AND_PRINT = """
import sys
from pathlib import Path
from isthmus.files.whole import check_writable, write_whole
check_writable(Path(sys.argv[1]))
write_whole(Path(sys.argv[1]), "file ")
print("printed")
"""


@pytest.mark.parametrize("name", ["/dev/stdout", "/dev/fd/1", "/proc/self/fd/1"])
def test_a_name_of_stdout_writes_to_whatever_stdout_is(tmp_path: Path, name: str) -> None:
    command = [sys.executable, "-c", WRITE_AND_PRINT, name]
    piped = run_process(command)
    assert (piped.out, piped.err) == ("file printed\n", "")
    path = tmp_path / "out.txt"
    with path.open("w") as file:
        subprocess.run(command, stdout=file, check=True)
    assert path.read_text() == "file printed\n"


def test_dev_null_takes_a_run_and_stays_a_device() -> None:
    check_writable(Path("/dev/null"))
    write_whole(Path("/dev/null"), "new")
    assert stat.S_ISCHR(Path("/dev/null").stat().st_mode)


def test_a_descriptor_that_is_not_open_is_a_write_error() -> None:
    with pytest.raises(WriteError, match="Bad file descriptor"):
        write_whole(Path("/dev/fd/999999"), "new")


def test_looking_whether_a_file_can_be_written_leaves_no_trace(tmp_path: Path) -> None:
    path = tmp_path / "run.json"
    check_writable(path)
    assert list(tmp_path.iterdir()) == []
    path.write_text("old")
    check_writable(path)
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_file_that_cannot_be_written_is_found_out_without_writing() -> None:
    with pytest.raises(WriteError, match=r"can't write /proc/run\.json"):
        check_writable(Path("/proc/run.json"))


def test_a_runs_folder_that_is_not_there_yet_can_be_made_and_is_not_made_to_find_out(
    own_environment: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    check_runs_folder()
    assert not (own_environment / "data").exists()
    (own_environment / "data").write_text("in the way")
    with pytest.raises(WriteError, match="Not a directory"):
        check_runs_folder()
    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.setattr(Path, "home", no_home)
    with pytest.raises(WriteError, match="no place for the run") as caught:
        check_runs_folder()
    assert caught.value.hint == "set XDG_DATA_HOME"


def no_home() -> Path:
    raise RuntimeError("Could not determine home directory.")
