"""Chooses tests by suite, by name and by prefix."""

from collections.abc import Sequence

from isthmus.bench.tests.catalogue import BY_NAME, TESTS, BenchTest, Suite
from isthmus.errors import UsageError
from isthmus.suggest import did_you_mean

_SEE_LIST = "`isthmus bench --list` shows all"


def select_tests(
    names: Sequence[str] = (), prefixes: Sequence[str] = (), suites: Sequence[str] = ()
) -> list[BenchTest]:
    """
    Choose tests; with neither names nor prefixes nor suites, all of them.

    Args:
        names: Exact names of tests.
        prefixes: Beginnings of names; each must fit at least one test.
        suites: Names of suites.

    Returns:
        The tests that any name, prefix or suite chose, each once, in the registry's order.

    Raises:
        UsageError: A name or prefix fits no test, or there is no such suite; the hint names the
            nearest.
    """
    if not names and not prefixes and not suites:
        return list(TESTS)
    chosen = {_known(name) for name in names}
    wanted = {_suite(name) for name in suites}
    chosen |= {test.name for test in TESTS if test.suite in wanted}
    for prefix in prefixes:
        chosen |= _matching(prefix)
    return [test for test in TESTS if test.name in chosen]


def _suite(name: str) -> Suite:
    found = [suite for suite in Suite if suite.value == name]
    if found:
        return found[0]
    suites = [suite.value for suite in Suite]
    test = " (it is a test: -t takes its name)" if name in BY_NAME else ""
    raise UsageError(
        f"no suite is named '{name}'{test}",
        hint=f"{did_you_mean(name, suites)} the suites: {', '.join(suites)}".strip(),
    )


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
