import json
from pathlib import Path

import pytest
from jsonschema import Draft202012Validator

from fakes.counters import MIB, MS, CounterFile, download, upload
from isthmus.decide.advice.machine import machine_profile
from isthmus.show.answers.watch import exec_line, verdict_line, watch_as_text
from isthmus.show.document.as_html import as_html
from isthmus.show.document.watch import watch_document
from isthmus.watching.conditions import parse_conditions
from isthmus.watching.costs import Costs, costs_of
from isthmus.watching.counters import Process, Site, read_counters
from isthmus.watching.model import WatchReport
from isthmus.watching.places import source_line
from isthmus.watching.reporting import report_on
from isthmus.watching.schema import schema_text
from isthmus.watching.timeline import timeline_text
from program import Golden

pytestmark = pytest.mark.native
SCHEMA = Path(__file__).parents[3] / "docs" / "schema" / "watch-v1.json"


def costs() -> Costs:
    return costs_of(machine_profile("h100-sxm-pcie5"), "NVIDIA H100, PCIe Gen5 x16")


def trained(rank: str = "", pid: int = 100) -> CounterFile:
    """A program with every loss there is, and a timeline."""
    file = CounterFile(pid=pid, rank=rank)
    lost = {"hidden": 10, "hidden_ns": 80 * MS, "wait_ns": 5 * MS, "site": "/src/train.py:30 step"}
    upload(file, 64 * MIB, 80 * MS, calls=10, **lost)
    download(file, 4 * MIB, 8 * MS, calls=10, site="/src/train.py:41 save", stream=0x7F00)
    upload(file, 1024, 9 * MS, calls=1000, source="pinned", site="libfoo.so+0x12 bar")
    file.row("cuMemHostAlloc", "pin", calls=20, ns=30 * MS, each=MIB, site="/src/data.py:9 batch")
    file.row("cuMemFreeHost", "unpin", calls=20, ns=10 * MS, thread=(101, "loader"))
    file.row("cuStreamSynchronize", "wait", calls=20, ns=10 * MS, hidden=4, hidden_ns=3 * MS)
    again = {"calls": 5, "bytes": 5 * 64 * MIB, "ns": 40 * MS, "first_ns": 8 * MS}
    file.repeat("/src/train.py:30 step", **again)
    ends = {"source": "pageable", "target": "device", "bytes": 64 * MIB}
    file.event("cuMemcpyHtoDAsync_v2", "copy", begin_ns=MS, ns=8 * MS, wait_ns=MS, hidden=1, **ends)
    return file.event("cuStreamSynchronize", "wait", begin_ns=20 * MS, ns=4 * MS)


def read(folder: Path, *files: CounterFile) -> list[Process]:
    return [read_counters(file.write(folder)) for file in files]


def reported(folder: Path, file: CounterFile, conditions: str = "") -> WatchReport:
    asked = parse_conditions(conditions) if conditions else []
    command = ["python", "train.py"]
    return report_on(read(folder, file), costs(), command=command, exit_code=0, conditions=asked)


def test_the_text_is_as_reviewed(tmp_path: Path, golden: Golden) -> None:
    text = watch_as_text(reported(tmp_path, trained(), "hidden-sync,pageable>1MiB,seconds>9"))
    assert max(map(len, text.splitlines())) <= 80
    golden("watch.text", text)


def test_sums_are_the_same_by_whatever_they_are_ordered(tmp_path: Path) -> None:
    found = reported(tmp_path, trained())
    for lines in (found.sites, found.threads, found.streams, found.processes):
        assert sum(one.bytes for one in lines) == 10 * 64 * MIB + 10 * 4 * MIB + 1000 * 1024
        assert sum(one.calls for one in lines) == 1040
        assert sum(one.hidden for one in lines) == 14
    copies = [one for one in found.entries if one.kind == "copy"]
    assert sum(one.seconds for one in copies) == pytest.approx(found.verdict.copy_seconds)
    assert {one.stream for one in found.streams} == {"0x0", "0x7f00"}


