"""The programs of suite paging beside what the simulator predicts."""

import json
from dataclasses import replace
from pathlib import Path
from threading import Event
from typing import Any

import pytest

from isthmus.errors import Error, UsageError
from isthmus.measure.run.model import Run
from isthmus.measure.run.programs import PROGRAMS, Input
from isthmus.measure.run.reading import parse_run
from isthmus.show.format import Format
from isthmus.sim.driver.as_text import Comparison, comparison_text
from isthmus.sim.driver.fetching import fitted_fetch, fitting_programs, num_steps, with_fetch
from isthmus.sim.driver.measured import points_of
from isthmus.sim.driver.programs import (
    ProgramPoint,
    Simulation,
    compared_programs,
    median_error,
    program_points,
    setup_of,
)
from isthmus.sim.machine import Handling
from isthmus.sim.machine_files import load_machine
from isthmus.sim.policy import Kind

H100 = Path(__file__).parents[3] / "benchmarks/link/h100/run.json"
MACHINE = "h100-pcie5"
AES = next(program for program in PROGRAMS if program.name == "aes")


def result_like(document: dict[str, Any], **changes: object) -> dict[str, Any]:
    one: dict[str, Any] = next(r for r in document["results"] if r["status"] == "passed")
    usual = {
        "test": "paging_aes",
        "suite": "paging",
        "metric": "run",
        "unit": "s",
        "direction": None,
        "source": "pinned",
        "target": "device",
        "bytes": AES.large.memory_bytes,
        "median": 0.002,
        "axes": {"way": "units", "unit": 1024},
    }
    return one | usual | changes


@pytest.fixture(scope="module")
def document() -> dict[str, Any]:
    whole: dict[str, Any] = json.loads(H100.read_text())
    whole["results"] = [
        result_like(whole),
        result_like(whole, axes={"way": "ideal"}, median=0.001),
        result_like(whole, axes={"way": "units", "unit": 4096}),
        result_like(whole, bytes=AES.small.memory_bytes),
        result_like(whole, axes={"way": "of a later version"}),
    ]
    return whole


@pytest.fixture(scope="module")
def h100(document: dict[str, Any]) -> Run:
    return parse_run(json.dumps(document).encode(), "a run")


def small(way: str, unit_bytes: int | None = None) -> ProgramPoint:
    """Make a point whose simulation takes milliseconds."""
    program = replace(AES, large=AES.small)
    return ProgramPoint(program=program, way=way, unit_bytes=unit_bytes, seconds=1e-5)


def test_points_are_of_known_ways_inputs_and_the_usual_unit(h100: Run) -> None:
    found = [(one.program.name, one.way, one.unit_bytes) for one in program_points(h100)]
    assert found == [("aes", "ideal", None), ("aes", "units", 1024)]


def test_a_run_of_programs_alone_needs_no_managed_memory(h100: Run) -> None:
    assert points_of(h100, or_none=True) == []
    with pytest.raises(UsageError, match="managed memory"):
        points_of(h100)


def test_a_run_of_the_emulated_device_has_no_points(document: dict[str, Any]) -> None:
    run = parse_run(json.dumps(document).encode(), "a run")
    machine = run.machine.model_copy(update={"emulated": True})
    assert program_points(run.model_copy(update={"machine": machine})) == []


def test_no_driver_takes_part_in_paging_and_kernels_have_few_warps() -> None:
    machine = load_machine(MACHINE)
    paged = setup_of(small("ranges", 1024), machine)
    assert paged.policy.kind is Kind.RANGES
    assert paged.machine.faults.page == paged.machine.faults.block == 0
    assert paged.machine.faults.handling is Handling.LANES
    assert paged.machine.cores.max_warps == 24
    assert setup_of(small("units", 1024), machine).machine.cores.max_warps == 32
    assert setup_of(small("whole_page", 1024), machine).policy.merge
    assert setup_of(small("units", 4096), machine).policy.unit == 4096
    through = setup_of(small("read_through", 1024), machine).machine
    assert (through.faults.handling, through.cores.max_warps) == (Handling.EACH, 24)
    assert setup_of(small("managed"), machine).machine.faults == machine.faults


def test_every_way_is_predicted_and_copies_take_part_of_the_programmers_time() -> None:
    points = [small(way) for way in ("ideal", "copies", "programmer", "managed", "zero_copy")]
    points.append(small("units", 1024))
    found = compared_programs(points, load_machine(MACHINE))
    seconds = {one.point.way: one.seconds for one in found}
    assert [one.point for one in found] == points
    assert seconds["copies"] + seconds["ideal"] == pytest.approx(seconds["programmer"], rel=0.05)
    assert seconds["managed"] > seconds["programmer"]
    assert median_error(found) > 0


def test_a_programs_clock_is_fitted_to_its_time_with_resident_data() -> None:
    slow = replace(small("ideal"), seconds=1e-4)
    found = compared_programs([slow, small("copies"), small("units", 1024)], load_machine(MACHINE))
    assert [one.is_fitted for one in found] == [True, False, False]
    assert found[0].seconds == pytest.approx(slow.seconds, rel=0.01)
    assert found[2].seconds > slow.seconds
    assert median_error(found) == median_error(found[1:])


