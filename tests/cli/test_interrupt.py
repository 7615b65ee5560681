"""Ctrl-C, sent to a process of its own. No test sleeps: they wait for what the process says."""

import json
import os
import pty
import signal
import subprocess
from pathlib import Path

import pytest

from isthmus.measure.run.reading import read_run, read_run_file
from program import NO_GPU, PROGRAM

COMMON = ("bench", "--device", "emulated", "-t", "host_to_device_memcpy_ce", "--format", "json")
# Many points of some tenths of a second; and one short point before two of seconds.
MANY_POINTS = (*COMMON, "--sizes", "4..256MiB", "--budget", "600")
LONG_POINTS = (*COMMON, "--sizes", "4,512MiB,1GiB", "--budget", "600")


def start(arguments: tuple[str, ...]) -> subprocess.Popen[str]:
    return subprocess.Popen(
        [*PROGRAM, *arguments],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | NO_GPU,
    )


def wait_for(process: subprocess.Popen[str], text: str) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if text in line:
            return
    raise AssertionError(f"the process ended without saying {text!r}")


@pytest.mark.long
def test_ctrl_c_stops_after_the_current_point_and_keeps_what_is_finished(
    own_environment: Path,
) -> None:
    with start(MANY_POINTS) as process:
        wait_for(process, "host_to_device_memcpy_ce 4 B: ")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "not kept" not in err
    document = json.loads(out)
    assert document["run"]["interrupted"] is True
    assert 1 <= len(document["results"]) < 27
    assert all(result["status"] == "passed" for result in document["results"])
    (saved,) = (own_environment / "data/isthmus/runs").iterdir()
    assert read_run_file(saved).run.interrupted


@pytest.mark.long
def test_a_second_ctrl_c_stops_at_once_and_the_finished_points_are_kept(
    own_environment: Path,
) -> None:
    with start(LONG_POINTS) as process:
        wait_for(process, "host_to_device_memcpy_ce 4 B: ")
        process.send_signal(signal.SIGINT)
        wait_for(process, "Ctrl-C again stops at once")
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=60)
    assert process.returncode == 130
    assert "stopping at once" in err
    assert out == ""
    (journal,) = (own_environment / "data/isthmus/runs").iterdir()
    kept = read_run(str(journal))
    assert kept.run.interrupted
    assert [result.bytes for result in kept.results] == [4]


@pytest.mark.long
def test_a_second_ctrl_c_on_a_terminal_brings_the_cursor_back() -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*PROGRAM, *LONG_POINTS],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env=os.environ | NO_GPU | {"TERM": "xterm"},
    ) as process:
        os.close(theirs)
        # The bar is redrawn ten times a second, and this point takes longer.
        shown = read_until(ours, b"512 MiB")
        assert b"\x1b[?25l" in shown
        process.send_signal(signal.SIGINT)
        read_until(ours, b"again stops at once")
        process.send_signal(signal.SIGINT)
        rest = read_until(ours, None)
    assert process.returncode == 130
    assert rest.rfind(b"\x1b[?25h") > rest.rfind(b"\x1b[?25l")


def read_until(descriptor: int, text: bytes | None) -> bytes:
    """Read a terminal up to a text, or to its end, which it announces with an error."""
    shown = b""
    try:
        while text is None or text not in shown:
            chunk = os.read(descriptor, 65536)
            if not chunk:
                break
            shown += chunk
    except OSError:
        assert text is None, shown
    return shown