def test_a_report_is_what_its_schema_says(tmp_path: Path) -> None:
    schema = json.loads(SCHEMA.read_text("utf-8"))
    Draft202012Validator(schema).validate(
        json.loads(reported(tmp_path, trained()).model_dump_json())
    )


def test_the_schema_is_the_models() -> None:
    assert SCHEMA.read_text("utf-8") == schema_text(), "run `make golden`"


def test_each_rank_has_a_report_and_all_have_one_together(tmp_path: Path) -> None:
    files = [trained(rank, pid) for rank, pid in (("10", 5), ("2", 6))]
    found = report_on(read(tmp_path, *files), costs())
    assert [one.rank for one in found.ranks] == ["2", "10"]
    assert found.verdict.seconds == pytest.approx(2 * found.ranks[0].verdict.seconds)
    assert found.ranks[0].ranks == []


def test_ranks_are_one_line_each_and_the_slowest_comes_first(tmp_path: Path) -> None:
    slow = upload(trained("2", 6), 64 * MIB, 500 * MS, site="/src/b.py:7 load")
    idle = upload(CounterFile(pid=7, rank="0"), 0, 0)
    text = watch_as_text(report_on(read(tmp_path, trained("1", 5), slow, idle), costs()), width=120)
    assert "3 processes, 3 ranks" in text
    rows = text.split("\n\nRanks\n")[1].split("\n\n")[0].splitlines()
    assert [row.split()[0] for row in rows] == ["rank", "2", "1", "0"]
    assert "pageable uploads" in rows[1]
    assert "/src/b.py:7 load" in rows[1]
    assert text.count("Copies took") == 1


def test_places_of_few_sampled_calls_are_named_beside_those_that_were_not_recorded(
    tmp_path: Path,
) -> None:
    file = upload(CounterFile(), 1024, 999 * MS, calls=99_900, source="pinned")
    upload(file, 1024, MS, calls=100, source="pinned", site="main+0x12")
    found = reported(tmp_path, file)
    assert "at (place not recorded): 999 ms\n    at main+0x12: 1.00 ms\n" in watch_as_text(found)
    assert verdict_line(found).endswith("at main+0x12.")


def test_tables_that_repeat_the_process_and_rows_that_matter_to_nobody_are_left_out(
    tmp_path: Path,
) -> None:
    file = upload(CounterFile(), 64 * MIB, 80 * MS, site="a.py:1 f")
    upload(file, 1024, 1000, site="a.py:2 f")
    text = watch_as_text(reported(tmp_path, file))
    assert "Copies (1 more: --format json)" in text
    assert "a.py:2" not in text
    for title in ("Threads", "Streams", "Processes", "Ranks"):
        assert title not in text
    page = as_html(watch_document(reported(tmp_path, file), []))
    assert "a.py:2" in page


def test_a_long_command_takes_one_line(tmp_path: Path) -> None:
    command = ["python", "-c", "x = 1\n" * 1000]
    found = report_on(read(tmp_path, trained()), costs(), command=command)
    assert " characters)" in watch_as_text(found)
    assert len(watch_as_text(found).split("\n\n")[0].splitlines()) < 6


def test_nobody_knows_how_long_a_killed_process_ran(tmp_path: Path) -> None:
    (killed,) = read(tmp_path, trained_until(0))
    found = report_on([killed], costs())
    assert found.seconds == 0
    assert "1 process, killed or still running" in watch_as_text(found)
    assert report_on([killed], costs(), until_ns=killed.begin_ns + 5 * MS).seconds == 0.005


def test_clocks_of_several_machines_are_compared_by_the_time_of_day(tmp_path: Path) -> None:
    begins = ((7, 900_000, 50_000), (8, 5, 50_001))
    files = [
        replace_header(
            trained(str(pid), pid), begin_ns=at * MS, end_ns=(at + 10) * MS, begin_wall_ns=wall * MS
        )
        for pid, at, wall in begins
    ]
    assert report_on(read(tmp_path, *files), costs()).seconds == pytest.approx(0.011)


