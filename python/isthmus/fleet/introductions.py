"""Asks workers of Dask who they are, and refuses those of another version."""

from collections.abc import Sequence
from typing import TYPE_CHECKING

from pydantic import ValidationError

import isthmus
from isthmus.errors import UsageError
from isthmus.fleet import worker
from isthmus.fleet.task import Introduction
from isthmus.suggest import one_line

if TYPE_CHECKING:
    from distributed import Client


def introductions(client: "Client", addresses: Sequence[str]) -> dict[str, Introduction]:
    """
    Ask workers who they are.

    Args:
        client: A client of their scheduler.
        addresses: The workers.

    Raises:
        UsageError: One has another version of Isthmus, or none.
    """
    if not addresses:
        return {}
    answers = client.run(worker.introduce, "", workers=list(addresses), on_error="return")
    return {where: _introduction(where, answer) for where, answer in answers.items()}


def _introduction(where: str, answer: object) -> Introduction:
    hint = "install the same version of isthmus on every node, in the workers' environment"
    if isinstance(answer, BaseException):
        said = one_line(f"{type(answer).__name__}: {answer}")
        raise UsageError(f"the worker at {where} can't run isthmus: {said}", hint=hint)
    try:
        found = Introduction.model_validate_json(str(answer))
    except ValidationError:
        raise UsageError(f"the worker at {where} has another isthmus", hint=hint) from None
    if found.isthmus_version != isthmus.__version__:
        raise UsageError(
            f"{one_line(found.hostname)} ({where}) has isthmus {one_line(found.isthmus_version)}, "
            f"and this is {isthmus.__version__}",
            hint=hint,
        )
    return found
