"""
The machine crashes at any moment: what is there afterwards is whole, and nothing promised is lost.

What was done to the disk is recorded and played back up to each operation. Of what wasn't synced
by then any part may be lost.
"""

from pathlib import Path

import pytest

from fakes.crashes import Crash, crashes
from fakes.disk import Disk
from fakes.sweeps import POINTS, sweep
from fakes.writers import WRITERS
from isthmus.files.journal import Journal, read_lines
from isthmus.files.whole import whole_file, write_whole
from isthmus.sim.store import Row, SweepStore
from isthmus.sim.trace.file import trace_info

pytestmark = pytest.mark.native

NEW, OLD = b"new" * 100, b"old" * 50
KEYS = [point.key for point in POINTS]


def named(crash: Crash) -> dict[str, bytes]:
    """Give the files that users see: temporary ones begin with a dot."""
    return {name: data for name, data in crash.files if not Path(name).name.startswith(".")}


def test_the_record_of_a_replacement_is_in_the_order_that_keeps_it(disk: Disk) -> None:
    path = disk.root / "file"
    path.write_bytes(OLD)
    disk.begin()
    write_whole(path, NEW)
    assert [one.what for one in disk.operations] == [
        "create",
        "write",
        "sync",
        "rename",
        "sync folder",
    ]


@pytest.mark.parametrize("old", [None, OLD])
def test_a_crash_leaves_the_old_file_or_the_new_one(disk: Disk, old: bytes | None) -> None:
    path = disk.root / "file"
    if old is not None:
        path.write_bytes(old)
    disk.begin()
    with whole_file(path) as file:
        for first in range(0, len(NEW), 64):
            file.write(NEW[first : first + 64])
    disk.mark("kept")
    found = crashes(disk)
    assert {named(crash).get("file") for crash in found} == {old, NEW}
    assert {named(crash)["file"] for crash in found if crash.marks} == {NEW}


def test_a_file_that_is_renamed_before_it_is_synced_would_be_lost(disk: Disk) -> None:
    """A writer that must fail these tests."""
    path = disk.root / "file"
    path.write_bytes(OLD)
    disk.begin()
    with whole_file(path) as file:
        file.write(NEW)
    disk.operations = [one for one in disk.operations if one.what != "sync"]
    assert b"" in {named(crash)["file"] for crash in crashes(disk)}


@pytest.mark.parametrize("what", WRITERS)
def test_whatever_is_written_is_whole_after_a_crash_and_there_once_it_is_said_to_be(
    disk: Disk, what: str
) -> None:
    WRITERS[what](disk.root)
    disk.mark("written")
    found = crashes(disk)
    last = named(found[-1])
    assert last
    for crash in found:
        left = named(crash)
        assert left.items() <= last.items()
        assert not crash.marks or left == last


@pytest.mark.parametrize("what", WRITERS)
def test_what_replaces_an_earlier_file_leaves_one_of_them_whole(disk: Disk, what: str) -> None:
    WRITERS[what](disk.root)
    for path in (path for path in disk.root.rglob("*") if path.is_file()):
        path.write_bytes(b"earlier " + path.name.encode())
    disk.begin()
    WRITERS[what](disk.root)
    new = disk.root
    for crash in crashes(disk):
        for name, contents in named(crash).items():
            whole = {b"earlier " + Path(name).name.encode(), (new / name).read_bytes()}
            assert contents in whole


def test_a_trace_of_which_a_crash_left_a_file_can_be_read(disk: Disk, tmp_path: Path) -> None:
    WRITERS["a recorded trace"](disk.root)
    left = {data for crash in crashes(disk) for data in named(crash).values()}
    for number, contents in enumerate(left):
        path = tmp_path / f"{number}.arrow"
        path.write_bytes(contents)
        assert trace_info(path).summary.num_blocks == 3


