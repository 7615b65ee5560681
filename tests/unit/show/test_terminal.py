"""What commands print on terminals of 60, 80 and 120 columns, from runs that were recorded."""

import io
from collections.abc import Callable
from functools import cache, partial
from pathlib import Path

import pytest
from rich.console import Console

from isthmus.cli.bench.listing import listing
from isthmus.decide.profile.store import load_profile
from isthmus.measure.bench.tests.catalogue import BY_NAME
from isthmus.measure.compare.comparison import compare
from isthmus.measure.doctor.check import Check, Diagnosis, Status, text_lines
from isthmus.measure.expected.judging import judge
from isthmus.measure.run.model import Run
from isthmus.measure.run.reading import read_run_file
from isthmus.measure.run.result import Failure
from isthmus.measure.run.result import Status as ResultStatus
from isthmus.measure.run.stored import State, StoredRun
from isthmus.show.answers.comparison import comparison_text
from isthmus.show.answers.expectation import expectation_text
from isthmus.show.answers.profile import profile_as_text
from isthmus.show.answers.stored_runs import stored_runs_text
from isthmus.show.format import Format, RunFormat
from isthmus.show.formats.as_rich import as_renderable
from isthmus.show.formats.as_text import as_text
from isthmus.sim.catalogue import Topic, catalogue_text
from program import Golden

BENCHMARKS = Path(__file__).parents[3] / "benchmarks"
WIDTHS = (60, 80, 120)
CHECKS = [
    Check(name="driver", status=Status.OK, finding="CUDA 13.0, release 580.159.04"),
    Check(
        name="gpu 0 link",
        status=Status.PROBLEM,
        finding="Gen5 x8 under load, and the GPU and its slot could do Gen5 x16",
        advice="reseat the GPU, and look for a riser or a slot that has only eight lanes; lspci "
        "-vv shows both ends",
    ),
    Check(
        name="gdrapi",
        status=Status.NOTE,
        finding="another library is found first",
        advice="export LD_LIBRARY_PATH=/usr/local/lib:/opt/isthmus/lib",
    ),
]


def recorded(*kinds: str, quick: bool = False) -> Run:
    """Give the recorded run of an H100, or its results of some kinds of tests."""
    run = read_run_file(BENCHMARKS / "link" / "h100" / "run.json")
    results = [r for r in run.results if not kinds or r.test.startswith(kinds)]
    options = run.options.model_copy(update={"quick": quick})
    return run.model_copy(update={"results": results, "options": options})


def on_a_terminal(run: Run, width: int, *, pictures: bool = False) -> str:
    console = Console(file=io.StringIO(), width=width, color_system=None, legacy_windows=False)
    with console.capture() as drawn:
        console.print(as_renderable(run, width=width, pictures=pictures), soft_wrap=True)
    return drawn.get()


def drawn(run: Run, width: int) -> str:
    return on_a_terminal(run, width, pictures=True)


def comparison(width: int) -> str:
    before = recorded("host_to_device_small_copy_async", "host_to_device_memcpy_pageable")
    other = read_run_file(BENCHMARKS / "link" / "two_h200" / "run.json")
    # Another machine's, and as slow as a recorded one would be with half of its link.
    slower = [
        result.model_copy(update={"median": result.median / 2, "min": None, "max": None})
        if result.unit == "B/s" and result.median is not None
        else result
        for result in before.results
    ]
    after = other.model_copy(update={"results": slower})
    found = compare(before, after, tolerance=0.05)
    return comparison_text([before, after], [found], every=False, width=width)


def catalogue_of(topic: Topic, width: int) -> str:
    return catalogue_text(Format.TEXT, topic, width=width)


def stored(width: int) -> str:
    run = recorded()
    one = StoredRun(
        id=run.run.id,
        state=State.COMPLETE,
        started_at=run.run.started_at,
        device=run.machine.device.name,
        emulated=False,
        command=["isthmus", "bench", "--compare", "last", "--output", "run.json"],
        num_bytes=2_281_006,
        path=Path("run.json"),
    )
    return stored_runs_text([one], Format.TEXT, width=width)


