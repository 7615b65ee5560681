"""Other kinds of copies: what is planned, what is derived, and what is refused as impossible."""

import pytest

from fakes.session import FakeMeasurement, FakeSamples, FakeSession, Watcher
from isthmus.measure.bench.demand import Demand, Limits
from isthmus.measure.bench.derived.catalogue import overlap_ratios
from isthmus.measure.bench.plan import Point
from isthmus.measure.bench.runner import RunSettings, run_points
from isthmus.measure.bench.tests.catalogue import BY_NAME, BenchTest, Variation
from isthmus.measure.bench.tests.copies import DUPLEX_TESTS
from isthmus.measure.bench.tests.many_copies import MANY_COPIES_TESTS
from isthmus.measure.bench.tests.overlap import OVERLAP_TESTS
from isthmus.measure.bench.tests.streams import (
    BOX_TESTS,
    PITCHED_TESTS,
    STREAMS_TESTS,
    Shape,
    cube,
    pitch,
    shape_of,
    square,
)
from isthmus.measure.run.model import Result, Status

MIB = 1 << 20
# What a link of PCIe 5.0 takes for 64 MiB.
TRUE_S = 64 * MIB / 55e9
AMPLE = Limits(device_bytes=8 << 30, host_bytes=8 << 30)
TESTS: tuple[BenchTest, ...] = (
    *DUPLEX_TESTS,
    *STREAMS_TESTS,
    *PITCHED_TESTS,
    *BOX_TESTS,
    *MANY_COPIES_TESTS,
    *OVERLAP_TESTS,
)
BOX = Shape(512, 1024, 128).variation
CHUNKS = Variation(axes=(("chunks", 4), ("streams", 2)))
PIPELINE = Point(BY_NAME["host_to_device_overlap_double_buffering"], 64 * MIB, CHUNKS)
ONE_OF_EACH = [
    Point(BY_NAME["host_to_device_bidirectional_memcpy_ce"], 64 * MIB),
    Point(BY_NAME["duplex_memcpy_ce"], 64 * MIB),
    Point(BY_NAME["device_to_host_memcpy_streams"], 64 * MIB, Variation(axes=(("streams", 2),))),
    Point(BY_NAME["device_to_host_memcpy_2d"], 64 * MIB, Variation(axes=(("row_bytes", 512),))),
    Point(BY_NAME["host_to_device_memcpy_3d"], 64 * MIB, BOX),
    Point(BY_NAME["device_to_host_memcpy_array"], 64 * MIB, BOX),
    PIPELINE,
]


def measured(point: Point, seconds: dict[str, float], first_call_s: float) -> list[Result]:
    samples = [FakeSamples(name, [each] * 3) for name, each in seconds.items()]
    session = FakeSession(lambda *_: FakeMeasurement(samples, first_call_seconds=first_call_s))
    return run_points(session, [point], RunSettings(budget_s=1.0), Watcher()).results


def with_unit(point: Point, factor: float) -> list[Result]:
    """Measure with a clock whose unit is wrong by a factor; the first call is by another clock."""
    names = ["copy_time" if metric == "bandwidth" else metric for metric in point.metrics]
    return measured(point, dict.fromkeys(names, TRUE_S * factor), 2 * TRUE_S)


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.name)
def test_every_test_has_points_and_fewer_of_them_in_a_quick_run(test: BenchTest) -> None:
    usual = test.points(Demand(limits=AMPLE))
    quick = test.points(Demand(limits=AMPLE, quick=True))
    assert 0 < len(quick) <= len(usual)
    assert sum(size for size, _ in quick) < sum(size for size, _ in usual)
    assert len(set(usual)) == len(usual)


@pytest.mark.parametrize("test", TESTS, ids=lambda test: test.name)
def test_sizes_that_were_asked_for_are_those_that_are_measured(test: BenchTest) -> None:
    points = test.points(Demand(limits=AMPLE, sizes=[8 * MIB]))
    assert {size for size, _ in points} == {8 * MIB}


def test_a_size_that_cannot_be_divided_so_is_left_out() -> None:
    odd = Demand(limits=AMPLE, sizes=[3])
    divided = [*STREAMS_TESTS, *PITCHED_TESTS, *BOX_TESTS, *MANY_COPIES_TESTS]
    assert [test.points(odd) for test in divided] == [[] for _ in divided]


def test_pipelines_are_of_chunks_that_are_longer_than_a_launch() -> None:
    for sizes, chosen in (([4], 4 * MIB), ([4, 32 * MIB], 32 * MIB), ([32 * MIB + 1], 4 * MIB)):
        points = OVERLAP_TESTS[0].points(Demand(limits=AMPLE, sizes=sizes))
        assert {size for size, _ in points} == {chosen}


