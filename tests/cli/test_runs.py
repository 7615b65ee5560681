"""`isthmus runs`, and what is kept of runs that end early."""

import json
import os
import signal
import subprocess
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest

from program import NO_GPU, PROGRAM, Invoke, Outcome

ONE = ("bench", "--device", "emulated", "-t", "host_to_device_memcpy_ce", "--sizes", "4,64KiB")
SHORT = (*ONE, "-i", "3")
# One short point, and then some that take tenths of a second each.
LONG = (*ONE[:-1], "4,64KiB,16MiB,32MiB,64MiB,128MiB", "-i", "50")


def ids(outcome: Outcome) -> list[tuple[str, str]]:
    assert outcome.code == 0, outcome.err
    return [(run["id"], run["state"]) for run in json.loads(outcome.out)]


def listed(invoke: Invoke) -> list[tuple[str, str]]:
    return ids(invoke("runs", "list", "--format", "json"))


@contextmanager
def measuring(words: bytes) -> Iterator[None]:
    """Measure in a process that is killed after the block, which begins when it says the words."""
    with subprocess.Popen(
        [*PROGRAM, *LONG], stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=os.environ | NO_GPU
    ) as process:
        assert process.stderr is not None
        for line in process.stderr:
            if words in line:
                break
        try:
            yield
        finally:
            process.kill()
            process.communicate(timeout=60)
    assert process.returncode == -signal.SIGKILL


@pytest.fixture
def killed_run(own_environment: Path) -> Path:
    """Kill a run after its first points."""
    with measuring(b"64 KiB: "):
        pass
    (journal,) = (own_environment / "data/isthmus/runs").iterdir()
    return journal


def test_a_run_is_listed_shown_and_removed(
    invoke: Invoke, saved_runs: Callable[[], list[Path]]
) -> None:
    printed = invoke(*SHORT)
    ((name, state),) = listed(invoke)
    assert state == "complete"
    text = invoke("runs", "list").out
    assert text.splitlines()[0] == "Stored runs"
    assert name in text
    assert "host_to_device_memcpy_ce" in text
    for named in (name, name[:4], "last", str(saved_runs()[0])):
        assert invoke("runs", "show", named).out == printed.out
    assert json.loads(invoke("runs", "show", "last", "--format", "json").out)["run"]["id"] == name
    assert invoke("runs", "list", "--format", "csv").out.splitlines()[1].startswith(name)
    outcome = invoke("runs", "rm", name[:4])
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err.endswith("removed: 1 run\n")
    assert saved_runs() == []


def test_without_runs_the_list_is_empty_and_says_where_they_would_be(invoke: Invoke) -> None:
    outcome = invoke("runs", "list")
    assert (outcome.code, outcome.out) == (0, "")
    assert outcome.err.startswith("no run is stored in ")
    assert listed(invoke) == []


def test_a_run_that_is_not_to_be_kept_leaves_nothing(
    invoke: Invoke, saved_runs: Callable[[], list[Path]]
) -> None:
    outcome = invoke(*SHORT, "--no-save")
    assert outcome.code == 0
    assert "GB/s" in outcome.out
    assert "saved" not in outcome.err
    assert saved_runs() == []


def test_a_damaged_run_is_shown_and_removed_by_the_name_under_which_it_is_listed(
    invoke: Invoke, own_environment: Path
) -> None:
    odd = own_environment / "data/isthmus/runs/foo.json"
    odd.parent.mkdir(parents=True)
    odd.write_text("{")
    assert listed(invoke) == [("foo.json", "damaged")]
    assert "is not a run: it isn't JSON" in invoke("runs", "show", "foo.json").err
    assert invoke("runs", "rm", "foo.json").code == 0
    assert listed(invoke) == []


def test_pruning_removes_what_no_option_keeps_and_first_says_what(
    invoke: Invoke, saved_runs: Callable[[], list[Path]]
) -> None:
    for _ in range(3):
        assert invoke(*SHORT).code == 0
    before = saved_runs()
    assert "would be removed: 2 runs" in invoke("runs", "prune", "--keep", "1", "--dry-run").err
    assert saved_runs() == before
    assert invoke("runs", "prune", "--older-than", "1").err == "removed: 0 runs\n"
    assert saved_runs() == before
    assert invoke("runs", "prune", "--keep", "1").code == 0
    assert saved_runs() == before[-1:]


@pytest.mark.parametrize(
    ("arguments", "error", "hint"),
    [
        ("prune", "prune needs to know which runs to keep", "--keep 20"),
        ("prune --older-than nan", "invalid value for '--older-than'", "prune --help"),
        ("prune --older-than 1e300", "invalid value for '--older-than'", "prune --help"),
        ("show nothing", "there is no run 'nothing'", "isthmus runs list"),
        ("rm nothing", "there is no run 'nothing'", "isthmus runs list"),
    ],
)
def test_what_makes_no_sense_is_refused(
    invoke: Invoke, arguments: str, error: str, hint: str
) -> None:
    outcome = invoke("runs", *arguments.split())
    assert (outcome.code, outcome.out) == (2, "")
    assert error in outcome.err
    assert hint in outcome.err


def test_all_runs_are_found_before_the_first_is_removed(
    invoke: Invoke, saved_runs: Callable[[], list[Path]]
) -> None:
    assert invoke(*SHORT).code == 0
    ((name, _),) = listed(invoke)
    assert invoke("runs", "rm", name, "nothing").code == 2
    assert len(saved_runs()) == 1


def test_a_killed_run_keeps_what_was_finished_and_is_listed_as_unfinished(
    invoke: Invoke, killed_run: Path
) -> None:
    ((name, state),) = listed(invoke)
    assert state == "unfinished"
    document = json.loads(invoke("runs", "show", name, "--format", "json").out)
    assert document["run"]["interrupted"] is True
    assert [result["bytes"] for result in document["results"]][:2] == [4, 65536]
    assert all(result["status"] == "passed" for result in document["results"])
    assert "INTERRUPTED" in invoke("runs", "show", name).out
    assert invoke("runs", "rm", name).code == 0
    assert not killed_run.exists()


def test_a_damaged_journal_is_listed_and_a_clear_error_when_it_is_shown(
    invoke: Invoke, killed_run: Path
) -> None:
    lines = killed_run.read_text().split("\n")
    killed_run.write_text("\n".join([lines[0], "odd", *lines[2:]]))
    ((name, _),) = listed(invoke)
    outcome = invoke("runs", "show", name)
    assert (outcome.code, outcome.out) == (2, "")
    assert "is damaged: line 2: Invalid JSON" in outcome.err
    assert "isthmus runs rm ID" in outcome.err
    assert invoke("runs", "rm", name).code == 0
    assert listed(invoke) == []


def test_a_run_that_is_being_measured_is_listed_as_running(invoke: Invoke) -> None:
    with measuring(b" 4 B: "):
        ((name, state),) = listed(invoke)
        refused = invoke("runs", "rm", name)
    assert state == "running"
    assert refused.code == 2
    assert f"run {name} is being measured" in refused.err
    assert listed(invoke) == [(name, "unfinished")]


@pytest.mark.parametrize("blocked", ["isthmus", "isthmus/runs"])
def test_a_folder_that_cannot_be_written_fails_no_measurement(
    invoke: Invoke, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, blocked: str
) -> None:
    file = tmp_path / "data" / blocked
    file.parent.mkdir(parents=True)
    file.write_text("")
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "data"))
    outcome = invoke(*SHORT)
    assert outcome.code == 0
    assert "GB/s" in outcome.out
    assert "warning: this run will not be kept: " in outcome.err
    assert "saved" not in outcome.err
