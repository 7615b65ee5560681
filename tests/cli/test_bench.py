"""`isthmus bench` on the emulated device."""

import csv
import ctypes
import fcntl
import io
import json
import os
import pty
import re
import struct
import subprocess
import termios
from collections.abc import Callable
from pathlib import Path

import pytest

from fakes.link_rates import bytes_per_s, too_fast
from isthmus.measure.bench.plan import select_tests
from isthmus.measure.run.model import Run, Status
from isthmus.measure.run.reading import read_run_file
from program import NO_GPU, PROGRAM, Invoke, Shell, run_process

QUICK = ("bench", "--device", "emulated", "--sizes", "4,64KiB", "-i", "3")
ONE = (*QUICK, "-t", "host_to_device_memcpy_ce")


@pytest.mark.long
def test_every_test_passes_on_the_emulated_device_and_the_tables_say_that_numbers_are_modelled(
    invoke: Invoke, saved_runs: Callable[[], list[Path]]
) -> None:
    asked = (*QUICK, "--managed")
    outcome = invoke(*asked)
    assert outcome.code == 0, outcome.err
    assert outcome.out.startswith("EMULATED GPU (profile small")
    beginnings = ("Bandwidth", "Small", "Window ", "Round trip")
    titles = [line for line in outcome.out.splitlines() if line.startswith(beginnings)]
    assert len(titles) >= 7
    assert all("EMULATED" in title for title in titles)
    (run,) = (read_run_file(path) for path in saved_runs())
    assert {result.status for result in run.results} <= {Status.PASSED, Status.WAIVED}
    # One GPU is none among several; up to the machine are whether pinning pays at all, and whether
    # half a pipeline is held up by others. What suite latency waives is in test_bench_latency.
    elsewhere = {"multi", "latency", "alloc", "overlap"}
    waived = {
        (r.test, r.metric)
        for r in run.results
        if r.status == Status.WAIVED and r.suite not in elsewhere
    }
    windows = {(r.test, r.metric) for r in run.results if r.cpu_node == "far"}
    unseen = ("device_to_host_managed_demand", "bandwidth")
    assert waived <= {("window_lifecycle", "unpin"), unseen, *windows}
    assert {result.test for result in run.results} == {test.name for test in select_tests()}
    crossed = {result.test for result in run.results if bytes_per_s(result) is not None}
    assert {"host_to_device_memcpy_sm", "window_bandwidth_write", "window_read"} <= crossed
    assert too_fast(run) == []
    assert run.machine.windows is not None
    assert run.machine.windows.backend == "dmabuf"
    assert run.machine.emulated
    assert run.machine.profile == "small"
    assert run.machine.link.generation is None
    assert run.run.command == ["isthmus", *asked]


def test_windows_are_measured_beside_cudas_copies_with_crossovers(invoke: Invoke) -> None:
    outcome = invoke(*QUICK, "-t", "window*", "--format", "json")
    assert outcome.code == 0, outcome.err
    run = Run.model_validate_json(outcome.out)
    passed = {(r.test, r.metric, r.cpu_cache) for r in run.results if r.status == Status.PASSED}
    for test, metric in (("window_write", "fenced"), ("window_read", "complete")):
        for cache in ("warm", "cold"):
            assert {
                (test, metric, cache),
                (test, "memcpy_pinned", cache),
                (test, "memcpy_pageable", cache),
                (test, "crossover_pinned", cache),
                (test, "crossover_pageable", cache),
            } <= passed
    assert ("window_write", "posted", "warm") in passed
    assert ("window_push", "asked", "warm") in passed
    assert ("window_read", "crossover_push", "warm") in passed


def test_the_life_of_a_window_has_every_step_but_those_its_backend_does_not_take(
    invoke: Invoke,
) -> None:
    outcome = invoke(*QUICK, "-t", "window_lifecycle", "--format", "json")
    assert outcome.code == 0, outcome.err
    results = Run.model_validate_json(outcome.out).results
    named = {result.metric: result for result in results if result.bytes == 2 << 20}
    steps = ["open_new", "pin", "map", "first_store", "first_load", "open_cached"]
    assert list(named) == [*steps, "close", "unmap", "unpin", "memcpy_4_bytes"]
    unpin = named.pop("unpin")
    assert (unpin.status, unpin.median) == (Status.WAIVED, None)
    assert "no separate unpin step" in (unpin.reason or "")
    assert {(r.status, r.unit, r.clock) for r in named.values()} == {(Status.PASSED, "s", "host")}
    times = {metric: result.min or 0 for metric, result in named.items()}
    assert min(times.values()) > 0
    assert times["pin"] + times["map"] <= times["open_new"]
    assert times["unmap"] <= times["close"]


