"""Standard streams that are absent, closed or full when the program starts."""

import sys
from pathlib import Path

import pytest

from fakes import runs
from isthmus.cli.bench.progress import progress
from isthmus.cli.failure import report_failure
from isthmus.cli.stderr import say
from isthmus.cli.stdout import print_data
from isthmus.cli.terminal import is_terminal
from isthmus.errors import Error, WriteError
from isthmus.measure.bench.plan import Point
from isthmus.measure.bench.tests.catalogue import TESTS


def talk_much() -> None:
    say("a line")
    report_failure(Error("odd", hint="do"), debug=True)
    with progress([Point(TESTS[0], 4)], 30.0) as observer:
        observer.point_started(0, 1, Point(TESTS[0], 4))
        observer.point_finished(Point(TESTS[0], 4), runs.results()[:1])


def test_without_stderr_nothing_is_said_and_nothing_on_stdout(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(sys, "stderr", None)
    talk_much()
    assert capsys.readouterr().out == ""


@pytest.mark.parametrize("closed", [True, False])
def test_a_stderr_that_is_closed_or_full_ends_nothing(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], *, closed: bool
) -> None:
    with Path("/dev/full").open("w") as stream:
        if closed:
            stream.close()
        monkeypatch.setattr(sys, "stderr", stream)
        talk_much()
    assert capsys.readouterr().out == ""


def test_a_stream_that_is_absent_or_closed_is_no_terminal() -> None:
    stream = Path("/dev/null").open("w")  # noqa: SIM115 - it is closed next
    stream.close()
    assert not is_terminal(stream)
    assert not is_terminal(None)


@pytest.mark.parametrize("name", ["/dev/full", None])
def test_a_stdout_that_takes_nothing_is_a_clear_error(
    monkeypatch: pytest.MonkeyPatch, name: str | None
) -> None:
    if name is None:
        monkeypatch.setattr(sys, "stdout", None)
        with pytest.raises(WriteError, match="stdout is closed"):
            print_data("data")
        return
    with Path(name).open("w") as stream:
        monkeypatch.setattr(sys, "stdout", stream)
        with pytest.raises(WriteError, match="No space left on device"):
            print_data("data")
