"""Options of `isthmus bench` that nvbandwidth's users know, and those that judge a run."""

import json
import re
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from isthmus.measure.bench import fresh_process
from isthmus.measure.bench.tests.catalogue import BY_NAME
from isthmus.measure.run.model import Run
from isthmus.show.formats.nvbandwidth_tests import NVBANDWIDTH_TESTS
from program import Invoke, Outcome

_H2D, _D2H = "host_to_device_memcpy_ce", "device_to_host_memcpy_ce"
_PEERS = "host_to_all_memcpy_ce"
EMULATED = ("bench", "--device", "emulated", "-i", "3")
ONE = (*EMULATED, "-t", _H2D, "-b", "1")


def run_of(outcome: Outcome) -> Run:
    assert outcome.code == 0, outcome.err
    return Run.model_validate_json(outcome.out)


def refused(outcome: Outcome, error: str, hint: str) -> None:
    assert outcome.code == 2, outcome.err
    assert outcome.out == ""
    assert error in outcome.err
    assert hint in outcome.err


def test_b_is_one_size_in_mib(invoke: Invoke) -> None:
    run = run_of(invoke(*EMULATED, "-t", _H2D, "-b", "2", "-j"))
    assert [result.bytes for result in run.results if result.test == _H2D] == [2 << 20]


def test_t_takes_names_and_numbers_and_several_after_one(invoke: Invoke) -> None:
    for words in (("0", "1"), (_H2D, _D2H), ("-t", "0", "-t", "1")):
        arguments = words if words[0] == "-t" else ("-t", *words)
        run = run_of(invoke(*EMULATED, *arguments, "-b", "1", "-j"))
        assert run.options.tests == [_H2D, _D2H]


def test_i_takes_exactly_so_many_samples(invoke: Invoke) -> None:
    run = run_of(invoke(*ONE, "-i", "4", "-j"))
    assert {result.n for result in run.results if result.stopped_by} == {4}
    assert run.options.num_samples == 4


def test_s_leaves_copies_uncompared_and_the_run_says_so(invoke: Invoke) -> None:
    assert {r.verified_on for r in run_of(invoke(*ONE, "-j")).results} == {"device"}
    skipped = run_of(invoke(*ONE, "-s", "-j"))
    assert {r.verified_on for r in skipped.results if r.test == _H2D and r.n} == {None}
    assert not skipped.options.verify


def test_v_shows_samples_and_keeps_them(
    invoke: Invoke, saved_runs: Callable[[], list[Path]]
) -> None:
    outcome = invoke(*ONE, "-v", "-i", "3")
    assert re.search(rf"^{_H2D} .* GB/s, .* GB/s, .* GB/s .* 3$", outcome.out, re.MULTILINE)
    kept = Run.model_validate_json(saved_runs()[-1].read_bytes())
    assert all(len(result.samples or []) == 3 for result in kept.results if result.stopped_by)


def test_j_is_our_json_and_nvbandwidth_s_with_its_format(invoke: Invoke) -> None:
    assert json.loads(invoke(*ONE, "-j").out)["schema_version"] == 1
    document = json.loads(invoke(*ONE, "-j", "--format", "nvbandwidth").out)
    (case,) = document["nvbandwidth"]["testcases"]
    assert (case["name"], case["status"]) == (_H2D, "Passed")
    assert float(case["bandwidth_matrix"][0][0]) == pytest.approx(case["sum"], rel=1e-4)


@pytest.mark.long
def test_nvbandwidth_s_format_runs_its_tests_and_prints_their_sums(invoke: Invoke) -> None:
    outcome = invoke(*EMULATED, "-b", "1", "--format", "nvbandwidth", "-i", "1")
    assert outcome.code == 0, outcome.err
    shared = [test for test in NVBANDWIDTH_TESTS if test in BY_NAME]
    assert re.findall(r"^Running (\w+)\.$", outcome.out, re.MULTILINE) == shared
    assert {_H2D, _D2H} <= set(re.findall(r"^SUM (\w+) [\d.]+$", outcome.out, re.MULTILINE))


