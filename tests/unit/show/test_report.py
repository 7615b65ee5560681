import csv
import io
import json
from pathlib import Path

import pytest

from fakes import runs
from isthmus.measure.run.model import Run, Status
from isthmus.show.fitting import table_lines
from isthmus.show.format import Format, format_of_file
from isthmus.show.formats.as_csv import COLUMNS
from isthmus.show.formats.as_text import as_text, page_of
from isthmus.show.formats.render import render
from isthmus.show.numbers import (
    four_digit_microseconds,
    gigabytes_per_second,
    microseconds,
    ratio,
)
from isthmus.show.page import Table
from isthmus.show.tables.windows import window_notes
from program import Golden

# No sentence is wrapped.
WIDE = 10_000


@pytest.mark.parametrize("wanted", [Format.TEXT, Format.CSV])
def test_the_report_of_a_run_on_a_gpu(golden: Golden, wanted: Format) -> None:
    golden(f"report_gpu.{wanted}", render(runs.run(), wanted))


def test_the_report_of_an_interrupted_run_on_the_emulated_device(golden: Golden) -> None:
    golden("report_emulated.text", render(runs.run(emulated=True, interrupted=True), Format.TEXT))


def test_an_emulated_run_says_so_in_the_first_line_and_in_every_title() -> None:
    run = runs.run(emulated=True)
    first, *_ = as_text(run).splitlines()
    assert first.startswith("EMULATED GPU (profile small; no GPU to measure: no driver)")
    assert "times are simulated" in first
    assert all("EMULATED" in table.title for table in page_of(run).tables)
    assert json.loads(render(run, Format.JSON))["machine"]["emulated"] is True
    rows = csv.DictReader(io.StringIO(render(run, Format.CSV)))
    assert {row["emulated"] for row in rows} == {"true"}


def test_a_measured_run_never_says_emulated() -> None:
    assert "EMULATED" not in as_text(runs.run())


def test_the_floor_of_the_gpu_s_clock_stands_below_the_event_delta() -> None:
    (table,) = (table for table in page_of(runs.run()).tables if "Copies of 4 B" in table.title)
    medians = {row[1]: row[2] for row in table.rows if row[0] == "H2D async"}
    assert medians["event_floor"] == "10.00"
    metrics = list(medians)
    assert metrics.index("event_floor") == metrics.index("event_delta") + 1


def small_copies(run: Run) -> Table:
    return next(table for table in page_of(run).tables if "Copies of 4 B" in table.title)


def test_what_was_waived_is_a_line_for_each_reason_and_no_row_of_the_table() -> None:
    run = runs.run()
    assert all("waived" not in row for row in small_copies(run).rows)
    found = [line for line in as_text(run).splitlines() if line.startswith("not measured, ")]
    windows, line = found
    assert "windows" in windows
    assert line == "not measured, latency (6): needs NVRTC to compile its kernel"


def test_a_run_whose_latencies_were_all_waived_has_no_table_of_them() -> None:
    run = runs.run()
    waived = [result for result in run.results if result.status == Status.WAIVED]
    assert page_of(run.model_copy(update={"results": waived})).tables == ()


def test_the_first_call_stands_once_a_copy_beside_its_completion() -> None:
    table = small_copies(runs.run())
    column = table.heads.index("first call")
    shown = [(row[0], row[1]) for row in table.rows if row[column]]
    ways = ("blocking", "async", "batch", "graph", "sm", "window")
    assert shown == [(f"H2D {way}", "completion") for way in ways]


def test_a_line_says_whose_clock_timed_which_memory() -> None:
    foot = page_of(runs.run()).foot
    assert "pinned: back to back behind a gate, by the GPU's clock" in foot
    assert "pageable: one blocking call and wait at a time, by the CPU's clock" in foot


def window_table(title: str) -> Table:
    return next(t for t in page_of(runs.run()).tables if t.title.startswith(title))


def test_a_window_s_copies_stand_beside_cudas_at_the_same_size() -> None:
    writes = window_table("Window writes")
    assert writes.heads[:5] == ("size", "fenced", "posted", "memcpy pinned", "memcpy pageable")
    (row,) = (row for row in writes.rows if row[0] == "4 KiB")
    assert row[1:5] == ("0.3458", "0.2558", "6.082", "7.410")
    reads = window_table("Window reads")
    assert reads.heads[-2:] == ("push launched", "push asked")
    assert "complete cold" in reads.heads


def test_every_column_of_a_push_is_explained_by_the_name_it_has() -> None:
    notes = window_notes(runs.run())
    pushes = [head for head in window_table("Window reads").heads if head.startswith("push ")]
    assert all(any(note.startswith(f"{head}: ") for note in notes) for head in pushes)
    assert "push launched: from the launch of a kernel that pushes until its bytes arrive" in notes


def test_only_an_emulated_run_says_which_times_of_windows_are_modelled() -> None:
    assert any(
        "times of writes and reads are simulated" in note
        for note in window_notes(runs.run(emulated=True))
    )
    assert not any("simulated" in note for note in window_notes(runs.run()))


def test_a_window_s_bandwidth_has_a_row_for_each_number_of_threads() -> None:
    table = window_table("Window bandwidth")
    assert table.heads == ("size", "threads", "write near", "read near")
    assert [row[1] for row in table.rows if row[0] == "1 MiB"] == ["1", "2"]


