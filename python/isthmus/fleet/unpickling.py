"""
Keeps code of others out while Dask reads: what is unpickled may name text and errors, no more.

Dask unpickles results, errors and their types in the process that asks, whatever serializers its
client is given. A pickle that runs code has to name it, and Python tells its audit hooks each name.
"""

import builtins
import sys
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache

# A hook stays as long as the process: it counts how often it is wanted.
_wanted = 0
_lock = threading.Lock()
_TEXT = {"str", "bytes"}


class RefusedPickleError(AttributeError):
    """A pickle names something else. Dask takes what it can't find for a plain error."""


@contextmanager
def nothing_unpickled() -> Iterator[None]:
    """Refuse, in all threads, pickles that name anything but text and Python's own errors."""
    global _wanted  # noqa: PLW0603 - a hook is the process's
    _hooked()
    with _lock:
        _wanted += 1
    try:
        yield
    finally:
        with _lock:
            _wanted -= 1


@cache
def _hooked() -> None:
    sys.addaudithook(_hook)


def _hook(event: str, arguments: tuple[object, ...]) -> None:
    if event != "pickle.find_class" or not _wanted:
        return
    module, name = map(str, arguments)
    if not _is_harmless(module, name):
        raise RefusedPickleError(f"what came back is no text: it names {module}.{name}")


def _is_harmless(module: str, name: str) -> bool:
    if module != "builtins":
        return False
    found = getattr(builtins, name, None)
    return name in _TEXT or (isinstance(found, type) and issubclass(found, Exception))
