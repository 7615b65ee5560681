"""
The disk refuses: what, why and what to do is said, the earlier file is as it was, nothing is left.

Every call of every kind is refused in turn, the first, the second, and so on until none is left.
"""

import errno
import itertools
import os
import stat
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from fakes.disk import Disk, Kind, contents_below
from fakes.sweeps import POINTS, sweep
from fakes.writers import WRITERS
from isthmus.errors import WriteError
from isthmus.files.folder import make_folder, sync_folder
from isthmus.files.journal import Journal
from isthmus.files.whole import whole_file, write_whole
from program import run_process

pytestmark = pytest.mark.native

CODES = (
    errno.ENOSPC,
    errno.EDQUOT,
    errno.EFBIG,
    errno.EROFS,
    errno.EACCES,
    errno.EIO,
)
# What a failure leaves is the same for each; what is said differs.
_ONE_CODE = (CODES[0], *(pytest.param(code, marks=pytest.mark.long) for code in CODES[1:]))
# Until the file has its name. A folder is synced afterwards.
KINDS: tuple[Kind, ...] = ("open", "write", "sync", "close", "rename", "chmod")
Write = Callable[[Path], object]


def refused_in_turn(
    disk: Disk, write: Write, kind: Kind, code: int, *, for_ever: bool = False
) -> Iterator[WriteError]:
    """Refuse the first call of a kind, then the second, ... until there is no such call."""
    for nth in itertools.count(1):
        with disk.refusing(kind, nth, code, for_ever=for_ever) as refusal:
            try:
                write(disk.root)
            except WriteError as error:
                assert refusal.happened
                yield error
                continue
        if not refusal.happened:
            return
        # What is synced already, or thrown away, may be closed in any way.
        assert kind == "close", f"{kind} {nth} was refused, and nobody said so"


def check_what_is_said(error: WriteError, code: int) -> None:
    assert os.strerror(code) in str(error)
    assert "make durable" in str(error) or "/disk" in str(error)
    assert "--output" in error.hint
    assert isinstance(error.__cause__, OSError)


@pytest.mark.parametrize("code", _ONE_CODE, ids=errno.errorcode.get)
@pytest.mark.parametrize("what", WRITERS)
def test_a_refusal_leaves_the_earlier_files_and_nothing_beside_them(
    disk: Disk, what: str, code: int
) -> None:
    WRITERS[what](disk.root)
    for path in (path for path in disk.root.rglob("*") if path.is_file()):
        path.write_bytes(b"earlier")
        path.chmod(0o640)
    earlier = contents_below(disk.root)
    num_refused = 0
    for kind in KINDS:
        for error in refused_in_turn(disk, WRITERS[what], kind, code):
            check_what_is_said(error, code)
            left = contents_below(disk.root)
            assert left.keys() == earlier.keys()
            # Of several files those that were finished before are new; none is a part.
            assert b"earlier" in left.values()
            num_refused += 1
        for name, contents in earlier.items():
            assert Path(name).read_bytes() != contents
            assert stat.S_IMODE(Path(name).stat().st_mode) == 0o640
            Path(name).write_bytes(contents)
    assert num_refused >= len(KINDS)


@pytest.mark.parametrize("what", WRITERS)
def test_a_disk_that_is_full_for_ever_is_told_of_once_and_later_tried_again(
    disk: Disk, what: str
) -> None:
    for error in refused_in_turn(disk, WRITERS[what], "write", errno.ENOSPC, for_ever=True):
        check_what_is_said(error, errno.ENOSPC)
        assert not [path for path in contents_below(disk.root) if Path(path).name.startswith(".")]
    assert contents_below(disk.root)


@pytest.mark.parametrize("what", ["a run", "a profile"])
def test_a_folder_that_can_not_be_made_is_told_of(disk: Disk, what: str) -> None:
    for error in refused_in_turn(disk, WRITERS[what], "mkdir", errno.EROFS):
        check_what_is_said(error, errno.EROFS)
        assert contents_below(disk.root) == {}
    assert contents_below(disk.root)


def test_a_folder_that_can_not_be_synced_is_told_of_and_the_file_is_whole(disk: Disk) -> None:
    path = disk.root / "file"
    path.write_bytes(b"old")
    with (
        disk.refusing("sync folder", 1, errno.EIO),
        pytest.raises(WriteError, match="is written, but can't be made durable: Input") as caught,
    ):
        write_whole(path, b"new")
    assert "may be lost if the machine crashes" in caught.value.hint
    assert contents_below(disk.root) == {str(path): b"new"}


@pytest.mark.parametrize("kind", ["open", "write", "rename", "sync folder"])
def test_a_caller_that_names_another_place_is_told_of_that_one(disk: Disk, kind: Kind) -> None:
    with (
        disk.refusing(kind, 1, errno.EIO),
        pytest.raises(WriteError) as caught,
        whole_file(disk.root / "file", elsewhere="take the other disk") as file,
    ):
        file.write(b"new")
    assert caught.value.hint.endswith("or take the other disk")


@pytest.mark.parametrize("code", [errno.EINVAL, errno.ENOTSUP, errno.ENOSYS])
def test_a_file_system_without_syncing_of_folders_is_no_failure(disk: Disk, code: int) -> None:
    with disk.refusing("sync folder", 1, code, for_ever=True) as refusal:
        write_whole(make_folder(disk.root / "a" / "b") / "file", b"new")
        assert refusal.happened
    assert (disk.root / "a/b/file").read_bytes() == b"new"


