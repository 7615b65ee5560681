import os
import struct
from contextlib import suppress
from pathlib import Path
from typing import Any

import pytest

from fakes.counters import LAYOUT, MIB, MS, CounterFile, download, upload
from isthmus.errors import Unavailable, UsageError
from isthmus.watching.counters import counter_files, read_counters, read_events, since

pytestmark = pytest.mark.native
HEADER = {name: (kind, offset) for name, kind, _, offset in LAYOUT["records"]["Header"][1]}


def test_what_a_process_wrote_is_read(tmp_path: Path) -> None:
    file = CounterFile(pid=7, rank="3", exec_mode=2, emulated=1, exec_reason="no ring")
    upload(file, MIB, 4 * MS, calls=2, site="train.py:9 step", stream=0x77, hidden=1)
    file.repeat("train.py:9 step", calls=2, bytes=2 * MIB, ns=9, first_ns=5)
    found = read_counters(file.write(tmp_path))
    assert (found.pid, found.rank, found.exec_mode, found.exec_reason) == (
        7,
        "3",
        "audit",
        "no ring",
    )
    assert found.emulated
    (row,) = found.calls
    assert (row.entry, row.kind, row.direction, row.host_memory) == (
        *("cuMemcpyHtoDAsync_v2", "copy"),
        *("up", "pageable"),
    )
    assert (row.calls, row.bytes, row.ns, row.stream, row.size_class) == (
        2,
        2 * MIB,
        4 * MS,
        0x77,
        21,
    )
    assert (row.site.place, row.site.is_python) == ("train.py:9 step", True)
    assert (row.thread.tid, row.thread.name, row.thread.launches) == (100, "main", 5)
    assert (found.repeats[0].site, found.repeats[0].first_ns) == (row.site, 5)


def test_the_layout_is_that_of_the_c_structs() -> None:
    """Members neither overlap nor leave the record."""
    for size, members in LAYOUT["records"].values():
        at = 0
        for _, kind, number, offset in members:
            assert offset >= at
            at = offset + struct.calcsize(f"<{number}{kind}")
        assert at <= size
    ends = [0]
    for _, record, capacity, offset in LAYOUT["tables"]:
        assert offset % 64 == 0
        assert offset >= ends[-1]
        ends.append(offset + capacity * LAYOUT["records"][record][0])
    assert ends[-1] <= LAYOUT["events"]


def test_a_process_that_still_runs_or_was_killed_is_read(tmp_path: Path) -> None:
    assert read_counters(CounterFile(end_ns=0).write(tmp_path)).end_ns == 0


def test_a_row_that_is_being_claimed_is_left_out(tmp_path: Path) -> None:
    file = upload(CounterFile(), MIB, MS)
    file.put("rows", 0, state=1)
    assert read_counters(file.write(tmp_path)).calls == ()


def test_text_moves_no_cursor_and_may_be_no_utf_8(tmp_path: Path) -> None:
    file = CounterFile(command=b"a\x1b[2J\n\xff\0hidden")
    assert read_counters(file.write(tmp_path)).command == "a[2J\N{REPLACEMENT CHARACTER}"


@pytest.mark.parametrize(
    ("header", "reason"),
    [
        ({"magic": "ISTHWTCX"}, "header: it isn't a file of counters"),
        ({"version": 99}, "header: version 99, this is 3"),
        ({"exec_mode": 3}, "header: number 3, and there are 3"),
        ({"events_capacity": 1 << 63}, "header: 9223372036854775808 events, and room for 0"),
    ],
)
def test_a_wrong_header_is_refused(tmp_path: Path, header: dict[str, Any], reason: str) -> None:
    path = CounterFile(**header).write(tmp_path)
    with pytest.raises(UsageError, match=f"{path}: {reason}"):
        read_counters(path)


@pytest.mark.parametrize(
    ("table", "members", "reason"),
    [
        ("rows", {"entry": 9}, "row 0: entry: number 9, and there are 1"),
        ("rows", {"thread": 65535}, "row 0: thread: number 65535, and there are 1"),
        ("rows", {"site": 0xFFFFFFFF}, "row 0: site: number 4294967295, and there are 1025"),
        ("rows", {"source": 6}, "row 0: source: number 6, and there are 6"),
        ("rows", {"target": 255}, "row 0: target: number 255, and there are 6"),
        ("rows", {"size_class": 66}, "row 0: size: number 66, and there are 65"),
        ("entries", {"kind": 9}, "entry 0: number 9, and there are 9"),
        ("repeats", {"key": 1, "site": 1026}, "repeat 0: site: number 1026, and there are 1025"),
    ],
)
def test_a_number_that_leads_nowhere_is_refused_with_its_place(
    tmp_path: Path, table: str, members: dict[str, int], reason: str
) -> None:
    file = upload(CounterFile(), MIB, MS)
    file.put(table, 0, **members)
    with pytest.raises(UsageError, match=reason):
        read_counters(file.write(tmp_path))