def test_nvbandwidth_s_list_has_its_numbers(invoke: Invoke) -> None:
    outcome = invoke("bench", "-l", "--format", "nvbandwidth")
    assert f"0, {_H2D}:\n\t" in outcome.out
    assert "window_write" not in outcome.out


def test_gdrcopy_s_format_runs_windows(invoke: Invoke) -> None:
    outcome = invoke(*EMULATED, "--sizes", "4,64", "--format", "gdrcopy")
    assert outcome.code == 0, outcome.err
    rows = re.findall(
        r"^(gdr_copy_\w+) \t +(\d+) \t +[\d.]+ \t +[\d.]+$", outcome.out, re.MULTILINE
    )
    assert rows == [
        (name, size)
        for name in ("gdr_copy_to_mapping", "gdr_copy_from_mapping")
        for size in ("4", "64")
    ]


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        ("-b 1 --sizes 4", "-b and --sizes", "leave one out"),
        ("-b 0", "-b 0 is not a size", "-b 512"),
        ("-b -1", "-b -1 is not a size", "-b 512"),
        ("-i 0", "-i 0: no samples", "-i 3"),
        ("-i 1000000000000000000000", "more than are allowed", "give 1 to 1000000: -i 3"),
        ("-t 99", "no test has the number 99", "0 to 33"),
        ("-t 99999999999999999999", "no test has the number", "0 to 33"),
        ("-j --format csv", "-j with --format csv", "leave one of them out"),
        ("-j --format gdrcopy", "-j with --format gdrcopy", "leave one of them out"),
        ("-t *_memcpy_ce --format gdrcopy", "has no table for any of these", "window_write"),
        ("-t window_push --format gdrcopy", "has no table for any of these", "window_write"),
        ("--compare /no/such/run", "there is no run '/no/such/run'", "--output run.json"),
        ("--compare last", "there is no run 'last'", "--output run.json"),
        ("--tolerance 5%", "--tolerance is for --compare", "--compare last"),
        ("--expect=H200", "the values of H200 are a real device's", "choose a GPU"),
        ("0", "no suite is named '0'", "by --device 0"),
        ("--expect=nothing", "can't read nothing", "isthmus runs expect"),
        ("--expect=shipped", "the emulated device's numbers are modelled", "choose a GPU"),
    ],
)
def test_what_makes_no_sense_is_refused_before_anything_runs(
    invoke: Invoke,
    saved_runs: Callable[[], list[Path]],
    arguments: str,
    error: str,
    hint: str,
) -> None:
    refused(invoke(*EMULATED, *arguments.split()), error, hint)
    assert saved_runs() == []


@pytest.mark.parametrize("tolerance", ["5", "100%", "1", "five", "-5%", "nan", "", "5%%"])
def test_a_tolerance_that_is_none_is_refused(invoke: Invoke, tolerance: str) -> None:
    invoke(*ONE)
    outcome = invoke(*ONE, "--compare", "last", f"--tolerance={tolerance}")
    refused(outcome, "toleran", "5%")


def changed(source: Path, target: Path, edit: Callable[[dict[str, Any]], None]) -> str:
    document = json.loads(source.read_text("utf-8"))
    edit(document)
    target.write_text(json.dumps(document), encoding="utf-8")
    return str(target)


def faster(document: dict[str, Any]) -> None:
    """As if the earlier run had been ten times faster."""
    for result in document["results"]:
        if result["unit"] == "B/s":
            result.update(median=result["median"] * 10, iqr=0)


def test_a_run_that_is_slower_than_before_exits_with_3_and_says_what(
    invoke: Invoke, saved_runs: Callable[[], list[Path]], tmp_path: Path
) -> None:
    invoke(*ONE)
    before = changed(saved_runs()[-1], tmp_path / "before.json", faster)
    outcome = invoke(*ONE, "--compare", before)
    assert outcome.code == 3, outcome.err
    assert "Bandwidth, GB/s" in outcome.out
    assert re.search(rf"^{_H2D} +bandwidth .* slower +-\d\d\.\d %$", outcome.out, re.MULTILINE)
    assert "slower; 1 family: 1 slower, 0 can't tell, 0 faster, 0 same" in outcome.out


