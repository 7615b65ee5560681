"""What becomes of a run's journal when the disk is full for a while, or until the end."""

import pytest

from fakes import runs
from isthmus.cli.bench.keeping import Keeping
from isthmus.errors import WriteError
from isthmus.files.journal import Journal, is_open
from isthmus.measure.run.model import Run
from isthmus.measure.run.reading import read_run
from isthmus.measure.run.store import runs_folder


def begun(run: Run) -> Run:
    identity = run.run.model_copy(update={"interrupted": True})
    return run.model_copy(update={"run": identity, "results": []})


def full(*_: object, **__: object) -> None:
    raise WriteError("no room", hint="make room")


def test_after_a_point_that_could_not_be_written_the_journal_goes_when_the_run_is_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run, keeping = runs.run(), Keeping(wanted=True)
    keeping.begin(begun(run))
    keeping.add(run.results[:1])
    with monkeypatch.context() as disk:
        disk.setattr(Journal, "add", full)
        keeping.add(run.results[1:2])
        keeping.add(run.results[2:3])
    # One that is written after others are missing would look complete.
    keeping.add(run.results[3:4])
    assert capsys.readouterr().err.count("warning: this point and later ones are not kept yet") == 1
    (journal,) = runs_folder().iterdir()
    assert read_run(str(journal)).results == run.results[:1]
    keeping.end(run)
    assert [path.suffix for path in runs_folder().iterdir()] == [".json"]


def test_a_run_that_cannot_be_written_at_the_end_stays_as_its_journal_and_is_said_to(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    run, keeping = runs.run(), Keeping(wanted=True)
    keeping.begin(begun(run))
    keeping.add(run.results)
    monkeypatch.setattr("isthmus.cli.bench.keeping.save_run", full)
    keeping.end(run)
    assert capsys.readouterr().err == (
        "warning: this run is kept unfinished: no room\nhint: make room\n"
    )
    (journal,) = runs_folder().iterdir()
    assert not is_open(journal)
    assert read_run(str(journal)).results == run.results


def test_a_run_without_a_journal_that_cannot_be_written_is_not_kept(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    keeping = Keeping(wanted=True)
    monkeypatch.setattr("isthmus.cli.bench.keeping.save_run", full)
    keeping.end(runs.run())
    assert capsys.readouterr().err == "warning: this run is not kept: no room\nhint: make room\n"
