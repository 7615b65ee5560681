"""The modelled driver beside a real one: what is read from a run, predicted, and fitted."""

import json
from dataclasses import replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import pytest

import isthmus
from isthmus.errors import Error, UsageError
from isthmus.measure.bench.tests.catalogue import TESTS
from isthmus.measure.bench.tests.managed import PAGE_FAULT_TESTS
from isthmus.measure.run.model import Run
from isthmus.measure.run.reading import parse_run, read_run
from isthmus.show.format import Format
from isthmus.sim.driver.as_text import (
    Comparison,
    comparison_text,
    geometric_error,
    said_costs,
)
from isthmus.sim.driver.fitting import Compared, Fit, compared, fitted
from isthmus.sim.driver.measured import (
    FAULT_PAGES,
    PREDICTED,
    Access,
    DriverPoint,
    not_predicted,
    points_of,
)
from isthmus.sim.driver.predicting import predicted
from isthmus.sim.driver.storing import fitted_machine_text, named_after
from isthmus.sim.machine import Handling, LinkCost, ModelledMachine
from isthmus.sim.machine_files import load_machine, machine_names, parse_machine
from isthmus.sim.machine_text import machine_text

LINK = Path(__file__).parents[3] / "benchmarks/link"
RUN = LINK / "h100/run.json"
# Of one H200 in two hours. Only the second has reads at random, and only the first a page fault.
H100_THRASHING_RUN = LINK / "h100/managed_thrashing.json"
H200_RUN = LINK / "h200/managed.json"
H200_RANDOM_RUN = LINK / "h200/managed_random.json"
MIB = 1 << 20
US = 10**6


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(RUN.read_text())
    whole["results"] = [one for one in whole["results"] if "managed" in one["test"]]
    return whole


@pytest.fixture(scope="module")
def h100(document: dict[str, Any]) -> Run:
    return run_of(document)


@pytest.fixture(scope="module")
def h200() -> Run:
    return read_run(str(H200_RUN))


@pytest.fixture(scope="module")
def h200_random() -> Run:
    return read_run(str(H200_RANDOM_RUN))


def run_of(document: dict[str, Any]) -> Run:
    return parse_run(json.dumps(document).encode(), "a run")


def machine_with(block: int, first: int, page: int) -> ModelledMachine:
    machine = load_machine("h100-pcie5")
    costs = {"block": block, "first": first, "page": page, "handling": Handling.BATCH}
    return machine.model_copy(update={"faults": machine.faults.model_copy(update=costs)})


def points_by(machine: ModelledMachine) -> list[DriverPoint]:
    """What a machine with this driver would measure."""
    points = [
        DriverPoint(access=Access.PAGE_FAULT, size_bytes=4096, seconds=1.0),
        *(
            DriverPoint(access=Access.READ, size_bytes=size * MIB, seconds=1.0)
            for size in (1, 2, 4, 8)
        ),
    ]
    return [
        DriverPoint(
            access=one.access,
            size_bytes=one.size_bytes,
            seconds=predicted(one, machine).seconds,
        )
        for one in points
    ]


