"""Stand in for functions of an engine: put in their place, and ordered as they were."""

import importlib
import warnings
from collections.abc import Callable, Mapping
from typing import Any

import isthmus


def replace(functions: Mapping[tuple[str, str], Any], *, tried: str) -> Callable[[], None]:
    """
    Replace functions or classes, by module and name, all or none; gives what puts them back, except
    where something else has been put in their place since. If one isn't there, see `leave`.

    `tried` is the version that they are known to fit.
    """
    before = []
    for module, name in functions:
        try:
            owner = importlib.import_module(module)
            before.append((owner, name, getattr(owner, name)))
        except Exception as error:  # noqa: BLE001 - an engine's module may raise anything
            capability = f"replacing {module}.{name}"
            return leave(isthmus.Unavailable(capability=capability, reason=str(error), needs=tried))
    for (owner, name, _), function in zip(before, functions.values(), strict=True):
        setattr(owner, name, function)

    def undo() -> None:
        for (owner, name, original), function in zip(before, functions.values(), strict=True):
            if getattr(owner, name, None) is function:
                setattr(owner, name, original)

    return undo


def leave(reason: isthmus.Unavailable) -> Callable[[], None]:
    """
    Warn that an engine keeps its own functions; gives what puts back nothing.

    Raising would end vLLM, which calls its plugins without a handler.
    """
    warnings.warn(
        f"the engine keeps its own copies: {reason}", isthmus.IsthmusWarning, stacklevel=4
    )
    return lambda: None


def settle(future: isthmus.CopyFuture) -> None:
    """
    Leave a copy to its stream, or wait for it if a thread makes it.

    Engines record an event behind the call, and take the copy for complete when that has happened.
    """
    try:
        _ = future.event
    except isthmus.Unavailable:  # pageable memory: no stream knows when it ends
        future.result()
