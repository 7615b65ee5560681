"""
Workers that can be asked, whatever carries the questions, and who they are: those of another
version are refused.
"""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from pydantic import ValidationError

from isthmus.errors import UsageError
from isthmus.fleet.task import Introduction
from isthmus.ground.spelling import MOST_SAID, one_line, shortened
from isthmus.ground.version import __version__

OfText = Callable[[str], str]
"""A function of a module that the workers have, too: its name crosses, and not its code."""


class WorkerError(Exception):
    """What went wrong in a worker, in its own words: "ValueError: ..."."""


class Asking(Protocol):
    """Workers, each with an address that never comes back when its worker was lost."""

    def threads(self) -> Mapping[str, int]:
        """Give the workers that are there, and how many questions each answers at once."""

    def introductions(self, addresses: Sequence[str]) -> Mapping[str, str | BaseException]:
        """Ask workers who they are: what `isthmus.fleet.worker.introduce` gives there."""

    def ask(self, address: str, function: OfText, text: str) -> int:
        """Call a function in the worker at an address, and return at once; gives a number."""

    def answers(self, timeout_s: float) -> Iterable[tuple[int, str | BaseException]]:
        """Wait for answers, for so long if there are none; each with its question's number."""

    def forget(self, question: int) -> None:
        """Stop waiting for an answer."""


def words_of(error: BaseException) -> str:
    """Say what went wrong in a worker, or on the way to it."""
    if isinstance(error, WorkerError):
        return str(error)
    return f"{type(error).__name__}: {error}"


def question_of(function: OfText, text: str) -> dict[str, str]:
    """Write a question, for `isthmus.fleet.answering.answer`."""
    return {"function": f"{function.__module__}:{function.__qualname__}", "text": text}


def read_json(text: str | bytes) -> object:
    """Read JSON; None if it isn't any."""
    try:
        found: object = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return found


def answer_in(message: object) -> str | WorkerError | None:
    """Read what `isthmus.fleet.answering.answer` gave; None if it is something else."""
    match message:
        case {"answer": str(text)}:
            return text
        case {"error": str(text)}:
            return WorkerError(shortened(text, most=MOST_SAID))
    return None


def introductions(asking: Asking, addresses: Sequence[str]) -> dict[str, Introduction]:
    """Ask workers who they are; raises UsageError if one has another Isthmus, or none."""
    found, refused = introduced(asking, {where: where for where in addresses})
    for error in refused.values():
        raise error
    return found


def introduced(
    asking: Asking, names: Mapping[str, str]
) -> tuple[dict[str, Introduction], dict[str, UsageError]]:
    """
    Ask workers, named for messages by their address, who they are, and say why some of them can't
    be used.
    """
    found: dict[str, Introduction] = {}
    refused: dict[str, UsageError] = {}
    if not names:
        return found, refused
    for where, answer in asking.introductions(list(names)).items():
        try:
            found[where] = _introduction(names[where], answer)
        except UsageError as error:
            refused[where] = error
    return found, refused


def _introduction(name: str, answer: object) -> Introduction:
    hint = "install the same version of isthmus on every node, in the workers' environment"
    if isinstance(answer, BaseException):
        said = one_line(words_of(answer))
        # What isthmus raises there crosses as another class.
        fails = "be reached" if isinstance(answer, OSError) else "run isthmus"
        raise UsageError(f"the worker at {name} can't {fails}: {said}", hint=hint)
    try:
        found = Introduction.model_validate_json(str(answer))
    except ValidationError:
        raise UsageError(f"the worker at {name} has another isthmus", hint=hint) from None
    if found.isthmus_version != __version__:
        raise UsageError(
            f"{one_line(found.hostname)} ({name}) has isthmus {one_line(found.isthmus_version)}, "
            f"and this is {__version__}",
            hint=hint,
        )
    return found