def test_windows_that_are_off_are_waived_with_the_reason_and_fail_nothing(spawn: Invoke) -> None:
    outcome = spawn(*QUICK, "-t", "window*", "--format", "json", ISTHMUS_WINDOW="off")
    assert outcome.code == 0, outcome.err
    run = Run.model_validate_json(outcome.out)
    passed = {(r.test, r.metric) for r in run.results if r.status == Status.PASSED}
    assert passed == {("window_push", "launched")}
    assert all(r.reason and "off" in r.reason for r in run.results if r.status == Status.WAIVED)
    assert run.machine.windows is None


def test_a_window_setting_that_makes_no_sense_is_a_usage_error_before_anything_runs(
    spawn: Invoke,
) -> None:
    outcome = spawn(*QUICK, "-t", "window*", ISTHMUS_WINDOW="nonsense")
    assert outcome.code == 2
    assert outcome.out == ""
    assert "ISTHMUS_WINDOW is 'nonsense'" in outcome.err


def test_without_a_gpu_the_first_line_of_both_streams_says_why_it_is_emulated(
    spawn: Invoke,
) -> None:
    outcome = spawn("bench", "--sizes", "4", "-i", "3", "-t", "host_to_device_memcpy_ce")
    assert outcome.code == 0, outcome.err
    # Sentences may be wrapped.
    talk, data = " ".join(outcome.err.split()), " ".join(outcome.out.split())
    assert talk.startswith("no GPU to measure: ")
    assert "simulated" in talk[: talk.index("measuring 1 point")]
    assert data.startswith("EMULATED GPU")
    assert "no GPU to measure: " in data[: data.index("isthmus 0")]


def test_talk_is_on_stderr_one_line_a_point_and_data_alone_on_stdout(invoke: Invoke) -> None:
    outcome = invoke(*ONE, "--format", "csv")
    rows = list(csv.DictReader(io.StringIO(outcome.out)))
    assert [row["bytes"] for row in rows] == ["4", "65536"]
    points = [line for line in outcome.err.splitlines() if line.startswith("[")]
    assert re.match(r"\[1/2\] +\d+ s  host_to_device_memcpy_ce 4 B: ", points[0])
    assert points[1].endswith(" GB/s")
    assert outcome.err.splitlines()[-1].startswith("run saved: ")


def on_a_terminal(*arguments: str) -> list[str]:
    """Give the lines that a terminal of 80 columns shows on stdout."""
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 80, 0, 0))
    settings = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    command = [*PROGRAM, *arguments]
    with subprocess.Popen(command, stdout=theirs, stderr=subprocess.DEVNULL, env=settings):
        os.close(theirs)
        shown = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", read_all(ours)).splitlines()
    assert max(map(len, shown)) <= 80
    assert shown[-1].startswith("next    `isthmus report ")
    return shown


def test_a_quick_run_prints_at_most_60_lines_at_80_columns() -> None:
    assert 40 < len(on_a_terminal("bench", "--quick", "-i", "2", "-d", "emulated")) <= 60


def test_a_terminal_shows_the_verdict_alone_if_a_file_has_the_tables(tmp_path: Path) -> None:
    path = str(tmp_path / "run.json")
    assert "Bandwidth, GB/s" not in " ".join(shown := on_a_terminal(*ONE, "-o", path))
    assert len(shown) < 15
    assert "Bandwidth, GB/s" in " ".join(on_a_terminal(*ONE, "-o", path, "-v"))


def test_raw_samples_come_on_request(invoke: Invoke) -> None:
    for result in json.loads(invoke(*ONE, "--format", "json", "-v").out)["results"]:
        assert len(result["samples"]) == result["n"]


@pytest.mark.parametrize(
    ("name", "beginning"),
    [("run.json", "{"), ("run.csv", "emulated,test"), ("run.txt", "EMULATED"), ("run", "EMULATED")],
)
def test_a_file_is_written_beside_what_is_printed(
    invoke: Invoke, tmp_path: Path, name: str, beginning: str
) -> None:
    outcome = invoke(*ONE, "--output", str(tmp_path / name))
    assert outcome.code == 0
    assert outcome.out.startswith("EMULATED")
    assert (tmp_path / name).read_text().startswith(beginning)