def test_modelled_numbers_are_marked(tmp_path: Path) -> None:
    (process,) = read(tmp_path, replace_header(trained(), emulated=1))
    found = report_on([process], costs())
    assert found.modelled
    assert watch_as_text(found).startswith("EMULATED GPU: modelled.")
    assert "EMULATED" in as_html(watch_document(found, [process]))
    assert json.loads(timeline_text([process], modelled=True))["otherData"]["modelled"]
    assert ": modelled: Copies" in verdict_line(found)


def trained_until(end_ns: int) -> CounterFile:
    return replace_header(trained(), end_ns=end_ns)


def replace_header(file: CounterFile, **header: object) -> CounterFile:
    file.header |= header
    return file


def test_a_program_without_copies_is_said_to_have_none(tmp_path: Path) -> None:
    found = reported(tmp_path, CounterFile())
    assert "No copies." in watch_as_text(found)
    assert "no call of the CUDA driver was seen" in watch_as_text(report_on([], costs()))


def test_what_couldnt_be_seen_is_said(tmp_path: Path) -> None:
    names = "cuMemcpyNew".ljust(64, "\0") + "cuMemcpyNewer"
    lost = {"rows_lost": 1, "sites_lost": 2, "events_used": 7}
    found = reported(tmp_path, CounterFile(unwatched=names, **lost))
    assert found.notes == [
        "not watched, and copies: cuMemcpyNew and cuMemcpyNewer",
        "1 call found no room in the tables: not counted",
        "the places of 2 calls found no room",
        "7 calls didn't fit into the timeline",
    ]


def test_one_line_says_what_a_process_lost_and_where(tmp_path: Path) -> None:
    line = verdict_line(reported(tmp_path, trained(rank="3")))
    assert line.startswith("isthmus watch: rank 3, pid 100: Copies took 135 ms")
    assert line.endswith("Most: pinning in a loop, 38.0 ms at /src/data.py:9 batch.")


@pytest.mark.parametrize(
    ("mode", "expected"),
    [
        (1, "isthmus exec: 10 copies replaced, 640.0 MiB in 10.0 ms; predicted without: "),
        (2, "isthmus exec --audit: 10 copies, 640.0 MiB, took 10.0 ms; predicted "),
    ],
)
def test_what_was_replaced_is_one_line(tmp_path: Path, mode: int, expected: str) -> None:
    made = {"replaced": 10, "replaced_bytes": 640 * MIB, "replaced_ns": 10 * MS}
    file = CounterFile(exec_mode=mode, exec_failed=2, exec_reason="the ring is gone")
    found = reported(tmp_path, upload(file, 64 * MIB, 12 * MS, calls=10, **made))
    assert exec_line(found, "").startswith(expected)
    assert exec_line(found, "").endswith("; 2 failed and were made by the driver: the ring is gone")
    assert found.replaced is not None
    assert (found.replaced.saved_seconds > 0) == (mode == 1)


def test_an_engine_that_replaced_nothing_says_why(tmp_path: Path) -> None:
    file = CounterFile(exec_mode=1, exec_reason="no active primary context")
    expected = "isthmus exec: no copy replaced: no active primary context"
    assert exec_line(reported(tmp_path, file), "none is long") == expected
    line = exec_line(reported(tmp_path, CounterFile(exec_mode=1)), "none is long")
    assert line == "isthmus exec: no copy replaced: none is long"
    assert "it was switched off" in exec_line(reported(tmp_path, CounterFile()), "")
    assert "no call of the CUDA driver" in exec_line(report_on([], costs()), "")


def test_pinned_memory_from_the_pool_is_no_copy(tmp_path: Path) -> None:
    file = CounterFile(exec_mode=1)
    file.row("cuMemAllocHost_v2", "pin", calls=30, ns=MS, each=MIB, replaced=30, replaced_ns=MS)
    file.row("cuMemFreeHost", "unpin", calls=29, ns=MS, replaced=29, replaced_ns=MS)
    line = exec_line(reported(tmp_path, file), "none is long")
    assert line == (
        "isthmus exec: no copy replaced: none is long; 30 pinned allocations from the pool"
    )
    made = {"replaced": 10, "replaced_bytes": 640 * MIB, "replaced_ns": 10 * MS}
    upload(file, 64 * MIB, 12 * MS, calls=10, **made)
    line = exec_line(reported(tmp_path, file), "")
    assert line.startswith("isthmus exec: 10 copies replaced, 640.0 MiB in 10.0 ms; predicted")
    assert line.endswith(" saved; 30 pinned allocations from the pool")


