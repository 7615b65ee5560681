"""How commands fail: an `error:` line, the cause, a `hint:`, and an exit code."""

import traceback
from collections.abc import Iterable
from enum import IntEnum

from typer.exceptions import TyperException

from isthmus.cli import INTERRUPTED
from isthmus.cli.stderr import say_lines
from isthmus.errors import Error, NoDevice, Unavailable, UsageError
from isthmus.ground.spelling import text_of


class ExitCode(IntEnum):
    """The exit codes of the process."""

    OK = 0
    ERROR = 1
    USAGE = 2
    BELOW_THRESHOLD = 3
    NO_DEVICE = 4
    CANT_TELL = 5
    INTERRUPTED = INTERRUPTED


def worst(codes: Iterable[ExitCode]) -> ExitCode:
    """Give the worst of several; CANT_TELL if nothing else is wrong."""
    bad = filter(None, codes)
    return max(bad, key=lambda code: (code != ExitCode.CANT_TELL, code), default=ExitCode.OK)


class Stopped(Exception):
    """Ctrl-C has ended a command that has said so, and has kept what was finished."""


class Ended(Exception):
    """A program that a command has run has ended; its exit code is the command's."""

    def __init__(self, code: int) -> None:
        """Keep the code."""
        super().__init__(code)
        self.code = code


def report_failure(error: BaseException, *, debug: bool) -> ExitCode:
    """Tell the user on stderr what failed, and give its exit code."""
    if debug:
        say_lines(*"".join(traceback.format_exception(error)).splitlines())
    lines = [f"error: {_message(error)}", *_causes(error)]
    if hint := _hint(error):
        lines.append(f"hint: {hint}")
    say_lines(*lines)
    return exit_code_of(error)


def exit_code_of(error: BaseException) -> ExitCode:
    """Give the exit code of an error."""
    if isinstance(error, NoDevice):
        return ExitCode.NO_DEVICE
    if isinstance(error, UsageError) or getattr(error, "exit_code", None) == ExitCode.USAGE:
        return ExitCode.USAGE
    return ExitCode.ERROR


def _message(error: BaseException) -> str:
    if isinstance(error, TyperException):
        # The library adds words of its own to the message.
        text = error.format_message().replace("Value error, ", "").rstrip(".")
        return text[:1].lower() + text[1:]
    if isinstance(error, Error):
        return str(error) or type(error).__name__
    return f"unexpected {type(error).__name__}: {error}"


def _causes(error: BaseException) -> list[str]:
    """Name the chain of causes that the message doesn't name already."""
    if isinstance(error, TyperException):
        return []
    lines, told = [], _message(error)
    cause = error.__cause__
    while cause is not None:
        text = cause.reason if isinstance(cause, Unavailable) else text_of(cause)
        if isinstance(cause, OSError) and cause.strerror:
            text = cause.strerror
        if text not in told:
            lines.append(f"cause: {text}")
        told += text
        cause = cause.__cause__
    return lines


def _hint(error: BaseException) -> str:
    if isinstance(error, TyperException):
        context = getattr(error, "ctx", None)
        if getattr(error, "option_name", None) in {"--pictures", "--no-pictures"}:
            return "pictures are drawn if --plots FOLDER says where"
        if context and context.command_path == "isthmus fleet" and "'sweep'" in str(error):
            return "points of a sweep run on many machines: isthmus sim sweep --scheduler ADDRESS"
        path = context.command_path.removesuffix(" copy") if context else "isthmus"
        return f"see `{path} --help`"
    if isinstance(error, Error):
        return error.hint
    return "--debug shows the traceback; please report it"