def test_a_driver_that_fails_in_the_middle_costs_one_result_and_the_rest_still_run(
    invoke: Invoke, emulator: ctypes.CDLL, saved_runs: Callable[[], list[Path]]
) -> None:
    emulator.isthmus_emulator_fail_call(b"cuMemcpyHtoDAsync", 1, 719)
    outcome = invoke(*ONE, "-t", "device_to_host_memcpy_ce", "--format", "json")
    assert outcome.code == 1
    first, *others = json.loads(outcome.out)["results"]
    assert (first["status"], first["error"]["code"]) == ("error", 719)
    assert first["error"]["code_name"] == "CUDA_ERROR_LAUNCH_FAILED"
    assert first["error"]["symbol"].startswith("cuMemcpyHtoDAsync")
    assert len(others) == 3
    (saved,) = saved_runs()
    assert read_run_file(saved) == Run.model_validate_json(outcome.out)


def test_an_error_that_does_not_kill_the_device_leaves_the_other_points_alone(
    invoke: Invoke, emulator: ctypes.CDLL
) -> None:
    emulator.isthmus_emulator_fail_call(b"cuMemcpyHtoDAsync", 1, 999)
    outcome = invoke(*ONE)
    assert outcome.code == 1
    assert "error: host_to_device_memcpy_ce bandwidth, 4 B: " in outcome.out
    assert "CUDA_ERROR_UNKNOWN" in outcome.out
    assert re.search(r"\[2/2\] +\d+ s  host_to_device_memcpy_ce 64 KiB: ", outcome.err)
    assert "GB/s" in outcome.err.splitlines()[-2]


def test_kernels_that_do_not_load_leave_the_verifying_to_the_host(
    invoke: Invoke, emulator: ctypes.CDLL
) -> None:
    emulator.isthmus_emulator_fail_call(b"cuModuleLoadData", 1, 222)
    outcome = invoke(*ONE, "-t", "host_to_device_small_copy_async", "--format", "json")
    assert outcome.code == 0, outcome.err
    document = json.loads(outcome.out)
    assert {result["verified_on"] for result in document["results"]} == {"host"}
    waived = [result for result in document["results"] if result["status"] == "waived"]
    assert {result["metric"] for result in waived} == {"visible"}
    assert any(note.startswith("no kernels: ") for note in document["machine"]["notes"])


def test_memory_that_runs_out_is_an_error_of_those_who_need_it(
    invoke: Invoke, emulator: ctypes.CDLL
) -> None:
    emulator.isthmus_emulator_fail_call(b"cuMemAlloc", 1, 2)
    outcome = invoke(*ONE, "-t", "host_to_device_memcpy_pageable", "--format", "json")
    assert outcome.code == 1
    results = json.loads(outcome.out)["results"]
    assert [result["status"] for result in results] == ["error", "error", "passed", "passed"]


def test_on_a_full_disk_the_results_are_still_printed_and_the_old_file_stays(
    tmp_path: Path,
) -> None:
    path = tmp_path / "run.json"
    path.write_text("old")
    limited = (
        "import resource, signal, sys; signal.signal(signal.SIGXFSZ, signal.SIG_IGN); "
        "resource.setrlimit(resource.RLIMIT_FSIZE, (256, 256)); "
        "from isthmus.cli.app import main; sys.exit(main())"
    )
    done = run_process([PROGRAM[0], "-B", "-c", limited, *ONE, "--output", str(path)])
    assert done.code == 1
    assert "Bandwidth, GB/s" in done.out
    assert f"error: can't write {path}: File too large" in done.err
    assert done.err.count("error: can't write") == 1
    assert "warning: this run" in done.err
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_a_data_folder_that_cannot_be_written_costs_nothing_but_the_kept_run(
    spawn: Invoke, tmp_path: Path
) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    outcome = spawn(*ONE, XDG_DATA_HOME=str(blocked))
    assert outcome.code == 0
    assert "Bandwidth, GB/s" in outcome.out
    assert "error: " not in outcome.err
    warning = outcome.err.index("warning: this run will not be kept: can't write")
    assert warning < outcome.err.index("[1/2]")


