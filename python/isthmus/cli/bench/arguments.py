"""Turns a command line into tests, sizes, times and a layout, or refuses it."""

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

from isthmus.errors import UsageError
from isthmus.ground.sizes import parse_sizes
from isthmus.ground.spelling import did_you_mean, one_line, shortened
from isthmus.show.format import RunFormat, TableLayout
from isthmus.show.formats.as_gdrcopy import GDRCOPY_TESTS
from isthmus.show.formats.nvbandwidth_tests import DEFAULT_BUFFER_MIB, NVBANDWIDTH_TESTS

if TYPE_CHECKING:
    from isthmus.measure.bench.tests.catalogue import BenchTest
    from isthmus.measure.expected.values import GpuValues

_MIB = 1 << 20
# The largest size: no machine has more.
_MAX_MIB = 1 << 32
_MAX_OF_ANYTHING = 1_000_000
SHIPPED = "shipped"
"""What --expect names for the values that come with Isthmus, for the GPU that is measured."""


def layout_of(wanted: RunFormat, *, as_json: bool, verbose: bool) -> TableLayout:
    """Choose the format in which the run is written."""
    if as_json and wanted in {RunFormat.CSV, RunFormat.GDRCOPY}:
        raise UsageError(f"-j with --format {wanted}: it has no JSON", hint="leave one of them out")
    ours = as_json and wanted == RunFormat.TEXT
    return TableLayout(
        wanted=RunFormat.JSON if ours else wanted,
        verbose=verbose,
        as_json=as_json and wanted == RunFormat.NVBANDWIDTH,
    )


def sizes_of(sizes: str | None, buffer_mib: int | None, wanted: RunFormat) -> list[int] | None:
    """
    Choose the sizes in bytes, ascending: those of --sizes, that of -b, or nvbandwidth's; None for
    each test's own.
    """
    if buffer_mib is None:
        if sizes is None:
            default = [DEFAULT_BUFFER_MIB * _MIB]
            return default if wanted == RunFormat.NVBANDWIDTH else None
        return parse_sizes(sizes)
    if sizes is not None:
        raise UsageError("-b and --sizes both give the size of copies", hint="leave one out")
    if not 0 < buffer_mib < _MAX_MIB:
        raise UsageError(f"-b {buffer_mib} is not a size in MiB", hint="give 1 or more: -b 512")
    return [buffer_mib * _MIB]


def tests_of(
    names: Sequence[str],
    suites: Sequence[str],
    wanted: RunFormat,
    *,
    listed: bool,
) -> "list[BenchTest]":
    """
    Choose the tests; without any name, those that the format has, and to list them, all. As in
    nvbandwidth, a test may be given by its number there, and one -t may be followed by several
    names; commas separate names, too.
    """
    from isthmus.measure.bench.plan import select_tests
    from isthmus.measure.bench.tests.catalogue import BY_NAME, Suite

    known = {suite.value for suite in Suite}
    loose = [word for word in suites if word not in known] if names else []
    chosen = [_name(word) for word in _separated((*names, *loose))]
    real_suites = [word for word in suites if word not in loose]
    if chosen or real_suites:
        found = select_tests(chosen, real_suites)
        if wanted == RunFormat.GDRCOPY and not any(test.name in GDRCOPY_TESTS for test in found):
            raise UsageError(
                f"--format gdrcopy has no table for any of these tests: {found[0].name}, ...",
                hint=f"it has {', '.join(sorted(GDRCOPY_TESTS))}",
            )
        return found
    if wanted == RunFormat.NVBANDWIDTH:
        return select_tests([test for test in NVBANDWIDTH_TESTS if test in BY_NAME])
    if wanted == RunFormat.GDRCOPY:
        return select_tests(suites=[Suite.WINDOWS])
    return select_tests(["*"] if listed else ())


def how_many(option: str, asked: int | None, noun: str) -> int | None:
    """Check the number of things that an option asks for."""
    if asked is None or 0 < asked <= _MAX_OF_ANYTHING:
        return asked
    why = f"no {noun} to take" if asked < 1 else "more than are allowed"
    raise UsageError(f"{option} {asked}: {why}", hint=f"give 1 to {_MAX_OF_ANYTHING}: {option} 3")


def checked_budget(seconds: float | None) -> float | None:
    """Check the time of --budget."""
    if seconds is not None and not (math.isfinite(seconds) and seconds > 0):
        raise UsageError(
            f"--budget {seconds:g} is not a time to measure in",
            hint="give seconds, more than 0: --budget 60",
        )
    return seconds


def values_of(name: str | None) -> "GpuValues | None":
    """Read the expected values that an option names, all of tests that exist; None without one."""
    if name is None:
        return None
    from isthmus.measure.bench.tests.catalogue import BY_NAME
    from isthmus.measure.expected.values import named_values

    own = named_values(name)
    for value in own.values:
        if value.test not in BY_NAME:
            raise UsageError(
                f"{one_line(name)}: no test is named '{shortened(value.test)}'",
                hint=did_you_mean(value.test, BY_NAME),
            )
        test = BY_NAME[value.test]
        units = {metric.value: test.unit(metric) for metric in test.metrics}
        if units.get(value.metric) != value.unit:
            raise UsageError(
                f"{one_line(name)}: {value.test} has no '{shortened(value.metric)}' in "
                f"{value.unit}",
                hint=f"it has {', '.join(f'{metric} in {unit}' for metric, unit in units.items())}",
            )
    return own


def _separated(words: Sequence[str]) -> list[str]:
    """Separate words at commas; an empty word stays, and is refused as a name."""
    return [part.strip() for word in words for part in word.split(",")]


def _name(test: str) -> str:
    if not test.isdecimal():
        return test
    index = int(test) if len(test) < len(str(_MAX_MIB)) else len(NVBANDWIDTH_TESTS)
    if index >= len(NVBANDWIDTH_TESTS):
        last = len(NVBANDWIDTH_TESTS) - 1
        raise UsageError(
            f"no test has the number {shortened(test)}",
            hint=f"nvbandwidth's tests are 0 to {last}: isthmus bench -l --format nvbandwidth",
        )
    return NVBANDWIDTH_TESTS[index]
