import json
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from pydantic import ValidationError

import isthmus
from isthmus.fleet import worker
from isthmus.fleet.answering import answer
from isthmus.fleet.task import Answers, Introduction, Outcome, Task
from isthmus.measure.run.model import Run

ONE = Task(
    suites=[],
    tests=["host_to_device_memcpy_ce"],
    sizes="4",
    devices=["emulated"],
    timeout_s=120,
)


def answers(task: Task) -> Answers:
    return Answers.model_validate_json(worker.measure(task.model_dump_json()))


def test_a_node_says_who_it_is() -> None:
    found = Introduction.model_validate_json(worker.introduce(""))
    assert found.isthmus_version == isthmus.__version__


def test_a_task_becomes_a_command_that_measures_and_keeps_nothing() -> None:
    task = ONE.model_copy(update={"suites": ["latency"], "budget_s": 2.5})
    assert worker.arguments_of(task, "1") == [
        *("bench", "latency", "-t", "host_to_device_memcpy_ce", "--quick", "--sizes", "4"),
        *("--budget", "2.5", "--device", "1", "--no-save", "--format", "json"),
    ]


@pytest.mark.parametrize(
    "change",
    [
        {"tests": ["--output=/etc/passwd"]},
        {"suites": ["-o", "x"]},
        {"devices": ["-o"]},
        {"sizes": "--plots"},
        {"tests": ["a b"]},
        {"tests": ["a;reboot"]},
        {"tests": ["a\nb"]},
        {"command": ["reboot"]},
        {"timeout_s": 0},
    ],
)
def test_what_is_no_measurement_is_refused(change: dict[str, object]) -> None:
    text = json.dumps(json.loads(ONE.model_dump_json()) | change)
    with pytest.raises(ValidationError):
        worker.measure(text)


@pytest.mark.long
@pytest.mark.native
def test_a_measurement_gives_the_run_and_a_missing_device_its_reason() -> None:
    found = answers(ONE.model_copy(update={"devices": ["emulated", "emulated:nonsense"]}))
    measured, refused = found.answers
    assert measured.outcome is None
    assert Run.model_validate_json(measured.run).machine.emulated
    assert refused.outcome in {Outcome.NO_DEVICE, Outcome.FAILED}
    assert "nonsense" in refused.reason


@pytest.mark.native
def test_devices_may_be_measured_at_once_and_answer_in_their_order() -> None:
    task = ONE.model_copy(update={"devices": ["emulated", "emulated:nonsense"], "at_once": True})
    assert [answer.device for answer in answers(task).answers] == task.devices


@pytest.mark.native
def test_a_measurement_that_takes_too_long_is_ended() -> None:
    task = ONE.model_copy(update={"timeout_s": 0.01})
    (answer,) = answers(task).answers
    assert (answer.outcome, answer.run) == (Outcome.TIMED_OUT, "")
    assert answer.reason.startswith("no end within 0.01 s")


@pytest.mark.native
def test_a_node_diagnoses_itself() -> None:
    assert json.loads(worker.diagnose(""))["checks"]


# A worker of its own: it starts a measurement that takes long.
_LONG = """
import sys
from isthmus.fleet import worker
from isthmus.fleet.answering import answer
worker.measure(sys.argv[1])
"""


def children(process: int) -> list[int]:
    threads = Path(f"/proc/{process}/task").iterdir()
    return [int(pid) for one in threads for pid in (one / "children").read_text("ascii").split()]


def runs(process: int) -> bool:
    """Whether a process measures; one that nobody has waited for does not."""
    try:
        status = Path(f"/proc/{process}/stat").read_text("ascii")
    except OSError:
        return False
    return status.rpartition(")")[2].split()[0] not in {"Z", "X"}


def when(true: Callable[[], bool]) -> None:
    end = time.monotonic() + 60
    while not true():
        assert time.monotonic() < end


@pytest.mark.native
def test_a_measurement_ends_with_a_worker_that_is_killed() -> None:
    # All of it takes minutes.
    task = ONE.model_copy(update={"tests": ["*"], "sizes": None, "quick": False})
    command = [sys.executable, "-c", _LONG, task.model_dump_json()]
    with subprocess.Popen(command) as worker_process:
        when(lambda: bool(children(worker_process.pid)))
        (measuring,) = children(worker_process.pid)
        # It is the program by now: it has opened the extension module.
        when(lambda: "_native" in Path(f"/proc/{measuring}/maps").read_text("ascii"))
        assert runs(measuring)
        worker_process.kill()
        worker_process.wait()
        when(lambda: not runs(measuring))


@pytest.mark.native
def test_a_measurement_whose_worker_has_ended_before_it_began_does_not_begin() -> None:
    done = subprocess.run(
        [sys.executable, "-c", worker._PROGRAM, "1", "--version"],
        capture_output=True,
        text=True,
        check=False,
    )
    assert (done.returncode, done.stdout) == (1, "")
    assert done.stderr == "the worker has ended\n"


@pytest.mark.parametrize("length", [1500, 5000])
def test_the_message_of_an_exception_is_whole_unless_it_is_a_page_and_then_its_length_is_said(
    length: int,
) -> None:
    name = "x" * length
    error = answer({"function": "importlib:import_module", "text": name})["error"]
    assert isinstance(error, str)
    whole = f"ModuleNotFoundError: No module named '{name}'"
    assert error == whole or error == f"{whole[:2000]}... ({len(whole)} characters)"
    assert (error == whole) == (length == 1500)
