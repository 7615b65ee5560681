"""The small-copy experiments: what is planned, and what is shown."""

from fakes.latency import ROOMY, results_of, run_of
from fakes.session import FakeMeasurement, FakeSamples, FakeSession
from isthmus.measure.bench.demand import Demand, Limits
from isthmus.measure.bench.plan import Point, plan_points
from isthmus.measure.bench.tests.catalogue import BenchTest
from isthmus.measure.bench.tests.experiments import EXPERIMENT_TESTS
from isthmus.measure.run.model import Status
from isthmus.show.tables.experiments import experiment_tables

KIB = 1 << 10
HOME_BY_CPU, HOME_BY_GPU, ROUND = EXPERIMENT_TESTS


def test_the_experiments_go_from_4_b_to_16_mib_as_the_originals_ask_for_next() -> None:
    for test in EXPERIMENT_TESTS:
        sizes = [size for size, _ in test.points(Demand(limits=ROOMY))]
        assert sizes == [4, 4 * KIB, 64 * KIB, 1 << 20, 16 << 20]


def test_a_run_has_the_originals_iterations_and_moves_little_where_copies_are_large() -> None:
    assert [test.iterations(4) for test in EXPERIMENT_TESTS] == [100, 100, 1000]
    for test in EXPERIMENT_TESTS:
        assert test.iterations(16 << 20) == 10


def test_five_runs_are_taken_by_default_and_two_of_modelled_ones() -> None:
    ((size, variation), *_) = ROUND.points(Demand(limits=ROOMY))
    assert ROUND.stopping(size, variation, 1.0, emulated=False).min_samples == 5
    assert ROUND.stopping(size, variation, 1.0, emulated=True).min_samples == 2


def test_what_does_not_fit_the_memory_is_not_planned() -> None:
    tight = Limits(device_bytes=1 << 20, host_bytes=1 << 20)
    plan = plan_points([ROUND], Demand(limits=tight))
    assert [point.size_bytes for point in plan.points] == [4, 4 * KIB, 64 * KIB]


def test_an_experiment_shows_average_least_and_most_over_its_runs_and_ratios() -> None:
    def answer(test: BenchTest, size_bytes: int) -> FakeMeasurement:
        del test, size_bytes
        return FakeMeasurement(
            [
                FakeSamples("blocking", [50e-6, 60e-6, 70e-6], 100),
                FakeSamples("async", [80e-6, 90e-6, 130e-6], 100),
                FakeSamples("async_over_blocking", [1.5, 1.6, 2.0], 100),
            ]
        )

    found = results_of([HOME_BY_CPU], FakeSession(answer), demand=Demand(limits=ROOMY, quick=True))
    (table,) = experiment_tables(run_of(found))
    assert table.rows == (
        ("download, CPU clock", "4 B", "blocking", "60.00", "50.00", "70.00"),
        ("download, CPU clock", "4 B", "async", "100.00", "80.00", "130.00"),
        ("download, CPU clock", "4 B", "async / blocking", "1.70x", "1.50x", "2.00x"),
    )


def test_a_ratio_of_gpu_times_is_not_held_against_a_first_call() -> None:
    def answer(test: BenchTest, size_bytes: int) -> FakeMeasurement:
        del size_bytes
        samples = [FakeSamples(metric, [2e-6]) for metric in test.metrics[:-1]]
        ratio = FakeSamples("download_over_upload", [33.0])
        return FakeMeasurement([*samples, ratio], first_call_seconds=1e-5)

    found = results_of([ROUND], FakeSession(answer), demand=Demand(limits=ROOMY, quick=True))
    assert {result.status for result in found} == {Status.PASSED}
    (ratio,) = (result for result in found if result.unit == "1")
    assert ratio.median == 33.0


def test_points_of_experiments_are_named_with_their_iterations() -> None:
    ((size, variation), *_) = ROUND.points(Demand(limits=ROOMY))
    assert Point(ROUND, size, variation).label == "copy_kernel_copy 4 B, 1000 iterations"
