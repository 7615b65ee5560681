"""Suite paging on the emulated device: the programs of Zhang 2019 by each way, and their tables."""

import pytest

from isthmus import _native
from isthmus.measure.bench.demand import Demand, Limits
from isthmus.measure.bench.plan import select_tests
from isthmus.measure.bench.tests.paging import PAGING_TESTS, PagingWay, way_of
from isthmus.measure.run.model import Run, Status
from isthmus.measure.run.programs import PROGRAMS, SEED, Program
from isthmus.show.formats.as_text import as_text
from program import PROGRAM, run_process

COPY_NOTHING = {"paging_cp", "paging_lib", "paging_ray"}


@pytest.fixture(scope="module")
def run() -> Run:
    arguments = ("bench", "paging", "--device", "emulated", "-i", "1", "--no-save")
    outcome = run_process([*PROGRAM, *arguments, "--format", "json"])
    assert outcome.code == 0, outcome.err
    return Run.model_validate_json(outcome.out)


@pytest.mark.long
def test_every_program_runs_by_every_way_and_its_results_are_compared(run: Run) -> None:
    passed = [result for result in run.results if result.status == Status.PASSED]
    assert {result.verified_on for result in passed} == {"host"}
    found = {(result.test, result.axes["way"]) for result in passed}
    always = set(PagingWay) - {PagingWay.COPIES}
    assert {(test.name, way) for test in PAGING_TESTS for way in always} <= found
    assert {test for test, way in found if way == "copies"} == {
        test.name for test in PAGING_TESTS
    } - COPY_NOTHING


@pytest.mark.long
def test_a_way_that_cannot_run_is_waived_and_says_why(run: Run) -> None:
    waived = [result for result in run.results if result.status == Status.WAIVED]
    assert {(result.test, result.axes["way"]) for result in waived} == {
        (test, "copies") for test in COPY_NOTHING
    }
    assert all("copies nothing" in (result.reason or "") for result in waived)


@pytest.mark.long
def test_the_tables_are_those_of_the_papers_figures(run: Run) -> None:
    text = as_text(run)
    assert "Programs of Zhang 2019, ms" in text
    assert "Figures 4 and 6 of Zhang 2019 on this machine: time / programmer's copies" in text
    assert "Figure 5 of Zhang 2019 on this machine: paged by units" in text
    assert "max(C, X) / (C + X)" in text
    assert text.count("geometric mean") >= 2
    assert "EMULATED" in text


def test_the_suite_is_chosen_by_its_name_or_a_test_s() -> None:
    assert select_tests(suites=["paging"]) == list(PAGING_TESTS)
    assert [test.name for test in select_tests(["paging_aes"])] == ["paging_aes"]


def test_quick_runs_have_one_unit() -> None:
    limits = Limits(device_bytes=1 << 40, host_bytes=1 << 40)
    all_points = PAGING_TESTS[0].points(Demand(limits=limits))
    quick = PAGING_TESTS[0].points(Demand(limits=limits, quick=True))
    assert {way_of(variation) for _, variation in quick} == set(PagingWay)
    assert len(quick) == len(PagingWay) < len(all_points)


@pytest.mark.parametrize("program", PROGRAMS, ids=lambda program: program.name)
def test_a_small_input_takes_the_memory_that_the_table_says(program: Program) -> None:
    driver = _native.Driver.open("emulated")
    context = _native.Context(driver, 0)
    kernels = _native.Kernels(context, nvrtc=None, cache_folder="")
    made = _native.PagingWorkload(
        context, kernels, workload=program.workload, sizes=dict(program.small.sizes), seed=SEED
    )
    assert made.memory_bytes == program.small.memory_bytes


def test_every_program_is_one_of_the_papers() -> None:
    papers = {one.name for one in _native.workloads() if one.in_paper}
    assert {program.workload for program in PROGRAMS} - {"mum-1400k"} == papers - {"mum-140k"}
