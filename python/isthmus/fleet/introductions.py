"""Asks workers who they are, and refuses those of another version."""

from collections.abc import Mapping, Sequence

from pydantic import ValidationError

from isthmus.errors import UsageError
from isthmus.fleet.asking import Asking, words_of
from isthmus.fleet.task import Introduction
from isthmus.ground.suggest import one_line
from isthmus.ground.version import __version__


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