def test_the_points_of_a_run_are_its_page_faults_and_its_reads(h100: Run) -> None:
    points = points_of(h100)
    assert [(one.access, one.size_bytes // MIB) for one in points] == [
        (Access.PAGE_FAULT, 0),
        (Access.CPU_FAULT, 0),
        *((Access.READ, size) for size in (1, 16, 128, 512)),
        *((Access.REMOTE, size) for size in (1, 16, 128, 512)),
        *((Access.PREFETCHED, size) for size in (1, 16, 128, 512)),
        *((Access.CPU_READ, size) for size in (1, 16, 128, 512)),
        *((Access.PREFETCHED_BACK, size) for size in (1, 16, 128, 512)),
        *((Access.WRITTEN, size) for size in (1, 16, 128, 512)),
    ]
    assert points[0].seconds == pytest.approx(28.5e-6, rel=0.01)
    assert points[1].seconds == pytest.approx(20.2e-6, rel=0.01)
    assert points[2].seconds == pytest.approx(MIB / 2.818e9, rel=0.01)


def test_the_points_of_a_run_that_thrashes_are_but_the_largest_fresh_reads() -> None:
    points = points_of(read_run(str(H100_THRASHING_RUN)))
    found = [(one.access, one.size_bytes // MIB) for one in points if "thrashing" in one.access]
    assert found == [
        (Access.THRASHED, 128),
        (Access.THRASHED, 512),
        (Access.THRASHED_RANDOM, 128),
        (Access.THRASHED_RANDOM, 512),
    ]


def test_tests_that_are_not_predicted_are_named(h100: Run) -> None:
    assert not_predicted(h100) == []
    unknown = [
        one.model_copy(update={"test": one.test.replace("managed_demand", "managed_guessed")})
        for one in h100.results
    ]
    other = h100.model_copy(update={"results": unknown})
    assert not_predicted(other) == [
        f"{way}_managed_guessed" for way in ("device_to_host", "host_to_device")
    ]


def test_what_is_predicted_is_what_the_bench_measures() -> None:
    assert {test for test, _ in PREDICTED} <= {test.name for test in TESTS}
    [faults] = PAGE_FAULT_TESTS
    assert faults.num_pages == FAULT_PAGES


def test_an_emulated_run_is_refused(document: dict[str, Any]) -> None:
    emulated = document | {"machine": document["machine"] | {"emulated": True}}
    with pytest.raises(UsageError, match="emulated device"):
        points_of(run_of(emulated))


def test_a_run_without_managed_memory_is_refused(document: dict[str, Any]) -> None:
    with pytest.raises(UsageError, match="no results of managed memory"):
        points_of(run_of(document | {"results": []}))


def test_the_fit_finds_the_costs_that_points_were_made_with() -> None:
    true = machine_with(12 * US, 150 * US, US // 4)
    fit = fitted(points_by(true), load_machine("h100-pcie5"))
    assert fit.machine.faults.latency == 0
    assert fit.machine.faults.block == pytest.approx(12 * US, rel=0.01)
    assert fit.machine.faults.first == pytest.approx(150 * US, rel=0.01)
    assert fit.machine.faults.page == pytest.approx(US / 4, rel=0.01)
    assert all(abs(one.error) < 0.01 for one in fit.compared)


def test_every_second_size_is_held_back() -> None:
    fit = fitted(points_by(machine_with(12 * US, 150 * US, US // 4)), load_machine("h100-pcie5"))
    held = {one.point.size_bytes // MIB: one.held_back for one in fit.compared}
    assert held == {0: False, 1: False, 2: True, 4: False, 8: True}


def test_a_driver_without_a_first_cost_gets_none() -> None:
    fit = fitted(points_by(machine_with(20 * US, 0, US // 2)), load_machine("h100-pcie5"))
    assert fit.machine.faults.first < US // 100


@pytest.mark.long
def test_reads_of_an_h100_are_predicted_within_a_tenth_where_the_fit_saw_nothing(h100: Run) -> None:
    """The machine is that fit: a long test makes it again."""
    reads = [one for one in points_of(h100) if one.access is Access.READ]
    held = [one for one in reads if one.size_bytes // MIB in {16, 512}]
    assert geometric_error(compared(held, load_machine("h100-pcie5"))) < 0.1


@pytest.mark.long
@pytest.mark.parametrize(("gpu", "run"), [("h100", RUN), ("h200", H200_RUN)])
def test_prefetches_are_predicted_within_a_tenth_where_the_fit_saw_nothing(
    gpu: str, run: Path
) -> None:
    points = [one for one in points_of(read_run(str(run))) if one.access is Access.PREFETCHED]
    errors = {
        one.point.size_bytes // MIB: abs(one.error)
        for one in compared(points, load_machine(f"{gpu}-pcie5"))
    }
    assert set(errors) == {1, 16, 128, 512}
    assert errors[1] < 0.001
    assert errors[128] < 0.001
    assert max(errors.values()) < 0.1


@pytest.mark.long
def test_the_fit_finds_what_prefetches_were_made_with() -> None:
    true = machine_with(12 * US, 150 * US, US // 4)
    costs = {"prefetch": 30 * US, "prefetch_block": 7 * US}
    true = true.model_copy(update={"faults": true.faults.model_copy(update=costs)})
    points = [
        replace(one, seconds=predicted(one, true).seconds)
        for one in (
            DriverPoint(access=Access.PREFETCHED, size_bytes=size * MIB, seconds=1.0)
            for size in (1, 2, 16)
        )
    ]
    fit = fitted([*points_by(true), *points], load_machine("h100-pcie5"))
    assert fit.machine.faults.prefetch == pytest.approx(30 * US, rel=0.01)
    assert fit.machine.faults.prefetch_block == pytest.approx(7 * US, rel=0.01)
    prefetched = [one for one in fit.compared if one.point.access is Access.PREFETCHED]
    assert [one.held_back for one in prefetched] == [False, True, False]


@pytest.mark.parametrize(
    ("at_random", "held_back"), [(True, [True, True, False]), (False, [False, True])]
)
def test_the_fit_finds_what_making_room_was_made_with(
    at_random: bool, held_back: list[bool]
) -> None:
    true = machine_with(12 * US, 150 * US, US // 4)
    true = true.model_copy(update={"faults": true.faults.model_copy(update={"evict": 60 * US})})
    accesses = [(Access.THRASHED, 16), (Access.THRASHED, 32)]
    accesses += [(Access.THRASHED_RANDOM, 16)] if at_random else []
    points = [
        DriverPoint(access=access, size_bytes=size * MIB, seconds=1.0) for access, size in accesses
    ]
    points = [replace(one, seconds=predicted(one, true).seconds) for one in points]
    fit = fitted([*points_by(true), *points], load_machine("h100-pcie5"))
    assert fit.machine.faults.evict == pytest.approx(60 * US, rel=0.01)
    held = [one.held_back for one in fit.compared if one.point in points]
    assert held == held_back


def test_with_room_for_half_each_block_that_is_read_again_comes_again() -> None:
    machine = load_machine("h100-pcie5")
    point = DriverPoint(access=Access.THRASHED, size_bytes=16 * MIB, seconds=1.0)
    again = predicted(point, machine)
    assert (again.evictions, again.pages) == (8, 4096)
    fresh = predicted(replace(point, access=Access.READ), machine)
    assert (fresh.evictions, fresh.pages) == (0, 4096)


def test_a_read_at_random_that_thrashes_takes_what_it_took_on_an_h100() -> None:
    machine = load_machine("h100-pcie5")
    points = points_of(read_run(str(H100_THRASHING_RUN)))
    shortest = next(one for one in points if one.access is Access.THRASHED_RANDOM)
    found = predicted(shortest, machine)
    assert found.seconds == pytest.approx(shortest.seconds, rel=0.15)
    # Nearly all of what comes is evicted before it was used: 64 blocks come 20,000 times.
    assert found.blocks > 100 * 64
    assert found.evictions > 100 * 64


@pytest.mark.long
def test_the_fit_finds_what_the_cpus_accesses_were_made_with() -> None:
    costs = {"back_fault": 11 * US, "back_page": US // 2}
    costs |= {"back_prefetch": 40 * US, "back_prefetch_block": 90 * US}
    true = machine_with(12 * US, 150 * US, US // 4)
    true = true.model_copy(update={"faults": true.faults.model_copy(update=costs)})
    accesses = [(Access.CPU_FAULT, 4096)]
    accesses += [(Access.CPU_READ, size * MIB) for size in (1, 2, 16)]
    accesses += [(Access.PREFETCHED_BACK, size * MIB) for size in (1, 2, 16)]
    points = [DriverPoint(access=one, size_bytes=size, seconds=1.0) for one, size in accesses]
    points = [replace(one, seconds=predicted(one, true).seconds) for one in points]
    fit = fitted([*points_by(true), *points], load_machine("h100-pcie5"))
    for name, cost in costs.items():
        assert getattr(fit.machine.faults, name) == pytest.approx(cost, rel=0.01)
    held = [one.held_back for one in fit.compared if one.point in points]
    assert held == [False, *([False, True, False] * 2)]


def test_a_cpu_faults_once_for_64_kib_and_then_for_as_much_again() -> None:
    machine = load_machine("h100-pcie5")
    reads = [
        predicted(DriverPoint(access=Access.CPU_READ, size_bytes=size, seconds=1.0), machine)
        for size in (4096, 65536, 2 * 65536, MIB, 2 * MIB, 4 * MIB)
    ]
    assert [one.back_faults for one in reads] == [1, 1, 2, 5, 6, 12]
    assert [one.back_blocks for one in reads] == [1, 1, 1, 1, 1, 2]
    assert reads[3].back_pages == 256


def test_what_is_written_in_place_takes_what_the_link_takes() -> None:
    machine = load_machine("h100-pcie5")
    point = DriverPoint(access=Access.WRITTEN, size_bytes=128 * MIB, seconds=1.0)
    found = predicted(point, machine)
    assert found.seconds == pytest.approx(128 * MIB / machine.link.back_bandwidth, rel=0.01)
    assert found.back_faults == found.batches == 0


@pytest.mark.parametrize(
    ("policy", "cost", "count"),
    [
        ("tree", "back_page", "returned_pages"),
        ("tree", "back_fault", "returned_faults"),
        ("prefetch", "back_prefetch", "returned_steps"),
        ("prefetch", "back_prefetch_block", "returned_blocks"),
    ],
)
def test_the_driver_takes_its_time_for_the_cpu_if_downloads_count(
    policy: str, cost: str, count: str
) -> None:
    free = {"workload.nodes": "4096", "options.count_downloads": "true"} | {
        f"faults.{name}": "0"
        for name in ("back_page", "back_fault", "back_prefetch", "back_prefetch_block")
    }
    slow = {**free, f"faults.{cost}": "3us"}
    quick = isthmus.simulate("bfs", "h100-pcie5", policy, settings=free)
    late = isthmus.simulate("bfs", "h100-pcie5", policy, settings=slow)
    assert late.counts[count] > 0
    assert late.total_ps - quick.total_ps == late.counts[count] * 3 * US
    without = {"options.count_downloads": "false"}
    assert (
        isthmus.simulate("bfs", "h100-pcie5", policy, settings={**slow, **without}).total_ps
        == isthmus.simulate("bfs", "h100-pcie5", policy, settings={**free, **without}).total_ps
    )


def test_one_prefetch_tells_two_costs_not_apart() -> None:
    machine = load_machine("h100-pcie5")
    points = points_by(machine_with(12 * US, 150 * US, US // 4))
    one = DriverPoint(access=Access.PREFETCHED, size_bytes=MIB, seconds=1.0)
    fit = fitted([*points, one], machine)
    assert fit.machine.faults.prefetch == machine.faults.prefetch
    assert fit.compared[-1].held_back


def but_the_largest(run: Run) -> list[DriverPoint]:
    """All points but those of 512 MiB, which a fit holds back, of what isn't read on demand."""
    points = points_of(run)
    return [one for one in points if one.access is Access.READ or one.size_bytes < 512 * MIB]


@pytest.mark.long
def test_the_machines_that_come_with_isthmus_are_these_fits(h100: Run, h200: Run) -> None:
    h100_fit = fitted(but_the_largest(h100), load_machine("h100-pcie5"))
    assert h100_fit.machine.faults == load_machine("h100-pcie5").faults
    held = [one for one in h100_fit.compared if one.held_back and one.point.access is Access.READ]
    assert [one.point.size_bytes // MIB for one in held] == [16, 512]
    assert geometric_error(held) < 0.1
    h200_fit = fitted(but_the_largest(h200), load_machine("h200-pcie5"))
    assert h200_fit.machine.faults == load_machine("h200-pcie5").faults
    held = [one for one in h200_fit.compared if one.held_back and one.point.access is Access.READ]
    assert all(abs(one.error) < 0.15 for one in held)
    assert geometric_error(held) < 0.1


def test_reads_at_random_are_points_of_their_own(h200: Run, h200_random: Run) -> None:
    at_random = [one for one in points_of(h200_random) if one.access is Access.RANDOM]
    assert [one.size_bytes // MIB for one in at_random] == [1, 16, 128, 512]
    assert Access.RANDOM not in {one.access for one in points_of(h200)}


def test_no_fit_sees_a_read_at_random() -> None:
    machine = load_machine("h100-pcie5")
    points = points_by(machine_with(12 * US, 150 * US, US // 4))
    wrong = DriverPoint(access=Access.RANDOM, size_bytes=4 * MIB, seconds=1.0)
    without, beside = fitted(points, machine), fitted([*points, wrong], machine)
    assert beside.machine == without.machine
    assert beside.compared[-1].held_back


@pytest.mark.long
def test_reads_at_random_follow_from_the_same_hours_reads_in_order(
    h200: Run, h200_random: Run
) -> None:
    faults = [one for one in points_of(h200) if one.access is Access.PAGE_FAULT]
    fit = fitted([*faults, *points_of(h200_random)], load_machine("h200-pcie5"))
    at_random = [one for one in fit.compared if one.point.access is Access.RANDOM]
    assert geometric_error(at_random) < 0.12
    assert max(abs(one.error) for one in at_random) < 0.2


@pytest.mark.long
def test_a_read_at_random_touches_more_blocks_in_fewer_batches() -> None:
    in_order, at_random = (
        predicted(
            DriverPoint(access=access, size_bytes=128 * MIB, seconds=1.0),
            load_machine("h100-pcie5"),
        )
        for access in (Access.READ, Access.RANDOM)
    )
    assert in_order.pages == at_random.pages == 128 * MIB / 4096
    assert at_random.batches < in_order.batches / 4
    assert at_random.blocks > in_order.blocks * 2


def test_too_few_points_are_refused(h100: Run) -> None:
    with pytest.raises(UsageError, match=r"three points.* 1 page faults, 2 sizes"):
        fitted(points_of(h100)[:4], load_machine("h100-pcie5"))


def test_times_shorter_than_the_links_are_refused() -> None:
    points = [
        DriverPoint(access=one.access, size_bytes=one.size_bytes, seconds=one.seconds / 1000)
        for one in points_by(machine_with(0, 0, 0))
    ]
    with pytest.raises(Error, match="shorter than the link alone"):
        fitted(points, load_machine("h100-pcie5"))


def test_a_read_takes_a_pages_cost_for_each_of_its_pages() -> None:
    point = DriverPoint(access=Access.READ, size_bytes=16 * MIB, seconds=1.0)
    one, two = (predicted(point, machine_with(10 * US, 0, page)) for page in (US, 2 * US))
    assert one.pages == two.pages == 16 * MIB / 4096
    assert two.seconds - one.seconds == pytest.approx(one.pages * 1e-6, rel=0.01)


@pytest.mark.parametrize("name", machine_names())
def test_a_machine_that_is_written_is_read_as_it_was(name: str) -> None:
    machine = load_machine(name)
    text = machine_text(machine, ['with a "remark"'])
    assert parse_machine(text.encode(), name) == machine


def test_a_link_of_points_is_written_too() -> None:
    machine = load_machine("h100-pcie5")
    costs = [LinkCost.model_validate({"size": "4 KiB", "busy": "1 us"})]
    changed = machine.model_copy(update={"link": machine.link.model_copy(update={"costs": costs})})
    assert parse_machine(machine_text(changed, []).encode(), "costs") == changed


def test_a_fitted_machine_says_what_it_was_fitted_to(h100: Run) -> None:
    fit = fitted(points_by(machine_with(12 * US, 150 * US, US // 4)), load_machine("h100-pcie5"))
    machine = named_after(fit.machine, Path("mine.toml"), h100)
    text = fitted_machine_text(machine, h100, fit)
    assert parse_machine(text.encode(), "mine") == machine
    assert machine.name == "mine"
    assert h100.run.id in text
    assert "2 MiB: +0.0% (held back)" in text


def test_costs_that_a_fit_has_kept_are_marked() -> None:
    machine = load_machine("h100-pcie5")
    fitted = frozenset(("first", "block", "page", "back_fault", "back_page"))
    assert "kept" not in said_costs(machine, "faults", fitted)
    assert said_costs(machine, "eviction", fitted).endswith("that is evicted (kept)")
    back, prefetched = said_costs(machine, "back", fitted).split("; ")
    assert "kept" not in back
    assert prefetched.endswith("(kept)")
    assert "kept" not in said_costs(machine, "eviction")


def test_a_machine_fitted_to_programs_alone_says_nothing_of_a_driver(h100: Run) -> None:
    fit = Fit(machine=load_machine("h100-pcie5"), programs=("lps", "sto"))
    text = fitted_machine_text(fit.machine, h100, fit)
    assert "Paged arrays: 8.25 us a unit that a kernel fetches itself, fitted to lps, sto." in text
    assert "costs of faults" not in text


def test_tables_fit_80_columns_and_name_what_is_modelled(h100: Run) -> None:
    points = compared(points_of(h100)[:2], load_machine("h100-pcie5"))
    machine = load_machine("h100-pcie5")
    found = Comparison(points=points, left_out=not_predicted(h100))
    text = comparison_text(h100, machine, found, Format.TEXT, width=80)
    assert max(map(len, text.splitlines())) <= 80
    assert "predicted times are modelled" in text
    assert "held back" not in text
    rows = json.loads(comparison_text(h100, machine, found, Format.JSON))["points"]
    assert [row["access"] for row in rows] == ["page fault", "page fault of the CPU"]


def test_errors_are_averaged_as_factors() -> None:
    point = DriverPoint(access=Access.READ, size_bytes=1, seconds=1.0)
    points = [Compared(point=point, seconds=seconds, held_back=None) for seconds in (2.0, 0.5)]
    assert geometric_error(points) == pytest.approx(1.0)


def test_longer_reads_take_longer() -> None:
    times = [
        predicted(
            DriverPoint(access=Access.READ, size_bytes=size * MIB, seconds=1.0),
            load_machine("h100-pcie5"),
        ).seconds
        for size in (1, 2, 4, 8)
    ]
    assert all(one < other for one, other in pairwise(times))
