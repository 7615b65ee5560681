"""`isthmus reproduce`: measured here on the emulated device, or laid out from a recorded run."""

import csv
import json
from collections.abc import Callable
from pathlib import Path

import pytest

from isthmus.reproduce.catalogue import BY_NAME
from isthmus.reproduce.publication import read_publication
from program import Invoke, Outcome

pytestmark = pytest.mark.native
RECORDED = str(Path(__file__).parents[2] / "benchmarks" / "link" / "h100" / "run.json")
EMULATED = ("--device", "emulated")
NAMES = (
    "pinned-vs-pageable",
    "caffe-break-even",
    "gdrcopy",
    "d2h-overhead",
    "partial-page-migration",
)


def refused(outcome: Outcome, error: str, hint: str) -> None:
    assert (outcome.code, outcome.out) == (2, ""), outcome.err
    lines = outcome.err.splitlines()
    assert [line.partition(":")[0] for line in lines] == ["error", "hint"]
    assert error in lines[0]
    assert hint in lines[1]


def test_without_a_name_it_lists_the_experiments(invoke: Invoke) -> None:
    outcome = invoke("reproduce")
    assert outcome == invoke("reproduce", "--help")
    listed = outcome.out[outcome.out.index("Experiments:") :]
    assert all(name in listed for name in NAMES)


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        ("gdrcpy", "no experiment is named 'gdrcpy'", "did you mean gdrcopy?"),
        ("xyz", "no experiment is named 'xyz'", "all, partial-page-migration, pinned"),
        ("gdrcopy --from /no/such.json", "there is no run", "isthmus runs list"),
        ("gdrcopy --from last --quick", "--quick is for measuring", "leave one"),
        ("gdrcopy --from last --sizes 4", "--sizes is for measuring", "leave one"),
        ("gdrcopy --from last --sizes all", "--sizes is for measuring", "leave one"),
        ("gdrcopy --quick --sizes all", "--quick excludes --sizes all", "leave one"),
        ("gdrcopy --sizes 0", "size '0'", "smallest size is 1"),
        ("gdrcopy -o /no/such/folder/x.md", "there is no folder", "mkdir -p"),
        ("gdrcopy --format xml", "'xml' is not one of", "isthmus reproduce --help"),
        ("--quick", "--quick is for an experiment", "isthmus reproduce all"),
        ("gdrcopy --seeds 2", "--seeds is not for gdrcopy", "it is for partial-page-migration"),
        ("all --sizes 4", "--sizes is not for all", "it is for pinned-vs-pageable"),
        ("partial-page-migration --quick", "--quick is not for partial", "it is for all"),
        ("partial-page-migration --no-pictures", "no such option", "--plots FOLDER says where"),
        ("gdrcopy --plot x", "Possible options: --plots", "isthmus reproduce --help"),
        ("partial-page-migration --format md", "--format md is not for", "text, json or csv"),
        ("all -o report.html", "the report of all is Markdown", "report.md"),
    ],
)
def test_bad_usage_is_one_line_a_hint_and_exit_code_2(
    invoke: Invoke, saved_runs: Callable[[], list[Path]], arguments: str, error: str, hint: str
) -> None:
    refused(invoke("reproduce", *arguments.split()), error, hint)
    assert saved_runs() == []


@pytest.mark.parametrize(
    "contents", ['{"schema_version": 9, "results": []}', '{"schema_version": 1, "res', "[]"]
)
def test_a_file_that_is_no_run_of_this_schema_is_refused(
    invoke: Invoke, tmp_path: Path, contents: str
) -> None:
    path = tmp_path / "run.json"
    path.write_text(contents, encoding="utf-8")
    outcome = invoke("reproduce", "gdrcopy", "--from", str(path))
    assert (outcome.code, outcome.out) == (2, "")
    assert outcome.err.startswith("error: ")


