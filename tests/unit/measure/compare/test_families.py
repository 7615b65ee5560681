from collections import Counter
from pathlib import Path

import pytest

from isthmus.measure.compare.families import family_of
from isthmus.measure.run.reading import read_run

RECORDED = Path(__file__).parents[4] / "benchmarks" / "link" / "h100" / "run.json"


def test_a_family_has_one_unit_one_clock_and_one_direction() -> None:
    facts: dict[str, set[tuple[str, str]]] = {}
    for result in read_run(str(RECORDED)).results:
        if (family := family_of(result)) is not None:
            facts.setdefault(family.name, set()).add((result.clock, result.unit))
            direction = {"h2d": ", H2D", "d2h": ", D2H"}.get(result.direction or "", "")
            assert family.name.endswith(direction)
    assert {name: len(found) for name, found in facts.items()} == dict.fromkeys(facts, 1)


def test_bandwidth_latency_windows_and_pipelines_are_judged_and_what_drifts_is_not() -> None:
    """Measured: docs/adr/0013-judging-families.md."""
    judged: Counter[str] = Counter()
    for result in read_run(str(RECORDED)).results:
        judged[result.suite] += family_of(result) is not None
    assert {suite for suite, number in judged.items() if number} == {
        *("bandwidth", "latency", "windows", "overlap")
    }


def test_copies_of_every_kind_of_pinned_memory_are_in_a_family() -> None:
    results = read_run(str(RECORDED)).results
    names = {f.name for r in results if r.bytes == 16 << 20 and (f := family_of(r)) is not None}
    assert {
        "pinned copies of 1 MiB and more, H2D",
        "other memory, H2D",
        "copies by a kernel, H2D",
        "pageable copies of 1 MiB and more, H2D",
    } <= names


def test_kernels_of_an_emulated_device_are_timed_by_the_host() -> None:
    result = next(r for r in read_run(str(RECORDED)).results if r.way == "sm" and family_of(r))
    real, emulated = family_of(result), family_of(result, emulated=True)
    assert real is not None
    assert emulated is not None
    assert (real.clock, emulated.clock) == ("device", "host")


@pytest.mark.parametrize("emulated", [False, True])
def test_no_two_families_have_one_name(emulated: bool) -> None:
    results = read_run(str(RECORDED)).results
    families = {f for r in results if (f := family_of(r, emulated=emulated)) is not None}
    names = Counter(family.name for family in families)
    assert [name for name, number in names.items() if number > 1] == []


def test_what_was_derived_is_in_no_family() -> None:
    derived = [r for r in read_run(str(RECORDED)).results if r.median and not r.stopped_by]
    assert derived
    assert {family_of(result) for result in derived} == {None}
