import errno

import pytest

from isthmus.cli.failure import ExitCode, report_failure
from isthmus.errors import DriverError, Error, NoDevice, Unavailable, UsageError


def driver_error() -> DriverError:
    return DriverError("cuInit failed", code=999, code_name="CUDA_ERROR_UNKNOWN", symbol="cuInit")


@pytest.mark.parametrize(
    ("error", "code"),
    [
        (UsageError("bad"), ExitCode.USAGE),
        (NoDevice("none"), ExitCode.NO_DEVICE),
        (Unavailable(capability="NVRTC", reason="absent", needs="a wheel"), ExitCode.ERROR),
        (driver_error(), ExitCode.ERROR),
        (Error("other"), ExitCode.ERROR),
        (ZeroDivisionError("bug"), ExitCode.ERROR),
    ],
)
def test_each_kind_of_failure_has_its_exit_code(error: Exception, code: ExitCode) -> None:
    assert report_failure(error, debug=False) == code


def test_an_error_is_one_line_and_its_hint_another(capsys: pytest.CaptureFixture[str]) -> None:
    report_failure(UsageError("size '12Q'", hint="did you mean 12G?"), debug=False)
    assert capsys.readouterr().err == "error: size '12Q'\nhint: did you mean 12G?\n"


def test_what_others_said_has_neither_lines_nor_colours_of_its_own(
    capsys: pytest.CaptureFixture[str],
) -> None:
    error = UsageError("tensor 'a\nb\x1b[31m'", hint="name\u2028it\udcff")
    error.__cause__ = ValueError("three\r\nlines\n")
    report_failure(error, debug=False)
    assert capsys.readouterr().err.split("\n") == [
        r"error: tensor 'a\nb\x1b[31m'",
        r"cause: three\r\nlines\n",
        r"hint: name\u2028it\udcff",
        "",
    ]


def test_the_system_s_reason_is_told_once_and_without_its_number(
    capsys: pytest.CaptureFixture[str],
) -> None:
    error = UsageError("can't read x: it is not a regular file")
    error.__cause__ = OSError(errno.EINVAL, "it is not a regular file")
    report_failure(error, debug=False)
    assert capsys.readouterr().err == "error: can't read x: it is not a regular file\n"


def test_a_cause_whose_own_text_fails_is_left_out(capsys: pytest.CaptureFixture[str]) -> None:
    class Odd(Exception):
        __str__ = None  # type: ignore[assignment]

    error = Error("can't go on")
    error.__cause__ = Odd()
    report_failure(error, debug=False)
    assert capsys.readouterr().err == "error: can't go on\n"


def test_causes_are_named_unless_the_message_has_them(capsys: pytest.CaptureFixture[str]) -> None:
    error = Error("can't write x: disk full")
    error.__cause__ = OSError("disk full")
    error.__cause__.__cause__ = ValueError("quota")
    report_failure(error, debug=False)
    assert capsys.readouterr().err == "error: can't write x: disk full\ncause: quota\n"


def test_a_bug_is_said_to_be_unexpected(capsys: pytest.CaptureFixture[str]) -> None:
    report_failure(ZeroDivisionError("division by zero"), debug=False)
    lines = capsys.readouterr().err.splitlines()
    assert lines[0] == "error: unexpected ZeroDivisionError: division by zero"
    assert "--debug" in lines[1]
    assert len(lines) == 2


def test_debug_shows_the_trace(capsys: pytest.CaptureFixture[str]) -> None:
    report_failure(Error("inner"), debug=True)
    assert "isthmus.errors.Error: inner" in capsys.readouterr().err