@pytest.mark.long
def test_a_run_without_the_experiment_s_tests_is_refused_with_their_names(
    invoke: Invoke, tmp_path: Path
) -> None:
    path = tmp_path / "run.json"
    invoke("bench", *EMULATED, "-t", "window_push", "--quick", "--no-save", "-o", str(path))
    outcome = invoke("reproduce", "d2h-overhead", "--from", str(path))
    assert outcome.code == 2
    assert "has no test of d2h-overhead" in outcome.err
    assert "copy_kernel_copy" in outcome.err
    every = invoke("reproduce", "all", "--from", str(path))
    assert (every.code, every.out) == (2, "")
    assert "has no test of any experiment" in every.err


@pytest.mark.long
def test_an_experiment_is_measured_kept_and_marked_as_emulated(
    invoke: Invoke, saved_runs: Callable[[], list[Path]]
) -> None:
    outcome = invoke("reproduce", "d2h-overhead", "--quick", *EMULATED)
    assert outcome.code == 0, outcome.err
    assert outcome.err.splitlines()[0] == "reproducing d2h-overhead: at most 10 s"
    assert outcome.out.startswith("EMULATED GPU")
    assert "0bench: kernel, download, CPU clock - EMULATED" in outcome.out
    assert "64.21 us (63.55 to 64.87 us)" in outcome.out
    [kept] = saved_runs()
    run = json.loads(kept.read_text(encoding="utf-8"))
    assert run["run"]["command"] == ["isthmus", "reproduce", "d2h-overhead", "--quick", *EMULATED]
    again = invoke("reproduce", "d2h-overhead", "--from", "last")
    assert (again.out, again.err) == (outcome.out, "")


@pytest.mark.parametrize(
    "name",
    [
        name if name == "d2h-overhead" else pytest.param(name, marks=pytest.mark.long)
        for name in NAMES[:-1]
    ],
)
def test_a_quick_measurement_finds_ours_for_every_table_or_says_why_not(
    invoke: Invoke, name: str
) -> None:
    outcome = invoke("reproduce", name, "--quick", *EMULATED, "--format", "json")
    assert outcome.code == 0, outcome.err
    [one] = json.loads(outcome.out)["experiments"]
    tables = {figure["table"] for figure in one["figures"]}
    # On a busy machine time may run out.
    late = {f["table"] for f in one["figures"] if "no time left" in (f["why_not"] or "")}
    found = {figure["table"] for figure in one["figures"] if not figure["why_not"]}
    assert one["emulated"] is True
    assert found | late == tables


def test_sizes_can_be_chosen(invoke: Invoke) -> None:
    outcome = invoke(
        *("reproduce", "gdrcopy", *EMULATED),
        *("--sizes", "4KiB", "--format", "csv"),
    )
    rows = list(csv.DictReader(outcome.out.splitlines()))
    found = {(row["table"].split(",")[0], row["bytes"]) for row in rows if row["ours"]}
    assert ("copybw", "4096") in found
    assert ("copylat", "4096") in found
    assert {size for _, size in found} == {"4096"}


def test_sizes_that_theirs_lack_are_shown_as_ours_alone(invoke: Invoke) -> None:
    outcome = invoke(
        *("reproduce", "d2h-overhead", *EMULATED, "--sizes", "4,8"),
        *("--format", "csv"),
    )
    rows = list(csv.DictReader(outcome.out.splitlines()))
    alone = [row for row in rows if row["bytes"] == "8"]
    assert {"blocking", "async", "async / blocking"} <= {row["quantity"] for row in alone}
    assert all(row["ours"] and not row["theirs"] and not row["theirs_low"] for row in alone)


def test_all_of_their_sizes_can_be_measured(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch
) -> None:
    # The real ones take minutes on the emulated device.
    read = read_publication("pinned-vs-pageable")
    small = [one.model_copy(update={"bytes_scale": 1024}) for one in read.series]
    published = read.model_copy(update={"series": small})
    monkeypatch.setattr("isthmus.cli.reproduce.one.read_publication", lambda _name: published)
    monkeypatch.setitem(BY_NAME["pinned-vs-pageable"].__dict__, "sizes", ())
    outcome = invoke(
        *("reproduce", "pinned-vs-pageable", "--sizes", "all", *EMULATED),
        *("--format", "json"),
    )
    [one] = json.loads(outcome.out)["experiments"]
    assert len(one["figures"]) == 76
    assert all(figure["ours"] for figure in one["figures"])


