"""Chooses tests by name and by prefix."""

from collections.abc import Sequence

from isthmus.bench.tests import BY_NAME, TESTS, BenchTest
from isthmus.errors import UsageError
from isthmus.suggest import did_you_mean

_SEE_LIST = "`isthmus bench --list` shows all"


def select_tests(names: Sequence[str] = (), prefixes: Sequence[str] = ()) -> list[BenchTest]:
    """
    Choose tests; with neither names nor prefixes, all of them.

    Args:
        names: Exact names of tests.
        prefixes: Beginnings of names; each must fit at least one test.

    Returns:
        The tests that any name or prefix chose, each once, in the registry's order.

    Raises:
        UsageError: A name or prefix fits no test; the hint names the nearest.
    """
    if not names and not prefixes:
        return list(TESTS)
    chosen = {_known(name) for name in names}
    for prefix in prefixes:
        chosen |= _matching(prefix)
    return [test for test in TESTS if test.name in chosen]


def _known(name: str) -> str:
    if name in BY_NAME:
        return name
    raise UsageError(f"no test is named '{name}'", hint=_nearest(name))


def _matching(prefix: str) -> set[str]:
    matches = {name for name in BY_NAME if prefix and name.startswith(prefix)}
    if matches:
        return matches
    raise UsageError(f"no test's name begins with '{prefix}'", hint=_nearest(prefix))


def _nearest(typed: str) -> str:
    return f"{did_you_mean(typed, BY_NAME)} {_SEE_LIST}".strip()
