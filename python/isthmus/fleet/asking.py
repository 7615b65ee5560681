"""Workers that can be asked, whatever carries the questions: `Asking`. Only text crosses."""

import json
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

from isthmus.ground.suggest import MOST_SAID, shortened

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