@pytest.mark.parametrize("suffix", ["txt", "md", "json", "csv"])
def test_a_file_s_name_decides_its_format(invoke: Invoke, tmp_path: Path, suffix: str) -> None:
    path = tmp_path / f"page.{suffix}"
    outcome = invoke("reproduce", "gdrcopy", "--from", RECORDED, "-o", str(path))
    assert outcome.code == 0
    begins = {"txt": "isthmus ", "md": "# gdrcopy", "json": "{", "csv": "experiment,"}
    assert path.read_text(encoding="utf-8").startswith(begins[suffix])
    assert outcome.err == f"written: {path}\n"


@pytest.mark.long
def test_theirs_and_ours_are_drawn(invoke: Invoke, tmp_path: Path) -> None:
    pytest.importorskip("vl_convert")
    outcome = invoke(
        "reproduce", "pinned-vs-pageable", "--from", RECORDED, "--plots", str(tmp_path)
    )
    assert outcome.code == 0
    assert {path.suffix for path in tmp_path.iterdir()} == {".svg", ".png", ".html", ".json"}
    drawn = (tmp_path / "pinned-vs-pageable.svg").read_text(encoding="utf-8")
    assert "theirs: 9.36" in drawn
    assert "NVIDIA H100" in drawn


def test_one_report_has_every_experiment_of_a_run(invoke: Invoke, tmp_path: Path) -> None:
    path = tmp_path / "report.md"
    outcome = invoke("reproduce", "all", "--from", RECORDED, "-o", str(path))
    assert outcome.code == 0
    text = path.read_text(encoding="utf-8")
    chapters = [line for line in text.splitlines() if line.startswith("## ")]
    assert chapters == [f"## {name}" for name in NAMES[:-1]]
    assert outcome.out.count("== ") == len(chapters)
    assert text == Path(RECORDED).with_name("reproduced.md").read_text(encoding="utf-8")


def test_the_documentation_shows_what_the_command_prints(invoke: Invoke) -> None:
    page = Path(__file__).parents[2] / "docs" / "reproduce.md"
    printed = invoke("reproduce", "d2h-overhead", "--from", RECORDED).out
    assert printed[printed.index("0bench") :] in page.read_text(encoding="utf-8")


@pytest.mark.long
def test_everything_is_measured_and_then_simulated(
    invoke: Invoke,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    saved_runs: Callable[[], list[Path]],
) -> None:
    only = (BY_NAME["d2h-overhead"],)
    monkeypatch.setattr("isthmus.cli.reproduce.all.EXPERIMENTS", only)
    monkeypatch.setattr("isthmus.sim.paper.studies.PROGRAMS", ("cp",))
    path = tmp_path / "report.md"
    outcome = invoke("reproduce", "all", *EMULATED, "-o", str(path))
    assert outcome.code == 0, outcome.err
    assert outcome.err.splitlines()[0] == (
        "1 experiment: at most 20 s, then partial-page-migration (simulated)"
    )
    text = path.read_text(encoding="utf-8")
    assert "EMULATED GPU" in text
    assert "## partial-page-migration\n\n```text\nmodelled: no number here was measured" in text
    assert len(saved_runs()) == 1


def test_a_quick_report_leaves_the_simulations_out(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    only = (BY_NAME["d2h-overhead"],)
    monkeypatch.setattr("isthmus.cli.reproduce.all.EXPERIMENTS", only)
    path = tmp_path / "report.md"
    outcome = invoke("reproduce", "all", "--quick", *EMULATED, "-o", str(path))
    assert outcome.code == 0, outcome.err
    assert "partial-page-migration" not in outcome.err + path.read_text(encoding="utf-8")


def test_a_failing_measurement_exits_with_1_and_the_others_stand(spawn: Invoke) -> None:
    outcome = spawn(
        *("reproduce", "caffe-break-even", "--quick", "--sizes", "4,1MiB"),
        *("--device", "emulated:vanishing"),
    )
    assert outcome.code == 1, outcome.err
    assert "2300 us" in outcome.out
    assert "the device was lost" in outcome.out
