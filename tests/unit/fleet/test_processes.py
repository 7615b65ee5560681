"""Workers as processes, good and hostile ones: nothing that they send is more than text."""

import json
import os
import signal
import sys
from collections.abc import Iterable
from pathlib import Path

import pytest

import isthmus
from isthmus.fleet import worker
from isthmus.fleet.asking import WorkerError
from isthmus.fleet.processes import Processes, here, processes
from isthmus.fleet.task import Introduction

INTRODUCTION = json.dumps({"introduction": "{}", "threads": 1})


def hostile(*lines: str) -> list[str]:
    """Give the command of a worker that answers the first question with some lines."""
    said = "".join(f"{line}\n" for line in lines)
    code = f"print({INTRODUCTION!r}, flush=True); input(); print({said!r}, end='', flush=True)"
    return [sys.executable, "-c", f"{code}; input()"]


def answered(asking: Processes, number: int = 1) -> Iterable[tuple[int, str | BaseException]]:
    found: list[tuple[int, str | BaseException]] = []
    while len(found) < number:
        found += asking.answers(60)
    return found


def test_a_worker_says_who_it_is_and_answers_and_an_error_comes_as_text() -> None:
    with processes({"local": here(2)}) as asking:
        assert asking.threads() == {"local": 2}
        said = str(asking.introductions(["local"])["local"])
        assert Introduction.model_validate_json(said).isthmus_version == isthmus.__version__
        good = asking.ask("local", worker.introduce, "")
        bad = asking.ask("local", worker.measure, "no task")
        found = dict(answered(asking, 2))
    assert found[good] == said
    assert isinstance(found[bad], WorkerError)
    assert str(found[bad]).startswith("ValidationError: 1 validation error for Task")


def test_a_worker_that_is_killed_is_lost_and_what_it_had_is_an_error() -> None:
    with processes({"local": here(1)}) as asking:
        os.kill(asking.processes()["local"], signal.SIGKILL)
        question = asking.ask("local", worker.introduce, "")
        ((number, answer),) = answered(asking)
        assert (number, str(answer)) == (question, "the worker is gone")
        assert asking.threads() == {}


def test_a_worker_that_was_there_is_started_again_under_another_address() -> None:
    with processes({"local": here(1)}, restarted=True) as asking:
        os.kill(asking.processes()["local"], signal.SIGKILL)
        while asking.threads().keys() <= {"local"}:
            asking.answers(0.1)
        (again,) = asking.threads()
        asking.ask(again, worker.introduce, "")
        ((_, answer),) = answered(asking)
        assert isinstance(answer, str)


def test_one_that_was_never_there_is_not_started_again_and_says_why() -> None:
    command = [sys.executable, "-c", "import sys; sys.exit('no isthmus here')"]
    with processes({"n1": command}, restarted=True) as asking:
        assert asking.threads() == {}
        (reason,) = asking.missing().values()
    assert reason.endswith(" ended with exit code 1: no isthmus here")


def test_what_a_shell_says_before_a_worker_begins_is_left_out() -> None:
    banner = "print('Welcome!'); print('{}'); "
    code = f"{banner}print({INTRODUCTION!r}, flush=True); input()"
    with processes({"n1": [sys.executable, "-c", code]}) as asking:
        assert asking.threads() == {"n1": 1}


@pytest.mark.parametrize(
    "line",
    [
        "no JSON",
        "[1]",
        "{}",
        INTRODUCTION,
        '{"question": "1", "answer": ""}',
        '{"question": 1, "answer": {"a": 1}}',
        '{"question": 1, "answer": "", "question": null}',
        "[" * 100_000,
    ],
)
def test_a_worker_whose_answer_is_none_is_ended(line: str) -> None:
    with processes({"n1": hostile(line)}) as asking:
        asking.ask("n1", worker.introduce, "")
        ((_, answer),) = answered(asking)
        assert isinstance(answer, WorkerError)
        assert asking.missing() == {"n1": "what came back is no answer"}


def test_a_worker_cannot_answer_for_another_one_or_twice() -> None:
    lines = [json.dumps({"question": number, "answer": "forged"}) for number in (1, 3, 2, 2)]
    with processes({"good": here(1), "bad": hostile(*lines)}) as asking:
        first = asking.ask("good", worker.introduce, "")
        second = asking.ask("bad", worker.introduce, "")
        third = asking.ask("good", worker.introduce, "")
        found = list(answered(asking, 3))
    assert sorted(number for number, _ in found) == [first, second, third]
    assert [number for number, answer in found if answer == "forged"] == [second]


def test_an_answer_without_an_end_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("isthmus.fleet.processes._MAX_ANSWER_BYTES", 1 << 16)
    code = f"print({INTRODUCTION!r}, flush=True); input()\nwhile True: print('[' * 4096, end='')"
    with processes({"n1": [sys.executable, "-c", code]}) as asking:
        asking.ask("n1", worker.introduce, "")
        answered(asking)
        assert asking.missing() == {"n1": "what came back is too long"}


def test_a_worker_that_does_not_read_keeps_nobody_waiting() -> None:
    code = f"import time; print({INTRODUCTION!r}, flush=True); time.sleep(1000)"
    with processes({"n1": [sys.executable, "-c", code]}) as asking:
        for _ in range(8):
            asking.ask("n1", worker.introduce, "x" * (1 << 20))
        assert list(asking.answers(0)) == []


def test_a_worker_ends_with_the_one_who_asks() -> None:
    with processes({"local": here(1)}) as asking:
        (pid,) = asking.processes().values()
    with pytest.raises(ProcessLookupError):
        os.kill(pid, 0)


def test_modules_of_the_current_folder_are_not_imported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for name in ("json", "concurrent", "isthmus"):
        (tmp_path / f"{name}.py").write_text("raise SystemExit(7)")
    with processes({"local": here(1)}) as asking:
        assert asking.threads() == {"local": 1}
        asking.ask("local", worker.diagnose, "")
        ((_, answer),) = answered(asking)
        assert json.loads(str(answer))["checks"]