def test_more_used_than_there_is_room_for_is_no_error(tmp_path: Path) -> None:
    file = upload(CounterFile(threads_used=5000, events_used=99), MIB, MS)
    assert len(read_counters(file.write(tmp_path)).threads) == 1024


@pytest.mark.parametrize("kept", [1, 8, 1000, LAYOUT["events"] - 1])
def test_a_file_that_is_cut_is_refused(tmp_path: Path, kept: int) -> None:
    path = CounterFile().write(tmp_path)
    os.truncate(path, kept)
    with pytest.raises(UsageError, match=f"{kept} bytes are too few for counters"):
        read_counters(path)


def test_a_process_without_room_for_its_counters_is_said(tmp_path: Path) -> None:
    path = CounterFile().write(tmp_path)
    os.truncate(path, 0)
    with pytest.raises(OSError, match="had no room"):
        read_counters(path)


def test_a_thread_that_begins_while_a_file_is_read_is_known(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Its row may be read, and the header have been read before."""
    path = upload(CounterFile(), MIB, MS).write(tmp_path)
    whole = path.read_bytes()
    upload(CounterFile(threads_used=0), MIB, MS).write(tmp_path)
    real = os.pread

    def pread(descriptor: int, size: int, offset: int) -> bytes:
        data = real(descriptor, size, offset)
        path.write_bytes(whole)
        return data

    monkeypatch.setattr("isthmus.watching.counters.os.pread", pread)
    (row,) = read_counters(path).calls
    assert row.thread.name == "main"


def test_a_pipe_isnt_opened(tmp_path: Path) -> None:
    os.mkfifo(tmp_path / "1-2.counters")
    with pytest.raises(OSError, match="not a regular file"):
        read_counters(tmp_path / "1-2.counters")


def test_any_changed_byte_gives_counters_or_a_refusal(tmp_path: Path) -> None:
    file = download(upload(CounterFile(), MIB, MS, site="a.py:1 f"), MIB, MS)
    path = file.repeat(calls=2, bytes=5, ns=5, first_ns=1).write(tmp_path)
    whole = path.read_bytes()
    places = [
        *range(96),
        *(offset + byte for *_, offset in LAYOUT["tables"] for byte in range(64)),
    ]
    for place in places:
        path.write_bytes(whole[:place] + bytes([whole[place] ^ 0xFF]) + whole[place + 1 :])
        with suppress(UsageError):
            read_counters(path)


def test_events_are_read_and_those_that_are_not_whole_are_left_out(tmp_path: Path) -> None:
    file = CounterFile(events_used=3)
    file.event("cuMemcpyDtoH_v2", "copy", source="device", target="pageable", begin_ns=3, ns=5)
    file.event("cuStreamSynchronize", "wait", begin_ns=9, ns=1, ready=0)
    (event,) = read_events(read_counters(file.write(tmp_path)))
    assert (event.entry, event.begin_ns, event.ns, event.target) == (
        "cuMemcpyDtoH_v2",
        3,
        5,
        "pageable",
    )


def test_a_folder_that_isnt_there_is_said() -> None:
    with pytest.raises(Unavailable, match="No such file"):
        counter_files(Path("/nowhere/at/all"))


def test_what_was_counted_between_two_readings_is_the_difference(tmp_path: Path) -> None:
    early = upload(CounterFile(), MIB, 2 * MS, calls=2).repeat(calls=2, bytes=8, ns=6, first_ns=3)
    late = upload(CounterFile(), MIB, 9 * MS, calls=5).repeat(calls=5, bytes=20, ns=9, first_ns=3)
    download(late, 4, MS)
    before = read_counters(early.write(tmp_path, "a"))
    after = read_counters(late.write(tmp_path, "b"))
    up, down = since(before, after).calls
    assert (up.calls, up.bytes, up.ns) == (3, 3 * MIB, 7 * MS)
    assert (down.calls, down.ns) == (1, MS)
    (repeat,) = since(before, after).repeats
    assert (repeat.calls, repeat.bytes, repeat.ns, repeat.first_ns) == (3, 12, 3, 0)
    assert since(None, after) is after
    assert since(after, after).calls == ()
