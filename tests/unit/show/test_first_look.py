"""What `isthmus bench --quick` prints: a first look, which shows every failure."""

from pathlib import Path

import pytest
from rich.console import Console

from fakes.runs import run as plain_run
from fakes.session import FakeMeasurement, FakeSamples, FakeSession, Watcher
from isthmus.errors import Unavailable
from isthmus.measure.bench.demand import Demand, Limits
from isthmus.measure.bench.derived.catalogue import derived
from isthmus.measure.bench.plan import plan_points
from isthmus.measure.bench.runner import RunSettings, run_points
from isthmus.measure.bench.tests.catalogue import TESTS, BenchTest
from isthmus.measure.run.model import Run, Status
from isthmus.measure.run.reading import read_run_file
from isthmus.show.format import Format
from isthmus.show.formats.as_rich import as_renderable
from isthmus.show.formats.as_text import as_text, page_of
from isthmus.show.formats.render import render
from isthmus.show.page import Table
from isthmus.show.tables.first_look import first_look_of, is_first_look

# What one screen of a terminal takes.
MAX_LINES = 60
MAX_VERDICT_LINES = 5
REASON = "none here"
BENCHMARKS = Path(__file__).parents[3] / "benchmarks"


def answer(test: BenchTest, size_bytes: int) -> FakeMeasurement:
    """10 us and 1 ns a byte; one test fails, and two suites waive something for one reason."""
    if test.suite == "multi" or test.name == "alloc_cuda_malloc_managed":
        raise Unavailable(REASON, capability="it", reason=REASON, needs="more")
    if test.name == "host_to_device_memcpy_registered":
        raise RuntimeError("it broke")
    middle = 1e-5 + size_bytes * 1e-9
    names = ["copy_time" if metric == "bandwidth" else metric for metric in test.metrics]
    samples = [FakeSamples(name, [middle * part for part in (1, 0.99, 1.01)], 1) for name in names]
    return FakeMeasurement(samples, first_call_seconds=2 * middle, host_pages_by_node={0: 1})


def quick_run(num_nodes: int = 1, suite: str | None = None) -> Run:
    limits = Limits(
        device_bytes=8 << 30,
        host_bytes=8 << 30,
        num_cores=4,
        cpu_nodes=tuple(range(num_nodes)),
    )
    tests = [test for test in TESTS if suite in {None, test.suite}]
    points = plan_points(tests, Demand(limits=limits, quick=True)).points
    session = FakeSession(answer)
    results = run_points(session, points, RunSettings(budget_s=1), Watcher()).results
    base = plain_run()
    options = base.options.model_copy(update={"quick": True})
    return base.model_copy(update={"options": options, "results": [*results, *derived(results)]})


def titled(run: Run, start: str) -> Table:
    (table,) = (table for table in first_look_of(run).tables if table.title.startswith(start))
    return table


def row(table: Table, *keys: str) -> dict[str, str]:
    (cells,) = (cells for cells in table.rows if cells[: len(keys)] == keys)
    return dict(zip(table.heads, cells, strict=True))


@pytest.mark.parametrize("num_nodes", [1, 2])
def test_a_quick_run_fits_on_one_screen_in_plain_text_and_drawn(num_nodes: int) -> None:
    run = quick_run(num_nodes)
    text = as_text(run, width=80)
    assert len(text.splitlines()) <= MAX_LINES < len(as_text(run, verbose=True).splitlines())
    console = Console(width=80, color_system=None, legacy_windows=False)
    with console.capture() as drawn:
        console.print(as_renderable(run, width=80, pictures=True), soft_wrap=True)
    assert drawn.get() == text


def verdict_lines(run: Run, *, brief: bool = False) -> list[str]:
    return as_text(run, width=80, brief=brief).rstrip().split("\n\n")[-1].splitlines()


def test_every_page_ends_with_a_verdict_of_at_most_five_lines() -> None:
    h100 = read_run_file(BENCHMARKS / "link" / "h100" / "run.json")
    narrow = h100.machine.link.model_copy(update={"width": 8})
    slowed = h100.machine.model_copy(update={"link": narrow})
    copies = [r for r in h100.results if r.suite == "latency"]
    found = (
        h100,
        h100.model_copy(update={"machine": slowed}),
        h100.model_copy(update={"results": copies}),
        plain_run(emulated=True),
        quick_run(),
    )
    for run in found:
        lines = verdict_lines(run)
        assert len(lines) <= MAX_VERDICT_LINES
        assert lines[-1].startswith(f"next    `isthmus report {run.run.id}`")
    healthy, narrowed, *_ = map(verdict_lines, found)
    assert healthy[0].startswith("Healthy, with a doubt: ")
    assert healthy[1:3] == [
        "link    53.8 GB/s up and 55.2 GB/s down with pinned memory",
        "limits  The link: 54.8 GB/s (256 MiB, pinned), 87 % of Gen5 x16 (63.0 GB/s).",
    ]
    assert healthy[3].startswith("to do   Batch small copies into one call: ")
    assert narrowed[0].startswith("Not healthy")
    assert "reseat the card" in " ".join(" ".join(narrowed).split())


