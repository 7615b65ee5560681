"""Ctrl-C, sent to a process of its own. No test sleeps: they wait for what the process says."""

import json
import os
import pty
import signal
import subprocess
from collections.abc import Iterator
from pathlib import Path

import pytest

from isthmus.run.store import load_run
from program import NO_GPU, PROGRAM

# Long enough that it can only end by being stopped.
LONG = (
    "bench", "--device", "emulated", "--sizes", "4..256MiB", "--budget", "600",
    "-t", "host_to_device_memcpy_ce", "--format", "json",
)  # fmt: skip


@pytest.fixture
def process() -> Iterator[subprocess.Popen[str]]:
    with subprocess.Popen(
        [*PROGRAM, *LONG],
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env=os.environ | NO_GPU,
    ) as started:
        yield started
        started.kill()


def wait_for(process: subprocess.Popen[str], text: str) -> None:
    assert process.stderr is not None
    for line in process.stderr:
        if text in line:
            return
    raise AssertionError(f"the process ended without saying {text!r}")


def test_ctrl_c_stops_after_the_current_point_and_keeps_what_is_finished(
    process: subprocess.Popen[str], own_environment: Path
) -> None:
    wait_for(process, "host_to_device_memcpy_ce 4 B: ")
    process.send_signal(signal.SIGINT)
    out, _ = process.communicate(timeout=60)
    assert process.returncode == 1
    document = json.loads(out)
    assert document["run"]["interrupted"] is True
    assert 1 <= len(document["results"]) < 27
    assert all(result["status"] == "passed" for result in document["results"])
    (saved,) = (own_environment / "data/isthmus/runs").iterdir()
    assert load_run(saved).run.interrupted


def test_a_second_ctrl_c_stops_at_once_and_keeps_nothing(
    process: subprocess.Popen[str], own_environment: Path
) -> None:
    wait_for(process, "host_to_device_memcpy_ce 2 MiB: ")
    process.send_signal(signal.SIGINT)
    wait_for(process, "Ctrl-C again stops at once")
    process.send_signal(signal.SIGINT)
    out, err = process.communicate(timeout=60)
    assert process.returncode == 1
    if "stopping at once" in err:
        assert out == ""
        assert not (own_environment / "data/isthmus/runs").exists()


def test_a_second_ctrl_c_on_a_terminal_brings_the_cursor_back() -> None:
    ours, theirs = pty.openpty()
    with subprocess.Popen(
        [*PROGRAM, *LONG],
        stdout=subprocess.DEVNULL,
        stderr=theirs,
        env=os.environ | NO_GPU | {"TERM": "xterm"},
    ) as process:
        os.close(theirs)
        shown = read_until(ours, b"host_to_device_memcpy_ce 4 MiB")
        assert b"\x1b[?25l" in shown
        process.send_signal(signal.SIGINT)
        read_until(ours, b"again stops at once")
        process.send_signal(signal.SIGINT)
        rest = read_until(ours, None)
    assert process.returncode == 1
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