PAGES: dict[str, Callable[[int], str]] = {
    "bench --quick": lambda width: drawn(recorded(quick=True), width),
    "bench -o run.json": lambda width: as_text(recorded(), brief=True, width=width),
    "bench latency": lambda width: drawn(recorded("host_to_device_small_copy"), width),
    "bench bandwidth": lambda width: drawn(recorded("host_to_device_memcpy"), width),
    "bench windows": lambda width: drawn(recorded("window_"), width),
    "bench --expect": lambda width: expectation_text(
        recorded(), judge(recorded())[:6], width=width
    ),
    "bench --list": lambda width: listing(list(BY_NAME.values())[:5], RunFormat.TEXT, width=width),
    "compare": comparison,
    "doctor": lambda width: "\n".join(
        [*text_lines(Diagnosis(emulated=False, checks=CHECKS), width=width), ""]
    ),
    "profile": lambda width: profile_as_text(
        load_profile(BENCHMARKS / "transfer" / "h100" / "profile.json"), "today", width=width
    ),
    "runs list": stored,
}
NATIVE_PAGES: dict[str, Callable[[int], str]] = {
    "sim list": lambda width: catalogue_text(Format.TEXT, width=width),
    **{
        f"sim list {topic}": partial(catalogue_of, topic)
        for topic in (Topic.POLICIES, Topic.MACHINES)
    },
}


@cache
def page(name: str, width: int) -> str:
    return PAGES[name](width)


@pytest.mark.parametrize("width", WIDTHS)
def test_what_commands_print_is_as_reviewed(golden: Golden, width: int) -> None:
    sections = [f"$ isthmus {name}\n{page(name, width)}" for name in PAGES]
    golden(f"terminal_{width}.text", "\n".join(sections))


@pytest.mark.parametrize("width", [*WIDTHS, 45, 200])
@pytest.mark.parametrize("name", PAGES)
def test_no_line_is_wider_than_the_terminal_and_nothing_is_elided(name: str, width: int) -> None:
    text = page(name, width)
    # What is pasted into a shell stays on one line.
    lines = [line for line in text.splitlines() if "-> export" not in line]
    assert max(map(len, lines)) <= width
    assert "…" not in text


# A list of runs cuts commands.
@pytest.mark.parametrize("name", [name for name in PAGES if name != "runs list"])
def test_a_narrow_terminal_shows_every_word_that_a_wide_one_shows(name: str) -> None:
    wide = page(name, 1000).split()
    narrow = {word.rstrip(":") for word in page(name, 60).split()}
    assert {word.rstrip(":") for word in wide if len(word) <= 56} <= narrow


@pytest.mark.native
@pytest.mark.parametrize("width", WIDTHS)
def test_what_can_be_simulated_fits(golden: Golden, width: int) -> None:
    for topic in (None, *Topic):
        text = catalogue_text(Format.TEXT, topic, width=width)
        assert max(map(len, text.splitlines())) <= width
    sections = [f"$ isthmus {name}\n{page(width)}" for name, page in NATIVE_PAGES.items()]
    golden(f"sim_list_{width}.text", "\n".join(sections))


def test_a_stored_run_is_one_line_at_80_columns() -> None:
    title, _heads, *rows = stored(80).splitlines()
    assert (title, len(rows)) == ("Stored runs", 1)
    assert rows[0].startswith("c5070c5b  complete  2026-11-22 12:23  H100 80GB HBM3  bench --comp")
    assert len(rows[0]) <= 80


def styles_of(run: Run, word: str) -> set[str]:
    """Give the styles that a word has anywhere in the tables of a run."""
    text = as_renderable(run, width=120)
    spans = [span for span in text.spans if text.plain[span.start : span.end] == word]
    return {str(span.style) for span in spans}


def test_a_heading_with_the_name_of_a_status_has_no_colour() -> None:
    run = recorded("host_to_device_memcpy_ce")
    assert " error" in as_text(run, width=120)
    assert styles_of(run, "error") == set()
    failed = run.results[0].model_copy(
        update={
            "status": ResultStatus.ERROR,
            "median": None,
            "error": Failure(symbol=None, code=None, code_name=None, message="it broke"),
        }
    )
    broken = run.model_copy(update={"results": [failed, *run.results[1:]]})
    assert styles_of(broken, "error") == {"red"}


def test_a_terminal_gets_the_words_of_the_plain_text() -> None:
    run = recorded(quick=True)
    assert on_a_terminal(run, 100) == as_text(run, width=100)


def test_texts_of_a_run_move_no_cursor_colour_nothing_and_make_no_rows() -> None:
    run = read_run_file(BENCHMARKS / "link" / "two_h200" / "run.json")
    host = run.machine.host.model_copy(update={"cpu_model": "[red]CPU[/red]\x1b[2J\u202e"})
    results = [
        result.model_copy(update={"axes": {**result.axes, "gpu": "0\nfake row"}})
        for result in run.results
    ]
    machine = run.machine.model_copy(update={"host": host})
    odd = run.model_copy(update={"machine": machine, "results": results})
    drawn = as_renderable(odd, width=80)
    assert "[red]CPU[/red]\\x1b[2J\\u202e" in drawn.plain
    for text in (drawn.plain, as_text(odd, width=80)):
        assert "fake row" in text
        assert not any(line.startswith("fake row") for line in text.splitlines())
    assert drawn.plain.replace("\n", "").isprintable()