def test_a_run_is_held_against_values_that_another_one_has_left(
    invoke: Invoke, saved_runs: Callable[[], list[Path]], tmp_path: Path
) -> None:
    invoke(*ONE)
    for edit, code, said in ((lambda _: None, 0, "as expected|better"), (faster, 3, "short")):
        before = changed(saved_runs()[-1], tmp_path / "before.json", edit)
        file = tmp_path / "site.toml"
        # Other work slows the emulated device down: what is measured again may be half as fast.
        text = invoke("runs", "expect", before).out
        file.write_text(re.sub("tolerance = .*", "tolerance = 0.6", text))
        outcome = invoke(*ONE, "--expect", str(file), "--no-save")
        assert outcome.code == code, outcome.err
        assert re.search(rf"^{_H2D} +bandwidth .*({said})", outcome.out, re.MULTILINE)


def test_beside_data_the_comparison_is_said_on_stderr(
    invoke: Invoke, saved_runs: Callable[[], list[Path]], tmp_path: Path
) -> None:
    invoke(*ONE)
    before = changed(saved_runs()[-1], tmp_path / "before.json", faster)
    outcome = invoke(*ONE, "--compare", before, "-j")
    assert outcome.code == 3
    assert Run.model_validate_json(outcome.out).machine.emulated
    assert "1 slower" in outcome.err


def test_a_run_like_the_last_one_exits_with_0(invoke: Invoke) -> None:
    invoke(*ONE)
    outcome = invoke(*ONE, "--compare", "last", "--tolerance", "99%")
    assert outcome.code == 0, outcome.out
    assert "same; 1 family: 0 slower, 0 can't tell, 0 faster, 1 same" in outcome.out


def other_profile(document: dict[str, Any]) -> None:
    document["machine"]["profile"] = "another"


def measured(document: dict[str, Any]) -> None:
    document["machine"].update(emulated=False, profile=None)


def test_a_run_of_another_machine_is_refused(
    invoke: Invoke, saved_runs: Callable[[], list[Path]], tmp_path: Path
) -> None:
    invoke(*ONE)
    before = changed(saved_runs()[-1], tmp_path / "before.json", other_profile)
    outcome = invoke(*ONE, "--compare", before)
    other = "is of another machine: emulated, another, and this is emulated"
    refused(outcome, other, "isthmus compare RUN last")
    invoke(*ONE)
    outcome = invoke("compare", before, "last", "--tolerance", "99%")
    assert "What differs between the runs" in outcome.out
    assert "another" in outcome.out


def test_a_measured_run_is_never_compared_with_a_modelled_one(
    invoke: Invoke, saved_runs: Callable[[], list[Path]], tmp_path: Path
) -> None:
    invoke(*ONE)
    before = changed(saved_runs()[-1], tmp_path / "before.json", measured)
    outcome = invoke(*ONE, "--compare", before)
    refused(outcome, "modelled numbers are never compared", "runs of the same kind")


@pytest.mark.long
def test_plots_are_written_into_a_folder_that_is_made(invoke: Invoke, tmp_path: Path) -> None:
    folder = tmp_path / "new" / "plots"
    outcome = invoke(*EMULATED, "-t", _H2D, "--sizes", "4,64,4096", "--plots", str(folder))
    assert outcome.code == 0, outcome.err
    assert {path.name for path in folder.iterdir()} >= {"bandwidth.svg", "bandwidth.png"}
    assert "EMULATED" in (folder / "bandwidth.svg").read_text("utf-8")


