"""The journal of a run: what a process that was killed has left behind, and what reads it."""

import json
import os
from pathlib import Path

import pytest

from fakes import runs
from isthmus.errors import UsageError, WriteError
from isthmus.files.journal import is_open
from isthmus.measure.run.model import Run
from isthmus.measure.run.reading import LAST, read_run
from isthmus.measure.run.store import RunJournal, runs_folder, save_run, unfinished_run


def begun(run: Run) -> Run:
    identity = run.run.model_copy(update={"interrupted": True})
    return run.model_copy(update={"run": identity, "results": []})


@pytest.fixture
def journal() -> Path:
    """Write the journal of a process that was killed after two points."""
    whole = runs.run()
    writing = RunJournal(runs_folder(), begun(whole))
    writing.add(whole.results[:2])
    writing.add(whole.results[2:5])
    writing.close()
    (path,) = runs_folder().iterdir()
    return path


def test_a_killed_run_is_read_with_the_points_that_were_finished(journal: Path) -> None:
    whole = runs.run()
    for named in (whole.run.id, whole.run.id[:3], str(journal)):
        found = read_run(named)
        assert found.results == whole.results[:5]
        assert (found.run.id, found.run.interrupted) == (whole.run.id, True)
        assert found.run.started_at == whole.run.started_at < found.run.finished_at
        assert (found.machine, found.options) == (whole.machine, whole.options)


def test_the_last_run_is_one_that_was_finished(journal: Path) -> None:
    with pytest.raises(UsageError, match="there is no run 'last'"):
        read_run(LAST)
    identity = runs.run().run.model_copy(update={"id": "00000001"})
    older = runs.run().model_copy(update={"run": identity})
    save_run(older)
    assert read_run(LAST) == older
    assert journal.exists()


def test_a_point_that_was_cut_in_the_middle_is_left_out(journal: Path) -> None:
    contents = journal.read_bytes()
    end_of_first_point = contents.index(b"\n", contents.index(b"\n") + 1) + 1
    for length in (end_of_first_point, end_of_first_point + 1, len(contents) - 1):
        assert len(unfinished_run(contents[:length], "x").results) == 2
    assert unfinished_run(contents, "x").results == runs.run().results[:5]


@pytest.mark.parametrize(
    ("line", "text", "why"),
    [
        (1, "", "line 1: "),
        (1, "[]", "line 1: "),
        (2, "not JSON", "line 2: Invalid JSON"),
        (2, '{"at": "2025-01-01T00:00:00Z"}', "line 2: results: Field required"),
        (3, '{"at": 1, "results": [{}]}', "line 3: results.0.test: Field required"),
    ],
)
def test_a_damaged_journal_says_where_and_how_to_get_rid_of_it(
    journal: Path, line: int, text: str, why: str
) -> None:
    lines = journal.read_text().split("\n")
    lines[line - 1] = text
    journal.write_text("\n".join(lines))
    with pytest.raises(UsageError, match="is damaged: ") as caught:
        read_run(str(journal))
    assert f"{journal} is damaged: {why}" in str(caught.value)
    assert "isthmus runs rm ID" in caught.value.hint


def test_a_journal_of_an_earlier_program_with_the_number_of_points_is_read(journal: Path) -> None:
    head, *points = journal.read_text().split("\n")
    journal.write_text("\n".join([json.dumps(json.loads(head) | {"num_points": 7}), *points]))
    assert read_run(str(journal)).results == runs.run().results[:5]


def test_a_journal_of_another_version_is_not_called_damaged(journal: Path) -> None:
    head, *points = journal.read_text().split("\n")
    later = {"run_journal": 2, "start": json.loads(head)["begun"]}
    journal.write_text("\n".join([json.dumps(later), *points]))
    with pytest.raises(UsageError, match="is a journal of version 2, and this version") as caught:
        read_run(str(journal))
    assert caught.value.hint == "use the version that wrote it"


def test_an_empty_journal_is_damaged() -> None:
    with pytest.raises(UsageError, match="x is damaged: line 1: it is incomplete"):
        unfinished_run(b"", "x")


def test_what_is_written_of_a_point_is_there_at_once_and_on_disk_every_second(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    times = [0.0]
    writing = RunJournal(tmp_path, begun(runs.run()), clock=lambda: times[-1])
    (path,) = tmp_path.iterdir()
    synced: list[float] = []
    monkeypatch.setattr(os, "fsync", lambda _: synced.append(times[-1]))
    for now in (0.2, 0.9, 1.1, 1.5, 2.2):
        times.append(now)
        before = path.stat().st_size
        writing.add(runs.run().results[:1])
        assert path.stat().st_size > before
        assert json.loads(path.read_text().splitlines()[-1])["results"]
    writing.close()
    assert synced == [1.1, 2.2]


def test_a_journal_is_seen_to_be_open_until_it_is_closed(tmp_path: Path) -> None:
    writing = RunJournal(tmp_path, begun(runs.run()))
    (path,) = tmp_path.iterdir()
    assert is_open(path)
    writing.close()
    assert not is_open(path)
    assert not is_open(tmp_path / "absent")
    assert not is_open(tmp_path)


def test_a_journal_that_cannot_be_begun_is_an_error_and_leaves_nothing(tmp_path: Path) -> None:
    blocked = tmp_path / "file"
    blocked.write_text("")
    with pytest.raises(WriteError):
        RunJournal(blocked / "runs", begun(runs.run()))
    assert [path.name for path in tmp_path.iterdir()] == ["file"]