def test_lines_of_a_journal_stay_from_when_they_are_added(disk: Disk) -> None:
    path = disk.root / "journal"
    journal = Journal(path, ["first"])
    disk.mark("first")
    for line in ("second", "third"):
        journal.add(line)
        disk.mark(line)
    journal.close()
    for crash in crashes(disk):
        text = named(crash).get("journal", b"").decode()
        assert "first\nsecond\nthird\n".startswith(text)
        assert text.startswith("".join(f"{mark}\n" for mark in crash.marks))


def test_a_line_that_a_crash_has_cut_spoils_none_that_is_added_later(tmp_path: Path) -> None:
    path = tmp_path / "journal"
    path.write_bytes(b"first\nsec\xff")
    journal = Journal(path, read_lines(path)[:1])
    journal.add("third")
    assert path.read_bytes() == b"first\nthird\n"


def rows_of_a_sweep(path: Path) -> dict[str, Row]:
    sweep(path)
    store = SweepStore(path, "this", KEYS)
    return {key: store.row(key) for key in KEYS}


def check_that_it_goes_on(crash: Crash, folder: Path, expected: bytes) -> None:
    """Go on with a sweep after a crash: nothing that was kept is run again, and all is there."""
    path = crash.restored(folder) / "s.parquet"
    store = SweepStore(path, "this", KEYS)
    kept = [mark for mark in crash.marks if mark in KEYS]
    assert all(key in store for key in kept)
    outcome = sweep(path)
    assert outcome.num_finished == len(POINTS)
    assert outcome.num_reused >= len(kept)
    assert path.read_bytes() == expected
    assert not path.with_name("s.parquet.journal").exists()


def test_a_sweep_goes_on_after_a_crash_at_any_moment(disk: Disk, tmp_path: Path) -> None:
    path = disk.root / "s.parquet"
    sweep(path, disk.mark)
    disk.mark("ended")
    expected = path.read_bytes()
    found = crashes(disk)
    assert len(found) > 20
    for number, crash in enumerate(found):
        assert "ended" not in crash.marks or named(crash)["s.parquet"] == expected
        check_that_it_goes_on(crash, tmp_path / str(number), expected)


def test_a_sweep_that_goes_on_may_crash_again(disk: Disk, tmp_path: Path) -> None:
    """Of three points one is in the table, and one in the journal, whose last line was cut."""
    path = disk.root / "s.parquet"
    rows = rows_of_a_sweep(path)
    expected = path.read_bytes()
    path.unlink()
    with SweepStore(path, "this", KEYS) as store:
        store.add(KEYS[0], rows[KEYS[0]])
    killed = SweepStore(path, "this", KEYS)
    killed.__enter__()
    killed.add(KEYS[1], rows[KEYS[1]])
    with path.with_name("s.parquet.journal").open("a", encoding="utf-8") as journal:
        journal.write('{"key": "cut o')
    disk.begin()
    for key in KEYS[:2]:
        disk.mark(key)
    sweep(path, disk.mark)
    for number, crash in enumerate(one for one in crashes(disk) if len(one.marks) >= 2):
        check_that_it_goes_on(crash, tmp_path / str(number), expected)


def test_points_of_a_journal_beside_a_table_outlive_a_sweep_that_adds_none(tmp_path: Path) -> None:
    """Only the points that the table hasn't are in the journal: it must not go without them."""
    path = tmp_path / "s.parquet"
    rows = rows_of_a_sweep(path)
    whole = path.read_bytes()
    path.unlink()
    with SweepStore(path, "this", KEYS) as store:
        store.add(KEYS[0], rows[KEYS[0]])
    killed = SweepStore(path, "this", KEYS)
    killed.__enter__()
    killed.add(KEYS[1], rows[KEYS[1]])
    killed.add(KEYS[2], rows[KEYS[2]])
    with SweepStore(path, "this", KEYS):
        pass
    assert path.read_bytes() == whole


def test_an_empty_journal_is_none(tmp_path: Path) -> None:
    path = tmp_path / "s.parquet"
    path.with_name("s.parquet.journal").touch()
    assert sweep(path).num_finished == len(POINTS)
