"""`isthmus report`."""

import json
from pathlib import Path

import pytest

from fakes import runs
from isthmus.measure.run.model import Run
from isthmus.measure.run.store import run_text, save_run
from program import Invoke, run_code

FEW = {"host_to_device_memcpy_ce", "host_to_device_memcpy_pageable", "window_push"}


@pytest.fixture(autouse=True)
def in_a_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "here"
    folder.mkdir()
    monkeypatch.chdir(folder)
    return folder


def named(name: str, *, emulated: bool = False) -> Run:
    """Give a run with few results."""
    run = runs.run(emulated=emulated)
    return run.model_copy(
        update={
            "run": run.run.model_copy(update={"id": name}),
            "results": [result for result in run.results if result.test in FEW],
        }
    )


def written(folder: Path, name: str, *, emulated: bool = False) -> str:
    path = folder / f"{name}.json"
    path.write_text(run_text(named(name, emulated=emulated)), encoding="utf-8")
    return str(path)


def files(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir())


def test_a_report_of_the_last_run_is_written_beside_the_user(
    invoke: Invoke, in_a_folder: Path
) -> None:
    save_run(named("abcd1234"))
    outcome = invoke("report")
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err.startswith("written: report-abcd1234.html (")
    assert files(in_a_folder) == ["report-abcd1234.html"]
    assert "abcd1234" in (in_a_folder / "report-abcd1234.html").read_text("utf-8")


def test_a_run_is_found_by_the_beginning_of_its_id_and_the_suffix_decides_the_format(
    invoke: Invoke, in_a_folder: Path
) -> None:
    save_run(named("abcd1234"))
    assert invoke("report", "abcd", "-o", "page.md").code == 0
    assert (in_a_folder / "page.md").read_text("utf-8").startswith("# Test GPU")


def test_the_format_is_asked_for_where_no_suffix_says_it(
    invoke: Invoke, in_a_folder: Path, tmp_path: Path
) -> None:
    assert invoke("report", written(tmp_path, "aa"), "--format", "md").code == 0
    assert files(in_a_folder) == ["report-aa.md"]
    assert invoke("report", written(tmp_path, "aa"), "-o", "page", "--format", "md").code == 0
    assert (in_a_folder / "page").read_bytes() == (in_a_folder / "report-aa.md").read_bytes()


@pytest.mark.parametrize("output_format", ["md", "html"])
def test_a_dash_is_stdout_and_no_file_is_written(
    invoke: Invoke, in_a_folder: Path, tmp_path: Path, output_format: str
) -> None:
    run, page = written(tmp_path, "aa"), in_a_folder / f"page.{output_format}"
    outcome = invoke("report", run, "--format", output_format, "-o", "-")
    assert (outcome.code, outcome.err) == (0, "")
    assert files(in_a_folder) == []
    assert invoke("report", run, "-o", str(page)).code == 0
    assert page.read_text("utf-8") == outcome.out


@pytest.mark.long
def test_the_same_run_gives_the_same_bytes_in_another_process(
    invoke: Invoke, in_a_folder: Path, tmp_path: Path
) -> None:
    run = written(tmp_path, "aa")
    assert invoke("report", run).code == 0
    other = tmp_path / "other.html"
    code = f"from isthmus.cli.app import main; main({['report', run, '-o', str(other)]!r})"
    assert run_code(code, {"PYTHONHASHSEED": "7"}).code == 0
    assert other.read_bytes() == (in_a_folder / "report-aa.html").read_bytes()


def test_several_runs_are_shown_side_by_side(
    invoke: Invoke, in_a_folder: Path, tmp_path: Path
) -> None:
    outcome = invoke("report", *(written(tmp_path, name) for name in ("aa", "bb")))
    assert outcome.code == 0
    assert "curves are named by their runs: aa, bb" in outcome.err
    text = (in_a_folder / "report-aa-bb.html").read_text("utf-8")
    assert "pinned, aa; pinned, bb" in text
    assert "What changed since aa" in text


def test_a_run_that_is_given_twice_has_the_same_names_in_the_message_and_on_the_page(
    invoke: Invoke, in_a_folder: Path, tmp_path: Path
) -> None:
    run = written(tmp_path, "aa")
    outcome = invoke("report", run, run, "-o", "twice.md")
    assert "curves are named by their runs: aa (1), aa (2)\n" in outcome.err
    assert "### aa (2)" in (in_a_folder / "twice.md").read_text("utf-8")


def test_compare_says_what_changed(invoke: Invoke, in_a_folder: Path, tmp_path: Path) -> None:
    pair = (written(tmp_path, "aa"), written(tmp_path, "bb"))
    assert invoke("report", *pair, "--format", "md").code == 0
    text = (in_a_folder / "report-aa-bb.md").read_text("utf-8")
    assert "## What changed since aa" in text
    assert "bb: same; " in text


