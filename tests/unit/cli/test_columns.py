"""How wide text is: a terminal's columns, and always the same in pipes and files."""

import fcntl
import os
import pty
import struct
import termios
from collections.abc import Iterator
from io import StringIO
from typing import TextIO

import pytest

from isthmus.cli.failure import report_failure
from isthmus.cli.stderr import say
from isthmus.cli.terminal import columns_of
from isthmus.errors import Error


@pytest.fixture
def terminal() -> Iterator[TextIO]:
    ours, theirs = pty.openpty()
    fcntl.ioctl(theirs, termios.TIOCSWINSZ, struct.pack("HHHH", 24, 63, 0, 0))
    with os.fdopen(theirs, "w") as stream:
        yield stream
    os.close(ours)


def test_a_terminal_s_columns_are_its_own_unless_the_user_names_others(
    terminal: TextIO, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("COLUMNS")
    assert columns_of(terminal) == 63
    monkeypatch.setenv("COLUMNS", "71")
    assert columns_of(terminal) == 71
    for odd in ("", "0", "-3", "many", "9" * 30, "٣"):
        monkeypatch.setenv("COLUMNS", odd)
        assert columns_of(terminal) == 63


def test_text_in_a_pipe_has_the_same_width_everywhere() -> None:
    assert columns_of(StringIO()) == 120
    assert columns_of(None) == 120


def test_a_sentence_is_wrapped_and_a_path_in_it_stays_whole(
    capsys: pytest.CaptureFixture[str],
) -> None:
    path = "/a" * 100
    say(f"{'many words ' * 12}and {path} here")
    lines = capsys.readouterr().err.splitlines()
    assert f"  {path}" in lines
    assert all(len(line) <= 120 for line in lines if path not in line)


def test_an_error_is_one_line_for_programs_that_read_it(
    capsys: pytest.CaptureFixture[str],
) -> None:
    report_failure(Error("what is wrong " * 20), debug=False)
    assert len(capsys.readouterr().err.splitlines()) == 1