def test_a_brief_page_has_no_tables_but_says_what_failed() -> None:
    run = quick_run()
    text = as_text(run, brief=True)
    assert "Bandwidth" not in text
    assert "it broke" in text
    assert verdict_lines(run, brief=True) == verdict_lines(run)


def test_it_says_how_to_see_the_rest() -> None:
    last = as_text(quick_run(), width=1000).splitlines()[-1]
    assert last == "next    `isthmus report 0badcafe`, `isthmus bench SUITE` for one suite"
    unkept = quick_run().run.model_copy(update={"command": ["isthmus", "bench", "--no-save"]})
    run = quick_run().model_copy(update={"run": unkept})
    assert as_text(run).splitlines()[-1] == "next    `isthmus bench SUITE` for one suite"


def test_the_largest_copies_stand_with_the_size_of_half_their_bandwidth() -> None:
    table = titled(quick_run(), "Bandwidth")
    assert row(table, "pinned") == {
        "memory": "pinned",
        "size": "256 MiB",
        "H2D": "1.00",
        "D2H": "1.00",
        # 10 us at 1 GB/s.
        "H2D n1/2": "9.8 KiB",
        "D2H n1/2": "9.8 KiB",
    }
    assert [cells[0] for cells in table.rows] == [
        "pinned",
        "pageable",
        "pinned, both directions at once",
        "mapped, by a kernel",
    ]


def test_every_way_of_a_small_copy_has_one_time_a_direction() -> None:
    table = titled(quick_run(), "A copy of 4 B, microseconds until complete")
    assert table.heads == ("copy", "blocking", "async", "batch", "graph", "sm", "window")
    assert row(table, "D2H")["async"] == "10.00"


def test_memory_has_its_cost_at_the_largest_size() -> None:
    table = titled(quick_run(), "Memory of 16 MiB, microseconds")
    # 10 us, and 1 ns a byte.
    assert row(table, "cuda_malloc_host") == {
        "memory": "cuda_malloc_host",
        "allocate": "16787",
        "free": "16787",
        "first allocation": "33574",
    }
    assert "malloc, pages touched" in [cells[0] for cells in table.rows]


def test_pipelines_windows_and_the_host_have_a_table_each() -> None:
    run = quick_run()
    pipelines = titled(run, "Overlap, best")
    assert pipelines.heads[1:] == (
        *("H2D streams", "H2D double buffering", "D2H double buffering", "duplex"),
    )
    assert row(pipelines, "16 MiB")["duplex"] == "1.00x"
    windows = titled(run, "Windows")
    # What fakes.session.usual_window says of one byte.
    assert row(windows, "write")["window"] == "0.1001"
    assert row(windows, "write")["memcpy pinned"] == "6.000"
    assert row(windows, "read")["window"] == "1.001"
    assert row(titled(run, "Copies of 64 MiB within host memory"), "4")["libc's memcpy"] == "1.00"


def test_a_far_cpu_node_has_a_row_where_there_is_one() -> None:
    assert row(titled(quick_run(num_nodes=2), "Bandwidth"), "pinned, far CPU node")["H2D"] == "1.00"
    assert "pinned, far CPU node" not in [cells[0] for cells in titled(quick_run(), "Band").rows]


def test_what_was_not_measured_is_one_line_and_in_full_one_for_each_reason() -> None:
    run = quick_run()
    [line] = [line for line in as_text(run).splitlines() if line.startswith("not measured")]
    assert line == "not measured: alloc (15), multi (26); `-v` says why"
    in_full = [line for line in as_text(run, verbose=True).splitlines() if REASON in line]
    assert len(in_full) == 1


def test_an_error_is_never_left_out() -> None:
    run = quick_run()
    num_failed = sum(result.status == Status.ERROR for result in run.results)
    lines = [line for line in as_text(run).splitlines() if "it broke" in line]
    first = "first host_to_device_memcpy_registered 1 MiB: it broke"
    assert lines == [f"error, bandwidth ({num_failed}), {first}"]


def test_a_run_of_one_suite_and_one_that_is_not_quick_have_all_tables() -> None:
    assert not is_first_look(quick_run(suite="windows"))
    assert not is_first_look(plain_run())
    run = quick_run(suite="alloc")
    assert all(table.title in as_text(run) for table in page_of(run).tables)


def test_json_and_csv_of_a_quick_run_have_every_result() -> None:
    run = quick_run()
    assert Run.model_validate_json(render(run, Format.JSON)) == run
    assert len(render(run, Format.CSV).splitlines()) == len(run.results) + 1


def test_a_run_without_a_number_has_a_first_look_without_a_table() -> None:
    run = quick_run()
    waived = [r for r in run.results if r.status == Status.WAIVED]
    page = first_look_of(run.model_copy(update={"results": waived}))
    assert page.tables == ()