def made_with(fetch_us: float, names: tuple[str, ...]) -> list[ProgramPoint]:
    """Give small programs' times with resident data and by units, as a machine predicts them."""
    machine = with_fetch(load_machine(MACHINE), fetch_us)
    points = []
    for program in PROGRAMS:
        if program.name not in names:
            continue
        small_one = replace(program, large=program.small)
        simulation = Simulation.of(small_one, Event())
        for way, unit in (("ideal", None), ("units", 1024)):
            point = ProgramPoint(program=small_one, way=way, unit_bytes=unit, seconds=1.0)
            setup = setup_of(point, machine)
            found = simulation.compared(point, setup, simulation.run(setup))
            points.append(replace(point, seconds=found.seconds))
    return points


def test_the_fit_finds_how_long_kernels_took_to_fetch_a_unit() -> None:
    chosen = fitting_programs(made_with(5.0, ("aes", "sto")))
    told: list[int] = []
    found = fitted_fetch(chosen, load_machine(MACHINE), lambda step, _: told.append(step))
    assert found.faults.fetch == pytest.approx(5e6, abs=0.3e6)
    assert told == list(range(num_steps(chosen)))
    assert found.model_copy(update={"faults": load_machine(MACHINE).faults}) == load_machine(
        MACHINE
    )


def test_where_the_link_alone_takes_longer_than_a_program_kernels_fetch_in_no_time() -> None:
    machine = load_machine(MACHINE)
    slow = machine.link.model_copy(update={"bandwidth": 10**8})
    chosen = fitting_programs(made_with(5.0, ("aes", "sto")))
    found = fitted_fetch(chosen, machine.model_copy(update={"link": slow}), ignore)
    assert found.faults.fetch == 0


def test_three_programs_are_fitted_to_and_the_others_test_the_fit() -> None:
    points = made_with(5.0, ("aes", "cp", "lps", "ray", "sto"))
    pairs = fitting_programs(points)
    assert [pair[0].program.name for pair in pairs] == ["lps", "aes", "sto"]
    assert all([one.way for one in pair] == ["ideal", "units"] for pair in pairs)


def test_a_fit_that_no_time_settles_is_an_error_and_so_is_one_without_programs() -> None:
    points = made_with(5.0, ("aes", "sto"))
    slow = [replace(one, seconds=one.seconds * 1000) for one in points if one.way == "units"]
    resident = [one for one in points if one.way == "ideal"]
    both = [resident[0], slow[0], resident[1], slow[1]]
    with pytest.raises(Error, match="doesn't settle"):
        fitted_fetch(fitting_programs(both), load_machine(MACHINE), ignore)
    with pytest.raises(UsageError, match=r"none of the programs .* aes, lps, sto"):
        fitted_fetch(fitting_programs(made_with(5.0, ("cp",))), load_machine(MACHINE), ignore)


def ignore(_step: int, _point: ProgramPoint) -> None:
    """Follow no progress."""


def test_hints_take_what_copies_and_the_calls_of_prefetches_take() -> None:
    machine = load_machine(MACHINE)
    copied, hinted = compared_programs([small("programmer"), small("managed_hints")], machine)
    calls = 2 * (machine.faults.prefetch + machine.faults.prefetch_block)  # its data, and its key
    assert hinted.seconds - copied.seconds == pytest.approx(calls * 1e-12)


def test_without_a_time_with_resident_data_the_machines_clock_stays() -> None:
    found = compared_programs([small("programmer")], load_machine(MACHINE))
    point = replace(small("ideal"), seconds=1e-4)
    slower = compared_programs([point, small("programmer")], load_machine(MACHINE))
    assert not found[0].is_fitted
    assert found[0].seconds < slower[1].seconds / 2


def test_each_point_is_told_before_it_is_waited_for() -> None:
    told: list[tuple[int, str]] = []
    compared_programs(
        [small("ideal"), small("copies")],
        load_machine(MACHINE),
        lambda num_finished, point: told.append((num_finished, point.way)),
    )
    assert told == [(0, "ideal"), (1, "copies")]


def test_an_interrupt_ends_simulations_that_are_under_way() -> None:
    def interrupt(num_finished: int, _: ProgramPoint) -> None:
        if num_finished == 1:
            raise KeyboardInterrupt

    four_mib = replace(AES, large=Input(memory_bytes=8 << 20, sizes=(("bytes", 4 << 20),)))
    large = ProgramPoint(program=four_mib, way="units", unit_bytes=1024, seconds=1.0)
    with pytest.raises(KeyboardInterrupt):
        compared_programs([small("ideal"), large, large], load_machine(MACHINE), interrupt)


def test_the_table_names_program_way_and_unit(h100: Run) -> None:
    machine = load_machine(MACHINE)
    found = Comparison(programs=compared_programs([small("units", 1024)], machine))
    text = comparison_text(h100, machine, found, Format.TEXT, width=80)
    assert "aes      units  1 KiB" in text
    assert "off in the median" in text
    assert "predicted times are modelled" in text
    rows = json.loads(comparison_text(h100, machine, found, Format.JSON))["points"]
    assert rows[0]["access"] == "program aes: units, units of 1 KiB"