def test_a_folder_of_plots_that_cannot_be_made_is_refused_before_anything_runs(
    invoke: Invoke, saved_runs: Callable[[], list[Path]], tmp_path: Path
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    outcome = invoke(*ONE, "--plots", str(blocked / "plots"))
    assert (outcome.code, outcome.out) == (1, "")
    assert "error: --plots" in outcome.err
    assert saved_runs() == []


def test_no_copy_is_larger_than_what_max_bytes_allows(invoke: Invoke) -> None:
    run = run_of(invoke(*EMULATED, "-t", "host_to_device_memcpy*", "--max-bytes", "64KiB", "-j"))
    assert run.options.max_bytes == 64 << 10
    assert {result.bytes for result in run.results if result.stopped_by} <= set(range(65537))
    outcome = invoke(*EMULATED, "-t", _H2D, "-b", "1", "--max-bytes", "64KiB")
    refused(outcome, "size 1 MiB is larger than", "64KiB")


def test_sizes_of_blocks_are_those_of_each_of_a_thousand(invoke: Invoke) -> None:
    asked = ("bench", "blocks", *EMULATED[1:], "--quick", "-i", "1", "--sizes")
    outcome = invoke(*asked, "8,512,1GiB", "-j")
    assert {result.bytes for result in run_of(outcome).results} == {512_000}
    assert "no blocks of 8 B, 1 GiB: a block has whole 16 bytes" in outcome.err
    refused(invoke(*asked, "8"), "whole 16 bytes", "--sizes 4KiB,64KiB")


def test_repeat_measures_in_fresh_processes_and_keeps_what_each_has_found(invoke: Invoke) -> None:
    outcome = invoke(*ONE, "--repeat", "2", "-j")
    assert outcome.code == 0, outcome.err
    run = run_of(outcome)
    assert run.options.repeat == 2
    (result,) = [r for r in run.results if r.stopped_by]
    assert len(result.repeats or ()) == 2
    assert result.drift is not None
    assert "measuring 1 point in 2 fresh processes" in outcome.err


def test_a_process_that_is_killed_costs_its_own_results_and_is_no_interruption(
    invoke: Invoke, monkeypatch: pytest.MonkeyPatch, saved_runs: Callable[[], list[Path]]
) -> None:
    start, started = fresh_process._started, list[subprocess.Popen[bytes]]()

    def start_and_kill_the_third(connection: int) -> subprocess.Popen[bytes]:
        started.append(start(connection))
        if len(started) == 3:
            started[-1].kill()
        return started[-1]

    monkeypatch.setattr(fresh_process, "_started", start_and_kill_the_third)
    outcome = invoke(*ONE, "--repeat", "3", "-j")
    assert outcome.code == 1
    said = " ".join(outcome.err.split())
    assert "warning: process 3 of 3: the measuring process was ended by SIGKILL and left no" in said
    assert "results; the others are kept" in said
    run = Run.model_validate_json(outcome.out)
    (result,) = [r for r in run.results if r.stopped_by]
    assert len(result.repeats or ()) == 2
    (kept,) = saved_runs()
    assert kept.suffix == ".json"
    (listed,) = json.loads(invoke("runs", "list", "--format", "json").out)
    assert listed["state"] == "interrupted"


def test_a_run_with_repeats_is_compared_with_its_measured_drift(
    invoke: Invoke, saved_runs: Callable[[], list[Path]]
) -> None:
    invoke(*ONE, "--repeat", "2")
    (kept,) = saved_runs()
    outcome = invoke("compare", str(kept), str(kept))
    assert outcome.code == 0, outcome.out
    assert "no repeats" not in outcome.out


@pytest.mark.parametrize("number", ["0", "-1"])
def test_a_number_of_processes_that_is_none_is_refused(invoke: Invoke, number: str) -> None:
    refused(invoke(*ONE, f"--repeat={number}"), "no processes to take", "--repeat 3")


@pytest.mark.long
def test_plots_say_which_suite_has_no_picture_and_why(invoke: Invoke, tmp_path: Path) -> None:
    outcome = invoke(*EMULATED, "-t", f"{_H2D},{_PEERS}", "-b", "1", "--plots", str(tmp_path))
    assert outcome.code == 0, outcome.err
    assert (
        "not drawn: multi: no picture, everything was waived: needs two or more GPUs" in outcome.err
    )
    assert "drawn: 1 picture (4 files)" in outcome.err
