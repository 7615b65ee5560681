"""Chooses tests by suite, and by name or pattern."""

from collections.abc import Iterable, Sequence
from fnmatch import fnmatchcase

from isthmus.errors import UsageError
from isthmus.ground.suggest import did_you_mean, shortened
from isthmus.measure.bench.tests.catalogue import BY_NAME, TESTS, BenchTest, Suite

_SEE_LIST = "`isthmus bench --list` shows all"
_PATTERN = frozenset("*?[]")
# They take longer than all others together.
_ONLY_ON_REQUEST = frozenset({Suite.PAGING})


def select_tests(names: Sequence[str] = (), suites: Sequence[str] = ()) -> list[BenchTest]:
    """
    Choose tests by names or patterns, and suites, each once, in the registry's order.
    None of all chooses all but suite paging; without names, none that is measured only
    by name.
    """
    wanted = {_suite(name) for name in suites} or set(Suite)
    chosen = {test for name in names for test in _named(name)}
    if not names:
        chosen = {test.name for test in TESTS if not test.only_by_name}
        wanted -= set() if suites else _ONLY_ON_REQUEST
    found = [test for test in TESTS if test.name in chosen and test.suite in wanted]
    if not found:
        raise _elsewhere(chosen, suites)
    return found


def _suite(name: str) -> Suite:
    found = [suite for suite in Suite if suite.value == name]
    if found:
        return found[0]
    suites = [suite.value for suite in Suite]
    if name.isdecimal() or name.startswith(("emulated", "GPU-")):
        raise UsageError(
            f"no suite is named '{shortened(name)}'",
            hint=f"a device is named by --device {shortened(name)}",
        )
    test = " (it is a test: -t takes its name)" if name in BY_NAME else ""
    raise UsageError(
        f"no suite is named '{name}'{test}",
        hint=f"{did_you_mean(name, suites)} the suites: {', '.join(suites)}".strip(),
    )


def _named(name: str) -> set[str]:
    if name in BY_NAME:
        return {name}
    if not _PATTERN & set(name):
        raise UsageError(f"no test is named '{shortened(name)}'", hint=_nearest(name))
    matches = {test for test in BY_NAME if fnmatchcase(test, name)}
    if matches:
        return matches
    words = name.translate(str.maketrans("", "", "".join(_PATTERN)))
    raise UsageError(f"no test's name fits '{shortened(name)}'", hint=_nearest(words))


def _nearest(typed: str) -> str:
    return f"{did_you_mean(typed, BY_NAME)} {_SEE_LIST}".strip()


def _elsewhere(chosen: Iterable[str], suites: Sequence[str]) -> UsageError:
    real = list(dict.fromkeys(test.suite.value for test in TESTS if test.name in set(chosen)))
    return UsageError(
        f"no chosen test is of suite {' or '.join(suites)}",
        hint=f"-t chooses among the tests of the suites: name {', '.join(real)}, or no suite",
    )