def test_a_folder_that_one_may_not_read_is_written_in_all_the_same(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(path: Path, flags: int) -> int:
        raise PermissionError(errno.EACCES, f"{path} {flags}")

    monkeypatch.setattr(os, "open", refuse)
    sync_folder(tmp_path)


def write_and_lose_the_temporary_file(path: Path) -> None:
    with whole_file(path) as file:
        file.write(b"new")
        file.temporary.unlink()


def test_what_can_not_be_removed_either_hides_no_failure(disk: Disk) -> None:
    path = disk.root / "file"
    with (
        disk.refusing("sync", 1, errno.EROFS),
        pytest.raises(WriteError, match="Read-only"),
    ):
        write_and_lose_the_temporary_file(path)


def test_a_descriptor_is_closed_once_whatever_happens(disk: Disk) -> None:
    before = len(os.listdir("/proc/self/fd"))  # noqa: PTH208
    for kind in KINDS:
        for _ in refused_in_turn(disk, WRITERS["a recorded trace"], kind, errno.EIO):
            assert len(os.listdir("/proc/self/fd")) == before  # noqa: PTH208


# --- sweeps -------------------------------------------------------------------------------------


def refused_sweeps(disk: Disk, kind: Kind, code: int, *, for_ever: bool) -> int:
    """Refuse each call of a kind in turn: the same command continues with what was kept."""
    path = disk.root / "s.parquet"
    sweep(path)
    expected = path.read_bytes()
    for nth in itertools.count(1):
        path.unlink()
        kept: list[str] = []
        said: WriteError | None = None
        with disk.refusing(kind, nth, code, for_ever=for_ever) as refusal:
            try:
                sweep(path, kept.append)
            except WriteError as error:
                said = error
        if said is None:
            assert path.read_bytes() == expected
            assert not refusal.happened or kind == "close"
            if not refusal.happened:
                return nth - 1
            continue
        check_what_is_said(said, code)
        assert "continues there" in said.hint or not kept
        assert {Path(name).name for name in contents_below(disk.root)} <= {
            "s.parquet",
            "s.parquet.journal",
        }
        outcome = sweep(path)
        assert outcome.num_reused >= len(kept)
        assert outcome.num_finished == len(POINTS)
        assert contents_below(disk.root) == {str(path): expected}
    raise AssertionError


@pytest.mark.parametrize("for_ever", [False, True], ids=["once", "for ever"])
@pytest.mark.parametrize("code", _ONE_CODE, ids=errno.errorcode.get)
def test_a_sweep_that_a_full_disk_stopped_goes_on(disk: Disk, code: int, *, for_ever: bool) -> None:
    tried = {
        kind: refused_sweeps(disk, kind, code, for_ever=for_ever)
        for kind in ("open", "write", "sync", "close", "rename")
    }
    # A journal of a head and three points, and a table.
    assert tried == {"open": 3, "write": 5, "sync": 5, "close": 3, "rename": 2}


def test_a_sweep_whose_table_may_not_be_durable_keeps_its_journal(disk: Disk) -> None:
    path = disk.root / "s.parquet"
    # The first is the journal's.
    with (
        disk.refusing("sync folder", 2, errno.EIO),
        pytest.raises(WriteError, match="can't be made durable"),
    ):
        sweep(path)
    assert path.with_name("s.parquet.journal").exists()
    assert sweep(path).num_reused == len(POINTS)


def test_a_journal_that_can_not_be_removed_is_no_failure(disk: Disk) -> None:
    path = disk.root / "s.parquet"
    with disk.refusing("unlink", 1, errno.EACCES):
        assert sweep(path).num_finished == len(POINTS)
    assert sweep(path).num_reused == len(POINTS)
    assert not path.with_name("s.parquet.journal").exists()


def test_a_line_of_a_journal_that_was_refused_leaves_none_of_its_bytes(disk: Disk) -> None:
    path = disk.root / "journal"
    journal = Journal(path, ["first"])
    for kind in ("write", "sync"):
        with (
            disk.refusing(kind, 1, errno.ENOSPC),
            pytest.raises(WriteError, match="No space left on device"),
        ):
            journal.add("refused")
    journal.add("second")
    assert path.read_bytes() == b"first\nsecond\n"


# --- a real limit ---------------------------------------------------------------------------------

# No file of this process may become longer: what pyarrow writes is refused by the system itself.
_LIMITED = """
import resource, signal, sys
from pathlib import Path
sys.path.insert(0, sys.argv[1])
from fakes.sweeps import sweep
from fakes import traces
from isthmus.errors import WriteError
from isthmus.sim.trace.file import record_trace
signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
resource.setrlimit(resource.RLIMIT_FSIZE, (int(sys.argv[2]), int(sys.argv[2])))
what, path = sys.argv[3], Path(sys.argv[4])
try:
    sweep(path, print) if what == "sweep" else record_trace(traces.source(), path)
except WriteError as error:
    sys.exit(f"refused: {error}; {error.hint}")
"""


@pytest.mark.long
@pytest.mark.parametrize("what", ["sweep", "trace"])
def test_a_limit_on_the_size_of_files_is_told_of_whenever_it_strikes(
    tmp_path: Path, what: str
) -> None:
    path, tests = tmp_path / "written", str(Path(__file__).parents[2])
    for limit in (16, 600, 1500, 1 << 20):
        done = run_process([sys.executable, "-c", _LIMITED, tests, str(limit), what, str(path)])
        if limit < 1 << 20:
            assert done.code == 1
            assert done.err.startswith(f"refused: can't write {path}")
            assert "File too large; raise the limit of a file's size (ulimit -f)" in done.err
            assert not path.exists()
        else:
            assert (done.code, done.err) == (0, "")
    assert list(tmp_path.iterdir()) == [path]