def test_a_folder_is_a_history(invoke: Invoke, in_a_folder: Path, tmp_path: Path) -> None:
    folder = tmp_path / "nightly"
    folder.mkdir()
    for name in ("aa", "bb", "cc"):
        written(folder, name)
    outcome = invoke("report", str(folder), "-o", "history.html")
    assert outcome.code == 0
    text = (in_a_folder / "history.html").read_text("utf-8")
    assert "3 runs, from 2025-01-02 to 2025-01-02" in text
    assert "from run to run" in text


@pytest.mark.parametrize("broken", ["0.json", "zz.json"])
def test_a_truncated_file_does_not_end_the_history_of_its_folder(
    invoke: Invoke, tmp_path: Path, broken: str
) -> None:
    folder = tmp_path / "nightly"
    folder.mkdir()
    text = Path(written(folder, "aa")).read_text("utf-8")
    written(folder, "bb")
    (folder / broken).write_text(text[: len(text) // 2])
    outcome = invoke("report", str(folder), "-o", "history.md")
    assert outcome.code == 0
    assert outcome.err.startswith(f"left out: {folder / broken} is not a run")
    assert "2 runs" in Path("history.md").read_text("utf-8")
    for run in ("aa", "bb"):
        (folder / f"{run}.json").write_text("{")
    outcome = invoke("report", str(folder), "-o", "-")
    assert (outcome.code, outcome.out) == (2, "")


def refused(invoke: Invoke, folder: Path, error: str, hint: str, *arguments: str) -> None:
    before = files(folder)
    outcome = invoke("report", *arguments)
    assert (outcome.code, outcome.out) == (2, "")
    lines = [line for line in outcome.err.splitlines() if not line.startswith("cause:")]
    assert [line.partition(":")[0] for line in lines] == ["error", "hint"]
    assert error in lines[0]
    assert hint in lines[1]
    assert files(folder) == before


@pytest.mark.parametrize(
    ("change", "error"),
    [
        (lambda text: text.replace('"schema_version": 1', '"schema_version": 2', 1), "of schema 2"),
        (lambda text: text[: len(text) // 2], "is not a run: it isn't JSON"),
        (lambda _: "", "is not a run: it isn't JSON"),
        (lambda _: "[1]", "it has no schema version and results"),
    ],
    ids=["newer", "truncated", "empty", "another"],
)
def test_what_is_no_run_of_this_schema_is_refused(
    invoke: Invoke, in_a_folder: Path, tmp_path: Path, change: object, error: str
) -> None:
    path = Path(written(tmp_path, "aa"))
    assert callable(change)
    path.write_text(change(path.read_text("utf-8")), encoding="utf-8")
    hint = "use the version that wrote it" if "schema 2" in error else "isthmus runs list"
    refused(invoke, in_a_folder, error, hint, str(path))
    # Also as one of several, and in a folder.
    refused(invoke, in_a_folder, error, hint, written(tmp_path / "here", "bb"), str(path))
    (in_a_folder / "bb.json").unlink()
    refused(invoke, in_a_folder, error, hint, str(tmp_path))


def test_an_emulated_run_is_never_beside_a_real_one(
    invoke: Invoke, in_a_folder: Path, tmp_path: Path
) -> None:
    pair = (written(tmp_path, "aa"), written(tmp_path, "bb", emulated=True))
    error, hint = "run aa is of a real device, and the other is emulated", "of the same kind"
    refused(invoke, in_a_folder, error, hint, *pair)
    refused(invoke, in_a_folder, error, hint, str(tmp_path))


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        ("", "there is no run 'last'", "isthmus runs list"),
        ("nosuch", "there is no run 'nosuch'", "isthmus runs list"),
        (".", ". has no runs", "isthmus bench --output"),
        (". last", ". is a folder", "isthmus report ."),
        ("a b c d e f g", "7 runs are too many", "name at most 6"),
        ("--format pdf", "'pdf' is not one of 'html', 'md'", "isthmus report --help"),
        ("-o page.json", "a report's name ends with .html", "name it page.html"),
        ("-o page.txt --format md", "a report's name ends with .html", "name it page.md"),
        ("-o page.md --format html", "ends with .md, and --format html is", "name it page.html"),
        ("-o page.HTM --format md", "ends with .HTM, and --format md", "name it page.md"),
    ],
)
def test_bad_usage_is_refused_and_writes_nothing(
    invoke: Invoke, in_a_folder: Path, arguments: str, error: str, hint: str
) -> None:
    refused(invoke, in_a_folder, error, hint, *arguments.split())


def test_an_empty_name_is_no_folder_and_no_run(invoke: Invoke, in_a_folder: Path) -> None:
    written(in_a_folder, "aa")
    refused(invoke, in_a_folder, "there is no run ''", "isthmus runs list", "")


def test_a_suffix_may_say_the_same_as_the_format(invoke: Invoke, tmp_path: Path) -> None:
    run = written(tmp_path, "aa")
    page = tmp_path / "page.md"
    assert invoke("report", run, "-o", str(page), "--format", "md").code == 0
    assert page.read_text("utf-8").startswith("# Test GPU")


def test_a_run_is_never_replaced_by_its_report(
    invoke: Invoke, in_a_folder: Path, tmp_path: Path
) -> None:
    error, hint = "is one of the runs, and the report would replace it", "name another file"
    Path(written(in_a_folder, "aa")).rename(in_a_folder / "report-aa.html")
    text = (in_a_folder / "report-aa.html").read_text("utf-8")
    (in_a_folder / "linked.html").symlink_to("report-aa.html")
    other = written(tmp_path, "bb")
    refused(invoke, in_a_folder, error, hint, "report-aa.html", "-o", "report-aa.html")
    refused(invoke, in_a_folder, error, hint, other, "report-aa.html", "-o", "linked.html")
    refused(invoke, in_a_folder, error, hint, "report-aa.html")
    assert (in_a_folder / "report-aa.html").read_text("utf-8") == text


def test_neither_a_stored_run_nor_one_of_a_history_is_replaced_by_a_report(
    invoke: Invoke, in_a_folder: Path
) -> None:
    error, hint = "is one of the runs, and the report would replace it", "name another file"
    stored = save_run(named("abcd1234"))
    text = stored.read_text("utf-8")
    link = in_a_folder / "page.html"
    link.symlink_to(stored)
    refused(invoke, in_a_folder, error, hint, "abcd", "-o", "page.html")
    folder = str(stored.parent)
    refused(invoke, in_a_folder, error, hint, folder, "-o", "page.html")
    assert stored.read_text("utf-8") == text


def test_a_link_is_followed_if_it_is_named_and_refused_if_the_runs_id_names_it(
    invoke: Invoke, in_a_folder: Path, tmp_path: Path
) -> None:
    run, kept = written(tmp_path, "aa"), tmp_path / "kept.md"
    kept.write_text("three years of work")
    (in_a_folder / "report-aa.md").symlink_to(kept)
    asked = (run, "--format", "md")
    outcome = invoke("report", *asked)
    assert (outcome.code, outcome.out) == (1, "")
    assert "report-aa.md: it is a link, which may lead anywhere" in outcome.err
    assert kept.read_text() == "three years of work"
    assert invoke("report", *asked, "-o", "report-aa.md").code == 0
    assert (in_a_folder / "report-aa.md").is_symlink()
    assert kept.read_text().startswith("# ")


def test_a_file_that_can_not_be_written_is_refused_before_anything_is_drawn(
    invoke: Invoke, in_a_folder: Path, tmp_path: Path
) -> None:
    run = written(tmp_path, "aa")
    refused(invoke, in_a_folder, "is a folder", "name a file", run, "-o", str(tmp_path))
    missing = str(tmp_path / "no" / "page.html")
    refused(invoke, in_a_folder, "there is no folder", "mkdir -p", run, "-o", missing)


@pytest.mark.parametrize("module", ["altair", "vl_convert", "jinja2"])
def test_a_missing_package_is_named_with_what_installs_it(tmp_path: Path, module: str) -> None:
    run = written(tmp_path, "aa")
    done = run_code(
        f"import sys; sys.modules[{module!r}] = None\n"
        f"from isthmus.cli.app import main; sys.exit(main({['report', run]!r}))"
    )
    assert done.code == 1
    assert f"{module} is not installed (needs pip install 'isthmus[report]')" in done.err


def test_markdown_needs_no_package_that_draws(tmp_path: Path) -> None:
    run, page = written(tmp_path, "aa"), tmp_path / "page.md"
    done = run_code(
        "import sys; sys.modules['altair'] = sys.modules['vl_convert'] = None\n"
        f"from isthmus.cli.app import main; sys.exit(main({['report', run, '-o', str(page)]!r}))"
    )
    assert (done.code, page.exists()) == (0, True)


@pytest.mark.long
def test_the_report_of_a_whole_run_has_at_most_three_megabytes(
    invoke: Invoke, in_a_folder: Path
) -> None:
    recorded = Path(__file__).parents[2] / "benchmarks" / "link" / "h100" / "run.json"
    assert invoke("report", str(recorded), "-o", "h100.html").code == 0
    assert (in_a_folder / "h100.html").stat().st_size <= 3_000_000
    identity = json.loads(recorded.read_text("utf-8"))["run"]["id"]
    assert identity in (in_a_folder / "h100.html").read_text("utf-8")