def test_memory_is_counted_with_gaps_slots_and_second_buffers() -> None:
    loaded = BY_NAME["host_to_device_bidirectional_memcpy_ce"].footprint(MIB, Variation())
    assert (loaded.host_bytes, loaded.device_bytes) == (2 * MIB, 2 * MIB)
    rows = Variation(axes=(("row_bytes", 64),))
    pitched = BY_NAME["host_to_device_memcpy_2d"].footprint(64 * 16, rows)
    assert pitched.device_bytes == 64 * 16 + 512 * 16
    box = Shape(512, 4, 3)
    boxed = BY_NAME["host_to_device_memcpy_3d"].footprint(box.size_bytes, box.variation)
    assert boxed.device_bytes == 512 * 4 * 3 + 1024 * 5 * 3
    array = BY_NAME["host_to_device_memcpy_array"].footprint(box.size_bytes, box.variation)
    assert array.device_bytes == 2 * box.size_bytes
    pieces = Variation(axes=(("pieces", 16),))
    many = BY_NAME["host_to_device_many_copies_loop"].footprint(4 * 16, pieces)
    assert many.host_bytes == 4 * 16 + 128 * 16
    duplex = BY_NAME["duplex_overlap"].footprint(64 * MIB, CHUNKS)
    assert (duplex.host_bytes, duplex.device_bytes) == (128 * MIB, 128 * MIB)


def test_rows_never_touch_on_the_device() -> None:
    assert [pitch(row) for row in (1, 511, 512)] == [512, 512, 1024]


def test_boxes_are_near_cubic_and_rows_near_square_but_no_row_is_shorter_than_a_pitch() -> None:
    assert square(16 * MIB) == Shape(4096, 4096)
    assert square(2048) == Shape(512, 4)
    assert cube(MIB) == Shape(512, 64, 32)
    assert cube(16 * MIB) == Shape(512, 256, 128)
    assert cube(1 << 30) == Shape(2048, 4096, 128)


def test_what_has_no_second_row_or_slice_is_no_box() -> None:
    for size in (0, 3, 512, MIB + 4):
        assert square(size) is None
        assert cube(size) is None
    assert cube(1024) is None


def test_a_box_that_was_measured_can_be_told_from_its_result() -> None:
    for shape in (Shape(4096, 4096), Shape(512, 256, 128)):
        assert shape_of(shape.variation) == shape


def test_arrays_have_no_more_rows_than_every_device_takes() -> None:
    (array,) = (test for test in BOX_TESTS if test.name == "host_to_device_memcpy_array")
    found = {
        gib: [
            shape_of(variation).num_rows
            for _, variation in array.points(Demand(limits=AMPLE, sizes=[gib << 30]))
        ]
        for gib in (1, 4, 16)
    }
    assert found == {1: [32768, 4096], 4: [65536, 8192], 16: []}


def test_a_pipeline_is_held_against_its_longer_half() -> None:
    times = {"together": 1.2e-3, "copy_alone": 1e-3, "compute_alone": 0.8e-3}
    (ratio,) = overlap_ratios(measured(PIPELINE, times, 1e-2))
    assert ratio.status == Status.PASSED
    assert (ratio.metric, ratio.unit) == ("overlap_ratio", "1")
    assert ratio.median == pytest.approx(1.2)
    assert ratio.axes == {"chunks": 4, "streams": 2}


def test_a_pipeline_that_is_over_before_its_longer_half_has_no_ratio() -> None:
    times = {"together": 0.8e-3, "copy_alone": 1e-3, "compute_alone": 1e-3}
    (ratio,) = overlap_ratios(measured(PIPELINE, times, 1e-2))
    assert ratio.status == Status.WAIVED
    assert "0.80 of the time of its longer half" in str(ratio.reason)
    assert Result.model_validate(ratio.model_dump()) == ratio


def test_a_pipeline_that_is_over_long_before_its_longer_half_is_an_error() -> None:
    times = {"together": 1e-5, "copy_alone": 1e-3, "compute_alone": 1e-3}
    (ratio,) = overlap_ratios(measured(PIPELINE, times, 1e-2))
    assert ratio.status == Status.ERROR
    assert ratio.error is not None
    assert "longer half" in ratio.error.message
    assert Result.model_validate(ratio.model_dump()) == ratio


def test_a_pipeline_without_one_of_its_halves_has_no_ratio() -> None:
    assert overlap_ratios(measured(PIPELINE, {"together": 1e-3, "copy_alone": 1e-3}, 1e-2)) == []


@pytest.mark.parametrize("point", ONE_OF_EACH, ids=lambda point: point.test.name)
def test_a_time_that_is_1000_times_too_long_is_an_error_not_a_number(point: Point) -> None:
    assert {result.status for result in with_unit(point, 1e3)} == {Status.ERROR}
    assert {result.status for result in with_unit(point, 1)} == {Status.PASSED}


@pytest.mark.parametrize("point", ONE_OF_EACH, ids=lambda point: point.test.name)
def test_bytes_that_are_1000_times_too_quick_are_an_error_not_a_number(point: Point) -> None:
    moved = {metric for metric in point.metrics if point.test.moves_all(metric)}
    wrong = {r.metric for r in with_unit(point, 1e-3) if r.status == Status.ERROR}
    assert wrong == moved
    assert moved