def test_round_trips_have_a_column_for_each_placement_of_the_flags() -> None:
    table = window_table("Round trip")
    flags = ["device > device", "device > pinned", "pinned > device", "pinned > pinned"]
    assert table.heads == ("size", "data", *flags)
    assert [row[:2] for row in table.rows] == [
        ("4 B", "none"),
        ("64 B", "device"),
        ("64 B", "pinned"),
        ("4 KiB", "device"),
        ("4 KiB", "pinned"),
    ]


def test_the_report_says_up_to_which_size_windows_pay() -> None:
    foot = page_of(runs.run()).foot
    assert (
        "window_write is faster than pinned cudaMemcpy up to 64 KiB, "
        "pageable cudaMemcpy up to 1 MiB (the largest measured)"
    ) in foot
    assert any(line.startswith("window_read (cold) is faster than ") for line in foot)


def test_a_window_that_never_pays_is_said_to_win_at_no_size() -> None:
    run = runs.run()
    lost = [
        result.model_copy(update={"median": 0.0})
        for result in run.results
        if result.metric == "crossover_push"
    ]
    lines = window_notes(run.model_copy(update={"results": lost}))
    assert "a kernel asked to push at no size from the smallest on" in lines[0]


def test_windows_that_were_waived_are_one_line_for_each_reason_and_no_table() -> None:
    text = as_text(runs.run(), width=WIDE)
    lines = [line for line in text.splitlines() if "far NUMA node" in line]
    reason = "far NUMA node unavailable: this host has one node (needs two nodes)"
    assert lines == [f"not measured, windows (24): {reason}"]


def test_csv_and_json_have_the_crossovers_as_results() -> None:
    rows = list(csv.DictReader(io.StringIO(render(runs.run(), Format.CSV))))
    (row,) = (
        row
        for row in rows
        if (row["test"], row["metric"], row["cpu_cache"], row["num_threads"])
        == ("window_write", "crossover_pinned", "warm", "1")
    )
    assert (row["unit"], row["median"], row["bytes"]) == ("B", "65536.0", "1048576")
    document = json.loads(render(runs.run(), Format.JSON))
    assert "crossover_push" in {result["metric"] for result in document["results"]}


def test_csv_has_a_row_for_each_result_and_empty_cells_for_what_is_not_known() -> None:
    run = runs.run()
    rows = list(csv.DictReader(io.StringIO(render(run, Format.CSV))))
    assert tuple(rows[0]) == COLUMNS
    assert len(rows) == len(run.results)
    failed = next(row for row in rows if row["status"] == "error")
    assert (failed["median"], failed["error_code"]) == ("", "700")
    assert float(rows[0]["median"]) == run.results[0].median


def test_json_is_the_run_itself() -> None:
    assert Run.model_validate_json(render(runs.run(), Format.JSON)) == runs.run()


def test_a_run_without_results_still_has_a_report() -> None:
    empty = runs.run(interrupted=True).model_copy(update={"results": []})
    assert "INTERRUPTED" in as_text(empty)
    assert render(empty, Format.CSV).splitlines() == [",".join(COLUMNS)]


def test_plain_tables_have_no_colour_no_boxes_and_no_trailing_blanks() -> None:
    text = as_text(runs.run(emulated=True, interrupted=True))
    assert text.isascii()
    assert all(line == line.rstrip() for line in text.splitlines())


def test_words_stand_left_and_numbers_right() -> None:
    table = Table(title="t", heads=("word", "n"), rows=(("a", "1"), ("bb", "100")))
    assert table_lines(table) == ["t", "word    n", "a       1", "bb    100"]


@pytest.mark.parametrize(
    ("bytes_per_s", "text"),
    [(55.1e9, "55.10"), (0.1e9, "0.10"), (0.0005712e9, "0.00057"), (12_300, "0.0000123")],
)
def test_bandwidth_is_written_in_decimal_gigabytes(bytes_per_s: float, text: str) -> None:
    assert gigabytes_per_second(bytes_per_s) == text


@pytest.mark.parametrize(
    ("seconds", "text"), [(5.7e-6, "5.70"), (0.0123456, "12345.6"), (0.0, "0.00"), (None, "-")]
)
def test_times_are_written_in_microseconds(seconds: float | None, text: str) -> None:
    assert microseconds(seconds) == text


@pytest.mark.parametrize(
    ("seconds", "text"),
    [
        (0.0, "0.000"),
        (0.2e-9, "0.0002"),
        (12.51e-9, "0.0125"),
        (0.125e-6, "0.1250"),
        (9.99996e-6, "10.00"),
        (17.0621e-6, "17.06"),
        (1299.0105e-6, "1299"),
        (11476.4e-6, "11476"),
        (1e308, "inf"),
    ],
)
def test_times_of_windows_have_four_digits_whatever_their_size(seconds: float, text: str) -> None:
    assert four_digit_microseconds(seconds) == text


def test_ratios_read_well() -> None:
    assert (ratio(3, 2), ratio(1, 0)) == ("1.50x", "-")


@pytest.mark.parametrize(
    ("name", "wanted"),
    [("r.json", Format.JSON), ("r.CSV", Format.CSV), ("r.txt", Format.TEXT), ("r", Format.CSV)],
)
def test_a_file_s_name_decides_its_format(name: str, wanted: Format) -> None:
    assert format_of_file(Path(name), Format.CSV) == wanted