def test_processes_share_the_time_axis_of_a_timeline(tmp_path: Path) -> None:
    files = [trained(), replace_header(trained(pid=101), begin_ns=1500 * MS)]
    document = json.loads(timeline_text(read(tmp_path, *files), modelled=False))
    copies = [one for one in document["traceEvents"] if one.get("cat") == "copy"]
    assert [(one["pid"], one["ts"], one["dur"]) for one in copies] == [
        (100, 1000.0, 8000.0),
        (101, 501000.0, 8000.0),
    ]
    assert copies[0]["args"]["hidden"]
    names = [one["args"]["name"] for one in document["traceEvents"] if one["ph"] == "M"]
    assert names[:2] == ["python train.py", "main"]


def test_the_page_has_the_verdict_a_timeline_and_the_tables(tmp_path: Path) -> None:
    found = reported(tmp_path, trained(), "hidden-sync")
    page = as_html(watch_document(found, read(tmp_path, trained())))
    for words in ("Copies took 135 ms", "failed hidden-sync", "<svg", "cuMemcpyHtoDAsync_v2"):
        assert words in page
    assert page == as_html(watch_document(found, read(tmp_path, trained())))
    hostile = replace_header(trained(), command="<script>alert(1)</script>")
    (process,) = read(tmp_path, hostile)
    assert "<script>alert" not in as_html(watch_document(report_on([process], costs()), [process]))


def test_a_page_without_recorded_calls_has_no_timeline(tmp_path: Path) -> None:
    found = reported(tmp_path / "a", trained())
    (recorded,) = read(tmp_path / "a", trained())
    (plain,) = read(tmp_path / "b", upload(CounterFile(), MIB, MS))
    assert 'id="timeline"' in as_html(watch_document(found, [recorded]))
    assert 'id="timeline"' not in as_html(watch_document(found, [plain]))


def test_a_source_line_is_read_from_python_files_alone(tmp_path: Path) -> None:
    script = tmp_path / "a b.py"
    script.write_text("first\n  second = 1\x1b[31m\n")
    assert source_line(Site(f"{script}:2 f", is_python=True)) == "second = 1[31m"
    assert source_line(Site(f"{script}:2 f")) == ""
    assert source_line(Site(f"{script}:99 f", is_python=True)) == ""
    assert source_line(Site("/dev/zero:1 f", is_python=True)) == ""
    assert source_line(Site("/nowhere.py:1 f", is_python=True)) == ""
    (tmp_path / "endless.py").symlink_to("/dev/zero")
    assert source_line(Site(f"{tmp_path}/endless.py:1 f", is_python=True)) == ""


def test_processes_of_several_nodes_are_told_apart_and_lie_on_one_clock(tmp_path: Path) -> None:
    """Though their numbers are equal, and one machine has run for longer than the other."""
    for folder, began in (("a", 5000 * MS), ("b", 7 * MS)):
        header = {"begin_ns": began, "end_ns": began + 1000 * MS, "begin_wall_ns": 10**18}
        file = trained()
        file.header |= header
        file.write(tmp_path / folder)
    files = sorted(tmp_path.glob("*/*.counters"))
    processes = [read_counters(path) for path in files]
    report = report_on(processes, costs())
    assert report.seconds == pytest.approx(1)
    assert [one.calls for one in report.threads if one.name == "main"] == [1040, 1040]
    events = json.loads(timeline_text(processes, modelled=False))["traceEvents"]
    assert len({one["pid"] for one in events}) == 2
    assert max(one["ts"] for one in events if one["ph"] == "X") < 1e6
