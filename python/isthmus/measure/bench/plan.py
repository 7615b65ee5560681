"""
Chooses tests by suite, name or pattern, lays out what will be measured, and refuses what doesn't
fit, before anything runs.
"""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from fnmatch import fnmatchcase

from isthmus.errors import UsageError
from isthmus.ground.sizes import approximate_size, format_size
from isthmus.ground.spelling import did_you_mean, shortened
from isthmus.measure.bench.demand import BufferKinds, Demand, Limits, largest_emulated_bytes
from isthmus.measure.bench.metrics import Metric
from isthmus.measure.bench.tests.bench_test import PLAIN, BenchTest, Suite, Variation
from isthmus.measure.bench.tests.blocks import num_blocks
from isthmus.measure.bench.tests.catalogue import BY_NAME, TESTS
from isthmus.measure.bench.tests.copies import SWEEP
from isthmus.measure.bench.tests.windows import LARGEST_BYTES

_MIB = 1 << 20
# More memory than any machine has.
_AMPLE = 1 << 60


@dataclass(frozen=True)
class Point:
    """One test at one size, in one variation."""

    test: BenchTest
    size_bytes: int
    variation: Variation = PLAIN

    @property
    def metrics(self) -> tuple[Metric, ...]:
        """Its metrics, in order."""
        return self.test.metrics_in(self.variation)

    @property
    def buffers(self) -> BufferKinds | None:
        """The buffers it needs; None if it brings its own."""
        return self.test.buffers(self.variation)

    @property
    def label(self) -> str:
        """A readable name: "window_write 4 KiB, cold"."""
        words = [f"{self.test.name} {format_size(self.size_bytes)}", self.variation.words]
        return ", ".join(filter(None, words))

    @property
    def weight(self) -> float:
        """Its share of the budget, relative to a copy of no bytes."""
        return self.test.weight(self.size_bytes, self.variation)


@dataclass(frozen=True, kw_only=True)
class Plan:
    """The points in order, and what to tell the user about them."""

    points: tuple[Point, ...]
    notes: tuple[str, ...] = ()


def plan_points(tests: Sequence[BenchTest], demand: Demand) -> Plan:
    """Pair tests with sizes and circumstances."""
    limits = demand.limits
    _check_fit(SWEEP[:1] if demand.sizes is None else demand.sizes, limits)
    wanted = [Point(test, *point) for test in tests for point in test.points(demand)]
    points = tuple(p for p in wanted if limits.hold(p.test.footprint(p.size_bytes, p.variation)))
    notes = _left_out_notes(tests, points, demand)
    if points:
        return Plan(points=points, notes=notes)
    if demand.sizes is not None and all(test.suite == Suite.WINDOWS for test in tests):
        raise UsageError(
            f"size {format_size(demand.sizes[0])} is larger than the largest size of window tests",
            hint=f"the largest is {format_size(LARGEST_BYTES).replace(' ', '')}",
        )
    if not wanted and all(test.suite == Suite.BLOCKS for test in tests):
        raise UsageError(
            "blocks are measured in sizes of whole 16 bytes",
            hint="--sizes 4KiB,64KiB copies 1000 blocks of each size",
        )
    names = ", ".join(test.name for test in tests)
    if not wanted and any(test.points(replace(demand, managed=True)) for test in tests):
        raise UsageError(
            f"{names} can't be measured without --managed",
            hint="migrations delay all other work on the device meanwhile: add --managed",
        )
    raise UsageError(
        f"nothing of {names} can be measured: {limits.words}",
        hint="other sizes, or more memory (--max-bytes), or another test: isthmus bench --list",
    )


def _check_fit(sizes: Sequence[int], limits: Limits) -> None:
    too_large = [size for size in sizes if size > limits.largest_bytes]
    if not too_large:
        return
    largest_bytes = limits.largest_bytes
    valid = largest_bytes // _MIB * _MIB or largest_bytes
    raise UsageError(
        f"size {format_size(too_large[0])} is larger than the free {limits.tightest} memory "
        f"({approximate_size(largest_bytes)} can be used)",
        hint=f"the largest size that fits is {format_size(valid).replace(' ', '')}",
    )


def _left_out_notes(
    tests: Sequence[BenchTest], points: Sequence[Point], demand: Demand
) -> tuple[str, ...]:
    if demand.sizes is None:
        return _clipped_notes(tests, points, demand)
    of_blocks = _blocks_notes(tests, points, demand.sizes)
    if demand.sizes[-1] <= LARGEST_BYTES or all(test.suite != Suite.WINDOWS for test in tests):
        return of_blocks
    largest = format_size(LARGEST_BYTES)
    return (f"windows are measured up to {largest}, not at larger sizes", *of_blocks)


def _blocks_notes(
    tests: Sequence[BenchTest], points: Sequence[Point], sizes: Sequence[int]
) -> tuple[str, ...]:
    """Say which sizes of blocks are left out."""
    measured = {
        point.size_bytes // num_blocks(point.variation)
        for point in points
        if point.test.suite == Suite.BLOCKS
    }
    left_out = ", ".join(format_size(size) for size in sizes if size not in measured)
    if not left_out or all(test.suite != Suite.BLOCKS for test in tests):
        return ()
    return (f"no blocks of {left_out}: a block has whole 16 bytes, and 1000 of them must fit",)


def _clipped_notes(
    tests: Sequence[BenchTest], points: Sequence[Point], demand: Demand
) -> tuple[str, ...]:
    """Say at which size memory ends the sweep; tests and quick runs may end earlier."""
    sweeping = [test for test in tests if test.suite == Suite.BANDWIDTH]
    limits = demand.limits
    ample = replace(demand, limits=replace(limits, device_bytes=_AMPLE, host_bytes=_AMPLE))
    emulated = (_emulated_note(demand),) if demand.emulated and sweeping else ()
    wanted_bytes = max((size for test in sweeping for size, _ in test.points(ample)), default=0)
    last_bytes = max((p.size_bytes for p in points if p.test in sweeping), default=wanted_bytes)
    if last_bytes >= (largest_emulated_bytes(quick=demand.quick) if emulated else wanted_bytes):
        return emulated
    ends = f"the sweep ends at {format_size(last_bytes)} instead of {format_size(wanted_bytes)}"
    return (f"{ends}: of the {limits.tightest} memory only {limits.words}",)


def _emulated_note(demand: Demand) -> str:
    largest = format_size(largest_emulated_bytes(quick=demand.quick))
    return (
        f"emulated sizes end at {largest} (windows: 1 MiB), every "
        f"{'fourth' if demand.quick else 'second'} is measured; --sizes chooses others"
    )


_SEE_LIST = "`isthmus bench --list` shows all"
_PATTERN = frozenset("*?[]")
# They take longer than all others together, or concern few programs.
_ONLY_ON_REQUEST = frozenset({Suite.PAGING, Suite.BLOCKS})


def select_tests(names: Sequence[str] = (), suites: Sequence[str] = ()) -> list[BenchTest]:
    """
    Choose tests by names or patterns, and suites, each once, in the registry's order.
    None of all chooses all but suites paging and blocks; without names, none that is measured only
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