def test_a_reader_that_leaves_early_is_no_failure(own_environment: Path) -> None:
    process = subprocess.Popen(
        [*PROGRAM, *ONE], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    process.stdout.close()
    assert process.stderr is not None
    talk = process.stderr.read()
    process.stderr.close()
    assert process.wait(timeout=60) == 0, talk
    assert "Broken pipe" not in talk
    assert list((own_environment / "data/isthmus/runs").iterdir())


@pytest.mark.parametrize("redirection", [">/dev/full", pytest.param(">&-", marks=pytest.mark.long)])
def test_a_stdout_that_takes_nothing_costs_the_exit_code_not_the_run(
    shell: Shell, saved_runs: Callable[[], list[Path]], redirection: str
) -> None:
    outcome = shell(redirection, *ONE)
    assert outcome.code == 1, outcome.err
    assert "error: can't print: stdout" in outcome.err
    assert "Exception ignored" not in outcome.err
    (saved,) = saved_runs()
    assert not read_run_file(saved).failed


@pytest.mark.parametrize(
    "redirection", ["2>/dev/full", pytest.param("2>&-", marks=pytest.mark.long)]
)
def test_a_stderr_that_takes_nothing_costs_nothing_and_stdout_stays_clean(
    shell: Shell, saved_runs: Callable[[], list[Path]], redirection: str
) -> None:
    outcome = shell(redirection, *ONE, "--format", "json")
    assert outcome.code == 0
    assert [read_run_file(path) for path in saved_runs()] == [Run.model_validate_json(outcome.out)]


def test_a_listener_to_the_talk_that_leaves_early_is_no_failure() -> None:
    process = subprocess.Popen(
        [*PROGRAM, *ONE, "--format", "json"],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stderr is not None
    process.stderr.close()
    data = process.stdout.read()
    process.stdout.close()
    assert process.wait(timeout=60) == 0
    assert not Run.model_validate_json(data).failed


def test_a_run_can_be_written_to_stdout_by_name(spawn: Invoke) -> None:
    outcome = spawn(*ONE, "--format", "csv", "--output", "/dev/stdout")
    assert outcome.code == 0, outcome.err
    assert outcome.out.count("emulated,test,") == 2


def test_a_dash_is_no_file_and_refused_before_anything_is_measured(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    outcome = invoke(*ONE, "--output", "-")
    assert (outcome.code, outcome.out) == (2, "")
    assert "error: --output - names no file" in outcome.err
    assert "hint: name a file, or /dev/stdout" in outcome.err
    assert list(tmp_path.iterdir()) == []


def test_a_file_that_cannot_be_written_is_refused_before_anything_is_measured(
    spawn: Invoke, saved_runs: Callable[[], list[Path]]
) -> None:
    outcome = spawn(*ONE, "--output", "/proc/run.json")
    assert (outcome.code, outcome.out) == (1, "")
    assert "error: can't write /proc/run.json" in outcome.err
    assert "[1/2]" not in outcome.err
    assert saved_runs() == []


def test_a_user_without_a_home_gets_results_and_a_warning_at_the_start(
    monkeypatch: pytest.MonkeyPatch, invoke: Invoke
) -> None:
    def no_home() -> Path:
        raise RuntimeError("Could not determine home directory.")

    monkeypatch.delenv("XDG_DATA_HOME")
    monkeypatch.delenv("XDG_CACHE_HOME")
    monkeypatch.setattr(Path, "home", no_home)
    outcome = invoke(*ONE)
    assert outcome.code == 0
    assert "Bandwidth, GB/s" in outcome.out
    assert "warning: this run will not be kept: no place for the run" in outcome.err
    assert "hint: set XDG_DATA_HOME" in outcome.err


def test_on_a_terminal_there_is_a_progress_bar_and_everything_fits_its_width() -> None:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 60, 0, 0))
    without_columns = {name: value for name, value in os.environ.items() if name != "COLUMNS"}
    with subprocess.Popen(
        [*PROGRAM, *ONE],
        stdout=theirs,
        stderr=theirs,
        env=without_columns | NO_GPU | {"TERM": "xterm"},
    ) as process:
        os.close(theirs)
        shown = read_all(ours)
    assert process.returncode == 0
    assert "\x1b[" in shown
    assert "\u2501" in shown
    assert "[1/2]" not in shown
    plain = re.sub(r"\x1b\[[0-9;?]*[A-Za-z]", "", shown)
    report = plain[plain.rindex("EMULATED GPU (profile small)") :].splitlines()
    assert len(report) > 12
    assert max(map(len, report)) <= 60


def read_all(descriptor: int) -> str:
    """Read a terminal to its end, which it announces with an error."""
    chunks = []
    try:
        while chunk := os.read(descriptor, 65536):
            chunks.append(chunk)
    except OSError:
        pass
    os.close(descriptor)
    return b"".join(chunks).decode()
